package engine

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/internal/engine/fault"
	"github.com/oriel-context/oriel/internal/event"
	"github.com/oriel-context/oriel/items"
	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/window"
)

// ContextOptions are the settings of one view. The zero value shows as much of the window
// as its size allows.
type ContextOptions struct {
	// Budget is the most tokens that the view may have. Default: the current size of the
	// window. It is limited to what Config.Model accepts.
	Budget int
	// Relevant are items from elsewhere that are relevant to the query, best first. They
	// precede what is recalled. Items that the view shows already are not repeated.
	Relevant []items.Item
	// Recall configures the search of the history.
	Recall RecallOptions
	// NoRecall turns recall and directives off.
	NoRecall bool
	// RecentShare is the share of the room for recent items, above 0 and at most 1.
	// Default 0.5. Room that recent items do not use goes to relevant ones, and the other
	// way round.
	RecentShare float64
	// QueryEmbedding is the query's vector. Default: the query is embedded, unless
	// Config.NoEmbedItems or NoEmbed is set. Until the next call of Context, relevance
	// compares the embeddings of items with it.
	QueryEmbedding []float32
}

// View is what a model is shown. Text and Messages have the same contents; each is within
// the budget.
type View struct {
	// Messages are chat messages, for wire.Encode. The roles user and assistant
	// alternate, the first message is the user's, and the query is the last part of the
	// last message. An item is a part; items of other sources than user and assistant
	// belong to the user, with a label such as "[file] ". Each message counts four tokens
	// for what a provider adds to it.
	Messages []chat.Message
	// Text is the view as one text with the titles "# Recent Context", "# Relevant
	// Historical Context" (if there is any) and "# Current Query".
	Text string
	// Tokens is the size of Text.
	Tokens int
	// Recent and Relevant are the items that are shown, by time. The content of a
	// recalled item is the part of it that is shown. A recalled item has its ID, unless
	// it belongs to another conversation or is in view without its middle: then its Meta
	// names its block under MetaBlock.
	Recent, Relevant []items.Item
	// Plan has a verdict with a reason for every item of the window. Undo with its id
	// brings back what it left out.
	Plan *window.Plan
	// State is that of Status.
	State items.State
}

// Context implements oriel.Conversation.Context.
func (c *Conversation) Context(ctx context.Context, query string, o ContextOptions) (View, error) {
	const op = "make context"
	switch {
	case o.Budget < 0:
		return View{}, c.fail(op, fmt.Errorf("%w: Budget %d", fault.ErrConfig, o.Budget),
			"give a number above 0, or 0 for the size of the window")
	case !(o.RecentShare >= 0 && o.RecentShare <= 1):
		return View{}, c.fail(op, fmt.Errorf("%w: RecentShare %g", fault.ErrConfig, o.RecentShare),
			"give a share above 0 and at most 1, or 0 for a half")
	}
	if err := o.Recall.check(); err != nil {
		return View{}, c.fail(op, err, "")
	}
	var s *viewInput
	var asked *summaryJob
	err := c.run(ctx, op, func(p *loaded) error {
		if err := p.fold(ctx); err != nil {
			return err
		}
		s = p.viewInput(query, o)
		asked = p.folding.job
		return nil
	})
	if err != nil {
		return View{}, err
	}
	if asked != nil {
		if err := c.awaitSummary(ctx, s, asked); err != nil {
			return View{}, err
		}
	}
	s.fitDigest(ctx)
	if !o.NoRecall {
		c.remember(ctx, s, &o)
	}
	// Counting takes time, so it happens without the lock.
	draft, err := s.compose()
	if err != nil {
		return View{}, c.fail(op, err, "give a larger budget or a shorter query")
	}
	plan := c.engine.newPlan(s.policy, s.budget)
	s.explain(plan, draft)
	v := View{
		Messages: draft.messages, Text: draft.text, Tokens: draft.tokens, Relevant: draft.relevant,
		Recent: slices.DeleteFunc(draft.recent, isOpening), Plan: plan, State: s.state,
	}
	cut := c.engine.newPlan(s.policy, s.budget)
	cut.TokensBefore, cut.TokensAfter = plan.TokensBefore, plan.TokensAfter
	for _, b := range plan.Blocks {
		if b.Verdict == window.Evict {
			b.Reason = fmt.Sprintf("no room in a view of %d tokens", s.budget)
			cut.Judge(b)
		}
	}
	meaning := slices.Clone(o.QueryEmbedding)
	if meaning == nil && s.policy == string(items.ByRelevance) {
		meaning = c.engine.meanings.queryMeaning(ctx, query)
	}
	err = c.run(ctx, op, func(p *loaded) (err error) {
		p.query = meaning
		p.window.SetQuery(p.query)
		plan.Undo, err = p.book(cut)
		s.tell(p, plan)
		return err
	})
	if err != nil {
		return View{}, err
	}
	return v, nil
}

// viewInput is everything that a view is made from.
type viewInput struct {
	items  []items.Item // of the window
	held   map[int64]bool
	policy string
	at     timeline.Place // where the conversation stands
	state  items.State
	hidden bool // some items since the last Clear are not in the window
	note   note // what stands for them
	// written reports that a model wrote the note for this view, and paid is its cost.
	written bool
	paid    float64
	// digest is the note within the room of the view, and digestKind its kind; see shorten.
	digest, digestKind string
	relevant           []items.Item
	query              string
	asked              int // the item that is the query, or -1
	budget             int
	share              float64
	warnings           []string
	failed             error // of recall
	count              func(string) int
}

