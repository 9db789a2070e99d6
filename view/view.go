package view

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/recall"
	"github.com/oriel-context/oriel/thread"
	"github.com/oriel-context/oriel/token"
	"github.com/oriel-context/oriel/window"
	"github.com/oriel-context/oriel/wire"
)

// Options are those of New.
type Options struct {
	Book *thread.Book
	// Models, Calibration and Cache count.
	Models      *token.Models
	Calibration *token.Calibration
	Cache       *token.Cache
	// Recall finds what the view no longer shows; nil: nothing is brought back.
	Recall *recall.Library
	// RecallTokens is the most that is brought back at a time: 2,048, and never
	// more than a tenth of the budget.
	RecallTokens int
	// RecallWait is the longest that a call waits for it: 50 ms.
	RecallWait time.Duration
	// Low is the share of the budget that a cut goes down to: one half.
	Low float64
	// Limits are what providers were found to take.
	Limits *Limits
}

// Viewer makes views. It is safe for concurrent use.
type Viewer struct{ o Options }

// New makes a viewer.
func New(o Options) *Viewer {
	o.RecallTokens = cmp.Or(o.RecallTokens, recall.DefaultBudget)
	o.RecallWait = cmp.Or(o.RecallWait, 50*time.Millisecond)
	o.Low = cmp.Or(o.Low, .5)
	if o.Limits == nil {
		o.Limits = new(Limits)
	}
	return &Viewer{o}
}

// Input is a request whose conversation is known.
type Input struct {
	// ID is that of the call; a plan that it makes has it, too.
	ID     string
	Body   *wire.Body
	Thread *thread.Thread
	// Profile is a name; Budget, where it is not 0, the most tokens of the view.
	Profile string
	Budget  int
	// Betas are the provider's features that the request asks for.
	Betas []string
	// Pins are the messages that stay, by depth.
	Pins []int
	Now  time.Time
}

// Result is a view.
type Result struct {
	// Body is what is sent: the very bytes of the request where nothing is changed.
	Body []byte
	// Before and After are the tokens of the request and of the view; Local is After
	// before calibration: see token.Breakdown.
	Before, After, Local int
	// Action is what this call did, or what an earlier cut still does: none, trim,
	// mask, evict, condense, with +recall where something was brought back.
	Action string
	// Cut is what holds, nil for nothing; New says that this call made it.
	Cut *Cut
	New bool
	// Recalled is what was brought back with this call, in tokens.
	Recalled int
	// Budget is what the view had to fit in.
	Budget int
	// Why says why a request is left alone that its provider manages itself.
	Why string
}

// Show decides what is sent.
func (v *Viewer) Show(ctx context.Context, in *Input) (*Result, error) {
	s, err := v.newSight(in)
	if err != nil {
		return nil, err
	}
	if s.profile.Off || s.managed() {
		return s.leave(), nil
	}
	for {
		before, _ := v.o.Book.Marked(in.Thread)
		cut, _ := before.(*Cut)
		r, fresh, err := s.show(ctx, cut)
		if err != nil || fresh == nil {
			return r, err
		}
		if _, ok := v.o.Book.Mark(in.Thread, fresh.Covers, before, fresh); ok {
			return r, nil
		}
		// Somebody was first: use theirs.
	}
}

// Apply shows a request as the last call was shown, and decides nothing: for those who
// only count.
func (v *Viewer) Apply(in *Input) (*Result, error) {
	s, err := v.newSight(in)
	if err != nil {
		return nil, err
	}
	if s.profile.Off || s.managed() {
		return s.leave(), nil
	}
	value, _ := v.o.Book.Marked(in.Thread)
	cut, _ := value.(*Cut)
	pieces, err := s.apply(cut)
	if err != nil {
		return nil, err
	}
	body, err := in.Body.Write(pieces)
	if err != nil {
		return nil, err
	}
	n := s.count(pieces)
	return &Result{Body: body, Before: s.before.Total, After: n.Total, Local: n.Local, Action: cut.action(), Cut: cut, Budget: s.budget}, nil
}

// sight is one request on its way to a view.
type sight struct {
	*Input
	v       *Viewer
	profile window.Profile
	model   token.Model
	counter *token.Counter
	budget  int
	lead    int             // leading system messages
	before  token.Breakdown // of the request
	parsed  map[*byte]*chat.Message
}

func (v *Viewer) newSight(in *Input) (*sight, error) {
	s := &sight{Input: in, v: v, parsed: map[*byte]*chat.Message{}}
	var err error
	if s.profile, err = window.LookupProfile(in.Profile); err != nil {
		return nil, err
	}
	s.model = v.o.Models.Lookup(in.Body.Model)
	s.counter = token.NewCounter(s.model, token.Options{Cache: v.o.Cache, Scale: v.o.Calibration.Scale(in.Body.Model)})
	system, _ := thread.Chain(in.Body.Messages)
	s.lead = len(system)
	s.before = s.counter.Request(&in.Body.Request)
	if s.budget, err = s.limit(); err != nil {
		return nil, err
	}
	return s, nil
}

// limit is the most tokens of the view.
func (s *sight) limit() (int, error) {
	limit := s.Budget
	if limit == 0 {
		b, err := window.NewBudget(s.model.WindowFor(s.Betas...), s.Body.MaxOutput, s.model.MaxInput)
		if err != nil {
			return 0, err
		}
		limit = b.Allowed
		if s.profile.Budget > 0 {
			limit = min(limit, s.profile.Budget)
		}
	}
	return s.v.o.Limits.bound(s.Body.Model, limit), nil
}

