package composition

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"math"
	"slices"
	"sort"
	"time"

	"github.com/oriel-context/oriel/internal/call"
	"github.com/oriel-context/oriel/internal/number"
	"github.com/oriel-context/oriel/internal/report/usage"
	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/token"
)

// Total is what filled the windows of all calls since a time. Of the calls of a
// conversation that were sent by the same plan only the newest is taken to pieces: those
// before it had the same, as far as their messages go.
type Total struct {
	Since time.Time `json:"since"`
	// Calls is how many calls there were.
	Calls int `json:"calls"`
	// Read is how many of them the figures below cover: some bodies are not kept, and of the others
	// only the maxRead with the most tokens are analysed.
	Read int `json:"read"`
	// Tokens are those of all prompts that are covered, as package usage counts them: as the
	// providers did. Kinds add up to them; Largest and Unused are as counted here.
	Tokens int `json:"tokens"`
	// Cost is the price of these prompts in US dollars, without output and without those of
	// UnknownModels.
	Cost float64 `json:"cost"`
	// UnknownModels are the models without a price.
	UnknownModels []string `json:"unknown_models"`
	// Kinds are in the order of the constants.
	Kinds []TotalShare `json:"kinds"`
	// Largest are the things that took the most tokens in all.
	Largest []TotalThing `json:"largest"`
	// Unused are the tools that were sent and that no request ever called.
	Unused []TotalTool `json:"unused"`
}

// TotalShare is how much of all prompts something took. Its Cost is that of a prompt in
// proportion to tokens.
type TotalShare struct {
	Kind   Kind   `json:"kind"`
	Name   string `json:"name,omitempty"`
	Count  int    `json:"count"`
	Tokens int    `json:"tokens"`
	// Share is the share of all tokens, from 0 to 1.
	Share float64 `json:"share"`
	// Cost is its share of the cost.
	Cost float64 `json:"cost"`
}

// TotalThing is one thing that was sent with many calls.
type TotalThing struct {
	Kind Kind   `json:"kind"`
	Name string `json:"name,omitempty"`
	// Conversation is that of its message; empty for what has none, such as a tool's definition.
	Conversation string `json:"conversation"`
	// ID is that of the message.
	ID int64 `json:"id,omitempty"`
	// Tokens is its size at one time.
	Tokens int `json:"tokens"`
	// Calls is how often it was sent.
	Calls int `json:"calls"`
	// Total is its tokens in all.
	Total int     `json:"total"`
	Cost  float64 `json:"cost"`
	Text  string  `json:"text,omitempty"`
}

// TotalTool is a tool that was sent and never called.
type TotalTool struct {
	Name   string `json:"name"`
	Server string `json:"server,omitempty"`
	// Tokens is its size at one time.
	Tokens int     `json:"tokens"`
	Calls  int     `json:"calls"`
	Total  int     `json:"total"`
	Cost   float64 `json:"cost"`
}

// maxRead is how many requests are taken to pieces at most.
const maxRead = 32

// group is the calls of a conversation that one model was sent by the same plan, sorted by
// their last messages, those with the most messages first.
type group struct {
	conversation string
	calls        []groupCall
	tokens       int
}

// groupCall is a call with the price of a token of its prompt.
type groupCall struct {
	id   string
	last int64
	rate float64
	sum  float64 // of the rates up to this one
	// prompt is the size of the prompt as the provider counted it; known reports whether the
	// model has a price.
	prompt int
	model  string
	known  bool
}

// from returns how many calls had a message, and the sum of their rates.
func (g *group) from(id int64) (calls int, rates float64) {
	n := sort.Search(len(g.calls), func(i int) bool { return g.calls[i].last < id })
	if n == 0 {
		return 0, 0
	}
	return n, g.calls[n-1].sum
}

