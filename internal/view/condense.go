package view

import (
	"cmp"
	"context"
	"sync"
	"time"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/condense"
	"github.com/oriel-context/oriel/internal/limit"
	"github.com/oriel-context/oriel/internal/plan"
	"github.com/oriel-context/oriel/internal/prompt"
	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/window"
	"github.com/oriel-context/oriel/wire"
)

// Condensing has a model summarise what cuts leave out (SPEC B3, B5). By
// default it works in the background and nobody waits: a cut has its digest,
// and the model's summary replaces the digest at the next cut, never between
// two. Inline, a cut waits for the summary, and uses the digest if it does not
// come in time.
//
// NewCondensing makes one. It is safe for concurrent use.
type Condensing struct {
	o     CondenseOptions
	ctx   context.Context
	stop  context.CancelFunc
	turns chan struct{} // one for each summary that may be written at a time
	asks  limit.Work    // the condenser's

	mu      sync.Mutex // protects what follows
	running map[string]bool
	next    map[string]func()
	closed  bool
	jobs    sync.WaitGroup
}

// CondenseOptions configures NewCondensing.
type CondenseOptions struct {
	// Condenser calls the model.
	Condenser condense.Condenser
	// Inline makes cuts wait.
	Inline bool
	// Wait is the longest that a summary may take. Default: two minutes, inline 20
	// seconds.
	Wait time.Duration
	// Max is the most tokens of a summary. Default 1,024.
	Max int
	// Done is called with every summary that was tried in the background.
	Done func(plan.Summary)
}

// atOnce is how many summaries are written at the same time, over all
// conversations.
const atOnce = 4

// DefaultInlineWait is the default of CondenseOptions.Wait for inline summaries.
const DefaultInlineWait = 20 * time.Second

// NewCondensing returns a Condensing. Close ends its work.
func NewCondensing(o CondenseOptions) *Condensing {
	if o.Wait == 0 {
		o.Wait = 2 * time.Minute
		if o.Inline {
			o.Wait = DefaultInlineWait
		}
	}
	o.Max = cmp.Or(o.Max, 1024)
	c := &Condensing{o: o, turns: make(chan struct{}, atOnce), running: map[string]bool{}, next: map[string]func(){}}
	c.ctx, c.stop = context.WithCancel(context.Background())
	return c
}

// Close cancels running summaries and waits for them.
func (c *Condensing) Close() {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.stop()
	c.jobs.Wait()
}

// foldOf returns the fold of a plan that follows the plan before, or nil if
// nothing is left out.
func foldOf(before, c *plan.Plan) *plan.Fold {
	switch {
	case c.Dropped.Len() == 0:
		return nil
	case before != nil && before.Fold != nil && before.Dropped.String() == c.Dropped.String():
		return before.Fold
	}
	return &plan.Fold{Plan: c.ID}
}

// use makes a cut use the model's condenser, or extends what the model wrote before.
func (c *Condensing) use(o *window.Options, earlier *plan.Summary, s *request) {
	switch {
	case c == nil:
	case c.o.Inline:
		o.SummaryMax = min(c.o.Max, max(o.Low/4, 64))
		o.Condenser = condense.Func(func(ctx context.Context, in condense.Input) (condense.Output, error) {
			s.askedModel = true
			return limit.Spend(ctx, &c.asks, &s.summaryTime,
				func(ctx context.Context) (condense.Output, error) { return c.o.Condenser.Condense(ctx, in) })
		})
	case earlier != nil:
		o.SummaryMax = min(2*c.o.Max, max(o.Low/4, 64))
		o.Condenser = condense.Func(extend)
	}
}

// sinceThen separates a summary from the digest of what left after it.
const sinceThen = "\n\nSince then:\n"

// extend keeps a model's summary unchanged and adds a digest of what left
// since.
func extend(ctx context.Context, in condense.Input) (condense.Output, error) {
	rest := in
	rest.Previous, rest.Max = "", in.Max-in.Count(in.Previous+sinceThen)
	if in.Previous == "" || rest.Max < leastRecall {
		return condense.Digest{}.Condense(ctx, in)
	}
	out, err := condense.Digest{}.Condense(ctx, rest)
	if err != nil {
		return out, err
	}
	if out.Kind = condense.KindSummary; out.Text == "" { // nothing worth saying
		out.Text = in.Previous
	} else {
		out.Text = in.Previous + sinceThen + out.Text
	}
	return out, nil
}

