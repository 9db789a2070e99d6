package engine

import "sync"

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