// ReadTotal reads what filled the windows of a tenant's calls since a time.
func ReadTotal(ctx context.Context, store timeline.Store, calls *usage.Reader, tenant string, since time.Time,
	o Options) (*Total, error) {
	o.complete()
	t := &Total{Since: since.UTC(), Kinds: []TotalShare{}, Largest: []TotalThing{}, Unused: []TotalTool{},
		UnknownModels: []string{}}
	groups, err := t.groups(ctx, calls, tenant, since, &o)
	if err != nil {
		return nil, err
	}
	s := &totalSum{Total: t, kinds: map[[2]string]*TotalShare{}, things: map[thingKey]*TotalThing{},
		used: map[string]bool{}}
	for i := range groups[:min(len(groups), maxRead)] {
		if err := s.add(ctx, store, tenant, &groups[i], &o); err != nil {
			return nil, err
		}
	}
	s.finish(o.Largest)
	return t, nil
}

// groups returns the groups of calls, those with the most tokens first.
func (t *Total) groups(ctx context.Context, calls *usage.Reader, tenant string, since time.Time,
	o *Options) ([]group, error) {
	var groups []group
	err := calls.Visit(ctx, tenant, usage.Options{Since: since, Models: o.Models},
		func(c *timeline.Conversation, list []usage.Priced, _ []usage.Paid) error {
			at := map[[2]string]int{}
			for i := range list {
				p := &list[i]
				t.Calls++
				if p.Plan == "" && p.Sent != p.Came || !p.Billed {
					continue // its body is not kept, or nothing was paid
				}
				key := [2]string{p.Model, p.Plan}
				k, ok := at[key]
				if !ok {
					k = len(groups)
					at[key] = k
					groups = append(groups, group{conversation: c.Name})
				}
				groups[k].calls = append(groups[k].calls, groupCall{id: p.ID, last: p.Last, rate: rate(p, o.Models),
					prompt: p.Price.Usage.Prompt(), model: p.Model, known: p.Known})
				groups[k].tokens += p.Sent
			}
			return nil
		})
	for i := range groups {
		slices.SortStableFunc(groups[i].calls, func(a, b groupCall) int { return cmp.Compare(b.last, a.last) })
		sum := 0.0
		for k := range groups[i].calls {
			sum += groups[i].calls[k].rate
			groups[i].calls[k].sum = sum
		}
	}
	slices.SortStableFunc(groups, func(a, b group) int { return cmp.Compare(b.tokens, a.tokens) })
	return groups, err
}

// rate returns the price of a token of a call's prompt, on average.
func rate(p *usage.Priced, models *token.Models) float64 {
	if !p.Known || p.Price.Usage.Prompt() == 0 {
		return 0
	}
	prompt := p.Price.Usage
	prompt.Output = 0
	return models.Lookup(p.Model).Prices.Cost(prompt) / float64(p.Price.Usage.Prompt())
}

// thingKey identifies a thing. Things outside of messages are the same in all
// conversations.
type thingKey struct {
	kind               Kind
	conversation, name string
	id                 int64
}

// totalSum adds up groups.
type totalSum struct {
	*Total
	kinds  map[[2]string]*TotalShare
	things map[thingKey]*TotalThing
	used   map[string]bool
	// prompts are the tokens of what is covered, paid is their price.
	prompts int
	paid    float64
}

// add adds the calls of a group, if the body of its newest call is kept.
func (s *totalSum) add(ctx context.Context, store timeline.Store, tenant string, g *group, o *Options) error {
	records, err := store.Records(ctx, tenant, g.conversation, "call", g.calls[0].id)
	if errors.Is(err, timeline.ErrNoConversation) || err == nil && len(records) == 0 {
		return nil // it was deleted meanwhile
	}
	if err != nil {
		return err
	}
	stored, _, pieces, err := readPieces(ctx, store, tenant, g.conversation, &records[0], o)
	if errors.Is(err, call.ErrPlanGone) {
		return nil
	}
	if err != nil {
		return err
	}
	came, err := stored.ReadBody(stored.Body)
	if err != nil {
		return err
	}
	usedTools(came.Messages, s.used)
	s.Read += len(g.calls)
	for i := range g.calls {
		c := &g.calls[i]
		s.prompts += c.prompt
		s.paid += c.rate * float64(c.prompt)
		if !c.known && !slices.Contains(s.UnknownModels, c.model) {
			s.UnknownModels = append(s.UnknownModels, c.model)
		}
	}
	for i := range pieces {
		s.piece(g, &pieces[i])
	}
	return nil
}

