package call

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/oriel-context/oriel/internal/event"
	"github.com/oriel-context/oriel/internal/limit"
	"github.com/oriel-context/oriel/internal/plan"
	"github.com/oriel-context/oriel/timeline"
)

// numbering returns a context for the numbers of plans, which ends with what is left of
// Waits.Number. The caller must call done.
func (c *Call) numbering(ctx context.Context) (numbers context.Context, done func()) {
	began := time.Now()
	numbers, cancel := context.WithTimeout(ctx, c.numberLeft)
	return numbers, func() {
		cancel()
		c.numberLeft -= time.Since(began)
	}
}

// number has the store give a plan its number in the conversation of the call, so that no
// other process gives it to another plan. If that fails, the plan is called by its name
// until it is stored.
func (c *Call) number(ctx context.Context, cut *plan.Plan) {
	if id := c.reservedID(cut); id != "" {
		c.setNumber(cut, id)
		return
	}
	wish, final := c.engine.index.PlanNumber(c.thread, cut.ID)
	if s := c.engine.Spool(); final || wish == 0 || s.Calls > s.Newer { // a store that accepts no calls gives no number
		return
	}
	ctx, done := c.numbering(ctx)
	defer done()
	name, notes, p := cut.ID, c.notes(), timeline.Proposal{Name: cut.ID, Wish: wish, Now: c.engine.o.Now()}
	id, err := limit.Do(ctx, &c.engine.reads, func(ctx context.Context) (string, error) { return notes.ReservePlan(ctx, p) })
	if errors.Is(err, timeline.ErrNoConversation) {
		if c.engine.o.Shared && c.hints.Session != "" {
			return // another server may begin the conversation of that name at the same time
		}
		id, err = timeline.PlanID(wish), nil
	} else if err == nil {
		c.reserved = append(c.reserved, timeline.Plan{ID: id, Name: name})
	}
	if err != nil {
		if c.engine.worthTelling(c.began) {
			c.engine.report(event.OpenStore, c.request, c.thread.Conversation, fmt.Errorf("number plan %s: %w; it is called by its name until it is stored", name, err))
		}
		return
	}
	c.setNumber(cut, id)
}

// reservedID returns the id that the store has reserved for a plan of the call, or "".
func (c *Call) reservedID(cut *plan.Plan) string {
	for _, p := range c.reserved {
		if p.Name == cut.ID {
			return p.ID
		}
	}
	return ""
}

func (c *Call) setNumber(cut *plan.Plan, id string) {
	if n, ok := timeline.PlanNumber(id); ok {
		c.engine.index.SetPlanNumber(c.thread, cut.ID, n)
	}
}

func (c *Call) notes() timeline.Notes {
	return timeline.Notes{Store: c.stored, Tenant: c.request.Tenant, Conversation: c.thread.Conversation}
}

// planID returns the id of a plan in the conversation of the call, or its name as long as
// the number is not final or the conversation is not known.
func (c *Call) planID(cut *plan.Plan) string {
	if c.known() {
		if n, final := c.engine.index.PlanNumber(c.thread, cut.ID); final {
			return timeline.PlanID(n)
		}
	}
	return cut.ID
}

// planKey returns the key of a plan in the conversation of the call.
func (c *Call) planKey(cut *plan.Plan) string {
	if id := c.planID(cut); id != cut.ID {
		return timeline.PlanKey(id, cut.ID)
	}
	return cut.ID
}
