package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/oriel-context/oriel/internal/engine/fault"
	"github.com/oriel-context/oriel/internal/event"
	"github.com/oriel-context/oriel/items"
	"github.com/oriel-context/oriel/timeline"
)

const (
	// maxCatchUp is the most items added by others that enter the window one by one. Of
	// more than that only the newest enter; all others count as having left.
	maxCatchUp = 256
	// maxSettle is the most pins of other programs that are applied at once.
	maxSettle = 64
	// readChunk is the number of items that are read at once to find those that fit.
	readChunk = 128
)

// catchUp adds to the window, in order, the items that were appended after the state was
// stored. Items that this package appended changed nothing else, or the state would have
// been stored with them; items of other programs may make others leave.
func (p *loaded) catchUp(ctx context.Context, pins map[int64]bool) error {
	first := p.savedUpTo + 1
	if p.last()-p.savedUpTo > maxCatchUp {
		first = p.last() - maxCatchUp + 1
		p.skip(first)
		p.touch()
	}
	if first > p.last() {
		return nil
	}
	read, err := p.read(ctx, first, p.last())
	if err != nil {
		return err
	}
	if int64(len(read)) != p.last()-first+1 {
		return fmt.Errorf("%w: of items %d to %d only %d are there", timeline.ErrDamaged, first, p.last(), len(read))
	}
	var left []items.Item
	before := p.window.Tokens()
	for _, r := range read {
		if !r.shown {
			continue
		}
		r.Flags = starred(r.Flags, pins[r.ID])
		out, err := p.push(r.Item)
		if err != nil {
			return err
		}
		left = append(left, out...)
		if it, ok := p.window.Get(r.ID); ok {
			before += it.Tokens
		}
	}
	if len(left) > 0 {
		slices.SortFunc(left, byID)
		if _, err := p.left(ctx, left, before,
			p.victims(fmt.Sprintf("items %d to %d came from elsewhere", first, p.last()))); err != nil {
			return err
		}
	}
	return nil
}

// newest fills the window of a history that has none with the newest items that fit. It
// reads about as much as the window has room for; older items count as having left.
func (p *loaded) newest(ctx context.Context, pins map[int64]bool) error {
	maxTokens, maxItems := p.window.Limits()
	var shown []items.Item // newest first
	tokens, full := 0, false
	// Entries that are not shown take no room, so that the number of reads needs a bound
	// of its own.
	least := p.last() - 8*int64(min(maxItems, 1<<30)) - 8*readChunk
	for last := p.last(); last > max(0, least) && !full; last -= readChunk {
		read, err := p.read(ctx, max(1, last-readChunk+1), last)
		if err != nil {
			return err
		}
		for _, r := range slices.Backward(read) {
			if !r.shown {
				continue
			}
			it := p.sized(r.Item, maxTokens)
			if full = len(shown) == maxItems || tokens+it.Tokens > maxTokens; full {
				break
			}
			if pins[it.ID] {
				p.pinned[it.ID] = true
			}
			it.Flags = starred(it.Flags, pins[it.ID] || p.held[it.ID])
			shown = append(shown, it)
			tokens += it.Tokens
		}
	}
	slices.Reverse(shown)
	for i := range shown {
		p.tracker.Observe(shown[i].Whole())
	}
	_, err := p.fill(shown, maxTokens, maxItems)
	return err
}

// settle applies the pins that other programs have set: it brings items that are not in
// view into it, as Pin does. An item that does not fit stays pinned out of view and is
// tried again when the conversation is loaded next.
func (p *loaded) settle(ctx context.Context, unsettled []int64) error {
	for _, id := range unsettled[:min(len(unsettled), maxSettle)] {
		err := p.show(ctx, "pin", []int64{id}, false, fmt.Sprintf("item %d was pinned", id))
		if errors.Is(err, fault.ErrCannotFit) {
			continue
		}
		if err != nil {
			return err
		}
		p.pinned[id] = true
		if err := p.putPin(ctx, id); err != nil {
			return err
		}
		p.touch()
		p.tell(event.Pin, p.window.Tokens(), p.window.Tokens(), 1)
	}
	return nil
}
