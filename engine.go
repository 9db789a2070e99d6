package oriel

import (
	"context"

	"github.com/oriel-context/oriel/internal/engine"
	"github.com/oriel-context/oriel/recall"
)

// Engine stores conversations, composes views of them, and handles calls. It is safe for
// concurrent use.
type Engine struct {
	e *engine.Engine
	// handle gives Oriel's own programs e and its calls.
	handle
}

type handle = engine.Handle

// Open returns an engine. Close it when it is no longer needed.
func Open(ctx context.Context, config Config) (*Engine, error) {
	e, err := engine.Open(ctx, config)
	if err != nil {
		return nil, err
	}
	return engineOf(e), nil
}

// engineOf returns the Engine of an engine, always the same one.
func engineOf(e *engine.Engine) *Engine {
	return e.Facade(func() any { return &Engine{e, engine.HandleOf(e)} }).(*Engine)
}

// Conversation returns the conversation with an id, a new one if there is none. The same
// id returns the same conversation. A new one is stored with its first change.
func (e *Engine) Conversation(ctx context.Context, id string) (*Conversation, error) {
	c, err := e.e.Conversation(ctx, id)
	if err != nil {
		return nil, err
	}
	return c.Facade(func() any { return &Conversation{c} }).(*Conversation), nil
}

// Conversations returns the ids of all conversations, sorted.
func (e *Engine) Conversations(ctx context.Context) ([]string, error) {
	return e.e.Conversations(ctx)
}

// Delete removes a conversation with its notes, and the contents that no other
// conversation shares. A caller that still has the conversation may use it; it is empty
// then.
func (e *Engine) Delete(ctx context.Context, id string) error {
	_, err := e.e.Delete(ctx, id)
	return err
}

// Recall searches the part of the history of the engine's tenant that w names. It searches
// as Conversation.Recall does, and reads the history only: what a conversation is busy with
// does not count.
func (e *Engine) Recall(ctx context.Context, w recall.Where, query string,
	o recall.RecallOptions) (*recall.Result, error) {
	return e.e.Recall(ctx, w, query, o)
}

// Directives returns the standing instructions and preferences in the part of the history of
// the engine's tenant that w names, oldest first. Those that are
// dismissed are left out. Conversation.EditDirective and Conversation.Dismiss change them.
func (e *Engine) Directives(ctx context.Context, w recall.Where) ([]Directive, error) {
	return e.e.Directives(ctx, w)
}

// ForTenant returns an engine for the history of another tenant. It shares the store, the
// recall library and the calls of e, and is open as long as e is. The same tenant returns
// the same engine.
func (e *Engine) ForTenant(tenant string) *Engine {
	return engineOf(e.e.ForTenant(tenant))
}

// Wait waits until the calls that have ended are stored, and until everything that recall
// and relevance have read has its vectors. A program that needs reproducible scores waits
// before each call.
func (e *Engine) Wait(ctx context.Context) error {
	return e.e.Wait(ctx)
}

// Close stores the calls that have ended and closes the engine. Later calls fail with
// fault.ErrClosed. A history in memory is gone.
func (e *Engine) Close() error {
	return e.e.Close()
}
