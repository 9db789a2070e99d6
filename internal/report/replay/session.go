package replay

import (
	"bytes"
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/internal/report/replay/recording"
	"github.com/oriel-context/oriel/internal/view"
	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/token"
	"github.com/oriel-context/oriel/wire"
)

// A Call is one replayed call, for Options.Each.
type Call struct {
	Session *recording.Session
	// Number counts the calls of the session from 0 on.
	Number   int
	Recorded recording.Call
	Rules    Rules
	// Gap is the time since the last call of the same model; 0 for its first.
	Gap time.Duration
	// Extends reports that the client sent what it had sent last, and more.
	Extends bool
	// Sent has what each policy sent, in the order of the policies; the first is append.
	Sent []Sent
}

// Sent is what one policy sent for a call.
type Sent struct {
	Prompt *Prompt
	// Shared is how much of the prompt the last one of the model began with, too.
	Shared int
	Usage  token.Usage
	// Cost is that of the prompt; see Outcome.Cost.
	Cost float64
	// Cut reports that the policy left something out of this call that it had sent before.
	Cut bool
	// Idle is what a pause had written to the cache again, in tokens.
	Idle int
}

// replayed replays one session: the sink of a recording.
type replayed struct {
	ctx     context.Context
	o       *Options
	rec     *recording.Session
	out     *Session
	cache   *token.Cache
	learnt  *token.Calibration
	history *history // nil without recall
	runs    []*run
	failed  func(what string)

	messages [][]byte
	size     int // bytes of messages
	// remembered are the bytes of all histories since the memory was empty.
	remembered int
	frame      frame
	system     *string // what stands for system prompt and tools; nil before the first call
	model      string
	hour       bool
	wide       bool // a prompt was larger than the model's usual window
	last       time.Time

	begins  bool               // a history begins with the next call
	weights map[uint64]float64 // the tokens of messages, by their sums
	base    float64            // those of system prompt and tools
	counted float64            // as counted here, of all messages with reported tokens,
	weighed float64            // and as reported
}

// leastIdle is the shortest pause that ends Active.
const leastIdle = time.Hour

func (s *replayed) Says(raw []byte) error {
	s.messages = append(s.messages, raw)
	s.size += len(raw)
	s.remembered += len(raw)
	return s.ctx.Err()
}

func (s *replayed) Resets() error {
	s.messages, s.size, s.begins = nil, 0, true
	s.out.Histories++
	if s.remembered > mostRemembered {
		s.begin()
	}
	return nil
}

func (s *replayed) Rewinds(told [][]byte) error {
	s.messages, s.size = slices.Clone(told), 0
	for _, raw := range told {
		s.size += len(raw)
	}
	return nil
}

func (s *replayed) Ends() error {
	s.history.close()
	s.out.Priced = s.runs[0].out.Unpriced < s.out.Calls
	for i, r := range s.runs {
		if !s.out.Priced {
			r.out.Cost = r.out.units
		}
		r.out.finish()
		r.out.CostRatio = 1
		if cost := s.runs[0].out.Cost; i > 0 && cost > 0 {
			r.out.CostRatio = r.out.Cost / cost
		}
	}
	slices.SortStableFunc(s.out.Models, func(a, b ModelUse) int { return b.Calls - a.Calls })
	if s.out.Calls > 0 {
		s.o.report(s.out)
	}
	return nil
}

// Calls replays a call.
func (s *replayed) Calls(c recording.Call, reply [][]byte) error {
	if len(s.messages) == 0 {
		return nil // what came before it was not recorded
	}
	if c.Model == "" {
		c.Model = s.model
	}
	m := s.o.Models.Lookup(c.Model)
	changed := c.Model != s.model && s.out.Calls > 0
	s.model = c.Model
	if u := c.Usage; u.CacheWrite+u.CacheWrite1h > 0 {
		s.hour = u.CacheWrite1h > u.CacheWrite
	}
	s.wide = s.wide || c.Usage.Prompt() > m.Window
	body, err := s.body(&c, m)
	if err != nil {
		s.failed(err.Error())
		return nil
	}
	rules := RulesOf(m, s.hour)
	if s.o.Rules != nil {
		rules = s.o.Rules(m, rules)
	}
	s.time(&c)
	call := &Call{Session: s.rec, Number: s.out.Calls, Recorded: c, Rules: rules, Sent: make([]Sent, len(s.runs))}
	s.out.Calls++
	s.paid(&c, rules)
	replies := s.read(reply)
	for i, r := range s.runs {
		if err := r.show(s, body, m, rules, &c, replies); err != nil {
			return err
		}
		if i == 0 {
			s.weigh(&c, r, changed)
		}
	}
	s.send(call)
	if s.o.Each != nil {
		s.o.Each(call)
	}
	if err := s.history.remember(s.ctx, body, s.messages, s.runs[0].thread, &c); err != nil {
		return err
	}
	for _, r := range s.runs {
		r.measure(body, replies)
	}
	return s.ctx.Err()
}

