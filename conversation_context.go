package oriel

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/items"
	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/window"
)

// ContextOptions are the settings of one view. The zero value shows as much of the
// window as its size allows.
type ContextOptions struct {
	// Budget is the most tokens that the view may have. Default: the present size
	// of the window. Never more than Config.Model takes is used.
	Budget int
	// Relevant are items from elsewhere that bear on the query, best first. They
	// go before what is recalled. What the view shows already is not repeated.
	Relevant []Item
	// Recall says what is wanted of the history.
	Recall RecallOptions
	// NoRecall shows nothing of the history beyond the window, and no directives.
	NoRecall bool
	// RecentShare is the part of the room that recent items may claim, above 0
	// and at most 1. Default 0.5. What either side does not use the other may.
	RecentShare float64
	// QueryEmbedding is the query's vector; without it the query is embedded, unless
	// Config.NoEmbedItems or NoEmbed is set. Until the next call of Context,
	// relevance counts nearness to it where items have embeddings. Default: none.
	QueryEmbedding []float32
}

// View is what a model is shown. Text and Messages say the same; either is within
// the budget.
type View struct {
	// Messages are chat messages, for wire.Encode: roles user and assistant take
	// turns, the first is the user's, the query is the last part of the last. An
	// item is a part; items of other sources than user and assistant are the
	// user's, behind a label such as "[file] ". Four tokens are reckoned for what
	// a provider puts around a message.
	Messages []chat.Message
	// Text is the view as one text with the titles "# Recent Context", "# Relevant
	// Historical Context" (if there is any) and "# Current Query".
	Text string
	// Tokens is the size of Text.
	Tokens int
	// Recent and Relevant are the items that are shown, in the order of time. The
	// content of a recalled item is what is shown of it. It has its ID, unless it
	// is another conversation's or is in view without its middle: then its Meta
	// has its block under MetaBlock.
	Recent, Relevant []Item
	// Plan has a verdict with a reason for every item of the window. Undo of its
	// id brings back what it left out.
	Plan *Plan
	// State is what the conversation is busy with.
	State items.State
}

