package engine

import (
	"sync"

	"github.com/oriel-context/oriel/recall"
)

// Handle is embedded in an oriel.Engine, so that Of finds its Engine.
type Handle struct {
	handle
	engine *Engine
}

// HandleOf returns a handle of an engine.
func HandleOf(e *Engine) Handle { return Handle{e.handle, e} }

func (h Handle) inside() *Engine { return h.engine }

// Of returns the engine inside an oriel.Engine. Library programs need none of it; Oriel's own
// also follow how vectors are made, and report what a deletion removed.
func Of(o interface{ inside() *Engine }) *Engine { return o.inside() }

// facade is the public value of an engine or a conversation, made when it is first asked for,
// so that the same one always has the same public value.
type facade struct {
	once  sync.Once
	value any
}

// Facade returns the public value, which make makes.
func (f *facade) Facade(make func() any) any {
	f.once.Do(func() { f.value = make() })
	return f.value
}

// Tenant returns the tenant whose history the engine has.
func (e *Engine) Tenant() string { return e.config.Tenant }

// Recalled describes what recall has read so far, for all tenants.
func (e *Engine) Recalled() recall.LibraryStats { return e.library.Stats() }
