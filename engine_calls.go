package oriel

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"github.com/oriel-context/oriel/condense"
	"github.com/oriel-context/oriel/internal/number"
	"github.com/oriel-context/oriel/internal/spool"
	"github.com/oriel-context/oriel/internal/view"
	"github.com/oriel-context/oriel/recall"
	"github.com/oriel-context/oriel/token"
	"github.com/oriel-context/oriel/window"
)

// CallOptions controls what is sent of the requests that go through Begin or Transport.
// The zero value sends what the profile "balanced" allows.
type CallOptions struct {
	// Profile names the profile of calls that name none. Default "balanced"; "off"
	// records calls and sends them as they came.
	Profile string
	// Profiles are the profiles that calls may name. Default: the built-in ones.
	Profiles *window.ProfileTable
	// Models is the table in which models are looked up. Default: Config.Models.
	Models *token.Models
	// Margin is the share of a model's window that stays free. Default:
	// Config.Margin.
	Margin float64
	// Thresholds are the percentages of the window at which a cut is made.
	Thresholds window.Thresholds
	// LowMark is the share of the budget that a cut goes down to. Default 0.5.
	LowMark float64
	// KeepTools names the tools whose results are not masked.
	KeepTools []string
	// RecallTokens is the most tokens that one call brings back, in the model's
	// tokens. Default 2,048, and never more than half of the budget. Most questions bring
	// a quarter of it or less.
	RecallTokens int
	// RecallWait is the longest that a call waits for recall. Default 100 ms (SPEC D9).
	RecallWait time.Duration
	// RecallReach is how far recall looks at the first call of a conversation:
	// recall.ReachConversation, or recall.ReachProject for what earlier conversations of
	// its project say. Default recall.ReachConversation.
	RecallReach recall.Reach
	// PlainCache is for upstreams that cache plain prefixes, as vLLM and local servers do:
	// the part of Claude Code's billing line that differs with every call is
	// sent as zeros.
	PlainCache bool
	// StoredBytes limits what the histories of tenants take in the store, as
	// timeline.Stats.Stored counts it; "*" is for tenants that are not listed, and 0 is no
	// limit. Calls beyond it are sent and not recorded. The sizes are measured in the
	// background, so that a history may grow beyond its limit for a minute.
	StoredBytes map[string]int64
	// Condense makes a model summarise what calls leave out, and what has left the windows
	// of conversations of items. If nil, digests are made by rules.
	Condense *CondenseOptions
}

// CondenseOptions controls how a model summarises what a view leaves out.
type CondenseOptions struct {
	// Condenser asks the model.
	Condenser condense.Condenser
	// Inline makes the call wait for the summary. Otherwise the summary replaces the
	// digest at a later cut.
	Inline bool
	// Wait bounds the time that a summary may take. Default: two minutes, inline 20
	// seconds.
	Wait time.Duration
	// Max is the most tokens of a summary. Default 1,024.
	Max int
}

// check returns an error for a value that cannot be used.
func (o *CallOptions) check() error {
	if _, err := o.Profiles.Lookup(o.Profile); err != nil {
		return fmt.Errorf("Calls.Profile: %w", err)
	}
	if err := window.CheckMargin(o.Margin); err != nil {
		return fmt.Errorf("Calls.Margin: %w", err)
	}
	switch {
	case o.LowMark != 0 && (!number.Within(o.LowMark, 0, 1) || o.LowMark == 1):
		return fmt.Errorf("Calls.LowMark %g: give a share of the budget between 0 and 1", o.LowMark)
	case o.RecallTokens < 0 || o.RecallWait < 0:
		return fmt.Errorf("Calls.RecallTokens %d, Calls.RecallWait %v: give numbers above 0, or 0 for the default", o.RecallTokens, o.RecallWait)
	case o.RecallReach != "" && o.RecallReach != recall.ReachConversation && o.RecallReach != recall.ReachProject:
		return fmt.Errorf("Calls.RecallReach %q: give %q or %q", o.RecallReach, recall.ReachConversation, recall.ReachProject)
	}
	return nil
}

// learntFile is the file in Config.Dir that holds what was learnt about providers.
const learntFile = "learnt.json"

