package replay

import (
	"strconv"
	"time"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/internal/report/quality"
	"github.com/oriel-context/oriel/internal/report/replay/recording"
	"github.com/oriel-context/oriel/internal/thread"
	"github.com/oriel-context/oriel/internal/view"
	"github.com/oriel-context/oriel/recall"
	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/timeline/memory"
	"github.com/oriel-context/oriel/token"
	"github.com/oriel-context/oriel/wire"
)

// run sends one session by one policy.
type run struct {
	policy  *policy
	out     *Outcome
	index   *thread.Index
	viewer  *view.Viewer
	prompts map[string]*Prompt // the last one of each model
	asked   map[string]time.Time

	// Of the current call:
	thread     *thread.Thread
	shown      *view.Result
	came, sent view.Line
	cut        bool
}

func (s *replayed) newRun(p *policy) *run {
	return &run{policy: p, prompts: map[string]*Prompt{}, asked: map[string]time.Time{},
		out: &Outcome{Session: s.out.Name, Policy: p.Name, Window: p.shown}}
}

// begin gives a run an empty memory.
func (r *run) begin(s *replayed, library *recall.Library) {
	if r.policy.NoRecall || r.policy.profile == off {
		library = nil
	}
	r.index = thread.NewIndex(memory.New(), thread.Options{})
	r.viewer = view.New(view.Options{Index: r.index, Models: s.o.Models, Calibration: s.learnt, Cache: s.cache,
		Recall: library, RecallWait: recallWait, Profiles: s.o.table})
}

// recallWait is long enough for every search to end, so that two replays are equal.
const recallWait = time.Minute

// show makes the view of a call.
func (r *run) show(s *replayed, b *wire.Body, m token.Model, rules Rules, c *recording.Call,
	reply []chat.Message) error {
	_, chain := thread.Chain(b.Messages)
	th, err := r.index.Find(s.ctx, &thread.Request{Tenant: timeline.Local, Hints: thread.Hints{Session: s.rec.Name},
		Sketch: thread.SketchOf(thread.Prompt(&b.Request)), Messages: chain, Now: c.At})
	if err != nil {
		return err
	}
	in := &view.Input{ID: strconv.Itoa(s.out.Calls), Body: b, Thread: th, Profile: r.policy.profile,
		Budget: r.policy.budget(), Cold: r.cold(c, rules), Now: c.At}
	if s.wide {
		for _, w := range m.Widen {
			in.Betas = append(in.Betas, w.Beta)
		}
	}
	res, err := r.viewer.Show(s.ctx, in)
	if err != nil {
		if s.ctx.Err() != nil {
			return err
		}
		s.failed(err.Error()) // nothing that fits: the request goes as it came, as in live calls
		in.Profile, in.Budget = off, 0
		if res, err = r.viewer.Show(s.ctx, in); err != nil {
			return err
		}
	}
	r.thread, r.shown = th, res
	r.came, r.sent = res.Lines(&r.came, &r.sent)
	r.cut = res.New && (res.Folded || res.Cleared)
	if r.cut {
		r.out.Cuts++
	}
	if res.New && res.Recalled > 0 {
		r.out.Recalls++
	}
	r.index.Done(th, reply, "")
	r.index.Stored(th, true)
	return nil
}

// cold reports whether the provider's cache has lost the last call, by the clock.
func (r *run) cold(c *recording.Call, rules Rules) bool {
	last, ok := r.asked[c.Model]
	cold := len(r.asked) > 0 && (!ok || c.At.Sub(last) >= rules.Lifetime)
	r.asked[c.Model] = c.At
	return cold
}

// measure measures what a reply needed of the history, and what a cut broke.
func (r *run) measure(came *wire.Body, reply []chat.Message) {
	if r.policy.profile == off {
		return
	}
	sent := came
	if r.shown.Changed {
		var err error
		if sent, err = wire.Read(r.shown.Body, came.Format, wire.Limits{}); err != nil {
			r.out.PairViolations++
			return
		}
		r.out.PairViolations += max(0, broken(sent)-broken(came))
	}
	if len(reply) == 0 {
		return
	}
	n := quality.Needs(came, sent, reply, r.shown.Cut != nil)
	o := r.out
	o.Needed, o.Missing, o.Back = o.Needed+n.Needed, o.Missing+n.Missing, o.Back+n.Back
	o.Again, o.Held = o.Again+n.Again, o.Held+n.Held
}

// broken counts the exchanges of a request that lack a part.
func broken(b *wire.Body) (n int) {
	for _, x := range chat.NewCuts(b.Messages, b.Rules()).Exchanges {
		if x.Broken != "" {
			n++
		}
	}
	return n
}
