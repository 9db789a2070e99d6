package engine

import (
	"context"
	"fmt"

	"github.com/oriel-context/oriel/internal/call"
	"github.com/oriel-context/oriel/internal/engine/fault"
	"github.com/oriel-context/oriel/items"
	"github.com/oriel-context/oriel/timeline"
)

// messages returns the newest messages of a conversation of calls as items; limit 0 means
// all. Entries that nobody wrote are left out.
func (c *Conversation) messages(ctx context.Context, r *call.Recorded, limit int) ([]items.Item, error) {
	pinned, _, err := r.Kept(ctx)
	if err != nil {
		return nil, err
	}
	last := r.Head().Depth
	first := int64(1)
	if limit > 0 {
		first = max(1, last-int64(limit)+1)
	}
	return c.read(ctx, r, first, last, pinned)
}

// message returns a message of a conversation of calls as an item.
func (c *Conversation) message(ctx context.Context, r *call.Recorded, id int64) (items.Item, error) {
	if last := r.Head().Depth; id < 1 || id > last {
		return items.Item{}, fmt.Errorf("%w: there are messages 1 to %d, not %d", fault.ErrNoItem, last, id)
	}
	pinned, _, err := r.Kept(ctx)
	if err != nil {
		return items.Item{}, err
	}
	found, err := c.read(ctx, r, id, id, pinned)
	if err != nil {
		return items.Item{}, err
	}
	if len(found) == 0 {
		return items.Item{}, fault.ErrNoItem // nobody wrote it
	}
	return found[0], nil
}

// read returns messages of a conversation of calls as items.
func (c *Conversation) read(ctx context.Context, r *call.Recorded, first, last int64,
	pinned map[int64]bool) (all []items.Item, err error) {
	err = c.engine.store.Messages(ctx, c.tenant, r.Head(), first, last, false, func(e *timeline.Entry) error {
		if it, shown := c.engine.itemOf(e); shown {
			it.Flags = starred(it.Flags, pinned[it.ID])
			all = append(all, it)
		}
		return nil
	})
	return all, err
}

// trackedMessages is how many of the newest messages tell the state of a conversation of calls.
const trackedMessages = 10

// tracked returns what the newest messages tell of a conversation of calls.
func (c *Conversation) tracked(ctx context.Context, r *call.Recorded) (items.Tracker, error) {
	var t items.Tracker
	newest, err := c.messages(ctx, r, trackedMessages)
	for i := range newest {
		t.Observe(newest[i].Whole())
	}
	return t, err
}

// sentStatus returns the status of a conversation of calls.
func (c *Conversation) sentStatus(ctx context.Context, r *call.Recorded) (s Status, err error) {
	sent, err := r.Sent(ctx)
	if err != nil {
		return s, err
	}
	_, held, err := r.Kept(ctx)
	if err != nil {
		return s, err
	}
	t, err := c.tracked(ctx, r)
	if err != nil {
		return s, err
	}
	return Status{
		Items: sent.Messages, Tokens: sent.Tokens, MaxTokens: sent.Budget, History: int(r.Head().Depth),
		Held: len(held), State: t.State(), Complexity: t.Complexity(),
	}, nil
}
