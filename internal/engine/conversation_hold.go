package engine

import (
	"context"
	"fmt"
	"slices"

	"github.com/oriel-context/oriel/internal/call"
	"github.com/oriel-context/oriel/internal/event"
	"github.com/oriel-context/oriel/timeline"
)

// Pin implements oriel.Conversation.Pin.
func (c *Conversation) Pin(ctx context.Context, id int64) error {
	op := fmt.Sprintf("pin item %d", id)
	return c.either(ctx, op, func(r *call.Recorded) error { return r.Pin(ctx, id) }, func(p *loaded) error {
		if err := p.known(op, id); err != nil {
			return err
		}
		was, err := p.isPinned(ctx, id)
		if err != nil {
			return err
		}
		_, shown := p.window.Get(id)
		if err := p.show(ctx, op, []int64{id}, false, fmt.Sprintf("item %d was pinned", id)); err != nil ||
			was && shown {
			return err
		}
		p.pinned[id] = true
		if err := p.putPin(ctx, id); err != nil {
			return err
		}
		if !was {
			p.tell(event.Pin, p.window.Tokens(), p.window.Tokens(), 1)
		}
		return nil
	})
}

// Unpin implements oriel.Conversation.Unpin.
func (c *Conversation) Unpin(ctx context.Context, id int64) error {
	op := fmt.Sprintf("unpin item %d", id)
	return c.either(ctx, op, func(r *call.Recorded) error { return r.Unpin(ctx, id) }, func(p *loaded) error {
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
		p.tell(event.Pin, p.window.Tokens(), p.window.Tokens(), 1)
		if _, shown := p.window.Get(id); !shown || p.held[id] {
			return nil
		}
		return p.window.Unpin(id)
	})
}

// undoOp names an undo in errors.
func undoOp(plan string) string {
	if plan == "" {
		return "undo the newest plan"
	}
	return fmt.Sprintf("undo plan %q", plan)
}

// WouldUndo implements oriel.Conversation.WouldUndo.
func (c *Conversation) WouldUndo(ctx context.Context, planID string) (u call.Undoing, err error) {
	op := undoOp(planID)
	err = c.either(ctx, op, func(r *call.Recorded) (err error) {
		u, err = r.WouldUndo(ctx, planID)
		return err
	}, func(p *loaded) error {
		id, items, err := p.findPlan(ctx, op, planID)
		u = call.Undoing{Plan: id}
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

// Undo implements oriel.Conversation.Undo.
func (c *Conversation) Undo(ctx context.Context, planID string) error {
	op := undoOp(planID)
	return c.either(ctx, op, func(r *call.Recorded) error { return r.Undo(ctx, planID) }, func(p *loaded) error {
		planID, ids, err := p.findPlan(ctx, op, planID)
		if err != nil || len(ids) == 0 {
			return err
		}
		before := p.window.Tokens()
		if err := p.show(ctx, op, ids, true, fmt.Sprintf("plan %s was undone", planID)); err != nil {
			return err
		}
		p.touch()
		p.tellPlan(event.Undo, planID, before, p.window.Tokens(), len(ids))
		for _, id := range ids {
			p.held[id] = true
		}
		p.holds = slices.DeleteFunc(p.holds, func(h timeline.Hold) bool { return h.Plan == planID })
		p.holds = append(p.holds,
			timeline.Hold{Plan: planID, Held: timeline.RangesOf(slices.Sorted(slices.Values(ids)))})
		return nil
	})
}

// Release implements oriel.Conversation.Release.
func (c *Conversation) Release(ctx context.Context) error {
	return c.either(ctx, "release", func(r *call.Recorded) error { return r.Release(ctx) }, func(p *loaded) error {
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
	p.tellEvent(event.Event{Kind: kind, Plan: plan, TokensBefore: before, TokensAfter: after, Items: items})
}
