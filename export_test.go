package oriel

import (
	"context"
	"time"

	"github.com/oriel-context/oriel/internal/spool"
	"github.com/oriel-context/oriel/internal/view"
	"github.com/oriel-context/oriel/timeline"
)

// CallsOptions are the options of NewCalls.
type CallsOptions struct {
	CallOptions
	CallParts
}

// CallParts are the parts of an engine that tests replace.
type CallParts = callParts

// Calls is an engine that only takes calls, with parts that a test replaces.
type Calls struct{ *Engine }

// NewCalls returns an engine without a folder of its own. Close it after the last call.
func NewCalls(o CallsOptions) *Calls {
	e := newEngine(Config{})
	e.calls = newCalls(o.CallParts, o.CallOptions)
	return &Calls{e}
}

// NewCallsWithSpool is NewCalls with a spool in a folder.
func NewCallsWithSpool(o CallsOptions, dir string) *Calls {
	c := NewCalls(o)
	c.calls.openSpool(dir, spool.Options{})
	return c
}

func (c *Calls) Change(o CallOptions)            { c.calls.change(o) }
func (c *Calls) Close(ctx context.Context) error { return c.calls.Close(ctx) }
func (c *Calls) WorstWait() time.Duration        { return c.calls.worstWait() }
func (c *Calls) Counters() *CallCounters         { return c.CallCounters() }

var DefaultStoreWait = Waits{}.withDefaults().Store

// CrashSpoolForTest leaves the spool of an engine as the death of its process does.
func CrashSpoolForTest(e *Engine) {
	e.calls.spool.cancel()
	e.calls.spool.Close() // what was written since is not taken out
	<-e.calls.spool.ended
}

// WriteSpooledForTest writes an entry of a spool to a store.
func WriteSpooledForTest(e spool.Entry, store timeline.Store) error {
	w, err := readSpooled(e, store)
	if err != nil {
		return err
	}
	return w.writeTo(context.Background(), timeline.NewLog(store, timeline.LogOptions{}))
}

// SummarisedForTest has a summary of a plan stored as the background does.
func SummarisedForTest(e *Engine, conversation, plan string) error {
	e.calls.summarised(view.Summary{Tenant: timeline.Local, Conversation: conversation, Plan: plan})
	return WaitForTest(e)
}

// WaitForTest waits until all calls that have ended are in the store or the spool.
func WaitForTest(e *Engine) error { return e.calls.queue.wait(context.Background()) }
