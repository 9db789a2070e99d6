package mcp

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/oriel-context/oriel/internal/quote"
	"github.com/oriel-context/oriel/internal/report"
)

type listInput struct {
	Project string `json:"project,omitempty" jsonschema:"only the conversations of this project: its path, or the end of it"`
	Since   string `json:"since,omitempty" jsonschema:"only conversations that were used at this time or later: 2026-11-01, today, 12h or 7d"`
	Limit   int    `json:"limit,omitempty" jsonschema:"most conversations; left out, it is 20"`
}

type listOutput struct {
	Note          string   `json:"note" jsonschema:"what the answer has, and whether it is complete"`
	Conversations []listed `json:"conversations" jsonschema:"the one that was used last first"`
}

// listed is a conversation: some of the fields of report.Conversation, under the same names.
type listed struct {
	ID       string    `json:"id"`
	Title    string    `json:"title,omitempty" jsonschema:"a quotation: its title, or the first words of a person"`
	Project  string    `json:"project,omitempty"`
	Messages int64     `json:"messages" jsonschema:"how many it has; their ids begin with 1"`
	Last     time.Time `json:"last" jsonschema:"when it was used last"`
	Own      bool      `json:"own,omitempty" jsonschema:"this is your own"`
}

func (o *listOutput) text() string {
	texts := []string{o.Note}
	for i := range o.Conversations {
		c := &o.Conversations[i]
		line := fmt.Sprintf("%s, %d messages, last used %s", quote.Label(c.ID), c.Messages, c.Last.Format(time.RFC3339))
		if c.Project != "" {
			line += ", project " + report.Line(c.Project, maxTitle)
		}
		if c.Own {
			line += ", your own"
		}
		if c.Title != "" {
			line += "\n" + quote.Text("title", c.Title)
		}
		texts = append(texts, line)
	}
	return strings.Join(texts, "\n")
}

// maxTitle is how many characters of a title are shown.
const maxTitle = 120

func (t *tools) list(ctx context.Context, r *request, in *listInput) (*listOutput, error) {
	since, err := moment("since", in.Since, t.o.Now())
	if err != nil {
		return nil, err
	}
	list, total, err := t.conversations(ctx, r, in.Project, since, cmp.Or(in.Limit, defaultRow))
	if err != nil {
		return nil, err
	}
	out := &listOutput{Conversations: list,
		Note: fmt.Sprintf("%d of %d conversations, the one that was used last first.", len(list), total)}
	switch {
	case total == 0 && (in.Project != "" || in.Since != ""):
		out.Note = "0 conversations were used since then. The list is complete."
	case total == 0:
		out.Note = emptyNote
	case len(list) < total:
		out.Note += fmt.Sprintf(" limit (at most %d), project and since choose others.", maxList)
	default:
		out.Note += " The list is complete."
	}
	return out, nil
}

// conversations returns the newest conversations, and how many there are. Private ones of
// others are left out.
func (t *tools) conversations(ctx context.Context, r *request, project string, since time.Time,
	limit int) (list []listed, total int, err error) {
	all, err := report.Conversations(ctx, r.Store, t.o.Tenant)
	if err != nil {
		return nil, 0, err
	}
	if len(all) > 0 { // an empty history has no project
		if all, err = report.Choose(all, project, since); err != nil {
			return nil, 0, err
		}
	}
	list = []listed{}
	hidden := 0
	for i := range all {
		if len(list) == limit {
			break
		}
		c := &all[i]
		if hides, err := t.hides(ctx, r, c.Name); err != nil {
			return nil, 0, err
		} else if hides {
			hidden++
			continue
		}
		title, err := report.Title(ctx, r.Store, t.o.Tenant, &c.Conversation)
		if err != nil {
			return nil, 0, err
		}
		list = append(list, listed{
			ID: c.Name, Title: report.Line(quote.Disarm(title), maxTitle), Project: c.Project, Messages: c.Head.Depth,
			Last: c.Said.UTC(), Own: c.Name == r.own,
		})
	}
	return list, len(all) - hidden, nil
}
