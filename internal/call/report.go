package call

import (
	"cmp"
	"time"

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

// Broke reports a call whose methods panicked or took too long: it went on without them.
func (r *Engine) Broke(tenant, call string, err error) {
	r.failOpen(event.OpenPlan, &Request{ID: call, Tenant: tenant}, "", err)
}

// Now returns the time by the engine's clock.
func (r *Engine) Now() time.Time { return r.o.Now() }

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
	r.event(event.Event{Kind: event.Unkept, Tenant: c.Tenant, Call: c.ID, Conversation: conversation,
		Error: err.Error()})
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

// Stage reports how long the engine worked on one part of a call. It contains no text of
// the call.
type Stage struct {
	// Call is the id of the call, as in Event.
	Call string
	// Name is one of the stages below.
	Name  string
	Began time.Time
	Took  time.Duration
}

// The stages of a call, in their order. The client waits for StageBegin and StageAgain;
// the stages after the answer began run beside it.
const (
	// StageBegin is Begin as a whole: StageRead, StageFind and StagePlan.
	StageBegin = "begin"
	// StageRead: the request was parsed. StageFind: its conversation was found.
	// StagePlan: it was decided what is sent, including StageRecall, which is absent if
	// nothing was searched for.
	StageRead   = "read"
	StageFind   = "find"
	StagePlan   = "plan"
	StageRecall = "recall"
	// StageAgain: another body was made after the provider refused one.
	StageAgain = "again"
	// StageReply: the answer was read. StageStore: the call was written; time in the
	// queue is not included.
	StageReply = "reply"
	StageStore = "store"
)

// stageBegins returns the time, or zero if nobody receives stages.
func (r *Engine) stageBegins() (now time.Time) {
	if r.o.Stages != nil {
		now = time.Now()
	}
	return now
}

// stageEnds reports a stage that began at a time of stageBegins.
func (r *Engine) stageEnds(call, stage string, began time.Time) {
	if r.o.Stages != nil {
		r.o.Stages(Stage{Call: call, Name: stage, Began: began, Took: time.Since(began)})
	}
}