// managed reports whether the provider manages the window itself, and nobody asked for
// a budget.
func (s *sight) managed() bool {
	return s.Body.Managed != "" && s.Budget == 0 && s.Profile == ""
}

func (s *sight) leave() *Result {
	r := &Result{Body: s.Body.Data(), Before: s.before.Total, After: s.before.Total, Local: s.before.Local, Action: "none", Budget: s.budget}
	if s.Body.Managed != "" {
		r.Why = fmt.Sprintf("the request has %s: its provider manages the window", s.Body.Managed)
	}
	return r
}

// depth is the place of message i of the body in the history, from 1 on; 0 for what is
// no part of it.
func (s *sight) depth(i int) int {
	t := s.Thread
	switch i -= s.lead; {
	case i < 0:
		return 0
	case i >= t.From:
		return len(t.Before) + i - t.From + 1
	case i < t.Head:
		return i + 1
	}
	return 0
}

// show makes the view that goes on from a cut; fresh is the cut that it made, nil for
// none.
func (s *sight) show(ctx context.Context, cut *Cut) (r *Result, fresh *Cut, err error) {
	pieces, err := s.apply(cut)
	if err != nil {
		return nil, nil, err
	}
	e := s.edition(cut, pieces)
	e.fill()
	total := s.count(e.pieces)
	if total.Total > s.budget {
		if err := e.cut(ctx, s.low(), window.Hard); err != nil {
			return nil, nil, err
		}
		total = s.count(e.pieces)
	}
	if ok, err := e.recall(ctx, total.Total); err != nil {
		return nil, nil, err
	} else if ok {
		total = s.count(e.pieces)
	}
	if cut == nil && !e.changed {
		return s.leave(), nil, nil
	}
	r = &Result{Before: s.before.Total, After: total.Total, Local: total.Local, Action: cut.action(), Cut: cut, Budget: s.budget, Recalled: e.recalled}
	if e.changed {
		fresh = e.finish(total.Total)
		r.Cut, r.New, r.Action = fresh, true, fresh.action()
	}
	marked, err := s.remark(e.pieces)
	if err != nil {
		return nil, nil, err
	}
	r.Body, err = s.Body.Write(marked)
	return r, fresh, err
}

func (s *sight) low() int { return int(float64(s.budget) * s.v.o.Low) }

func (c *Cut) action() string {
	if c == nil {
		return "none"
	}
	action := c.Plan.Action
	if len(c.Recalled) > 0 {
		if action == "none" {
			return "recall"
		}
		action += "+recall"
	}
	return action
}

// apply does to the request what a cut did to an earlier one.
func (s *sight) apply(cut *Cut) ([]wire.Piece, error) {
	pieces := s.Body.Whole()
	if cut == nil {
		return pieces, nil
	}
	out := pieces[:0]
	for _, p := range pieces {
		d := s.depth(p.Index)
		if d > 0 && d <= cut.Covers {
			if cut.Gone.Has(d) {
				continue
			}
			p.Raw = cut.Instead[d]
		}
		out = append(out, p)
	}
	if len(out) == 0 {
		return nil, errors.New("a cut leaves nothing of the request")
	}
	return out, nil
}

// message is that of a piece.
func (s *sight) message(p wire.Piece) *chat.Message {
	if p.Raw == nil {
		return &s.Body.Messages[p.Index]
	}
	m := s.parsed[&p.Raw[0]]
	if m == nil {
		read, err := wire.ReadMessage(s.Body.Format, p.Raw)
		if err != nil { // it was made here
			read = chat.Message{Role: s.Body.Messages[p.Index].Role, Raw: p.Raw}
		}
		m = &read
		s.parsed[&p.Raw[0]] = m
	}
	return m
}

// count counts the request with these messages.
func (s *sight) count(pieces []wire.Piece) token.Breakdown {
	if len(pieces) == len(s.Body.Messages) && !slices.ContainsFunc(pieces, func(p wire.Piece) bool { return p.Raw != nil }) {
		return s.before
	}
	sent := s.Body.Request
	sent.Messages = make([]chat.Message, len(pieces))
	for i, p := range pieces {
		sent.Messages[i] = *s.message(p)
	}
	return s.counter.Request(&sent)
}

// remark puts the cache marks that the client set where they belong now: on what is
// sent in the place of a message, and from one that is left out on the nearest before
// it that is sent.
func (s *sight) remark(pieces []wire.Piece) ([]wire.Piece, error) {
	if s.Body.Format == wire.Responses {
		return pieces, nil
	}
	out := slices.Clone(pieces)
	k := 0
	for i := range s.Body.Messages {
		shown := k < len(out) && out[k].Index == i
		if shown {
			k++
		}
		if k == 0 || shown && out[k-1].Raw == nil || !cached(&s.Body.Messages[i]) {
			continue
		}
		p := &out[k-1]
		if !shown && cached(s.message(*p)) {
			continue
		}
		_, mark, err := wire.TakeMarks(s.Body.Format, s.Body.Messages[i].Raw)
		if err != nil {
			return nil, err
		}
		raw := p.Raw
		if raw == nil {
			raw = s.Body.Messages[p.Index].Raw
		}
		raw, ok, err := wire.PutMark(s.Body.Format, raw, mark)
		if err != nil {
			return nil, err
		}
		if ok {
			p.Raw = raw
		}
	}
	return out, nil
}

func cached(m *chat.Message) bool {
	return slices.ContainsFunc(m.Parts, func(p chat.Part) bool { return p.Cached })
}