// viewInput copies what a view needs, so that it can be composed without the lock.
func (p *loaded) viewInput(query string, o ContextOptions) *viewInput {
	limit, _ := p.window.Limits()
	s := &viewInput{
		items: p.handOut(p.window.Items(0)), held: maps.Clone(p.held), policy: p.policy, query: query, asked: -1,
		at: p.stored.Head, state: p.tracker.State(), budget: cmp.Or(o.Budget, limit), share: o.RecentShare,
		count: remember(p.engine.config.Count),
	}
	if most := p.engine.bounded(s.budget); most < s.budget {
		s.warnings = append(s.warnings, fmt.Sprintf("a budget of %d tokens is more than the model takes: %d are used",
			s.budget, most))
		s.budget = most
	}
	for _, it := range o.Relevant {
		s.relevant = append(s.relevant, clone(it))
	}
	since := int64(0)
	for i := range s.items {
		if s.items[i].ID > p.cleared {
			since++
		}
	}
	if s.hidden = since < p.last()-p.cleared; s.hidden {
		s.note = note{p.folding.Body, p.folding.Kind, p.folding.Of}
	}
	if n := len(s.items); n > 0 && strings.TrimSpace(query) != "" {
		if newest := &s.items[n-1]; newest.Source == items.SourceUser && newest.Whole() == query {
			s.asked = n - 1
		}
	}
	return s
}

// remember returns a counter that counts each text once.
func remember(count func(string) int) func(string) int {
	known := map[string]int{}
	return func(s string) int {
		n, ok := known[s]
		if !ok {
			n = count(s)
			known[s] = n
		}
		return n
	}
}

// keeps reports whether an item is pinned or held, and so takes precedence.
func (s *viewInput) keeps(it *items.Item) bool { return it.Pinned() || s.held[it.ID] }

// explain adds the verdicts on all items, and what was inserted, to a plan.
func (s *viewInput) explain(p *window.Plan, d *draft) {
	shown := map[int64]*items.Item{}
	for i := range d.recent {
		shown[d.recent[i].ID] = &d.recent[i]
	}
	p.TokensAfter, p.TokensBefore = d.tokens, d.tokens
	for i := range s.items {
		it := &s.items[i]
		b := window.Block{Index: int(it.ID), Role: roleOf(it.Source), Tokens: it.Tokens, Verdict: window.Keep,
			Pinned: it.Pinned()}
		now := shown[it.ID]
		switch {
		case i == s.asked:
			b.Reason = "the query itself"
		case now == nil:
			b.Verdict = window.Evict
			b.Reason = fmt.Sprintf("older than what fits in %d tokens", s.budget)
			switch {
			case s.keeps(it):
				b.Reason = fmt.Sprintf("pinned or held, but %d tokens have no room for it", s.budget)
			case i == len(s.items)-1:
				b.Reason = fmt.Sprintf("the query leaves no room for it in %d tokens", s.budget)
			}
			p.TokensBefore += it.Tokens
		case now.Content != it.Content:
			b.Verdict = window.Trim
			b.Reason = fmt.Sprintf("the newest item: only without its middle it fits in %d tokens", s.budget)
			b.Lost = max(0, it.Tokens-now.Tokens)
			p.TokensBefore += b.Lost
		case it.Full != "":
			b.Verdict = window.Trim
			b.Reason = "larger than the window: its middle is left out"
		case it.Pinned():
			b.Reason = "pinned"
		case s.held[it.ID]:
			b.Reason = "held since an undo"
		case i == len(s.items)-1:
			b.Reason = "the newest item"
		default:
			b.Reason = "recent"
		}
		p.Judge(b)
	}
	for _, it := range d.relevant {
		text := items.RelevantEntry(&it)
		p.Insert(window.Insertion{Kind: "recall", Into: d.into, Tokens: s.count(text), Text: text, Block: blockOf(&it)})
	}
	for _, in := range d.openings {
		p.Insert(window.Insertion{Kind: in.kind, Into: 0, Tokens: s.count(in.text), Text: in.text})
		if in.kind != kindMarker {
			p.Summary = window.Summary{Text: in.text, Cost: s.paid}
		}
	}
	if s.written {
		p.Raise("condense")
	}
	p.Warnings = s.warnings
	if d.query != s.query {
		p.Warnings = append(p.Warnings, fmt.Sprintf("the query has %d tokens: its middle is left out to fit in %d",
			s.count(s.query), s.budget))
		p.Raise("trim")
	}
}

// tell queues the event that reports what was recalled, and what failed.
func (s *viewInput) tell(p *loaded, plan *window.Plan) {
	e := event.Event{Kind: event.Recall, Plan: plan.Undo, TokensBefore: plan.TokensAfter, TokensAfter: plan.TokensAfter}
	for _, in := range plan.Inserted {
		if in.Kind == "recall" {
			e.TokensBefore -= in.Tokens
			e.Recalled += in.Tokens
			e.Items++
		}
	}
	if s.failed != nil {
		e.Error = s.failed.Error()
	}
	if e.Items > 0 || s.failed != nil {
		p.tellEvent(e)
	}
}
