package mcp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/oriel-context/oriel/internal/prompt"
	"github.com/oriel-context/oriel/internal/quote"
	"github.com/oriel-context/oriel/internal/report"
	"github.com/oriel-context/oriel/recall"
)

type recallInput struct {
	Query        string `json:"query" jsonschema:"what to look for, in plain words: a question, or the names and terms that the answer would have"`
	Scope        string `json:"scope,omitempty" jsonschema:"where to look: conversation (this one, and what it continues), project (all conversations of this project) or user (all there are)"`
	Conversation string `json:"conversation,omitempty" jsonschema:"id of the conversation to look in or from; left out, it is your own"`
	Since        string `json:"since,omitempty" jsonschema:"only what was said at this time or later: 2026-11-01, 2026-11-01T15:04:05Z, today, yesterday, 12h or 7d"`
	Until        string `json:"until,omitempty" jsonschema:"only what was said before this time, written as since is"`
	Budget       int    `json:"budget,omitempty" jsonschema:"most tokens of the answer; left out, it is 2048"`
}

type recallOutput struct {
	Note     string    `json:"note" jsonschema:"what the answer has, whether it is complete, and how to read more"`
	Passages []passage `json:"passages" jsonschema:"what was found, oldest first"`
	InWindow []int64   `json:"in_window,omitempty" jsonschema:"messages of your own conversation that are about it and that you have whole in your context window; they are not repeated"`
}

type passage struct {
	Conversation string `json:"conversation"`
	ID           int64  `json:"id" jsonschema:"id of the message"`
	Time         string `json:"time,omitempty" jsonschema:"when it was said"`
	Role         string `json:"role" jsonschema:"who said it; tool for what a tool returned"`
	Quote        string `json:"quote" jsonschema:"the passage; an ellipsis stands for what is left out of the message"`
}

// argumentOf returns the name of a conversation as a tool takes it, in JSON: whole, unless it
// has what a model could take for structure.
func argumentOf(conversation string) string {
	if quote.Disarm(conversation) != conversation {
		conversation = quote.Label(conversation)
	}
	return strconv.Quote(conversation)
}

// source names where a passage is from.
func (p *passage) source() string {
	return strings.TrimSuffix(fmt.Sprintf("conversation %s, message %d, %s", quote.Label(p.Conversation), p.ID, p.Time),
		", ")
}

func (p *passage) text() string {
	return p.source() + "\n" + p.Role + p.Quote
}

func (o *recallOutput) text() string {
	texts := []string{o.Note}
	for i := range o.Passages {
		texts = append(texts, o.Passages[i].text())
	}
	return strings.Join(texts, "\n\n")
}

// moment reads a time that an argument has.
func moment(name, text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	t, err := report.Since(text, now)
	if err != nil {
		return t, mistakef("%s: %w", name, err)
	}
	return t, nil
}

// vectorWait is how long the first search of a server waits until the stored vectors are read.
const vectorWait = 3 * time.Second

// emptyNote is the answer of tools that find no history at all.
const emptyNote = "The history is empty: nothing was recorded yet."

// place returns the part of the history that the arguments conversation and scope name.
func (t *tools) place(r *request, conversation, scope string) (report.Place, error) {
	p := report.Place{Conversation: cmp.Or(conversation, r.own), Reach: recall.Reach(cmp.Or(scope, "conversation"))}
	switch {
	case p.Conversation != "":
		return p, nil
	case scope == "conversation":
		return p, mistakef("conversation is missing: your own is not known here; give the id of one, as list_conversations shows it, or leave scope out to look in all")
	case scope == "project" && t.o.Project == "":
		return p, mistakef("conversation is missing: your project is not known here; give the id of a conversation of that project, as list_conversations shows it, or leave scope out to look in all")
	case scope == "project":
		p.Project = t.o.Project
	}
	return p, nil
}

