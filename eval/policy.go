package eval

import (
	"context"
	"errors"

	"github.com/oriel-context/oriel/recall"
)

// Policies are the names of what can be compared.
func Policies() []string { return []string{"recent", "bm25", "keyword", "dense", "hybrid"} }

// subject is a conversation that questions are asked about.
type subject struct {
	byBlock map[string]*recall.Message
	scope   *recall.Scope // the recipe
	plain   *recall.Scope // words alone, no neighbours, no priors
	floor   float64
	named   bool
}

func newSubject(ctx context.Context, c *Conversation, o *Options, w *work) (*subject, error) {
	bare := recall.Weights{Question: 1, Statement: 1, Knee: 64}
	s := &subject{
		byBlock: map[string]*recall.Message{}, floor: o.Floor,
		scope: recall.NewScope(recall.Options{Model: o.Model, Weights: o.Weights}),
		plain: recall.NewScope(recall.Options{Weights: &bare}),
	}
	for i := range c.Messages {
		m := &c.Messages[i]
		s.byBlock[m.Block] = m
		s.named = s.named || m.Name != ""
	}
	if err := errors.Join(s.scope.Add(ctx, c.Messages), s.plain.Add(ctx, c.Messages)); err != nil {
		return nil, err
	}
	w.add(1)
	n := len(c.Messages)
	if o.Model != nil {
		before := 0
		err := s.scope.Embed(ctx, func(done, total int) {
			now := done * n / total
			w.add(now - before)
			before = now
		})
		if err != nil {
			return nil, err
		}
		n -= before
	}
	w.add(n)
	return s, nil
}

// answer is a ranking and how it is packed.
type answer struct {
	ranking *recall.Ranking
	options recall.RecallOptions
}

func (a *answer) pack(budget int) *recall.Result {
	o := a.options
	o.Budget = budget
	return a.ranking.Pack(o)
}

// ask ranks a conversation for a question.
func (s *subject) ask(ctx context.Context, policy, question string) (*answer, error) {
	a := &answer{options: recall.RecallOptions{Floor: -1, Top: -1, Directives: -1}}
	scope := s.scope
	switch policy {
	case "recent":
		a.ranking = scope.Newest()
		return a, nil
	case "bm25":
		// What people do without more: words, with the message before and after; in
		// a chat with an assistant the user's messages, for the others are long.
		scope = s.plain
		a.options.Mode = recall.Keyword
		if s.named {
			a.options.Neighbours = 1
		} else {
			a.options.Exclude = func(block string) bool { return s.byBlock[block].Role != "user" }
		}
	case "keyword", "hybrid":
		a.options = recall.RecallOptions{Mode: recall.Mode(policy), Floor: s.floor}
	case "dense":
		a.options.Mode = recall.Dense
	}
	if (policy == "dense" || policy == "hybrid") && !scope.Embeds() {
		return nil, errors.New("policy " + policy + " needs a model")
	}
	var err error
	a.ranking, err = scope.Rank(ctx, question, a.options)
	return a, err
}
