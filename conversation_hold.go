package oriel

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/oriel-context/oriel/internal/call"
	"github.com/oriel-context/oriel/timeline"
)

// byCalls runs do if the conversation consists of calls, and reports whether it does. It
// also reports true if an error prevents it from knowing.
func (c *Conversation) byCalls(ctx context.Context, op string, do func(*call.Recorded) error) (came bool, err error) {
	e := c.engine
	if err := e.enter(ctx, c); err != nil {
		return true, c.fail(op, err, "")
	}
	r, ok, err := e.calls.Recorded(ctx, c.tenant, c.id)
	if err != nil {
		return true, e.storeError(ctx, op, c.id, err)
	}
	if !ok {
		return false, nil
	}
	err = do(r)
	for _, cause := range []error{ErrNoItem, ErrNoPlan, ErrCannotFit} {
		if errors.Is(err, cause) {
			return true, c.fail(op, err, "")
		}
	}
	if err != nil {
		return true, e.storeError(ctx, op, c.id, err)
	}
	return true, nil
}

// Pin keeps an item in view as long as anything else can leave. If the item has left the
// window, it comes back, and others leave for it under a plan of their own. If it does
// not fit beside the pinned, the held and the newest items, Pin fails with the numbers
// and changes nothing.
func (c *Conversation) Pin(ctx context.Context, id int64) error {
	op := fmt.Sprintf("pin item %d", id)
	if came, err := c.byCalls(ctx, op, func(r *call.Recorded) error { return r.Pin(ctx, id) }); came {
		return err
	}
	return c.run(ctx, op, func(p *loaded) error {
		if err := p.known(op, id); err != nil {
			return err
		}
		was, err := p.isPinned(ctx, id)
		if err != nil {
			return err
		}
		_, shown := p.window.Get(id)
		if err := p.show(ctx, op, []int64{id}, false, fmt.Sprintf("item %d was pinned", id)); err != nil || was && shown {
			return err
		}
		p.pinned[id] = true
		if err := p.putPin(ctx, id); err != nil {
			return err
		}
		if !was {
			p.tell(EventPin, p.window.Tokens(), p.window.Tokens(), 1)
		}
		return nil
	})
}

// Unpin lets an item leave in its turn. Items that are not in view or not pinned may be
// unpinned, too. An item that Undo holds stays until Release.
func (c *Conversation) Unpin(ctx context.Context, id int64) error {
	op := fmt.Sprintf("unpin item %d", id)
	if came, err := c.byCalls(ctx, op, func(r *call.Recorded) error { return r.Unpin(ctx, id) }); came {
		return err
	}
	return c.run(ctx, op, func(p *loaded) error {
		if err := p.known(op, id); err != nil {
			return err
		}
		if was, err := p.isPinned(ctx, id); err != nil || !was {
			return err
		}
		pins, err := p.pinsHere(ctx, id)
		if err != nil {
			return err
		}
		for i := range pins {
			p.drop(timeline.KindPin, pins[i].Key)
		}
		delete(p.pinned, id)
		p.tell(EventPin, p.window.Tokens(), p.window.Tokens(), 1)
		if _, shown := p.window.Get(id); !shown || p.held[id] {
			return nil
		}
		return p.window.Unpin(id)
	})
}

// Undoing describes what an undo does: the items or messages that come back, those that
// leave for them, and their sizes.
type Undoing = call.Undoing

// undoOp names an undo in errors.
func undoOp(plan string) string {
	if plan == "" {
		return "undo the newest plan"
	}
	return fmt.Sprintf("undo plan %q", plan)
}

// WouldUndo reports what Undo would do, and changes nothing.
func (c *Conversation) WouldUndo(ctx context.Context, planID string) (u Undoing, err error) {
	op := undoOp(planID)
	if came, err := c.byCalls(ctx, op, func(r *call.Recorded) (err error) {
		u, err = r.WouldUndo(ctx, planID)
		return err
	}); came {
		return u, err
	}
	err = c.run(ctx, op, func(p *loaded) error {
		id, items, err := p.findPlan(ctx, op, planID)
		u = Undoing{Plan: id}
		if err != nil || len(items) == 0 {
			return err
		}
		s, err := p.swap(ctx, op, items, true)
		if err != nil {
			return err
		}
		for i := range s.in {
			if _, came := s.came[s.in[i].ID]; came {
				u.Back = append(u.Back, s.in[i].ID)
				u.BackTokens += s.in[i].Tokens
			}
		}
		for i := range s.out {
			u.Leaves = append(u.Leaves, s.out[i].ID)
			u.LeavesTokens += s.out[i].Tokens
		}
		return nil
	})
	return u, err
}

// Undo reverses a plan, the newest if planID is empty. Everything that the plan left out
// comes back and is held in view, like pinned items, until Release; in a conversation of
// calls from its next call on. The oldest items leave for it, and none for which there is
// room in the end, under a plan of their own; WouldUndo lists them. Held items also take
// precedence in views, within their budget.
//
// If not all of it fits beside the pinned, the held and the newest items, Undo fails with
// the numbers and changes nothing; Pin then brings back single items. Undoing a plan that
// left nothing out, or undoing a plan twice, is not an error.
func (c *Conversation) Undo(ctx context.Context, planID string) error {
	op := undoOp(planID)
	if came, err := c.byCalls(ctx, op, func(r *call.Recorded) error { return r.Undo(ctx, planID) }); came {
		return err
	}
	return c.run(ctx, op, func(p *loaded) error {
		planID, ids, err := p.findPlan(ctx, op, planID)
		if err != nil || len(ids) == 0 {
			return err
		}
		before := p.window.Tokens()
		if err := p.show(ctx, op, ids, true, fmt.Sprintf("plan %s was undone", planID)); err != nil {
			return err
		}
		p.touch()
		p.tellPlan(EventUndo, planID, before, p.window.Tokens(), len(ids))
		for _, id := range ids {
			p.held[id] = true
		}
		p.holds = slices.DeleteFunc(p.holds, func(h timeline.Hold) bool { return h.Plan == planID })
		p.holds = append(p.holds, timeline.Hold{Plan: planID, Held: timeline.RangesOf(slices.Sorted(slices.Values(ids)))})
		return nil
	})
}

// Release ends all holds: what Undo brought back may leave in its turn, unless it is
// pinned. Nothing leaves at once.
func (c *Conversation) Release(ctx context.Context) error {
	if came, err := c.byCalls(ctx, "release", func(r *call.Recorded) error { return r.Release(ctx) }); came {
		return err
	}
	return c.run(ctx, "release", func(p *loaded) error {
		if p.stored.Revision == 0 {
			return nil
		}
		holds, err := p.engine.store.RecordKeys(ctx, p.tenant, p.id, timeline.KindHold)
		if err != nil || len(holds)+len(p.held) == 0 {
			return err
		}
		p.touch()
		for _, key := range holds {
			p.drop(timeline.KindHold, key)
		}
		p.holds = nil
		for id := range p.held {
			if !p.pinned[id] {
				if err := p.window.Unpin(id); err != nil {
					return err
				}
			}
		}
		clear(p.held)
		return nil
	})
}

// tellPlan is tell for what a plan left out or brought back.
func (p *loaded) tellPlan(kind, plan string, before, after, items int) {
	p.tellEvent(Event{Kind: kind, Plan: plan, TokensBefore: before, TokensAfter: after, Items: items})
}