// where finds the conversations of a place.
func (t *tools) where(ctx context.Context, r *request, p report.Place) (recall.Where, error) {
	if p.Conversation != "" {
		c, err := t.find(ctx, r, p.Conversation)
		if err != nil {
			return recall.Where{}, err
		}
		p.Conversation = c.Name
	}
	return report.Where(ctx, r.Store, t.o.Tenant, p)
}

func (t *tools) recall(ctx context.Context, r *request, in *recallInput) (*recallOutput, error) {
	if strings.TrimSpace(in.Query) == "" {
		return nil, mistakef("query is empty: say what to look for")
	}
	now := t.o.Now()
	o := recall.RecallOptions{Directives: -1, Now: now, VectorWait: vectorWait}
	var err error
	if o.Since, err = moment("since", in.Since, now); err != nil {
		return nil, err
	}
	if o.Until, err = moment("until", in.Until, now); err != nil {
		return nil, err
	}
	place, err := t.place(r, in.Conversation, in.Scope)
	if err != nil {
		return nil, err
	}
	w, err := t.where(ctx, r, place)
	if errors.Is(err, report.ErrEmpty) {
		return &recallOutput{Note: emptyNote, Passages: []passage{}}, nil
	}
	if err != nil {
		return nil, err
	}
	s := search{request: r, where: w, options: o, query: in.Query, budget: cmp.Or(in.Budget, recall.DefaultBudget),
		caller: r.own}
	if r.sure {
		own, err := t.find(ctx, r, r.own)
		if err != nil {
			return nil, err
		}
		s.caller = own.Name
		if s.window, err = report.NewestWindow(ctx, r.Store, t.o.Tenant, &own); err != nil {
			return nil, err
		}
	}
	return s.run(ctx)
}

// search is one search and what is shown of it.
type search struct {
	*request
	where   recall.Where
	options recall.RecallOptions
	query   string
	budget  int
	// caller is the conversation of the agent that calls, or "". window is what the agent has
	// in view; nil if that is not known, or not sure.
	caller string
	window *report.Window
	// best is the best hit if some hits are left out because the agent has them in view.
	best *report.Hit
}

// has reports whether the agent has a message in view.
func (s *search) has(conversation string, id int64) bool {
	return conversation == s.caller && s.window.Shows(id)
}

// maxInWindow is how many messages that the agent has in view are named.
const maxInWindow = 8

// inWindow returns the ids of the hits that the agent has in view, the nearest first, and
// leaves such messages out of later searches.
func (s *search) inWindow(hits []report.Hit) (ids []int64) {
	for i := range hits {
		if s.has(hits[i].Conversation, hits[i].ID) && len(ids) < maxInWindow {
			ids = append(ids, hits[i].ID)
		}
	}
	if len(ids) > 0 {
		s.best = &hits[0]
		s.options.Exclude = func(block string) bool { return s.has(report.Origin(block, s.where.Conversation)) }
	}
	return ids
}

// hits returns what is found within a number of tokens and near enough, the best first, and
// how many tokens were found. What is in view counts for what is near enough, also if it is
// left out.
func (s *search) hits(ctx context.Context, budget int) (hits []report.Hit, tokens int, err error) {
	s.options.Budget = budget
	found, err := s.Engine.Recall(ctx, s.where, s.query, s.options)
	if err != nil {
		return nil, 0, err
	}
	hits = report.BestMatches(report.Hits(found, s.where.Conversation), found.Mode)
	if s.best != nil {
		hits = report.Beside(s.best, hits)
	}
	return hits, found.Tokens, nil
}

