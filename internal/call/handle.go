package call

import (
	"context"
	"time"
)

// Handle is embedded in an engine that has an Engine, so that Of finds it.
type Handle struct{ engine *Engine }

// HandleOf returns a handle of an engine.
func HandleOf(e *Engine) Handle { return Handle{e} }

func (h Handle) handled() *Engine { return h.engine }

func (r *Engine) handled() *Engine { return r }

// Owner is an engine that has an Engine: an *oriel.Engine, or an *Engine itself.
type Owner interface{ handled() *Engine }

// Of returns the part of an engine that handles requests. Library programs use
// Engine.Transport; Oriel's own programs also count, watch and change its calls.
func Of(o Owner) *Engine { return o.handled() }

// Inside has the settings of an engine that only Oriel's own programs and tests set. They
// reach oriel.Open in its context.
type Inside struct {
	// Waits bounds what a call may wait for.
	Waits Waits
	// Stages, if set, receives how long the engine worked on each part of a call, as soon
	// as that part has ended. It must return quickly and not call the engine.
	Stages func(Stage)
	// SearchFor, if it is not 0, is how long a search makes the vectors that it needs most,
	// and none are made in the background: recall.LibraryOptions.OnDemand. It suits a program
	// that ends after a few searches.
	SearchFor time.Duration
	// RecallFailed, if set, receives the failures of recall's background work instead of
	// Config.Log. Several goroutines may call it at the same time.
	RecallFailed func(error)
}

type insideKey struct{}

// With returns a context for oriel.Open with these settings.
func With(ctx context.Context, in Inside) context.Context {
	return context.WithValue(ctx, insideKey{}, in)
}

// InsideOf returns the settings that a context has.
func InsideOf(ctx context.Context) Inside {
	in, _ := ctx.Value(insideKey{}).(Inside)
	return in
}
