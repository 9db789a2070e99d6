package oriel

import (
	"context"

	"github.com/oriel-context/oriel/recall"
	"github.com/oriel-context/oriel/timeline"
)

// ForTenant returns an engine for the history of another tenant. It shares the store, the
// recall library and the calls of e, and is open as long as e is. The same tenant returns
// the same engine.
func (e *Engine) ForTenant(tenant string) *Engine {
	if e.parent != nil {
		return e.parent.ForTenant(tenant)
	}
	if tenant == e.config.Tenant {
		return e
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	t := e.tenants[tenant]
	if t == nil {
		config := e.config
		config.Tenant = tenant
		t = newEngine(config)
		t.given, t.allowed, t.parent = e.given, e.allowed, e
		t.store, t.library, t.calls, t.learnt = e.store, e.library, e.calls, e.learnt
		t.meanings.model = e.meanings.model
		if e.tenants == nil {
			e.tenants = map[string]*Engine{}
		}
		e.tenants[tenant] = t
	}
	return t
}

// eventTenant returns the tenant as events have it.
func (e *Engine) eventTenant() string {
	if e.config.Tenant == timeline.Local {
		return ""
	}
	return e.config.Tenant
}

// Search finds what a query needs in the history of a conversation, or as far as
// where.Reach goes. Unlike Conversation.Recall it weighs passages without regard to what
// the conversation is busy with, and reports no event. The tenant of where is that of e.
func (e *Engine) Search(ctx context.Context, where recall.Where, query string, o recall.RecallOptions) (*recall.Result, error) {
	const op = "search"
	if err := e.enter(ctx, nil); err != nil {
		return nil, &Error{Op: op, Conversation: where.Conversation, Err: err}
	}
	where.Tenant = e.config.Tenant
	if o.Now.IsZero() {
		o.Now = e.config.Now()
	}
	found, err := e.library.Recall(ctx, where, query, o)
	if err != nil {
		return nil, e.storeError(ctx, op, where.Conversation, err)
	}
	return found, nil
}
