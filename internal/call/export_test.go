package call

import (
	"context"
	"time"

	"github.com/oriel-context/oriel/internal/call/spool"
	"github.com/oriel-context/oriel/internal/plan"
	"github.com/oriel-context/oriel/timeline"
)

// TestOptions are the options of NewForTest.
type TestOptions struct {
	Options
	Parts
}

// NewForTest returns an engine of its own, without a folder. Close it after the last call.
func NewForTest(o TestOptions) *Engine { return New(o.Parts, o.Options) }

// NewForTestWithSpool is NewForTest with a spool in a folder.
func NewForTestWithSpool(o TestOptions, dir string) *Engine {
	e := NewForTest(o)
	e.openSpool(dir, spool.Options{})
	return e
}

// WorstWait returns the longest that a call waits for optional work.
func (r *Engine) WorstWait() time.Duration { return r.worstWait() }

// DefaultStoreWait is the default of Waits.Store.
var DefaultStoreWait = Waits{}.withDefaults().Store

// CrashSpool leaves the spool of an engine as the death of its process does.
func (r *Engine) CrashSpool() {
	r.spool.cancel()
	r.spool.Close() // what was written since is not taken out
	<-r.spool.ended
}

// WriteSpooledForTest writes an entry of a spool to a store.
func WriteSpooledForTest(e spool.Entry, store timeline.Store) error {
	w, err := readSpooled(e, store)
	if err != nil {
		return err
	}
	return w.writeTo(context.Background(), timeline.NewLog(store, timeline.LogOptions{}))
}

// Summarised has a summary of a plan stored as the background does.
func (r *Engine) Summarised(conversation, id string) error {
	r.summarised(plan.Summary{Tenant: timeline.Local, Conversation: conversation, Plan: id})
	return r.Wait(context.Background())
}
