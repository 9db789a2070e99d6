package oriel

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/oriel-context/oriel/timeline"
)

// mark is a record about one item on the way to the head: a pin, or that its
// directives are dismissed.
type mark struct {
	timeline.Record
	id int64
}

// marks reads the marks of a kind that hold where the conversation stands, in the
// order in which they were set; those of items on other branches are left out. only,
// if it is not 0, is the one id to look for.
func (p *present) marks(ctx context.Context, kind string, only int64) ([]mark, error) {
	if p.stored.Revision == 0 {
		return nil, nil
	}
	records, err := p.records(ctx, kind)
	if err != nil {
		return nil, err
	}
	var marks []mark
	reach := map[int64]int64{} // trunk → a depth of it that is on the way
	for _, r := range records {
		number, _, _ := strings.Cut(r.Key, "@")
		id, err := strconv.ParseInt(number, 10, 64)
		if err != nil || id < 1 || id > p.last() || only != 0 && id != only {
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
		if r.At.Depth != 0 && r.At.Depth != id {
			continue // nonsense
		}
		marks = append(marks, mark{r, id})
	}
	return marks, nil
}

// putPin has a pin stored that took effect.
func (p *present) putPin(ctx context.Context, id int64) error {
	return p.putMark(ctx, kindPin, id, settledPin)
}

// putMark has a mark stored. It belongs to the item's place, not to its id: on
// another branch another item has that.
func (p *present) putMark(ctx context.Context, kind string, id int64, data []byte) error {
	r := timeline.Record{Kind: kind, Key: itemKey(id), At: timeline.AtHead(), Data: data}
	if id <= p.last() {
		var err error
		if r.At, err = p.placeOf(ctx, id); err != nil {
			return err
		}
	}
	if p.stored.Revision > 0 {
		old, err := p.engine.store.Records(ctx, p.engine.config.Tenant, p.id, kind, r.Key)
		if err != nil {
			return err
		}
		for i := range old {
			if on, err := p.passes(ctx, old[i].At); err != nil {
				return err
			} else if !on {
				r.Key = fmt.Sprintf("%d@%d", id, p.stored.Revision+1) // the other branch keeps its own
			}
		}
	}
	p.put(r)
	return nil
}

// placeOf returns the place of an item.
func (p *present) placeOf(ctx context.Context, id int64) (timeline.Place, error) {
	at, ok, err := timeline.PlaceOf(ctx, p.engine.store, p.engine.config.Tenant, p.stored.Head, id)
	if err == nil && !ok {
		err = fmt.Errorf("%w: item %d is missing", timeline.ErrDamaged, id)
	}
	return at, err
}

// isPinned reports whether an item is pinned, in view or not.
func (p *present) isPinned(ctx context.Context, id int64) (bool, error) {
	if _, shown := p.window.Get(id); shown {
		return p.pinned[id], nil
	}
	pins, err := p.marks(ctx, kindPin, id)
	return len(pins) > 0, err
}

// passes reports whether a place is on the way to the head.
func (p *present) passes(ctx context.Context, at timeline.Place) (bool, error) {
	return timeline.Passes(ctx, p.engine.store, p.engine.config.Tenant, p.stored.Head, at)
}
