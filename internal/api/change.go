package api

import (
	"context"
	"net/http"
	"strconv"

	"github.com/oriel-context/oriel"
	"github.com/oriel-context/oriel/internal/report"
	"github.com/oriel-context/oriel/timeline"
)

// open returns the conversation that the path names, to change it.
func (q *request) open(ctx context.Context) (*oriel.Conversation, *timeline.Conversation, error) {
	c, err := q.find(ctx)
	if err != nil {
		return nil, nil, err
	}
	opened, err := q.Engine.ForTenant(q.tenant).Conversation(ctx, c.Name)
	return opened, c, err
}

// pinOrder names a message to pin.
type pinOrder struct {
	ID *int64 `json:"id"`
}

func (q *request) pin(order *pinOrder) (*report.Pin, error) {
	if order.ID == nil {
		return nil, badRequest(`send {"id":17}`, "the body has no %q", "id")
	}
	return q.setPin(*order.ID, true)
}

func (q *request) unpin() (*report.Pin, error) {
	id, err := strconv.ParseInt(q.PathValue("message"), 10, 64)
	if err != nil {
		return nil, notFound("a message's id is its number in the conversation", "no such message: %s",
			short(q.PathValue("message")))
	}
	return q.setPin(id, false)
}

func (q *request) setPin(id int64, on bool) (*report.Pin, error) {
	ctx := q.Context()
	c, stored, err := q.open(ctx)
	if err != nil {
		return nil, err
	}
	if id < 1 || id > stored.Head.Depth {
		return nil, notFound("messages are numbered from 1 to "+strconv.FormatInt(stored.Head.Depth, 10),
			"no such message: %d", id)
	}
	if on {
		err = c.Pin(ctx, id)
	} else {
		err = c.Unpin(ctx, id)
	}
	if err != nil {
		return nil, err
	}
	q.tell(oriel.Event{Kind: oriel.EventPin, Conversation: c.ID(), Items: 1})
	return &report.Pin{Conversation: c.ID(), ID: id, Pinned: on}, nil
}

// tell sends an event to the streams as soon as a person has changed something. The event
// of the next call reports the effect.
func (q *request) tell(e oriel.Event) {
	e.Time = q.Now()
	q.Hub.PublishTo(q.tenant, e)
}

// undoOrder names a plan to undo.
type undoOrder struct {
	// Plan is its id; without it, the newest plan that hides anything is undone.
	Plan string `json:"plan,omitempty"`
	// Preview only reports what would happen.
	Preview bool `json:"preview,omitempty"`
}

func (q *request) undo(order *undoOrder) (*report.Undo, error) {
	ctx := q.Context()
	c, stored, err := q.open(ctx)
	if err != nil {
		return nil, err
	}
	if order.Plan == report.Last || order.Plan == report.Dash {
		order.Plan = ""
	}
	if order.Plan != "" {
		plans, err := q.allPlans(ctx, stored)
		if err != nil {
			return nil, err
		}
		p, err := planOf(plans, order.Plan)
		if err != nil {
			return nil, err
		}
		order.Plan = p.ID
	}
	would, err := c.WouldUndo(ctx, order.Plan)
	if err != nil {
		return nil, err
	}
	if would.Plan == "" {
		return nil, newProblem(http.StatusConflict, "GET …/plans shows which plans left something out",
			"there is no plan that hides anything")
	}
	out := report.NewUndo(c.ID(), &would)
	out.Preview = order.Preview
	if order.Preview {
		return &out, nil
	}
	if err := c.Undo(ctx, would.Plan); err != nil {
		return nil, err
	}
	out.Done = true
	q.tell(oriel.Event{Kind: oriel.EventUndo, Conversation: c.ID(), Plan: would.Plan, Items: len(would.Back),
		Back: out.Back, Left: out.Leaves})
	return &out, nil
}

// releaseOrder has no members: a release concerns all holds of a conversation.
type releaseOrder struct{}

func (q *request) release(*releaseOrder) (*report.Released, error) {
	c, stored, err := q.open(q.Context())
	if err != nil {
		return nil, err
	}
	holds, err := q.holds(q.Context(), stored)
	if err != nil {
		return nil, err
	}
	if err := c.Release(q.Context()); err != nil {
		return nil, err
	}
	q.tell(oriel.Event{Kind: oriel.EventRelease, Conversation: c.ID()})
	return &report.Released{Conversation: c.ID(), Released: len(holds) > 0}, nil
}
