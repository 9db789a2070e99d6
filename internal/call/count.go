package call

import (
	"context"
	"slices"

	"github.com/oriel-context/oriel/internal/secret"
	"github.com/oriel-context/oriel/internal/thread"
	"github.com/oriel-context/oriel/internal/view"
	"github.com/oriel-context/oriel/wire"
)

// Count returns the body that would be sent for a request whose conversation is known, so
// that a client that counts tokens counts what is sent. It returns nil for the client's
// own body. Count decides and remembers nothing.
func (r *Engine) Count(ctx context.Context, c *Request) []byte {
	c = r.own(c)
	cur := r.tuning.Load()
	profile := cur.profile(c)
	if cur.off(c) {
		return nil
	}
	start, end := wire.Counted(c.Format, c.Body)
	body, err := readBody(c.Body[start:end], c.Format, c.Path)
	if err != nil {
		return nil // the provider says what is wrong with it
	}
	_, chain := chainOf(body)
	ctx, cancel := context.WithTimeout(ctx, r.storeWait())
	defer cancel()
	th := r.index.Peek(ctx, &thread.Request{
		Tenant: c.Tenant,
		Hints:  hintsOf(c.Header, body.Hints, func() secret.Keys { return secret.Of(c.Header, c.Query) }),
		Sketch: r.sketches.lookUp(thread.Prompt(&body.Request)), Messages: chain, Now: r.o.Now(),
	})
	if th == nil {
		return nil
	}
	shown, err := cur.view.Apply(&view.Input{
		Body: body, Thread: th, Profile: profile, Asked: c.Profile != "", Budget: budgetOf(c.Header),
		Betas: betas(c.Header, body), PlainCache: cur.o.PlainCache, Now: r.o.Now(),
	})
	if err != nil || !shown.Changed {
		return nil
	}
	if end-start < len(c.Body) {
		return slices.Concat(c.Body[:start], shown.Body, c.Body[end:])
	}
	return shown.Body
}
