package record

import (
	"cmp"

	"github.com/oriel-context/oriel"
	"github.com/oriel-context/oriel/token"
	"github.com/oriel-context/oriel/view"
)

// tuning is what may become another while calls run. A call has one from its beginning
// to its end.
type tuning struct {
	o    Options // see Change for those that count
	view *view.Viewer
	// condensing writes summaries; nil where none are written.
	condensing *view.Condensing
}

// Change has calls that come from now on shown by the Models, Profile, Thresholds,
// Condense, PlainCache, RecallTokens, RecallWait, LowMark, KeepTools, Profiles and Margin of o; the rest of o is not
// looked at. Calls that run go on as they began. Where Condense is another pointer, the
// summaries that are being written are given up.
func (r *Recorder) Change(o Options) {
	r.changing.Lock()
	defer r.changing.Unlock()
	if o.Models == nil {
		o.Models = token.Builtin()
	}
	o.Profile = cmp.Or(o.Profile, "off")
	old := r.now.Load()
	now := &tuning{o: o}
	if old != nil && old.o.Condense == o.Condense {
		now.condensing = old.condensing
	} else if o.Condense != nil && !r.closed {
		c := *o.Condense
		c.Done = r.summarised
		now.condensing = view.NewCondensing(c)
	}
	now.view = view.New(view.Options{
		Book: r.book, Models: o.Models, Calibration: r.o.Calibration, Cache: r.cache, Recall: r.o.Recall, Limits: r.o.Limits,
		Thresholds: o.Thresholds, Condense: now.condensing, RecallTokens: o.RecallTokens, RecallWait: o.RecallWait, Low: o.LowMark, KeepTools: o.KeepTools,
		Profiles: o.Profiles, Margin: o.Margin,
	})
	r.now.Store(now)
	if old != nil && old.condensing != nil && old.condensing != now.condensing {
		old.condensing.Close()
	}
}

// profile is that of a call.
func (t *tuning) profile(c *oriel.Request) string {
	name := cmp.Or(c.Profile, t.o.Profile)
	if name == "off" && budgetOf(c.Header) > 0 {
		return "full" // who names a size wants a view
	}
	return name
}
