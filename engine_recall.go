package oriel

import (
	"context"

	"github.com/oriel-context/oriel/recall"
)

// Recall searches the part of the history of the engine's tenant that w names. It searches
// as Conversation.Recall does, and reads the history only: what a conversation is busy with
// does not count.
func (e *Engine) Recall(ctx context.Context, w recall.Where, query string, o recall.RecallOptions) (*recall.Result, error) {
	const op = "recall"
	if err := e.enter(ctx, nil); err != nil {
		return nil, &Error{Op: op, Conversation: w.Conversation, Err: err}
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

// Directives returns the standing instructions and preferences in the part of the history of
// the engine's tenant that w names, oldest first. Those that are
// dismissed are left out. Conversation.EditDirective and Conversation.Dismiss change them.
func (e *Engine) Directives(ctx context.Context, w recall.Where) ([]Directive, error) {
	const op = "list directives"
	if err := e.enter(ctx, nil); err != nil {
		return nil, &Error{Op: op, Conversation: w.Conversation, Err: err}
	}
	w.Tenant = e.config.Tenant
	said, _, err := e.library.Directives(ctx, w)
	if err != nil {
		return nil, e.storeError(ctx, op, w.Conversation, err)
	}
	return directivesOf(said, w.Conversation), nil
}