func (s *search) run(ctx context.Context) (*recallOutput, error) {
	hits, tokens, err := s.hits(ctx, s.budget)
	if err != nil {
		return nil, err
	}
	out := &recallOutput{Passages: []passage{}, InWindow: s.inWindow(hits)}
	if len(out.InWindow) > 0 {
		if hits, tokens, err = s.hits(ctx, s.budget); err != nil {
			return nil, err
		}
	}
	total := len(hits)
	if tokens > s.budget/2 && s.budget < maxBudget { // is there more?
		all, _, err := s.hits(ctx, maxBudget)
		if err != nil {
			return nil, err
		}
		total = max(total, len(all))
	}
	counter, left := report.TextCounter(), s.budget-noteTokens
	for i := range hits {
		p := newPassage(&hits[i])
		n := counter.Text(p.text()).Tokens + 2
		if n > left && len(out.Passages) > 0 {
			continue
		}
		left -= n
		out.Passages = append(out.Passages, p)
	}
	out.Note = s.note(out.Passages, total, out.InWindow)
	slices.SortStableFunc(out.Passages, func(a, b passage) int {
		return cmp.Or(strings.Compare(a.Time, b.Time), strings.Compare(a.Conversation, b.Conversation),
			cmp.Compare(a.ID, b.ID))
	})
	return out, nil
}

// noteTokens is what is left of a budget for the note.
const noteTokens = 110

func newPassage(h *report.Hit) passage {
	p := passage{Conversation: h.Conversation, ID: h.ID, Role: quote.Label(h.Role), Quote: quote.Text("", h.Text)}
	if h.Tool {
		p.Role = "tool"
	} else if h.Mixed {
		p.Role, p.Quote = recall.QuoteMixed(p.Role, h.Text)
	}
	if !h.Time.IsZero() {
		p.Time = h.Time.UTC().Format(time.RFC3339)
	}
	return p
}

// whereInWords names a part of the history. own is the conversation of the agent.
func whereInWords(w recall.Where, own string) string {
	switch w.Reach {
	case recall.ReachProject:
		return "the conversations of this project"
	case recall.ReachUser:
		return "all conversations"
	}
	if w.Conversation == own {
		return "this conversation"
	}
	return "conversation " + quote.Label(w.Conversation)
}

// note returns whether the answer is complete, and how to read more. shown has the best first,
// inWindow are messages that the agent has in view.
func (s *search) note(shown []passage, total int, inWindow []int64) string {
	have := ""
	if len(inWindow) > 0 {
		have = fmt.Sprintf(" You have more about it in your context window already, which is not repeated here: %s.",
			messageList(inWindow))
	}
	if len(shown) == 0 && have != "" {
		return fmt.Sprintf("0 passages besides what you have: what %s says about this is in your context window already: %s. The search was complete. %s", whereInWords(s.where, s.caller), messageList(inWindow), s.elsewhere())
	}
	if len(shown) == 0 {
		return fmt.Sprintf(
			"0 passages: nothing in %s is about this. The search was complete; the same words again find nothing. %s",
			whereInWords(s.where, s.caller), s.elsewhere())
	}
	best := &shown[0]
	how := fmt.Sprintf("The nearest is message %d: %s {\"conversation\":%s,\"from\":%d} shows it whole.", best.ID,
		prompt.ToolRead, argumentOf(best.Conversation), best.ID)
	many := "passages"
	if total == 1 {
		many = "passage"
	}
	more := ""
	if len(shown) < total {
		more = fmt.Sprintf(" The others are less near; a budget above %d shows them.", s.budget)
		if s.budget >= maxBudget {
			more = " The others are less near; narrow the query, or give since or until, to see them."
		}
	}
	return fmt.Sprintf("%d of %d %s of %s, oldest first. %s%s%s %s", len(shown), total, many,
		whereInWords(s.where, s.caller), how, more, have, prompt.QuotedRecord)
}

// messageList names messages by their ids.
func messageList(ids []int64) string {
	if len(ids) == 1 {
		return fmt.Sprintf("message %d", ids[0])
	}
	texts := make([]string, len(ids))
	for i, id := range ids {
		texts[i] = strconv.FormatInt(id, 10)
	}
	return "messages " + strings.Join(texts, ", ")
}

// elsewhere returns where else to look.
func (s *search) elsewhere() string {
	switch s.where.Reach {
	case recall.ReachUser:
		return "Try other words for it, or go on without it."
	case recall.ReachProject:
		return `scope "user" looks in all conversations.`
	}
	return `scope "project" looks in the other conversations of this project, "user" in all.`
}
