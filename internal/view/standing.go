package view

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/internal/limit"
	"github.com/oriel-context/oriel/internal/prompt"
	"github.com/oriel-context/oriel/internal/quote"
	"github.com/oriel-context/oriel/recall"
	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/window"
)

// mostStanding is the most tokens of standing instructions that are recalled.
const mostStanding = 256

// Dismissed is a note that the instructions of a message are not offered any more, or
// another text in their place.
type Dismissed struct {
	// Depth is the number of the message in its conversation, from 1 on. Identity is
	// the message's own, because another branch has another one there; zero means any.
	Depth    int
	Identity timeline.Hash
	// Text is offered in their place. Empty means that nothing is.
	Text string
}

// standing quotes the instructions of people in messages that left, in at most
// most tokens, the newest first.
func (e *draft) standing(ctx context.Context, most int) string {
	list := e.newQuoted(prompt.StandingTitle, most)
	left := mostSought
	for i := len(e.Body.Messages) - 1; i >= e.lead && left > 0 && ctx.Err() == nil; i-- {
		m := &e.Body.Messages[i]
		if _, shown := e.piece(i); shown || m.Role != chat.User || !m.Prompts() {
			continue
		}
		words := strings.Join(m.Words(), "\n")
		left -= len(words)
		all := slices.DeleteFunc(recall.Detect(words), func(s recall.Said) bool { return s.Kind != recall.Instruction })
		if len(all) == 0 {
			continue
		}
		if text, noted := e.dismissed(ctx)[e.depth(i)]; noted {
			if text != "" {
				list.add(labelEdited, text)
			}
			continue
		}
		for _, said := range all {
			list.add(string(chat.User), said.Text)
		}
	}
	return list.text()
}

// mostSought is the most bytes of people's words in which a call looks for instructions, the
// newest first.
const mostSought = 256 << 10

// dismissedSentences returns the instructions and preferences of people that no longer hold
// as they were said, because they were dismissed or edited. Sentences that somebody also said
// in another message hold.
func (e *draft) dismissedSentences(ctx context.Context) []string {
	if len(e.dismissed(ctx)) == 0 {
		return nil
	}
	var gone []string
	hold := map[string]bool{}
	left := mostSought
	for i := len(e.Body.Messages) - 1; i >= e.lead && ctx.Err() == nil; i-- {
		m := &e.Body.Messages[i]
		_, noted := e.dismissed(ctx)[e.depth(i)]
		if m.Role != chat.User || !m.Prompts() || !noted && left <= 0 {
			continue
		}
		words := strings.Join(m.Words(), "\n")
		left -= len(words)
		for _, said := range recall.Detect(words) {
			if noted {
				gone = append(gone, said.Text)
			} else {
				hold[said.Text] = true
			}
		}
	}
	return slices.DeleteFunc(gone, func(text string) bool { return hold[text] })
}

// dismissed returns what is offered in place of the instructions of this history, by depth.
// It reads the notes once. If they cannot be read in time, the instructions are offered as
// they were said.
func (e *draft) dismissed(ctx context.Context) map[int]string {
	if e.request.notes == nil {
		e.request.notes = e.readDismissed(ctx)
	}
	return e.request.notes
}

func (e *draft) readDismissed(ctx context.Context) map[int]string {
	texts := map[int]string{}
	if e.v.o.Dismissed == nil {
		return texts
	}
	notes, err := limit.Spend(ctx, &e.v.recalls, &e.request.recallTime, func(ctx context.Context) ([]Dismissed, error) {
		return e.v.o.Dismissed(ctx, e.Thread.Tenant, e.Thread.Conversation)
	})
	if err != nil && !expected(err) {
		e.failed = fmt.Errorf("recall: %w", err)
	}
	for _, d := range notes {
		if e.Thread.Has(d.Depth, d.Identity) {
			texts[d.Depth] = d.Text
		}
	}
	return texts
}

// labelEdited stands before the text of an instruction that was edited: its words are not
// the user's own.
const labelEdited = "user, edited"

// quoted is a list of quoted instructions under a title, the newest first.
type quoted struct {
	e          *draft
	title      string
	used, most int
	all        []string
}

func (e *draft) newQuoted(title string, most int) *quoted {
	return &quoted{e: e, title: title, most: most, used: e.counter.Text(title+recallEnd).Tokens + 8}
}

// add adds an older instruction, if there is room and it is not there yet.
func (q *quoted) add(label, text string) {
	text = quote.Text(label, strings.Join(strings.Fields(text), " "))
	n := q.e.counter.Text(text).Tokens + 2
	if q.used+n > q.most || slices.Contains(q.all, text) || q.e.alreadyInserted(text) {
		return
	}
	q.used += n
	q.all = append(q.all, text)
}

// text returns the list, oldest first; "" if it is empty.
func (q *quoted) text() string {
	if len(q.all) == 0 {
		return ""
	}
	slices.Reverse(q.all)
	return q.title + strings.Join(q.all, "\n") + recallEnd
}

// alreadyInserted reports whether an earlier recall inserted this text.
func (e *draft) alreadyInserted(text string) bool {
	return slices.ContainsFunc(e.inserted, func(in window.Insertion) bool {
		return in.Kind == "recall" &&
			strings.Contains(in.Text, text)
	})
}
