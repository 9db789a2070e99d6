package mcp

import (
	"context"
	"fmt"

	"github.com/oriel-context/oriel"
	"github.com/oriel-context/oriel/internal/report"
	"github.com/oriel-context/oriel/timeline"
)

type pinInput struct {
	Conversation string `json:"conversation,omitempty" jsonschema:"id of the conversation, as recall and list_conversations show it; left out, it is your own"`
	ID           int64  `json:"id" jsonschema:"id of the message, as recall and read show it"`
}

type pinOutput struct {
	Note string `json:"note" jsonschema:"what was done"`
	report.Pin
}

func (o *pinOutput) text() string { return o.Note }

// change finds a conversation to change.
func (t *tools) change(ctx context.Context, r *request, name string) (*oriel.Conversation, error) {
	c, err := t.find(ctx, r, name)
	if err != nil {
		return nil, err
	}
	return r.Engine.Conversation(ctx, c.Name)
}

func (t *tools) pin(ctx context.Context, r *request, in *pinInput) (*pinOutput, error) {
	c, err := t.change(ctx, r, in.Conversation)
	if err != nil {
		return nil, err
	}
	if err := c.Pin(ctx, in.ID); err != nil {
		return nil, err
	}
	return &pinOutput{
		fmt.Sprintf("Message %d is pinned: from the next call on it is in the context window, until unpin.", in.ID),
		report.Pin{Conversation: c.ID(), ID: in.ID, Pinned: true}}, nil
}

func (t *tools) unpin(ctx context.Context, r *request, in *pinInput) (*pinOutput, error) {
	c, err := t.change(ctx, r, in.Conversation)
	if err != nil {
		return nil, err
	}
	if err := c.Unpin(ctx, in.ID); err != nil {
		return nil, err
	}
	return &pinOutput{
		fmt.Sprintf("Message %d is not pinned: it may leave the context window in its turn. The history keeps it.",
			in.ID), report.Pin{Conversation: c.ID(), ID: in.ID}}, nil
}

type undoInput struct {
	Conversation string `json:"conversation,omitempty" jsonschema:"id of the conversation; left out, it is your own"`
	Plan         string `json:"plan,omitempty" jsonschema:"the cut to take back, such as p3; left out, it is the newest"`
}

type undoOutput struct {
	Note         string `json:"note" jsonschema:"what was done"`
	Conversation string `json:"conversation"`
	Plan         string `json:"plan" jsonschema:"the cut that was taken back"`
	Back         string `json:"back,omitempty" jsonschema:"ids of the messages that come back, such as 3-9,12"`
	Leaves       string `json:"leaves,omitempty" jsonschema:"ids of the messages that leave for them"`
}

func (o *undoOutput) text() string { return o.Note }

func (t *tools) undo(ctx context.Context, r *request, in *undoInput) (*undoOutput, error) {
	c, err := t.change(ctx, r, in.Conversation)
	if err != nil {
		return nil, err
	}
	plan := in.Plan
	if plan != "" {
		if plan, err = report.FindPlan(ctx, c, plan); err != nil {
			return nil, err
		}
	}
	would, err := c.WouldUndo(ctx, plan)
	if err != nil {
		return nil, err
	}
	if err := c.Undo(ctx, would.Plan); err != nil {
		return nil, err
	}
	out := &undoOutput{Conversation: c.ID(), Plan: would.Plan, Back: timeline.RangesOf(would.Back).String(),
		Leaves: timeline.RangesOf(would.Leaves).String()}
	switch {
	case out.Back == "":
		out.Note = fmt.Sprintf("Cut %s: all that it left out is in the context window already.", out.Plan)
	case out.Leaves == "":
		out.Note = fmt.Sprintf(
			"Cut %s is undone: messages %s are in the context window from the next call on. Nothing leaves for them.",
			out.Plan, out.Back)
	default:
		out.Note = fmt.Sprintf("Cut %s is undone: messages %s are in the context window from the next call on. Messages %s leave for them; the history keeps them.", out.Plan, out.Back, out.Leaves)
	}
	return out, nil
}
