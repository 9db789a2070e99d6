package eval

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/oriel-context/oriel/recall"
)

// Policies returns the names of the policies that can be compared.
func Policies() []string { return []string{"recent", "bm25", "keyword", "dense", "hybrid"} }

// check rejects invalid options and removes duplicates.
func (o *Options) check() error {
	if len(o.Policies) == 0 || len(o.Budgets) == 0 {
		return fmt.Errorf("%w: give a policy (%s) and a budget at least", ErrOption, strings.Join(Policies(), ", "))
	}
	for _, p := range o.Policies {
		if !slices.Contains(Policies(), p) {
			return fmt.Errorf("%w: policy %q: use %s", ErrOption, p, strings.Join(Policies(), ", "))
		}
	}
	o.Policies, o.Budgets = once(o.Policies), once(o.Budgets)
	return nil
}

// once returns the values without duplicates.
func once[T comparable](values []T) (out []T) {
	for _, v := range values {
		if !slices.Contains(out, v) {
			out = append(out, v)
		}
	}
	return out
}

// subject is a conversation with its scopes.
type subject struct {
	messages []recall.Message
	said     int            // how many of them the scopes contain
	at       map[string]int // block → message
	scope    *recall.Scope  // with all stages
	plain    *recall.Scope  // words alone, without neighbours and priors
	named    bool
}

func newSubject(c *Conversation, o *Options) *subject {
	bare := recall.Weights{Question: 1, Statement: 1, Knee: 64}
	s := &subject{
		messages: c.Messages, at: map[string]int{},
		scope: recall.NewScope(recall.Options{Model: o.Model, Weights: o.Weights}),
		plain: recall.NewScope(recall.Options{Weights: &bare}),
	}
	for i := range c.Messages {
		s.at[c.Messages[i].Block] = i
		s.named = s.named || c.Messages[i].Name != ""
	}
	return s
}

// message returns the message of a block.
func (s *subject) message(block string) *recall.Message { return &s.messages[s.at[block]] }

// addUntil adds messages to the scopes until they contain n.
func (s *subject) addUntil(ctx context.Context, n int, w *work) error {
	if n <= s.said {
		return nil
	}
	next := s.messages[s.said:n]
	if err := errors.Join(s.scope.Add(ctx, next), s.plain.Add(ctx, next)); err != nil {
		return err
	}
	done := 0
	if s.scope.Embeds() {
		from, _ := s.scope.Len()
		err := s.scope.Embed(ctx, func(passages, total int) {
			if now := len(next) * max(0, passages-from) / max(1, total-from); now > done {
				w.add(now - done)
				done = now
			}
		})
		if err != nil {
			return err
		}
	}
	w.add(len(next) - done)
	s.said = n
	return nil
}

// answer is a ranking with the options for packing it.
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
func (s *subject) ask(ctx context.Context, policy string, q *Question) (*answer, error) {
	a := &answer{options: recall.RecallOptions{Floor: -1, Top: -1, Directives: -1}}
	var shown func(block string) bool
	if q.Gone > 0 {
		shown = func(block string) bool { return s.at[block] >= q.Gone }
	}
	a.options.Exclude = shown
	scope := s.scope
	switch policy {
	case "recent":
		a.ranking = scope.Newest()
		return a, nil
	case "bm25":
		// The plain baseline: words, with the message before and after. In a
		// chat with an assistant only the user's messages, because the others
		// are long.
		scope = s.plain
		a.options.Mode = recall.Keyword
		switch {
		case q.File != "": // the evidence is a tool result
		case s.named:
			a.options.Neighbours = 1
		default:
			a.options.Exclude = func(block string) bool { return s.message(block).Role != "user" }
		}
	case "keyword", "hybrid":
		a.options = recall.RecallOptions{Mode: recall.Mode(policy), Exclude: shown}
	case "dense":
		a.options.Mode = recall.Dense
	}
	if (policy == "dense" || policy == "hybrid") && !scope.Embeds() {
		return nil, errors.New("policy " + policy + " needs a model")
	}
	var err error
	a.ranking, err = scope.Rank(ctx, q.Text, a.options)
	return a, err
}