// summarised replaces the digest by the model's summary of the same messages
// and returns its cost, or nil if there is none.
func (e *draft) summarised() (s *plan.Summary, cost float64) {
	if e.before == nil || e.before.Fold == nil {
		return nil, 0
	}
	if s = e.before.Fold.Summary.Load(); s == nil {
		return nil, 0
	}
	for k := range e.pieces {
		m := e.message(e.pieces[k])
		for j := range m.Parts {
			p := &m.Parts[j]
			if m.Role != chat.User || !e.wrote(k, p) || !condense.IsSummary(p.Text.String()) {
				continue
			}
			text := string(e.named([]byte(s.Text)))
			if p.Text.String() == text {
				return s, 0 // it was used before
			}
			raw, err := wire.ReplaceTexts(e.Body.Format, m.Raw, map[int]string{j: text})
			if err == nil {
				raw, _, err = wire.WithoutCacheMarks(e.Body.Format, raw)
			}
			if err != nil {
				return nil, 0
			}
			e.set(k, raw)
			in := window.Insertion{Kind: condense.KindSummary, Into: e.depth(e.pieces[k].Index), Tokens: s.After,
				Text: text}
			for i := range e.inserted {
				if sameInsertion(e.inserted[i], in) {
					e.inserted[i] = in
				}
			}
			return s, s.Cost
		}
	}
	return nil, 0
}

// sameInsertion reports whether one text replaces another.
func sameInsertion(a, b window.Insertion) bool {
	tells := func(kind string) bool { return kind == condense.KindDigest || kind == condense.KindSummary }
	return a.Into == b.Into && (a.Kind == b.Kind || tells(a.Kind) && tells(b.Kind))
}

// follow has a summary of a new cut written in the background: one at a time
// per conversation, and of those that wait only the latest.
func (c *Condensing) follow(s *request, before, fresh *plan.Plan) {
	if c == nil || c.o.Inline || fresh.Fold == nil || fresh.Fold.Plan != fresh.ID {
		return
	}
	in, base := s.span(before, fresh)
	if len(in) == 0 {
		return
	}
	f := fresh.Fold
	sum := plan.Summary{Tenant: s.Thread.Tenant, Conversation: s.Thread.Conversation, Plan: fresh.ID,
		Model: s.Body.Model, Messages: len(in)}
	count := func(text string) int { return s.counter.Text(text).Tokens }
	tool, omit := prompt.FindRecall(&s.Body.Request), s.omit
	for i := range in {
		sum.Before += s.counter.Message(&in[i]).Tokens
	}
	key := s.Thread.Tenant + "\x00" + s.Thread.Conversation
	job := func() {
		out, err := c.Ask(c.ctx, condense.Input{Messages: in, Previous: base, Max: c.o.Max, Count: count, Tool: tool,
			Omit: omit})
		sum.Text, sum.Cost, sum.Err = out.Text, out.Cost, err
		if err != nil {
			sum.Text, sum.Cost = "", costOf(err)
		} else {
			sum.After = count(out.Text)
			f.Summary.Store(&sum)
		}
		if c.o.Done != nil {
			c.o.Done(sum)
		}
	}
	c.run(key, job)
}

// Ask returns a summary, within CondenseOptions.Wait.
func (c *Condensing) Ask(ctx context.Context, in condense.Input) (condense.Output, error) {
	ctx, cancel := context.WithTimeout(ctx, c.o.Wait)
	defer cancel()
	return condense.Run(ctx, condense.Func(func(ctx context.Context, in condense.Input) (condense.Output, error) {
		return limit.Do(ctx, &c.asks,
			func(ctx context.Context) (condense.Output, error) { return c.o.Condenser.Condense(ctx, in) })
	}), in)
}

// Follow has a summary written in the background and calls done with it: one at a time for
// each key, and of those that wait only the latest.
func (c *Condensing) Follow(key string, in condense.Input, done func(condense.Output, error)) {
	c.run(key, func() { done(c.Ask(c.ctx, in)) })
}

// Inline reports whether callers wait for summaries.
func (c *Condensing) Inline() bool { return c.o.Inline }

// Max returns the most tokens of a summary.
func (c *Condensing) Max() int { return c.o.Max }

// run runs jobs one after another for each key.
func (c *Condensing) run(key string, job func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return
	}
	if c.running[key] {
		c.next[key] = job
		return
	}
	c.running[key] = true
	c.jobs.Add(1)
	go func() {
		defer c.jobs.Done()
		for job != nil {
			select {
			case c.turns <- struct{}{}:
				job()
				<-c.turns
			case <-c.ctx.Done():
			}
			c.mu.Lock()
			if job = c.next[key]; job == nil || c.closed {
				job = nil
				delete(c.running, key)
			}
			delete(c.next, key)
			c.mu.Unlock()
		}
	}()
}

// span returns what a summary of a cut is made from: all messages that are
// left out, or the last summary and the messages that left since.
func (s *request) span(before, fresh *plan.Plan) (messages []chat.Message, base string) {
	var known timeline.Ranges
	if before != nil && before.Fold != nil {
		if sum := before.Fold.Summary.Load(); sum != nil {
			known, base = before.Dropped, sum.Text
		}
	}
	for i := range s.Body.Messages {
		if d := s.depth(i); d > 0 && fresh.Dropped.Has(d) && !known.Has(d) {
			messages = append(messages, s.Body.Messages[i])
		}
	}
	return messages, base
}

// costOf returns what a failed summary was charged.
func costOf(err error) float64 {
	if failed, ok := err.(*condense.Error); ok { // Run returns no other
		return failed.Cost
	}
	return 0
}
