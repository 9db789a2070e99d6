package proxy

import (
	"context"

	"github.com/oriel-context/oriel"
)

// beginner is the part of *oriel.Engine that the proxy uses.
type beginner interface {
	Begin(context.Context, *oriel.Request) *oriel.Call
	Count(context.Context, *oriel.Request) []byte
	Unseen(call, reason string)
}

var _ beginner = (*oriel.Engine)(nil)

// For returns a Recorder that hands calls to an engine.
func For(e beginner) Recorder { return engine{e} }

type engine struct{ beginner }

var (
	_ Watcher = engine{}
	_ Counter = engine{}
	_ Sender  = (*oriel.Call)(nil)
)

// Begin implements Recorder.
func (e engine) Begin(ctx context.Context, r *oriel.Request) Recording {
	return e.beginner.Begin(ctx, r)
}
