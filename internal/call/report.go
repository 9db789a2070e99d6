package call

import (
	"cmp"
	"fmt"

	"github.com/oriel-context/oriel/internal/event"
)

// event emits an event of a call.
func (c *Call) event(e event.Event) {
	e.Tenant = c.request.Tenant
	c.engine.event(e)
}

// event emits an event, now.
func (r *Engine) event(e event.Event) {
	e.Time = r.o.Now()
	e.Emit(r.o.Log, r.o.Events)
}

// failOpen reports and counts a call that is not stored.
func (r *Engine) failOpen(reason string, c *Request, conversation string, err error) {
	r.report(reason, c, conversation, err)
	r.counters.Failed.Add(1)
}

// Limited reports a call that was refused without Begin, because its tenant has reached a
// limit, such as event.LimitCalls.
func (r *Engine) Limited(tenant, call, limit string) {
	r.event(event.Event{Kind: event.Limit, Tenant: tenant, Call: call, Reason: limit})
}

// Panicked reports a call whose methods panicked: it went on without them.
func (r *Engine) Panicked(tenant, call string, p any) {
	r.failOpen(event.OpenPlan, &Request{ID: call, Tenant: tenant}, "", fmt.Errorf("a panic: %v", p))
}

// Unseen reports and counts a call that was sent without Begin. The empty tenant is that of
// the engine.
func (r *Engine) Unseen(tenant, call, reason string) {
	tenant = cmp.Or(tenant, r.o.Tenant)
	r.counters.Unseen.Add(1)
	r.event(event.Event{Kind: event.Unseen, Tenant: tenant, Call: call, Error: reason})
}

// unkept reports and counts an answer that is not stored.
func (r *Engine) unkept(c *Request, conversation string, err error) {
	r.counters.Unkept.Add(1)
	r.event(event.Event{Kind: event.Unkept, Tenant: c.Tenant, Call: c.ID, Conversation: conversation, Error: err.Error()})
}

// report emits an event for a failure of the part of Oriel that reason names. c is nil where
// no call is concerned.
func (r *Engine) report(reason string, c *Request, conversation string, err error) {
	e := event.Event{Kind: event.Open, Reason: reason, Conversation: conversation, Error: err.Error()}
	if c != nil {
		e.Tenant, e.Call = c.Tenant, c.ID
	}
	r.event(e)
}