func (s *totalSum) piece(g *group, p *piece) {
	calls, rates := g.from(p.id)
	tokens, cost := calls*p.tokens, rates*float64(p.tokens)
	s.Tokens, s.Cost = s.Tokens+tokens, s.Cost+cost
	of := [2]string{string(p.kind), p.group}
	if s.kinds[of] == nil {
		s.kinds[of] = &TotalShare{Kind: p.kind, Name: p.group}
	}
	k := s.kinds[of]
	k.Count, k.Tokens, k.Cost = k.Count+calls, k.Tokens+tokens, k.Cost+cost
	if p.kind == Overhead {
		return
	}
	key := thingKey{kind: p.kind, name: cmp.Or(p.name, p.group), id: p.id}
	if p.id > 0 {
		key.conversation = g.conversation
	} else if key.name == "" {
		key.name = p.text
	}
	t := s.things[key]
	if t == nil {
		t = &TotalThing{Kind: p.kind, Name: cmp.Or(p.name, p.group), Conversation: key.conversation, ID: p.id,
			Text: p.text}
		s.things[key] = t
	}
	t.Tokens = max(t.Tokens, p.tokens)
	t.Calls, t.Total, t.Cost = t.Calls+calls, t.Total+tokens, t.Cost+cost
}

// settle makes the parts add up to what the calls used and cost.
func (s *totalSum) settle() {
	costs := 1.0
	if s.Cost > 0 {
		costs = s.paid / s.Cost
	}
	kinds := slices.SortedFunc(maps.Values(s.kinds),
		func(a, b *TotalShare) int { return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name)) })
	parts := make([]int, len(kinds))
	for i, k := range kinds {
		parts[i], k.Cost = k.Tokens, k.Cost*costs
	}
	number.Split(parts, s.prompts)
	for i, k := range kinds {
		k.Tokens = parts[i]
	}
	for _, t := range s.things {
		t.Cost *= costs
	}
	s.Tokens, s.Cost = s.prompts, s.paid
	slices.Sort(s.UnknownModels)
}

// finish sorts what was added up.
func (s *totalSum) finish(largest int) {
	money := func(f float64) float64 { return math.Round(f*1e6) / 1e6 }
	s.settle()
	for _, k := range s.kinds {
		if k.Tokens > 0 {
			k.Share, k.Cost = float64(k.Tokens)/float64(max(1, s.Tokens)), money(k.Cost)
			s.Kinds = append(s.Kinds, *k)
		}
	}
	slices.SortFunc(s.Kinds, func(a, b TotalShare) int {
		return cmp.Or(cmp.Compare(slices.Index(order, a.Kind), slices.Index(order, b.Kind)),
			cmp.Compare(b.Tokens, a.Tokens), cmp.Compare(a.Name, b.Name))
	})
	for _, t := range s.things {
		t.Cost = money(t.Cost)
		s.Largest = append(s.Largest, *t)
		if t.Kind == Tools && t.ID == 0 && t.Name != "" && !s.used[t.Name] {
			s.Unused = append(s.Unused, TotalTool{t.Name, Server(t.Name), t.Tokens, t.Calls, t.Total, t.Cost})
		}
	}
	slices.SortFunc(s.Largest, func(a, b TotalThing) int {
		return cmp.Or(cmp.Compare(b.Total, a.Total), cmp.Compare(a.Name, b.Name),
			cmp.Compare(a.Conversation, b.Conversation), cmp.Compare(a.ID, b.ID))
	})
	s.Largest = s.Largest[:min(len(s.Largest), largest)]
	slices.SortFunc(s.Unused,
		func(a, b TotalTool) int { return cmp.Or(cmp.Compare(b.Total, a.Total), cmp.Compare(a.Name, b.Name)) })
	s.Cost = money(s.Cost)
}
