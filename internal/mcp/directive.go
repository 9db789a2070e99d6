package mcp

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/oriel-context/oriel"
	"github.com/oriel-context/oriel/internal/prompt"
	"github.com/oriel-context/oriel/internal/quote"
	"github.com/oriel-context/oriel/internal/report"
)

type directivesInput struct {
	Scope        string `json:"scope,omitempty" jsonschema:"whose: conversation (this one, and what it continues), project (all conversations of this project) or user (all there are)"`
	Conversation string `json:"conversation,omitempty" jsonschema:"id of the conversation to look in or from; left out, it is your own"`
}

type directivesOutput struct {
	Note       string      `json:"note" jsonschema:"what the answer has, and whether it is complete"`
	Directives []directive `json:"directives" jsonschema:"oldest first; of two that contradict each other the later one is newer"`
}

type directive struct {
	Conversation string `json:"conversation"`
	ID           int64  `json:"id" jsonschema:"id of the message in which it was said"`
	Time         string `json:"time,omitempty" jsonschema:"when it was said"`
	Kind         string `json:"kind" jsonschema:"instruction or preference"`
	Quote        string `json:"quote" jsonschema:"the instruction"`
	Edited       bool   `json:"edited,omitempty" jsonschema:"the text was edited: read shows what was said"`
}

func (d *directive) text() string {
	label := "user"
	if d.Edited {
		label = "edited"
	}
	source := passage{Conversation: d.Conversation, ID: d.ID, Time: d.Time, Role: label, Quote: d.Quote}
	return source.text()
}

func (o *directivesOutput) text() string {
	texts := []string{o.Note}
	for i := range o.Directives {
		texts = append(texts, o.Directives[i].text())
	}
	return strings.Join(texts, "\n\n")
}

func (t *tools) directives(ctx context.Context, r *request, in *directivesInput) (*directivesOutput, error) {
	place, err := t.place(r, in.Conversation, in.Scope)
	if err != nil {
		return nil, err
	}
	w, err := t.where(ctx, r, place)
	if errors.Is(err, report.ErrEmpty) {
		return &directivesOutput{Note: emptyNote, Directives: []directive{}}, nil
	}
	if err != nil {
		return nil, err
	}
	all, err := r.Engine.Directives(ctx, w)
	if err != nil {
		return nil, err
	}
	out := &directivesOutput{Directives: []directive{}}
	room := maxText
	for i := range slices.Backward(all) {
		d := newDirective(&all[i])
		if room -= len(d.text()) + 2; room < 0 {
			break
		}
		out.Directives = append(out.Directives, d)
	}
	slices.Reverse(out.Directives)
	where := whereInWords(w, r.own)
	switch n := len(out.Directives); {
	case n == 0:
		out.Note = fmt.Sprintf(
			"0 standing instructions: nobody said in %s that something should always hold. The list is complete.",
			where)
	case n < len(all):
		out.Note = fmt.Sprintf("The newest %d of %d standing instructions in %s, oldest first. %s", n, len(all), where,
			directivesQuoted)
	default:
		out.Note = fmt.Sprintf("%d of %d standing instructions in %s, oldest first. The list is complete. %s", n, n,
			where, directivesQuoted)
	}
	return out, nil
}

// directivesQuoted explains what the quotations of a list are.
const directivesQuoted = "Lines with \">\" quote what users said; a user's message may have text of others."

func newDirective(d *oriel.Directive) directive {
	out := directive{Conversation: d.Conversation, ID: d.ID, Kind: string(d.Kind), Quote: quote.Text("", d.Text),
		Edited: d.Original != ""}
	if !d.Time.IsZero() {
		out.Time = d.Time.UTC().Format(time.RFC3339)
	}
	return out
}

type changeDirectiveInput struct {
	Conversation string `json:"conversation,omitempty" jsonschema:"id of the conversation, as directives shows it; left out, it is your own"`
	ID           int64  `json:"id" jsonschema:"id of the message in which it was said, as directives shows it"`
	Text         string `json:"text,omitempty" jsonschema:"what is to hold instead of all instructions of that message; left out, they are dismissed"`
}

type changeDirectiveOutput struct {
	Note         string `json:"note" jsonschema:"what was done"`
	Conversation string `json:"conversation"`
	ID           int64  `json:"id"`
	Dismissed    bool   `json:"dismissed"`
}

func (o *changeDirectiveOutput) text() string { return o.Note }

func (t *tools) changeDirective(ctx context.Context, r *request,
	in *changeDirectiveInput) (*changeDirectiveOutput, error) {
	c, err := t.change(ctx, r, in.Conversation)
	if err != nil {
		return nil, err
	}
	out := &changeDirectiveOutput{Conversation: c.ID(), ID: in.ID, Dismissed: in.Text == ""}
	if out.Dismissed {
		out.Note = fmt.Sprintf("The standing instructions of message %d are dismissed: no later call is offered them. The message stays in the history; %s with a text brings one back.", in.ID, prompt.ToolChangeDirective)
		return out, c.Dismiss(ctx, in.ID)
	}
	out.Note = fmt.Sprintf("The text holds instead of the standing instructions of message %d, which stays in the history as it was said.", in.ID)
	return out, c.EditDirective(ctx, in.ID, in.Text)
}
