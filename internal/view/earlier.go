package view

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/internal/limit"
	"github.com/oriel-context/oriel/internal/plan"
	"github.com/oriel-context/oriel/internal/prompt"
	"github.com/oriel-context/oriel/internal/quote"
	"github.com/oriel-context/oriel/internal/thread"
	"github.com/oriel-context/oriel/recall"
	"github.com/oriel-context/oriel/window"
)

const (
	// earlierBest is the score that the best passage of earlier conversations needs. It is
	// higher than within a conversation, because many openings have nothing to do with
	// what was said before. earlierNear is the cosine that the passage nearest in meaning
	// needs: words such as "test" and "build" are in the history of every project. The
	// other passages need no more than within a conversation: in a short history the
	// answer ranks far below the question that it answers.
	earlierBest, earlierNear = .8, .4
	// earlierWords is earlierBest while there are no vectors.
	earlierWords = .65
	// EarlierWait is the least that the first call of a conversation waits for what
	// earlier ones say: it happens once, and their words may have to be indexed first.
	EarlierWait = 500 * time.Millisecond
)

// recallEarlier adds to the first prompt of a new conversation what earlier conversations of
// its project say about it, if that is wanted. total is the size of the view; recallEarlier
// reports whether it added anything.
func (e *draft) recallEarlier(ctx context.Context, total int) (bool, error) {
	if !e.begins() {
		return false, nil
	}
	into := e.newPrompt()
	if into < 0 {
		return false, nil
	}
	project := e.Project()
	if project == "" {
		return false, nil
	}
	if more := EarlierWait - e.request.recallWait; more > 0 {
		e.request.recallWait += more
		e.request.recallTime.Left += more
	}
	query := asksIn(e.message(e.pieces[into]))
	room := min(e.recallTokens(), e.budget/10, e.budget-total) - e.request.recalled
	var texts []string
	if standing := e.earlierStanding(ctx, project, min(room, mostStanding)); standing != "" {
		texts = append(texts, standing)
	}
	left := room - e.tokensOf(texts)
	for search, try := left, 0; try < recallTries; try++ {
		text, found := e.findEarlier(ctx, project, query, search)
		if text == "" {
			break
		}
		if ok, err := e.bring(into, append(texts[:len(texts):len(texts)], text), found, total, room); ok || err != nil {
			return ok, err
		}
		search = search*left/max(e.tokensOf([]string{text}), left) - recallSlack
	}
	return e.bring(into, texts, nil, total, room)
}

// earlierStanding quotes the standing instructions of earlier conversations in at most most
// tokens, the newest first.
func (e *draft) earlierStanding(ctx context.Context, project string, most int) string {
	if e.v.o.Standing == nil || most < leastRecall {
		return ""
	}
	said, err := limit.Spend(ctx, &e.v.recalls, &e.request.recallTime,
		func(ctx context.Context) ([]recall.Directive, error) {
			return e.v.o.Standing(ctx, e.Thread.Tenant, project)
		})
	if err != nil {
		if !expected(err) {
			e.failed = fmt.Errorf("recall: %w", err)
		}
		return ""
	}
	list := e.newQuoted(prompt.EarlierStandingTitle, most)
	for _, d := range slices.Backward(said) {
		label := string(chat.User)
		if d.Original != "" {
			label = labelEdited
		}
		if d.Kind == recall.Instruction {
			list.add(label, d.Text)
		}
	}
	return list.text()
}

// begins reports whether this is the first call of a new conversation that recalls from its
// project.
func (e *draft) begins() bool {
	reach := e.v.o.RecallReach
	if e.profile.Scope != "" {
		reach = recall.Reach(e.profile.Scope)
	}
	return reach == recall.ReachProject && e.v.o.Recall != nil && e.Project != nil && e.before == nil &&
		e.Thread.Kind == thread.New && !e.Thread.Stay && e.unsent() == e.lead
}

// findEarlier searches the conversations of a project, in at most room of the model's tokens.
func (e *draft) findEarlier(ctx context.Context, project, query string,
	room int) (text string, passages []recall.Passage) {
	if room < leastRecall || !recall.Asks(query) {
		return "", nil
	}
	frame := prompt.EarlierTitle + recallEnd
	framed := e.counter.Text(frame).Tokens
	found := e.search(ctx, recall.Where{Tenant: e.Thread.Tenant, Project: project, Reach: recall.ReachProject}, query,
		recall.RecallOptions{
			Budget: (room - framed - 8) * asRecall().Text(frame).Tokens / framed, Now: e.Now, Whole: true,
			Directives: -1,
		})
	if found == nil || !aboutProject(found.Passages) {
		return "", nil
	}
	return prompt.EarlierTitle + earlierText(found.Passages) + recallEnd, found.Passages
}

// aboutProject reports whether passages show that earlier conversations are about a query.
// While passages have no vectors, their words decide.
func aboutProject(passages []recall.Passage) bool {
	best, near := 0.0, 0.0
	for i := range passages {
		best, near = max(best, passages[i].Score), max(near, passages[i].Dense)
	}
	if near == 0 {
		return best >= earlierWords
	}
	return best >= earlierBest && near >= earlierNear
}

// earlierText quotes passages under their dates and conversations.
func earlierText(passages []recall.Passage) string {
	var b strings.Builder
	last := ""
	for i := range passages {
		p := &passages[i]
		conversation := p.Block[:max(strings.LastIndexByte(p.Block, '#'), 0)]
		day := "at an unknown time"
		if p.Time != nil {
			day = p.Time.Format("2 January 2006")
		}
		if place := fmt.Sprintf(prompt.EarlierPlace, day, quote.Label(conversation)); place != last {
			b.WriteString(place)
			last = place
		}
		label := quote.Label(p.Role)
		if p.Tool {
			label = "tool"
		}
		if p.Mixed {
			first, lines := recall.QuoteMixed(label, p.Text)
			b.WriteString(first + lines + "\n")
			continue
		}
		b.WriteString(quote.Text(label, strings.TrimSuffix(p.Text, "\n")) + "\n")
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// onlyAdds reports whether a plan leaves nothing out.
func onlyAdds(p *plan.Plan) bool {
	return len(p.Dropped) == 0 && len(p.Blocks) == 0 &&
		slices.ContainsFunc(p.Inserted, func(in window.Insertion) bool { return in.Kind == "recall" })
}
