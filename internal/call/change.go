package call

import (
	"cmp"
	"fmt"

	"github.com/oriel-context/oriel/internal/fault"
	"github.com/oriel-context/oriel/internal/view"
	"github.com/oriel-context/oriel/token"
)

// tuning is what may change while calls run. A call keeps the tuning that it began with.
type tuning struct {
	o    Options
	view *view.Viewer
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
		Index: r.index, Models: o.Models, Calibration: r.o.Calibration, Cache: r.cache, Recall: r.o.Recall, Limits: r.o.Limits,
		Thresholds: o.Thresholds, Condense: cur.condensing, RecallTokens: o.RecallTokens, RecallWait: o.RecallWait, RecallReach: o.RecallReach, Standing: r.standing, Dismissed: r.dismissed, Low: o.LowMark, KeepTools: o.KeepTools,
		Profiles: o.Profiles, Margin: o.Margin,
	})
	r.tuning.Store(cur)
	if old != nil && old.condensing != nil && old.condensing != cur.condensing {
		old.condensing.Close()
	}
}

// profile returns the profile of a call.
func (t *tuning) profile(c *Request) string {
	name := cmp.Or(c.Profile, t.o.Profile)
	if name == "off" && budgetOf(c.Header) > 0 {
		return "full" // who names a size wants a view
	}
	return name
}
