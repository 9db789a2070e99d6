package call

import (
	"cmp"
	"fmt"
	"time"

	"github.com/oriel-context/oriel/condense"
	"github.com/oriel-context/oriel/internal/engine/fault"
	"github.com/oriel-context/oriel/internal/number"
	"github.com/oriel-context/oriel/internal/plan"
	"github.com/oriel-context/oriel/internal/view"
	"github.com/oriel-context/oriel/recall"
	"github.com/oriel-context/oriel/token"
	"github.com/oriel-context/oriel/window"
)

// Options controls what is sent of the requests that go through Begin or Transport.
// The zero value sends what the profile "balanced" allows.
type Options struct {
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
	// LowMark is the share of the budget that a cut goes down to. Default
	// window.LowShare.
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
	// MarkCache asks Anthropic's API to cache the prompts of clients that do not ask. What is
	// written to the cache costs more than what is not, so that single calls cost more.
	MarkCache bool
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

// Check returns an error for a value that cannot be used.
func (o *Options) Check() error {
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
		return fmt.Errorf("Calls.RecallTokens %d, Calls.RecallWait %v: give numbers above 0, or 0 for the default",
			o.RecallTokens, o.RecallWait)
	case o.RecallReach != "" && o.RecallReach != recall.ReachConversation && o.RecallReach != recall.ReachProject:
		return fmt.Errorf("Calls.RecallReach %q: give %q or %q", o.RecallReach, recall.ReachConversation,
			recall.ReachProject)
	}
	return nil
}

// condensing converts the options.
func (o *CondenseOptions) condensing(done func(plan.Summary)) *view.Condensing {
	return view.NewCondensing(view.CondenseOptions{Condenser: o.Condenser, Inline: o.Inline, Wait: o.Wait, Max: o.Max,
		Done: done})
}

// tuning is what may change while calls run. A call keeps the tuning that it began with.
type tuning struct {
	o    Options
	view *view.Viewer
	// observed makes the views of Observed that are not sent.
	observed *view.Viewer
	// condensing writes summaries; nil if none are written.
	condensing *view.Condensing
}

// Change applies o to calls that begin from now on. If o.Condense is another pointer,
// summaries in progress are abandoned. After an error nothing is changed.
func (r *Engine) Change(o Options) error {
	if err := o.Check(); err != nil {
		return &fault.Error{Op: "change the options of calls", Err: fmt.Errorf("%w: %w", fault.ErrConfig, err)}
	}
	r.change(o)
	return nil
}

// Options returns the options of calls that begin now.
func (r *Engine) Options() Options { return r.tuning.Load().o }

// Condensing returns what writes summaries now, or nil.
func (r *Engine) Condensing() *view.Condensing { return r.tuning.Load().condensing }

// change is Change with options that are known to be good.
func (r *Engine) change(o Options) {
	r.changing.Lock()
	defer r.changing.Unlock()
	o.Margin = cmp.Or(o.Margin, r.o.Margin)
	if o.Models == nil {
		o.Models = r.o.Models
	}
	if o.Models == nil {
		o.Models = token.Builtin()
	}
	o.Profile = cmp.Or(o.Profile, "balanced")
	old := r.tuning.Load()
	cur := &tuning{o: o}
	if old != nil && old.o.Condense == o.Condense {
		cur.condensing = old.condensing
	} else if o.Condense != nil && !r.closed {
		cur.condensing = o.Condense.condensing(r.summarised)
	}
	cur.view = view.New(view.Options{
		Index: r.index, Models: o.Models, Calibration: r.o.Calibration, Cache: r.cache, Recall: r.o.Recall,
		Limits:     r.o.Limits,
		Thresholds: o.Thresholds, Condense: cur.condensing, RecallTokens: o.RecallTokens, RecallWait: o.RecallWait,
		RecallReach: o.RecallReach, Standing: r.standing, Dismissed: r.dismissed, Low: o.LowMark,
		KeepTools: o.KeepTools,
		Profiles:  o.Profiles, Margin: o.Margin,
	})
	cur.observed = view.New(view.Options{
		Index: r.observer.index, Models: o.Models, Calibration: r.o.Calibration, Cache: r.cache, Limits: r.o.Limits,
		Thresholds: o.Thresholds, Low: o.LowMark, KeepTools: o.KeepTools, Profiles: o.Profiles, Margin: o.Margin,
	})
	r.tuning.Store(cur)
	if old != nil && old.condensing != nil && old.condensing != cur.condensing {
		old.condensing.Close()
	}
}

// profile returns the profile of a call.
func (t *tuning) profile(c *Request) string {
	name := cmp.Or(c.Profile, t.o.Profile)
	if (name == "off" || name == Observe) && budgetOf(c.Header) > 0 {
		return "full" // who names a size wants a view
	}
	return name
}

// off reports whether a call is sent as it came.
func (t *tuning) off(c *Request) bool {
	p, err := t.o.Profiles.Lookup(t.profile(c))
	return err == nil && p.Off
}