// read reads the messages of a reply; nil if one cannot be read.
func (s *replayed) read(reply [][]byte) (all []chat.Message) {
	for _, raw := range reply {
		m, err := wire.ReadMessage(s.rec.Format, bytes.Clone(raw))
		if err != nil {
			return nil
		}
		all = append(all, m)
	}
	return all
}

// time notes when a call was. Without a clock, calls follow one another by the second.
func (s *replayed) time(c *recording.Call) {
	if c.At.IsZero() {
		c.At = cmp.Or(s.last, time.Unix(0, 0)).Add(time.Second)
	}
	if s.out.Began.IsZero() {
		s.out.Began = c.At
	} else if gap := c.At.Sub(s.last); gap > 0 && gap < leastIdle {
		s.out.Active += gap
	}
	s.out.Ended = c.At
	s.last = c.At
}

// paid adds what was recorded of a call.
func (s *replayed) paid(c *recording.Call, r Rules) {
	i := slices.IndexFunc(s.out.Models, func(m ModelUse) bool { return m.Model == c.Model })
	if i < 0 {
		i = len(s.out.Models)
		s.out.Models = append(s.out.Models, ModelUse{Model: c.Model})
	}
	s.out.Models[i].Calls++
	if c.Reported {
		s.out.Models[i].Paid.call(r, c.Usage)
		s.out.Paid.call(r, c.Usage)
	}
}

// weigh sets the tokens of what is new in a call, so that the prompt has the size that was
// reported.
func (s *replayed) weigh(c *recording.Call, r *run, changed bool) {
	line := &r.came
	reported := float64(c.Usage.Prompt())
	if c.Reported && reported > 0 {
		s.learnt.Observe(token.LearntKey(timeline.Local, c.Model), r.shown.Local, c.Usage.Prompt())
	}
	_, base := line.Part(0)
	if changed {
		clear(s.weights)
		s.begins = true
	}
	if len(s.weights) == 0 { // the first call of a model
		scale := 1.0
		if total := r.shown.Before; c.Reported && total > 0 {
			scale = within(reported/float64(total), .3, 3)
		}
		s.counted, s.weighed = 1, scale
		s.base = float64(base) * scale
	}
	known, fresh := 0.0, 0.0
	for i := 1; i < line.Len(); i++ {
		sum, tokens := line.Part(i)
		if w, ok := s.weights[sum]; ok {
			known += w
		} else {
			fresh += float64(tokens)
		}
	}
	scale := s.scale()
	if c.Reported && fresh > 0 && !s.begins { // what is more than was counted is new, too
		scale = max((reported-s.base-known)/fresh, scale/3)
		s.counted, s.weighed = s.counted+fresh, s.weighed+fresh*within(scale, s.scale()/3, s.scale()*3)
	}
	for i := 1; i < line.Len(); i++ {
		sum, tokens := line.Part(i)
		if _, ok := s.weights[sum]; !ok {
			s.weights[sum] = float64(tokens) * scale
			known += s.weights[sum]
		}
	}
	if !c.Reported {
		return
	}
	if more := s.base + known - reported; more > 0 && !s.begins {
		known -= s.shrink(line, more)
	}
	// The rest is what no recording has: system prompt, tools, what follows a compaction.
	s.base = max(0, reported-known)
	s.begins = false
}

// Of a history that an agent has emptied, or of whose thinking the provider keeps nothing, the
// newest messages are whole, and of others something is left.
const (
	keptWhole = 4
	keptOf    = 40 // tokens
)

// shrink takes tokens from the oldest large messages and returns how many. Recordings do not
// say which results their agents left out.
func (s *replayed) shrink(line *view.Line, tokens float64) (taken float64) {
	for i := 2; i < line.Len()-keptWhole && taken < tokens; i++ {
		sum, _ := line.Part(i)
		if less := min(s.weights[sum]-keptOf, tokens-taken); less > 0 {
			s.weights[sum] -= less
			taken += less
		}
	}
	return taken
}

func (s *replayed) scale() float64 { return s.weighed / max(1, s.counted) }

func within(x, low, high float64) float64 { return min(max(x, low), high) }

// prompt returns a line as its provider's cache sees it.
func (s *replayed) prompt(c *recording.Call, line *view.Line) *Prompt {
	p := &Prompt{Model: c.Model, At: c.At, Parts: make([]Part, line.Len())}
	for i := range p.Parts {
		sum, tokens := line.Part(i)
		w, ok := s.weights[sum]
		if i == 0 {
			w, ok = s.base, true
		}
		if !ok {
			w = float64(tokens) * s.scale()
		}
		p.Parts[i] = Part{sum, w}
	}
	return p
}
