package oriel

import (
	"context"
	"fmt"

	"github.com/oriel-context/oriel/window"
)

// Pin keeps an item in view as long as anything else can leave. An item that has
// left the window comes back, and others leave for it under a plan of their own; if
// it cannot fit beside what is pinned, held and newest, Pin refuses with the
// numbers and nothing changes.
func (c *Conversation) Pin(ctx context.Context, id int64) error {
	op := fmt.Sprintf("pin item %d", id)
	return c.run(ctx, op, func(p *present) error {
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
			p.tell(window.EventPin, p.window.Tokens(), p.window.Tokens(), 1)
		}
		return nil
	})
}

// Unpin lets an item leave in its turn. An item that is not in view, or not pinned,
// may be unpinned too; one that an Undo holds stays until Release.
func (c *Conversation) Unpin(ctx context.Context, id int64) error {
	op := fmt.Sprintf("unpin item %d", id)
	return c.run(ctx, op, func(p *present) error {
		if err := p.known(op, id); err != nil {
			return err
		}
		if was, err := p.isPinned(ctx, id); err != nil || !was {
			return err
		}
		pins, err := p.marks(ctx, kindPin, id)
		if err != nil {
			return err
		}
		for i := range pins {
			p.drop(kindPin, pins[i].Key)
		}
		delete(p.pinned, id)
		p.tell(window.EventPin, p.window.Tokens(), p.window.Tokens(), 1)
		if _, shown := p.window.Get(id); !shown || p.held[id] {
			return nil
		}
		return p.window.Unpin(id)
	})
}

// WouldUndo reports what Undo of a plan would do, and changes nothing: back are the items
// that come back, leaves those that have to leave for them.
func (c *Conversation) WouldUndo(ctx context.Context, planID string) (back, leaves []int64, err error) {
	op := fmt.Sprintf("undo plan %q", planID)
	err = c.run(ctx, op, func(p *present) error {
		ids, err := p.findPlan(ctx, op, planID)
		if err != nil || len(ids) == 0 {
			return err
		}
		s, err := p.swap(ctx, op, ids, true)
		if err != nil {
			return err
		}
		back, leaves = nil, nil
		for i := range s.in {
			if _, came := s.came[s.in[i].ID]; came {
				back = append(back, s.in[i].ID)
			}
		}
		for i := range s.out {
			leaves = append(leaves, s.out[i].ID)
		}
		return nil
	})
	return back, leaves, err
}

// Undo takes a plan back: everything that it left out comes back and is held in
// view, as if pinned, until Release. Only what must leave for it leaves, the oldest
// first, under a plan of its own; WouldUndo says which. What is held has precedence in
// views, too, as far as their budget goes.
//
// If all of it cannot fit beside what is pinned, held and newest, Undo refuses with
// the numbers and nothing changes: Pin then brings back single items. A plan that
// left nothing out has nothing to undo, and undoing a plan twice is no error.
func (c *Conversation) Undo(ctx context.Context, planID string) error {
	op := fmt.Sprintf("undo plan %q", planID)
	return c.run(ctx, op, func(p *present) error {
		ids, err := p.findPlan(ctx, op, planID)
		if err != nil || len(ids) == 0 {
			return err
		}
		before := p.window.Tokens()
		if err := p.show(ctx, op, ids, true, fmt.Sprintf("plan %s was undone", planID)); err != nil {
			return err
		}
		p.touch()
		p.tell(window.EventUndo, before, p.window.Tokens(), len(ids))
		for _, id := range ids {
			p.held[id] = true
		}
		return nil
	})
}

// Release ends all holds: what Undo brought back may leave in its turn, except what
// is pinned. Nothing leaves at once.
func (c *Conversation) Release(ctx context.Context) error {
	return c.run(ctx, "release", func(p *present) error {
		if len(p.held) == 0 {
			return nil
		}
		p.touch()
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
