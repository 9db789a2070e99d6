package eval

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/oriel-context/oriel/recall"
	"github.com/oriel-context/oriel/token"
)

// Whole is the policy that shows the whole history.
const Whole = "whole"

// instruction is the system prompt of every question. docs/reference/retrieval.md quotes
// it: figures made with another one are not comparable.
const instruction = `You answer questions about an earlier conversation. You are given excerpts of it, in the order of time.
Answer with as few words as possible: a name, a number, a date, a short phrase, in the words of the conversation where you can. Write dates in full ("7 May 2023") and never relative to the conversation ("yesterday").
If the excerpts do not have the answer, reply exactly: No information available.`

// ask returns the messages for a question with its context.
func ask(context, question string) []prompt {
	return []prompt{{"system", instruction}, {"user", "Excerpts:\n\n" + context + "\n\nQuestion: " + question}}
}

// promptRoom is how many tokens are reserved for the prompt and its question.
const promptRoom = 512

// AnswerOptions configures Answer, in addition to Options.
type AnswerOptions struct {
	Server *Server
	// Limit is the most questions to ask, spread evenly over the set. 0 means
	// all.
	Limit int
	// Concurrency is how many calls run at a time. 0 means 4.
	Concurrency int
	// Window is the most tokens of a prompt, in o200k_base. Of a longer
	// history only the newest messages are sent.
	Window int
}

// AnswerReport is how well a model answers with the contexts of each policy.
type AnswerReport struct {
	Format        string `json:"format"`
	Model         string `json:"model"`
	Conversations int    `json:"conversations"`
	// Questions counts the questions with a gold answer, Unanswerable those
	// whose right answer is that there is none, and Without those for which
	// the set has no gold answer. The last are not asked.
	Questions    int `json:"questions"`
	Unanswerable int `json:"unanswerable"`
	Without      int `json:"without_answer"`
	Window       int `json:"window"`
	// Cut counts the conversations that are longer than the window.
	Cut  int         `json:"cut"`
	Rows []AnswerRow `json:"rows"`
	// Fault is the first failure.
	Fault string `json:"fault,omitempty"`
}

// AnswerRow is the result of a policy with a budget. The whole history has no
// budget.
type AnswerRow struct {
	Policy string `json:"policy"`
	Budget int    `json:"budget,omitempty"`
	// Questions counts the questions with a gold answer to which the model
	// replied. Exact, F1 and Declined are percentages of them.
	Questions int     `json:"questions"`
	Exact     float64 `json:"exact"`
	F1        float64 `json:"f1"`
	Declined  float64 `json:"declined"`
	// Unanswerable counts the questions without an answer to which the model
	// replied; Refused is the percentage that it rightly declined.
	Unanswerable int     `json:"unanswerable"`
	Refused      float64 `json:"refused"`
	Tokens       float64 `json:"prompt_tokens"` // mean
	// Failures counts calls without a reply. No other figure includes them.
	Failures int `json:"failures"`
}

// answered is one line of the details. It omits the context of the policy
// Whole.
type answered struct {
	Detail
	Answer   string  `json:"answer"`
	Gold     string  `json:"gold"`
	Exact    bool    `json:"exact"`
	F1       float64 `json:"f1"`
	Declined bool    `json:"declined"`
	Error    string  `json:"error,omitempty"`
}

// call is a question on its way to the model.
type call struct {
	q     *Question
	line  answered
	reply reply
	err   error
	done  chan struct{}
}

// answering is the state of one Answer.
type answering struct {
	o      *Options
	a      *AnswerOptions
	report *AnswerReport
	rows   map[rowKey]*AnswerRow
	work   *work
	count  func(string) int

	stop  context.CancelCauseFunc
	slots chan struct{} // one for each running call
	calls sync.WaitGroup
	order chan *call // calls in the order of the details
}

// hopeless is how many calls may fail before the first one succeeds.
const hopeless = 10

