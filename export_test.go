package oriel

import (
	"context"
	"time"
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

func (c *Calls) Change(o CallOptions)            { c.calls.change(o) }
func (c *Calls) Close(ctx context.Context) error { return c.calls.Close(ctx) }
func (c *Calls) WorstWait() time.Duration        { return c.calls.worstWait() }
func (c *Calls) Counters() *CallCounters         { return c.CallCounters() }

var DefaultStoreWait = Waits{}.withDefaults().Store
