package engine

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

	"github.com/oriel-context/oriel/internal/call"
	"github.com/oriel-context/oriel/internal/engine/fault"
	"github.com/oriel-context/oriel/internal/event"
	"github.com/oriel-context/oriel/items"
	"github.com/oriel-context/oriel/timeline"
)

// Conversation is a history of items with a window on it. The ids of items are sequence
// numbers: the first is 1, and each is one higher than the one before, also after Clear.
// A Conversation is safe for concurrent use, and several processes may use the same one.
type Conversation struct {
	facade
	id     string
	tenant string
	engine *Engine
	// begun reports that the store has the conversation, or had it once.
	begun atomic.Bool
	// hasItems reports that items were added here: it can have no calls.
	hasItems atomic.Bool
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
	return &fault.Error{Op: op, Conversation: c.id, Err: err, Hint: hint}
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
	if errors.Is(err, fault.ErrOfCalls) {
		return c.fail(op, err,
			"send requests by Engine.Transport or the proxy, or use another id for items; Items, Status, Recall, Pin, Undo and Plans work here, too")
	}
	if err != nil {
		return c.engine.storeError(ctx, op, c.id, err)
	}
	return nil
}

// either runs calls on a conversation of calls, once those that have ended are stored, and
// items on any other one, as run does.
func (c *Conversation) either(ctx context.Context, op string, calls func(*call.Recorded) error,
	items func(*loaded) error) error {
	e := c.engine
	if err := e.enter(ctx, c); err != nil {
		return c.fail(op, err, "")
	}
	if err := e.calls.WaitFor(ctx, c.tenant, c.id); err != nil {
		return e.storeError(ctx, op, c.id, err)
	}
	c.mu.Lock()
	p, err := c.current(ctx)
	c.mu.Unlock()
	if err == nil && !p.ofCalls {
		return c.run(ctx, op, items)
	}
	if err == nil {
		err = calls(e.calls.Recorded(c.tenant, p.stored))
	}
	for _, cause := range []error{fault.ErrNoItem, fault.ErrNoPlan, fault.ErrCannotFit} {
		if errors.Is(err, cause) {
			return c.fail(op, err, "")
		}
	}
	if err != nil {
		return e.storeError(ctx, op, c.id, err)
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
	if p.ofCalls {
		return fault.ErrOfCalls
	}
	err = do(p)
	if err == nil && p.touched() {
		added := len(p.change.Messages) > 0
		if p.stored.Revision == 0 && !c.engine.calls.Free(c.tenant, c.id) {
			err = fault.ErrOfCalls // the first one is on its way
		} else if err = p.commit(ctx); err == nil {
			c.begun.Store(true)
			if added {
				p.hasItems = true
				c.hasItems.Store(true)
			}
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

// Add implements oriel.Conversation.Add.
func (c *Conversation) Add(ctx context.Context, it items.Item) (id int64, evicted []items.Item, err error) {
	const op = "add item"
	switch {
	case it.ID != 0:
		return 0, nil, c.fail(op, fmt.Errorf("%w: it has the id %d", fault.ErrItem, it.ID),
			"leave ID 0: the conversation numbers its items")
	case it.Tokens < 0:
		return 0, nil, c.fail(op, fmt.Errorf("%w: it has %d tokens", fault.ErrItem, it.Tokens),
			"leave Tokens 0 to have them counted")
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
		out, err := p.push(it)
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

// Resize implements oriel.Conversation.Resize.
func (c *Conversation) Resize(ctx context.Context, tokens int) (evicted []items.Item, err error) {
	const op = "resize"
	if tokens < 0 {
		return nil, c.fail(op, fmt.Errorf("%w: %d tokens", fault.ErrConfig, tokens),
			"give a number above 0, or 0 to end an earlier one")
	}
	err = c.run(ctx, op, func(p *loaded) (err error) {
		evicted = nil
		p.touch()
		p.override = tokens
		before := p.window.Tokens()
		was, _ := p.window.Limits()
		size := p.nextSize()
		if size != was {
			p.tell(event.Resize, was, size, 0)
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

// Items implements oriel.Conversation.Items.
func (c *Conversation) Items(ctx context.Context, limit int) (list []items.Item, err error) {
	err = c.either(ctx, "list items", func(r *call.Recorded) (err error) {
		list, err = c.messages(ctx, r, limit)
		return err
	}, func(p *loaded) error {
		list = p.handOut(p.window.Items(limit))
		return nil
	})
	return list, err
}

// Item implements oriel.Conversation.Item.
func (c *Conversation) Item(ctx context.Context, id int64) (it items.Item, err error) {
	op := fmt.Sprintf("read item %d", id)
	err = c.either(ctx, op, func(r *call.Recorded) (err error) {
		it, err = c.message(ctx, r, id)
		return err
	}, func(p *loaded) error {
		if err := p.known(op, id); err != nil {
			return err
		}
		found, err := p.item(ctx, id)
		it = clone(found)
		return err
	})
	if err != nil {
		return items.Item{}, err
	}
	return it, nil
}

// Clear implements oriel.Conversation.Clear.
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
	// limits. In a conversation of calls they are the messages and tokens of the request
	// that was really sent last, system prompt and tools included, and its budget; MaxItems
	// is 0: a request has no such limit.
	Items, Tokens, MaxItems, MaxTokens int
	// History is the number of items or messages ever added, Held the number that Undo
	// holds in view.
	History, Held int
	// State is the activity that the newest items suggest, such as debugging. Complexity
	// rates the newest ten items from 0 to 1.
	State      items.State
	Complexity float64
}

// Status implements oriel.Conversation.Status.
func (c *Conversation) Status(ctx context.Context) (s Status, err error) {
	err = c.either(ctx, "read status", func(r *call.Recorded) (err error) {
		s, err = c.sentStatus(ctx, r)
		return err
	}, func(p *loaded) error {
		s = Status{
			Items: p.window.Len(), Tokens: p.window.Tokens(), History: int(p.last()), Held: len(p.held),
			State: p.tracker.State(), Complexity: p.tracker.Complexity(),
		}
		s.MaxTokens, s.MaxItems = p.window.Limits()
		return nil
	})
	return s, err
}