// Context gives the view for a query: what is pinned or held, the newest items, what
// is relevant, and the query, within the budget. If anything of the conversation
// since the last Clear is not shown, a marker at the beginning tells the model so.
//
// Relevant is what the caller gives, what the user wants at all times (Directives),
// and what the history has to say about the query (Recall), all without what is in
// view. Of an item that is in view without its middle, the middle can be recalled.
// Recall has half of the time that ctx has, and goes by what it knows by then; if it
// fails, the view comes without it and a warning in the plan says so.
//
// The query need not be added before. If the newest item is the query itself, it is
// not repeated. A blank query leaves messages that end with the newest item. A query
// that is over the budget loses its middle and a warning in the plan says so; a
// budget in which no query fits is refused with the numbers.
//
// Context adds nothing to the history and takes nothing out of the window. Where it
// fails it changes nothing at all.
func (c *Conversation) Context(ctx context.Context, query string, o ContextOptions) (View, error) {
	const op = "make context"
	switch {
	case o.Budget < 0:
		return View{}, c.fail(op, fmt.Errorf("%w: Budget %d", ErrConfig, o.Budget), "give a number above 0, or 0 for the size of the window")
	case !(o.RecentShare >= 0 && o.RecentShare <= 1):
		return View{}, c.fail(op, fmt.Errorf("%w: RecentShare %g", ErrConfig, o.RecentShare), "give a share above 0 and at most 1, or 0 for a half")
	}
	if err := o.Recall.check(); err != nil {
		return View{}, c.fail(op, err, "")
	}
	var s *viewInput
	err := c.run(ctx, op, func(p *loaded) error {
		s = p.viewInput(query, o)
		return nil
	})
	if err != nil {
		return View{}, err
	}
	if !o.NoRecall {
		c.remember(ctx, s, &o)
	}
	// Counting takes its time, and nobody has to wait for it.
	draft, err := s.compose()
	if err != nil {
		return View{}, c.fail(op, err, "give a larger budget or a shorter query")
	}
	plan := c.engine.newPlan(s.policy, s.budget)
	s.explain(plan, draft)
	v := View{
		Messages: draft.messages, Text: draft.text, Tokens: draft.tokens, Relevant: itemsOut(draft.relevant),
		Recent: itemsOut(slices.DeleteFunc(draft.recent, isMarker)), Plan: (*Plan)(plan), State: s.state,
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

// viewInput is all that a view is made from.
type viewInput struct {
	items    []items.Item // of the window
	held     map[int64]bool
	policy   string
	at       timeline.Place // where the conversation stands
	state    items.State
	hidden   bool // some items since the last Clear are not in the window
	relevant []items.Item
	query    string
	asked    int // the item that is the query, or -1
	budget   int
	share    float64
	warnings []string
	failed   error // of recall
	count    func(string) int
}

// viewInput takes down what a view needs.
func (p *loaded) viewInput(query string, o ContextOptions) *viewInput {
	limit, _ := p.window.Limits()
	s := &viewInput{
		items: p.handOut(p.window.Items(0)), held: maps.Clone(p.held), policy: p.policy, query: query, asked: -1,
		at: p.stored.Head, state: p.tracker.State(), budget: cmp.Or(o.Budget, limit), share: o.RecentShare, count: remember(p.engine.config.Count),
	}
	if most := p.engine.bounded(s.budget); most < s.budget {
		s.warnings = append(s.warnings, fmt.Sprintf("a budget of %d tokens is more than the model takes: %d are used", s.budget, most))
		s.budget = most
	}
	for _, it := range o.Relevant {
		s.relevant = append(s.relevant, clone(items.Item(it)))
	}
	since := int64(0)
	for i := range s.items {
		if s.items[i].ID > p.cleared {
			since++
		}
	}
	s.hidden = since < p.last()-p.cleared
	if n := len(s.items); n > 0 && strings.TrimSpace(query) != "" {
		if newest := &s.items[n-1]; newest.Source == items.SourceUser && newest.Whole() == query {
			s.asked = n - 1
		}
	}
	return s
}

// remember counts a text once.
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

// keeps reports whether an item has precedence.
func (s *viewInput) keeps(it *items.Item) bool { return it.Pinned() || s.held[it.ID] }

// explain writes down what became of every item.
func (s *viewInput) explain(p *window.Plan, d *draft) {
	shown := map[int64]*items.Item{}
	for i := range d.recent {
		shown[d.recent[i].ID] = &d.recent[i]
	}
	p.TokensAfter, p.TokensBefore = d.tokens, d.tokens
	for i := range s.items {
		it := &s.items[i]
		b := window.Block{Index: int(it.ID), Role: roleOf(it.Source), Tokens: it.Tokens, Verdict: window.Keep, Pinned: it.Pinned()}
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
			p.TokensBefore += max(0, it.Tokens-now.Tokens)
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
		p.Insert(window.Insertion{Kind: "recall", Into: len(d.messages) - 1, Tokens: s.count(text), Text: text, Block: blockOf(&it)})
	}
	if d.opening != "" {
		p.Insert(window.Insertion{Kind: "marker", Into: 0, Tokens: s.count(d.opening), Text: d.opening})
	}
	p.Warnings = s.warnings
	if d.query != s.query {
		p.Warnings = append(p.Warnings, fmt.Sprintf("the query has %d tokens: its middle is left out to fit in %d", s.count(s.query), s.budget))
		p.Raise("trim")
	}
}

// tell tells those who listen what was recalled, and what failed.
func (s *viewInput) tell(p *loaded, plan *window.Plan) {
	e := Event{Kind: EventRecall, TokensBefore: plan.TokensAfter, TokensAfter: plan.TokensAfter}
	for _, in := range plan.Inserted {
		if in.Kind == "recall" {
			e.TokensBefore -= in.Tokens
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