// Answer asks a model the questions of a set, with the context of every policy
// and budget and with the whole history, and compares its answers with the
// gold answers.
func Answer(ctx context.Context, set *Set, o Options, a AnswerOptions) (*AnswerReport, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	if a.Window <= promptRoom {
		return nil, fmt.Errorf("%w: a --window of %d tokens: prompt and question alone take up to %d: give more",
			ErrOption, a.Window, promptRoom)
	}
	if !slices.Contains(o.Policies, "recent") {
		o.Policies = append([]string{"recent"}, o.Policies...)
	}
	if a.Concurrency <= 0 {
		a.Concurrency = 4
	}
	counter := token.NewCounter(token.Model{Encoding: "o200k_base", Exact: true}, token.Options{})
	run := &answering{
		o: &o, a: &a, rows: map[rowKey]*AnswerRow{}, work: &work{tell: o.Progress},
		count: func(text string) int { return counter.Text(text).Tokens },
		report: &AnswerReport{Format: set.Format, Model: a.Server.model, Conversations: len(set.Conversations),
			Window: a.Window},
		slots: make(chan struct{}, a.Concurrency), order: make(chan *call, 4*a.Concurrency),
	}
	chosen := run.choose(set)
	if run.report.Questions+run.report.Unanswerable == 0 {
		return nil, fmt.Errorf(
			"%w: no question has a gold answer: for --answer give questions with one (generic: the field \"answer\")",
			ErrInput)
	}
	ctx, run.stop = context.WithCancelCause(ctx)
	defer run.stop(nil)
	var collected sync.WaitGroup
	collected.Go(func() { run.collect(ctx) })
	var err error
	for i := range set.Conversations {
		if err = run.conversation(ctx, &set.Conversations[i], chosen[i]); err != nil {
			run.stop(err)
			break
		}
	}
	run.calls.Wait()
	close(run.order)
	collected.Wait()
	if cause := context.Cause(ctx); cause != nil {
		return nil, cause
	}
	return run.finish()
}

// choose selects the questions to ask about each conversation.
func (run *answering) choose(set *Set) [][]Question {
	total := 0
	can := func(q *Question) bool { return q.Answer != "" || q.Unanswerable }
	for i := range set.Conversations {
		for k := range set.Conversations[i].Questions {
			if can(&set.Conversations[i].Questions[k]) {
				total++
			} else {
				run.report.Without++
			}
		}
	}
	limit := total
	if run.a.Limit > 0 {
		limit = min(limit, run.a.Limit)
	}
	out := make([][]Question, len(set.Conversations))
	seen := 0
	for i := range set.Conversations {
		c := &set.Conversations[i]
		for _, q := range c.asked() {
			if !can(&q) {
				continue
			}
			seen++
			if seen*limit/total == (seen-1)*limit/total {
				continue
			}
			out[i] = append(out[i], q)
			if q.Unanswerable {
				run.report.Unanswerable++
			} else {
				run.report.Questions++
			}
		}
		run.work.total += int64(len(c.Messages) + len(out[i])*(len(run.o.Policies)*len(run.o.Budgets)+1))
	}
	return out
}

// conversation asks the questions about one conversation.
func (run *answering) conversation(ctx context.Context, c *Conversation, questions []Question) error {
	if len(questions) == 0 {
		run.work.add(len(c.Messages))
		return nil
	}
	s := newSubject(c, run.o)
	if err := s.addUntil(ctx, len(c.Messages), run.work); err != nil {
		return err
	}
	all := (&answer{ranking: s.scope.Newest(), options: recall.RecallOptions{Floor: -1, Top: -1, Directives: -1}}).pack(
		max(1, run.a.Window-promptRoom))
	if passages, _ := s.scope.Len(); len(all.Passages) < passages {
		run.report.Cut++
	}
	for i := range questions {
		q := &questions[i]
		for _, policy := range run.o.Policies {
			found, err := s.ask(ctx, policy, q)
			if err != nil {
				return fmt.Errorf("%s: %s: %w", c.Name, q.ID, err)
			}
			for _, budget := range run.o.Budgets {
				if err := run.start(ctx, c, q, policy, budget, s.detail(q, found.pack(budget))); err != nil {
					return err
				}
			}
		}
		if err := run.start(ctx, c, q, Whole, 0, &Detail{Tokens: all.Tokens, Context: all.Text, Included: []string{},
			IncludedPart: []string{}}); err != nil {
			return err
		}
	}
	return nil
}

