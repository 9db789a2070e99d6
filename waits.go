package oriel

import (
	"cmp"
	"context"
	"errors"
	"time"
)

// Waits bounds what a call may wait for inside the engine. CallOptions.RecallWait and, for
// inline summaries, CondenseOptions.Wait are set there. When a wait is over the call goes
// on with the best that is at hand. The plan itself has no deadline: View bounds nothing in
// the engine and is only part of BeginWait, after which the proxy sends a call as it came.
// Zero values are the defaults.
//
//	wait     default   times     what for
//	Store    10 s      2         the store: the conversation, then its notes and plans
//	Brief    50 ms     1         a store that did not answer the last time, a conversation
//	                             that is sent whole anyway, the token count of a header
//	recall   50 ms     1         CallOptions.RecallWait
//	summary  20 s      1         CondenseOptions.Wait, only if Inline
//	View     30 s      1         what BeginWait allows for making a view
//	worst    50 s                plus the summary; see Engine.BeginWait
//	Late     1 min     after     the conversation of a call that has already gone out
//	Write    30 s      after     storing one call, which is tried three times
//	Close    30 s      at end    storing the last calls
type Waits struct {
	Store, Brief, View, Late, Write, Close time.Duration
}

// withDefaults fills in what is zero.
func (w Waits) withDefaults() Waits {
	return Waits{
		Store: cmp.Or(w.Store, 10*time.Second), Brief: cmp.Or(w.Brief, 50*time.Millisecond), View: cmp.Or(w.View, 30*time.Second),
		Late: cmp.Or(w.Late, time.Minute), Write: cmp.Or(w.Write, 30*time.Second), Close: cmp.Or(w.Close, 30*time.Second),
	}
}

// BeginWait returns how long Begin and Call.Refused may take with these options before a
// caller should take them for stuck.
func (e *Engine) BeginWait(o CallOptions) time.Duration {
	w := e.calls.o.Waits
	wait := 2*w.Store + w.View
	if c := o.Condense; c != nil && c.Inline {
		wait += cmp.Or(c.Wait, inlineWait)
	}
	return wait
}

// inlineWait is the default of CondenseOptions.Wait for inline summaries.
const inlineWait = 20 * time.Second

// storeWait returns how long a call waits for the store now.
func (r *calls) storeWait() time.Duration {
	if r.stuck.Load() {
		return min(r.o.Waits.Brief, r.o.Waits.Store)
	}
	return r.o.Waits.Store
}

// noteStore notes how the store has answered: it counts as stuck from its first timeout
// until it answers again.
func (r *calls) noteStore(err error) {
	r.stuck.Store(errors.Is(err, context.DeadlineExceeded))
}
