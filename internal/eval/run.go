package eval

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/oriel-context/oriel/embed"
	"github.com/oriel-context/oriel/internal/quote"
	"github.com/oriel-context/oriel/recall"
)

// Options configures a run.
type Options struct {
	// Budgets are the token limits of the whole text that is shown.
	Budgets []int
	// Policies are names from the function Policies.
	Policies []string
	// Model makes vectors. Policies that need them fail without it.
	Model embed.Model
	// Weights are the constants of the score. nil means the defaults.
	Weights *recall.Weights
	// Details, if not nil, receives one line of JSON for each question, budget
	// and policy.
	Details io.Writer
	// Progress, if not nil, is called as the work proceeds.
	Progress func(done, total int64)
}

// Detail is the result of one question under one policy and budget.
type Detail struct {
	Conversation string   `json:"conversation"`
	Question     string   `json:"question"`
	ID           string   `json:"id"`
	Kind         string   `json:"kind"`
	Policy       string   `json:"policy"`
	Budget       int      `json:"budget"`
	Tokens       int      `json:"tokens"`
	Evidence     []string `json:"evidence"`
	// Included are the messages that are in the context entirely, once quoting
	// is undone; IncludedPart those of which a passage of at least 200
	// characters is.
	Included     []string `json:"included"`
	IncludedPart []string `json:"included_part"`
	Context      string   `json:"context"`
	// For a file that is read again: whether its path is in the context, and
	// the share of the newly read lines that are.
	File  string  `json:"file,omitempty"`
	Path  bool    `json:"path,omitempty"`
	Lines float64 `json:"lines,omitempty"`
}

// partLength is how many characters of a long message count as a part of it.
const partLength = 200

// Run asks every question under every policy and budget.
func Run(ctx context.Context, set *Set, o Options) (*Report, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	r := newReport(set, o)
	w := &work{tell: o.Progress}
	for i := range set.Conversations {
		c := &set.Conversations[i]
		w.total += int64(len(c.Messages) + len(c.Questions)*len(o.Policies))
	}
	for i := range set.Conversations {
		if err := runConversation(ctx, &set.Conversations[i], &o, r, w); err != nil {
			return nil, err
		}
	}
	r.finish()
	return r, nil
}

// work tracks progress.
type work struct {
	total int64
	tell  func(done, total int64)

	mu   sync.Mutex // protects done, and keeps the calls of Progress in order
	done int64
}

func (w *work) add(n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.done += int64(n)
	if w.tell != nil {
		w.tell(w.done, w.total)
	}
}

func runConversation(ctx context.Context, c *Conversation, o *Options, r *Report, w *work) error {
	subject := newSubject(c, o)
	for _, q := range c.asked() {
		if err := subject.addUntil(ctx, q.Said, w); err != nil {
			return err
		}
		for _, policy := range o.Policies {
			began := time.Now()
			answer, err := subject.ask(ctx, policy, &q)
			if err != nil {
				return fmt.Errorf("%s: %s: %w", c.Name, q.ID, err)
			}
			ranked := time.Since(began)
			w.add(1)
			r.sessions(policy, &q, subject, answer)
			for _, budget := range o.Budgets {
				began := time.Now()
				found := answer.pack(budget)
				r.took(policy, ranked+time.Since(began))
				d := subject.detail(&q, found)
				d.Conversation, d.Question, d.ID, d.Kind = c.Name, q.Text, q.ID, q.Kind
				d.Policy, d.Budget, d.Evidence = policy, budget, append([]string{}, q.Evidence...)
				r.add(&q, d)
				if o.Details != nil {
					if err := writeDetail(o.Details, d); err != nil {
						return fmt.Errorf("write the details: %w", err)
					}
				}
			}
		}
	}
	return nil
}

// asked returns the questions in the order in which they are asked.
func (c *Conversation) asked() []Question {
	out := slices.Clone(c.Questions)
	for i := range out {
		if out[i].Said == 0 {
			out[i].Said = len(c.Messages)
		}
	}
	slices.SortStableFunc(out, func(a, b Question) int { return a.Said - b.Said })
	return out
}

func writeDetail(w io.Writer, d any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	return enc.Encode(d)
}

// detail finds which messages are in the text of a result, with its quoting
// undone. It looks for a message only if a passage of it was chosen: "Thanks!"
// occurs in many places.
func (s *subject) detail(q *Question, found *recall.Result) *Detail {
	shown := quote.Undo(found.Text)
	d := &Detail{Tokens: found.Tokens, Context: found.Text, Included: []string{}, IncludedPart: []string{}}
	parts := map[string]int{}
	long := map[string]bool{}
	var order []string
	for _, p := range found.Passages {
		if parts[p.Block] == 0 {
			order = append(order, p.Block)
		}
		parts[p.Block]++
		if (utf8.RuneCountInString(p.Text) >= partLength || q.File != "" && p.Parts == 1) &&
			strings.Contains(shown, p.Text) {
			long[p.Block] = true
		}
	}
	for _, block := range order {
		m := s.message(block)
		whole := m.Text != "" && strings.Contains(shown, m.Text)
		if whole {
			d.Included = append(d.Included, m.Ref)
		}
		if whole || long[block] {
			d.IncludedPart = append(d.IncludedPart, m.Ref)
		}
	}
	if q.File != "" {
		d.reread(q, shown)
	}
	return d
}

// reread finds how much of a file is in a context whose quoting is undone.
func (d *Detail) reread(q *Question, shown string) {
	d.File, d.Path = q.File, q.names(shown)
	there := 0
	for _, line := range q.Lines {
		if strings.Contains(shown, line) {
			there++
		}
	}
	d.Lines = float64(there) / float64(max(1, len(q.Lines)))
}