// start sends a call as soon as a slot is free.
func (run *answering) start(ctx context.Context, c *Conversation, q *Question, policy string, budget int,
	d *Detail) error {
	d.Conversation, d.Question, d.ID, d.Kind = c.Name, q.Text, q.ID, q.Kind
	d.Policy, d.Budget, d.Evidence = policy, budget, append([]string{}, q.Evidence...)
	call := &call{q: q, line: answered{Detail: *d, Gold: q.Answer}, done: make(chan struct{})}
	select {
	case run.slots <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	run.calls.Go(func() {
		defer close(call.done)
		call.reply, call.err = run.a.Server.ask(ctx, ask(call.line.Context, q.Text))
		<-run.slots
		if errors.Is(call.err, ErrServer) {
			run.stop(call.err)
		}
	})
	run.order <- call
	return nil
}

// collect counts the calls in order.
func (run *answering) collect(ctx context.Context) {
	replies, failures := 0, 0
	for call := range run.order {
		<-call.done
		if ctx.Err() != nil {
			continue
		}
		if call.err != nil {
			failures++
		} else {
			replies++
		}
		if replies == 0 && failures == hopeless {
			run.stop(fmt.Errorf("none of %d calls succeeded: %w", failures, call.err))
			continue
		}
		run.add(call)
		if run.o.Details != nil {
			if err := writeDetail(run.o.Details, &call.line); err != nil {
				run.stop(fmt.Errorf("write the details: %w", err))
			}
		}
		run.work.add(1)
	}
}

// add counts a call.
func (run *answering) add(c *call) {
	line := &c.line
	defer func() {
		if line.Policy == Whole {
			line.Context = ""
		}
	}()
	key := rowKey{policy: line.Policy, budget: line.Budget}
	row := run.rows[key]
	if row == nil {
		row = &AnswerRow{Policy: line.Policy, Budget: line.Budget}
		run.rows[key] = row
	}
	if c.err != nil {
		row.Failures++
		line.Error = c.err.Error()
		if run.report.Fault == "" {
			run.report.Fault = line.Error
		}
		return
	}
	tokens := c.reply.prompted
	if tokens == 0 {
		for _, m := range ask(line.Context, line.Question) {
			tokens += run.count(m.Content)
		}
	}
	row.Tokens += float64(tokens)
	line.Answer, line.Declined = c.reply.text, declines(c.reply.text)
	if c.q.Unanswerable {
		row.Unanswerable++
		if line.Declined {
			row.Refused++
		}
	} else {
		row.Questions++
		line.Exact, line.F1 = exact(line.Answer, line.Gold), f1(line.Answer, line.Gold)
		row.F1 += line.F1
		if line.Exact {
			row.Exact++
		}
		if line.Declined {
			row.Declined++
		}
	}
}

// finish turns sums into means and sorts the rows.
func (run *answering) finish() (*AnswerReport, error) {
	replies := 0
	for _, policy := range append(slices.Clone(run.o.Policies), Whole) {
		for _, budget := range append([]int{0}, slices.Compact(slices.Sorted(slices.Values(run.o.Budgets)))...) {
			row := run.rows[rowKey{policy: policy, budget: budget}]
			if row == nil {
				continue
			}
			replies += row.Questions + row.Unanswerable
			per := func(sum *float64, n int, scale float64) {
				if n > 0 {
					*sum *= scale / float64(n)
				}
			}
			per(&row.Exact, row.Questions, 100)
			per(&row.F1, row.Questions, 100)
			per(&row.Declined, row.Questions, 100)
			per(&row.Refused, row.Unanswerable, 100)
			per(&row.Tokens, row.Questions+row.Unanswerable, 1)
			run.report.Rows = append(run.report.Rows, *row)
		}
	}
	if replies == 0 {
		return nil, fmt.Errorf("no call succeeded: %s", run.report.Fault)
	}
	return run.report, nil
}
