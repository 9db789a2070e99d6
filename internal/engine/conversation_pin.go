package engine

import (
	"context"
	"fmt"

	"github.com/oriel-context/oriel/timeline"
)

// notes returns the reader of the conversation's notes.
func (p *loaded) notes() timeline.Notes {
	return timeline.Notes{Store: p.engine.store, Tenant: p.tenant, Conversation: p.id}
}

// here returns the pins on the way to the head, in their order. only, if not 0, selects
// one id.
func (p *loaded) here(ctx context.Context, pins []timeline.Pin, only int64) ([]timeline.Pin, error) {
	var here []timeline.Pin
	reach := map[int64]int64{} // trunk → a depth of it that is on the way
	for _, r := range pins {
		if r.ID > p.last() || only != 0 && r.ID != only {
			continue // of another program, or of a branch that was left
		}
		if r.At.Depth > reach[r.At.Trunk] {
			on, err := p.passes(ctx, r.At)
			if err != nil {
				return nil, err
			}
			if !on {
				continue
			}
			reach[r.At.Trunk] = r.At.Depth
		}
		here = append(here, r)
	}
	return here, nil
}

// pinsHere returns the pins on the way to the head.
func (p *loaded) pinsHere(ctx context.Context, only int64) ([]timeline.Pin, error) {
	if p.stored.Revision == 0 {
		return nil, nil
	}
	all, err := p.notes().Pins(ctx)
	if err != nil {
		return nil, err
	}
	return p.here(ctx, all, only)
}

// putPin adds the record of a settled pin to the change.
func (p *loaded) putPin(ctx context.Context, id int64) error {
	pin, err := p.newPin(ctx, id)
	if err != nil {
		return err
	}
	pin.Settled = true
	p.put(pin.Record())
	return nil
}

// newPin returns a note about an item. The note belongs to the item's place, not to its
// id, because on another branch another item has that id.
func (p *loaded) newPin(ctx context.Context, id int64) (pin timeline.Pin, err error) {
	pin = timeline.Pin{ID: id, At: timeline.AtHead()}
	if id <= p.last() {
		if pin.At, err = p.placeOf(ctx, id); err != nil {
			return pin, err
		}
	}
	taken := false
	if p.stored.Revision > 0 {
		old, err := p.engine.store.Records(ctx, p.tenant, p.id, timeline.KindPin, itemKey(id))
		if err != nil {
			return pin, err
		}
		for i := range old {
			on, err := p.passes(ctx, old[i].At)
			if err != nil {
				return pin, err
			}
			taken = taken || !on
		}
	}
	pin.Key = timeline.PinKey(id, taken, p.stored.Revision+1)
	return pin, nil
}

// placeOf returns the place of an item.
func (p *loaded) placeOf(ctx context.Context, id int64) (timeline.Place, error) {
	at, ok, err := timeline.PlaceOf(ctx, p.engine.store, p.tenant, p.stored.Head, id)
	if err == nil && !ok {
		err = fmt.Errorf("%w: item %d is missing", timeline.ErrDamaged, id)
	}
	return at, err
}

// isPinned reports whether an item is pinned, in view or not.
func (p *loaded) isPinned(ctx context.Context, id int64) (bool, error) {
	if _, shown := p.window.Get(id); shown {
		return p.pinned[id], nil
	}
	pins, err := p.pinsHere(ctx, id)
	return len(pins) > 0, err
}

// passes reports whether a place is on the way to the head.
func (p *loaded) passes(ctx context.Context, at timeline.Place) (bool, error) {
	return timeline.Passes(ctx, p.engine.store, p.tenant, p.stored.Head, at)
}
