package engine

import (
	"context"

	"github.com/oriel-context/oriel/internal/engine/fault"
	"github.com/oriel-context/oriel/recall"
)

// Recall implements oriel.Engine.Recall.
func (e *Engine) Recall(ctx context.Context, w recall.Where, query string,
	o recall.RecallOptions) (*recall.Result, error) {
	const op = "recall"
	if err := e.enter(ctx, nil); err != nil {
		return nil, &fault.Error{Op: op, Conversation: w.Conversation, Err: err}
	}
	w.Tenant = e.config.Tenant
	if o.Now.IsZero() {
		o.Now = e.config.Now()
	}
	found, err := e.library.Recall(ctx, w, query, o)
	if err != nil {
		return nil, e.storeError(ctx, op, w.Conversation, err)
	}
	return found, nil
}

// Directives implements oriel.Engine.Directives.
func (e *Engine) Directives(ctx context.Context, w recall.Where) ([]Directive, error) {
	const op = "list directives"
	if err := e.enter(ctx, nil); err != nil {
		return nil, &fault.Error{Op: op, Conversation: w.Conversation, Err: err}
	}
	w.Tenant = e.config.Tenant
	said, _, err := e.library.Directives(ctx, w)
	if err != nil {
		return nil, e.storeError(ctx, op, w.Conversation, err)
	}
	return directivesOf(said, w.Conversation), nil
}
