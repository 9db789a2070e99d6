package oriel

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/oriel-context/oriel/window"
)

// Pin keeps an item in view as long as anything else can leave. An item that has
// left the window comes back, and others leave for it under a plan of their own; if
// it cannot fit beside what is pinned, held and newest, Pin refuses with the
// numbers and nothing changes.
func (c *Conversation) Pin(ctx context.Context, id int64) error {
	op := fmt.Sprintf("pin item %d", id)
	if err := c.lock(ctx, op); err != nil {
		return err
	}
	defer c.mu.Unlock()
	if err := c.known(op, id); err != nil {
		return err
	}
	if err := c.show(op, []int64{id}, fmt.Sprintf("item %d was pinned", id)); err != nil {
		return err
	}
	c.star(id, true)
	return nil
}

// Unpin lets an item leave in its turn. An item that is not in view, or not pinned,
// may be unpinned too; one that an Undo holds stays until Release.
func (c *Conversation) Unpin(ctx context.Context, id int64) error {
	op := fmt.Sprintf("unpin item %d", id)
	if err := c.lock(ctx, op); err != nil {
		return err
	}
	defer c.mu.Unlock()
	if err := c.known(op, id); err != nil {
		return err
	}
	c.star(id, false)
	if _, shown := c.window.Get(id); !shown || c.held[id] {
		return nil
	}
	return c.window.Unpin(id)
}

// Undo takes a plan back: everything that it left out comes back and is held in
// view, as if pinned, until Release. Others leave for it under a plan of their own.
// What is held has precedence in views, too, as far as their budget goes.
//
// If all of it cannot fit beside what is pinned, held and newest, Undo refuses with
// the numbers and nothing changes: Pin then brings back single items. A plan that
// left nothing out has nothing to undo, and undoing a plan twice is no error.
func (c *Conversation) Undo(ctx context.Context, planID string) error {
	op := fmt.Sprintf("undo plan %q", planID)
	if err := c.lock(ctx, op); err != nil {
		return err
	}
	defer c.mu.Unlock()
	left, err := c.findPlan(op, planID)
	if err != nil || len(left) == 0 {
		return err
	}
	ids := make([]int64, len(left))
	for i, t := range left {
		ids[i] = t.id
	}
	before := c.window.Tokens()
	if err := c.show(op, ids, fmt.Sprintf("plan %s was undone", planID)); err != nil {
		return err
	}
	c.tell(window.EventUndo, before, c.window.Tokens(), len(ids))
	for _, id := range ids {
		c.held[id] = true
	}
	return nil
}

// Release ends all holds: what Undo brought back may leave in its turn, except what
// is pinned. Nothing leaves at once.
func (c *Conversation) Release(ctx context.Context) error {
	if err := c.lock(ctx, "release"); err != nil {
		return err
	}
	defer c.mu.Unlock()
	for id := range c.held {
		if !c.history[id-1].Pinned() {
			if err := c.window.Unpin(id); err != nil {
				return c.fail("release", err, "")
			}
		}
	}
	clear(c.held)
	return nil
}

// star pins or unpins an item of the history. Items that were handed out or are in
// the window share its list of flags, so it is not changed in place.
func (c *Conversation) star(id int64, on bool) {
	it := &c.history[id-1]
	switch {
	case it.Pinned() == on:
		return
	case on:
		it.Flags = append(slices.Clip(it.Flags), window.FlagStarred)
	default:
		it.Flags = slices.DeleteFunc(slices.Clone(it.Flags), func(f window.Flag) bool { return f == window.FlagStarred })
	}
	c.tell(window.EventPin, c.window.Tokens(), c.window.Tokens(), 1)
}

// show brings items into view and stars them there. All of them fit, or an error
// has the numbers and nothing is changed. It costs O(window).
func (c *Conversation) show(op string, ids []int64, when string) error {
	items := c.window.Items(0)
	present := map[int64]bool{}
	for i := range items {
		present[items[i].ID] = true
	}
	wanted := map[int64]bool{}
	maxTokens, maxItems := c.window.Limits()
	for _, id := range ids {
		wanted[id] = true
		if !present[id] {
			items = append(items, c.sized(c.history[id-1], maxTokens))
		}
	}
	if len(items) == len(present) {
		for _, id := range ids {
			if err := c.window.Pin(id); err != nil {
				return c.fail(op, err, "")
			}
		}
		return nil
	}
	slices.SortFunc(items, func(a, b Item) int { return cmp.Compare(a.ID, b.ID) })

	total, tokens, stay := 0, 0, 0 // tokens of all, tokens and number of what must stay
	for i := range items {
		total += items[i].Tokens
		if wanted[items[i].ID] || items[i].Pinned() || i == len(items)-1 {
			tokens += items[i].Tokens
			stay++
		}
	}
	if tokens > maxTokens || stay > maxItems {
		err := fmt.Errorf("%w: with what is pinned, held and newest it would take %d tokens in %d items, the window has %d in %d",
			ErrCannotFit, tokens, stay, maxTokens, maxItems)
		return c.fail(op, err, "release or unpin something, or enlarge the window")
	}
	// A window takes items in the order of their ids only: so make it anew, and
	// let it settle once everything is in it.
	fresh := c.emptyWindow(math.MaxInt, len(items))
	for _, it := range items {
		if _, _, err := fresh.Add(it); err != nil {
			return c.fail(op, err, "")
		}
		if wanted[it.ID] {
			if err := fresh.Pin(it.ID); err != nil {
				return c.fail(op, err, "")
			}
		}
	}
	out := fresh.SetLimits(maxTokens, maxItems)
	c.window = fresh
	if len(out) > 0 {
		c.left(out, total, c.victims(when))
	}
	return nil
}

// sized is an item of the history as a window shows it: without its middle if it
// is larger than the window.
func (c *Conversation) sized(it Item, maxTokens int) Item {
	if it.Tokens <= maxTokens {
		return it
	}
	w := c.emptyWindow(maxTokens, 1)
	if _, _, err := w.Add(it); err != nil {
		return it // it was in a window before
	}
	it, _ = w.Get(it.ID)
	return it
}