// openCalls prepares the engine for requests.
func (e *Engine) openCalls(ctx context.Context) {
	c := &e.config
	o := callParts{Store: e.store, Project: c.Project, Recall: e.library, Events: c.Events, Stages: c.Stages, Log: c.Log, Now: c.Now, Waits: c.Waits, Shared: c.Shared, Sizing: c.Sizing}
	if c.Dir != "" || c.Learnt != nil {
		var learnt *token.Learnt
		var err error
		if c.Learnt != nil {
			learnt, err = token.OpenLearntAt(c.Learnt)
		} else {
			learnt, err = token.OpenLearnt(filepath.Join(c.Dir, learntFile))
		}
		if err != nil {
			c.Log.Warn("what was learnt about providers is not used", "error", err)
		}
		e.learnt = learnt
		o.Limits, o.Calibration, o.Learnt, o.Refresh = learnt.Limits, learnt.Calibration, learnt.Save, learnt.Refresh
		if c.Shared {
			o.Reread = learnt.Reread
			learnt.Hold()
		}
	}
	e.calls = newCalls(o, e.callOptions(c.Calls))
	if c.Calls.RecallReach == recall.ReachProject {
		e.library.Prepare(recall.Where{Tenant: c.Tenant, Project: c.Project, Reach: recall.ReachProject})
	}
	if c.Spool != "" {
		e.calls.openSpool(c.Spool, spool.Options{Sync: c.Sync == "full"})
		e.calls.awaitSpool(ctx)
	}
}

// callOptions returns o with the values of Config where o has none.
func (e *Engine) callOptions(o CallOptions) CallOptions {
	if o.Models == nil {
		o.Models = e.config.Models
	}
	if o.Margin == 0 {
		o.Margin = e.config.Margin
	}
	return o
}

// closeCalls stores the calls that have ended, and what was learnt.
func (e *Engine) closeCalls() {
	ctx, cancel := context.WithTimeout(context.Background(), e.calls.o.Waits.Close)
	defer cancel()
	if err := e.calls.Close(ctx); err != nil {
		e.config.Log.Error("calls were lost at the end", "error", err)
	}
	if e.learnt != nil {
		if err := e.learnt.Save(); err != nil {
			e.config.Log.Error("what was learnt about providers is lost", "error", err)
		}
	}
}

// Begin finds the conversation that a request continues and decides what is sent. The
// caller then sends Call.Body, asks Call.Refused if the provider refuses it, passes the
// reply to Call.Response and Call.Write, and calls Call.End, which records the call.
// Begin never fails: an Event reports what goes wrong, and the best remaining body is
// sent. Config.Waits bounds how long Begin waits; ctx is for callers that no longer want
// the result.
func (e *Engine) Begin(ctx context.Context, r *Request) *Call {
	return e.calls.Begin(ctx, e.own(r))
}

// Count returns the body that Begin would send for a request whose conversation is known,
// or nil for the client's own, so that a client that counts tokens counts what is sent. It
// decides and records nothing.
func (e *Engine) Count(ctx context.Context, r *Request) []byte {
	return e.calls.Count(ctx, e.own(r))
}

// own returns the request with the engine's tenant if it has none.
func (e *Engine) own(r *Request) *Request {
	if r.Tenant != "" {
		return r
	}
	own := *r
	own.Tenant = e.config.Tenant
	return &own
}

// Unseen reports a call that was sent without Begin, and why.
func (e *Engine) Unseen(call, reason string) { e.calls.Unseen(e.config.Tenant, call, reason) }

// Limited reports a call that was refused without Begin, because its tenant has reached a
// limit, such as LimitCalls.
func (e *Engine) Limited(tenant, call, limit string) {
	e.calls.event(Event{Kind: EventLimit, Tenant: tenant, Call: call, Reason: limit})
}

// SetCallOptions changes the options of calls that begin from now on. If o.Condense is
// another pointer, summaries in progress are abandoned.
func (e *Engine) SetCallOptions(o CallOptions) error {
	if err := o.check(); err != nil {
		return &Error{Op: "change the options of calls", Err: fmt.Errorf("%w: %w", ErrConfig, err)}
	}
	e.calls.change(e.callOptions(o))
	return nil
}

// CallCounters returns the number of calls by outcome.
func (e *Engine) CallCounters() *CallCounters { return e.calls.Counters() }

// CallBacklog returns how many calls wait to be written or are being written, and the bytes
// that they hold.
func (e *Engine) CallBacklog() (calls int, bytes int64) { return e.calls.queue.depth() }

// Spool returns the state of Config.Spool.
func (e *Engine) Spool() SpoolState { return e.calls.spoolState() }

// CallError returns why the last call could not be stored, or nil.
func (e *Engine) CallError() error { return e.calls.Err() }

// condensing converts the options.
func (o *CondenseOptions) condensing(done func(view.Summary)) *view.Condensing {
	return view.NewCondensing(view.CondenseOptions{Condenser: o.Condenser, Inline: o.Inline, Wait: o.Wait, Max: o.Max, Done: done})
}
