package oriel

import (
	"cmp"
	"container/list"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/oriel-context/oriel/items"
	"github.com/oriel-context/oriel/timeline"
)

// Conversation is a history of items with a window on it. The ids of items are sequence
// numbers: the first is 1, and each is one higher than the one before, also after Clear.
// A Conversation is safe for concurrent use, and several processes may use the same one.
type Conversation struct {
	id     string
	tenant string
	engine *Engine
	// begun reports that the store has the conversation, or had it once.
	begun atomic.Bool
	// place is its place in the engine's list of recently used conversations; the
	// engine's mutex protects it.
	place *list.Element

	mu sync.Mutex // protects what follows
	// loaded is nil while no caller needs it.
	loaded *loaded
}

// ID returns the conversation's id.
func (c *Conversation) ID() string { return c.id }

// fail returns the error of an operation on the conversation.
func (c *Conversation) fail(op string, err error, hint string) error {
	return &Error{Op: op, Conversation: c.id, Err: err, Hint: hint}
}

// run runs one operation. do reads the current conversation, whoever changed it last, and
// changes it; run then stores the change as a whole. If another writer was faster, run
// calls do again, so do must set its results, not add to them.
func (c *Conversation) run(ctx context.Context, op string, do func(*loaded) error) error {
	if err := c.engine.enter(ctx, c); err != nil {
		return c.fail(op, err, "")
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	var err error
	for try := range maxTries {
		if ctx.Err() != nil { // it may have ended while others were at work
			return c.fail(op, context.Cause(ctx), "")
		}
		if err = c.attempt(ctx, do); !errors.Is(err, timeline.ErrChanged) {
			break
		}
		if try > 2 { // let the others have their turn
			pause(ctx, rand.N(time.Millisecond<<min(try-2, 4)))
		}
	}
	if err != nil {
		return c.engine.storeError(ctx, op, c.id, err)
	}
	return nil
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// attempt runs an operation once.
func (c *Conversation) attempt(ctx context.Context, do func(*loaded) error) error {
	p, err := c.current(ctx)
	if err != nil {
		return err
	}
	err = do(p)
	if err == nil && p.touched() {
		if err = p.commit(ctx); err == nil {
			c.begun.Store(true)
		}
	}
	if err != nil && p.touched() {
		p.spoiled = true
	}
	return err
}

// unload drops what can be read again, unless an operation is running.
func (c *Conversation) unload() {
	if c.mu.TryLock() {
		c.loaded = nil
		c.mu.Unlock()
	}
}

// Add appends an item to the history and puts it into the window. It returns the item's
// id and the items that left the window for it, oldest first. They are in the newest plan
// of Plans, so that Undo can bring them back. All of that is stored when Add returns.
//
// The item's ID must be 0. Its time is stored in microseconds. An item larger than the
// whole window is shown without its middle; the history has all of it. An item with the
// flag "starred" is pinned.
func (c *Conversation) Add(ctx context.Context, it Item) (id int64, evicted []Item, err error) {
	const op = "add item"
	switch {
	case it.ID != 0:
		return 0, nil, c.fail(op, fmt.Errorf("%w: it has the id %d", ErrItem, it.ID), "leave ID 0: the conversation numbers its items")
	case it.Tokens < 0:
		return 0, nil, c.fail(op, fmt.Errorf("%w: it has %d tokens", ErrItem, it.Tokens), "leave Tokens 0 to have them counted")
	}
	if err := c.engine.enter(ctx, nil); err != nil {
		return 0, nil, c.fail(op, err, "")
	}
	// Count before locking, so that other callers do not wait for it.
	given := clone(it)
	if given.Tokens == 0 {
		given.Tokens = c.engine.config.Count(given.Content)
	}
	now := given.Time.IsZero()
	given = c.engine.normal(given)
	err = c.run(ctx, op, func(p *loaded) error {
		it := given
		it.ID = p.last() + 1
		if now {
			it.Time = timeline.Micro(c.engine.config.Now())
		}
		m, err := message(&it)
		if err != nil {
			return c.fail(op, err, "split it")
		}
		before := p.window.Tokens()
		p.change.Messages = []timeline.Message{m}
		if it.Pinned() {
			if err := p.putPin(ctx, it.ID); err != nil {
				return err
			}
		}
		out, err := p.take(it)
		if err != nil {
			return c.fail(op, err, "")
		}
		id, evicted = it.ID, nil
		if len(out) == 0 {
			return nil
		}
		shown, _ := p.window.Get(id)
		evicted, err = p.left(ctx, out, before+shown.Tokens, p.victims(fmt.Sprintf("item %d came", id)))
		return err
	})
	if err != nil {
		return 0, nil, err
	}
	return id, evicted, nil
}

// Resize sets the size of the window, which overrides Config.Adaptive; 0 restores the
// window's own size, step by step if it is adaptive. The size never exceeds what
// Config.Model accepts. Resize returns the items that no longer fit, oldest first.
func (c *Conversation) Resize(ctx context.Context, tokens int) (evicted []Item, err error) {
	const op = "resize"
	if tokens < 0 {
		return nil, c.fail(op, fmt.Errorf("%w: %d tokens", ErrConfig, tokens), "give a number above 0, or 0 to end an earlier one")
	}
	err = c.run(ctx, op, func(p *loaded) (err error) {
		evicted = nil
		p.touch()
		p.override = tokens
		before := p.window.Tokens()
		was, _ := p.window.Limits()
		size := p.nextSize()
		if size != was {
			p.tell(EventResize, was, size, 0)
		}
		if out := p.window.SetLimits(size, 0); len(out) > 0 {
			evicted, err = p.left(ctx, out, before, p.victims(fmt.Sprintf("the window was resized to %d tokens", size)))
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return evicted, nil
}

// Items returns the newest items of the window in the order in which they were added, at
// most limit of them; limit 0 means all. In a conversation of calls the window is one that
// Oriel makes of its history for Items, Status and Context, and not what the calls sent: see
// ReadSent.
func (c *Conversation) Items(ctx context.Context, limit int) (list []Item, err error) {
	err = c.run(ctx, "list items", func(p *loaded) error {
		list = p.handOut(p.window.Items(limit))
		return nil
	})
	return list, err
}

// Item returns any item of the history, in view or not: whole, as it was added, with its
// id, time, tokens and flags.
func (c *Conversation) Item(ctx context.Context, id int64) (it Item, err error) {
	op := fmt.Sprintf("read item %d", id)
	err = c.run(ctx, op, func(p *loaded) error {
		if err := p.known(op, id); err != nil {
			return err
		}
		found, err := p.item(ctx, id)
		it = clone(found)
		return err
	})
	if err != nil {
		return Item{}, err
	}
	return it, nil
}

// Clear removes every item from view, including pinned ones. It ends all holds and resets
// the digest, the state of the conversation and the adaptive size. History, ids, pins and
// the size set by Resize stay. Undo of the plan that Clear makes brings everything back.
func (c *Conversation) Clear(ctx context.Context) error {
	return c.run(ctx, "clear", func(p *loaded) error {
		p.touch()
		p.cleared = p.last() // what leaves now needs no digest
		before := p.window.Tokens()
		if out := p.window.Clear(); len(out) > 0 {
			if _, err := p.left(ctx, out, before, "the window was cleared"); err != nil {
				return err
			}
		}
		clear(p.held)
		p.folding = folding{changed: p.folding.Covers != "" || p.folding.changed}
		p.query = nil
		p.window.SetQuery(nil)
		p.tracker = items.Tracker{}
		p.sizer = items.Sizer{Base: p.base, Sizing: p.engine.config.Sizing}
		p.window.SetLimits(p.engine.bounded(cmp.Or(p.override, p.base)), 0)
		return nil
	})
}

// Status describes a conversation in numbers.
type Status struct {
	// Items and Tokens are the contents of the window, MaxItems and MaxTokens its current
	// limits.
	Items, Tokens, MaxItems, MaxTokens int
	// History is the number of items ever added, Held the number that Undo holds in view.
	History, Held int
	// State is the activity that the newest items suggest, such as debugging. Complexity
	// rates the newest ten items from 0 to 1.
	State      items.State
	Complexity float64
}

// Status returns the state of the window. In a conversation of calls that is not what the
// calls sent: see Items.
func (c *Conversation) Status(ctx context.Context) (s Status, err error) {
	err = c.run(ctx, "read status", func(p *loaded) error {
		s = Status{
			Items: p.window.Len(), Tokens: p.window.Tokens(), History: int(p.last()), Held: len(p.held),
			State: p.tracker.State(), Complexity: p.tracker.Complexity(),
		}
		s.MaxTokens, s.MaxItems = p.window.Limits()
		return nil
	})
	return s, err
}
