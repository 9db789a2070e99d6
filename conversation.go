package oriel

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/oriel-context/oriel/window"
)

// Conversation is a history of items and a window on it. Ids of items are sequence
// numbers: the first is 1, each is one higher than the one before, also after
// Clear. It is safe for concurrent use.
type Conversation struct {
	id     string
	engine *Engine

	mu sync.Mutex // protects what follows
	// history has every item, whole, as it came; item i stands at i−1. All that
	// ever changes is whether an item is pinned.
	history []Item
	// window shows some of them. What is held is starred in it, too.
	window *window.Items
	held   map[int64]bool
	// query is the vector of the newest query, for relevance.
	query []float32

	tracker window.StateTracker
	sizer   window.Sizer
	// override is the size that the user wants; 0 for none.
	override int
	// cleared is the newest item that Clear took out of view.
	cleared int64

	// plans are those that left something out, by number.
	plans    []record
	lastPlan int64
}

func newConversation(e *Engine, id string) *Conversation {
	c := &Conversation{id: id, engine: e, held: map[int64]bool{}, sizer: window.Sizer{Base: e.config.MaxTokens}}
	c.window = c.emptyWindow(e.bounded(e.config.MaxTokens), e.config.MaxItems)
	return c
}

func (c *Conversation) emptyWindow(maxTokens, maxItems int) *window.Items {
	o := &c.engine.config
	w := window.NewItems(window.ItemsOptions{
		Policy: window.ItemPolicy(o.Policy), MaxTokens: maxTokens, MaxItems: maxItems, Weights: o.Weights,
		NoAutoFlags: o.NoAutoFlags, Count: o.Count, Now: o.Now,
	})
	w.SetQuery(c.query)
	return w
}

// ID is the conversation's id.
func (c *Conversation) ID() string { return c.id }

// fail is the error of an operation on the conversation.
func (c *Conversation) fail(op string, err error, hint string) error {
	return &Error{Op: op, Conversation: c.id, Err: err, Hint: hint}
}

// lock begins an operation. Only where it gives no error the lock is held.
func (c *Conversation) lock(ctx context.Context, op string) error {
	if err := c.engine.enter(ctx); err != nil {
		return c.fail(op, err, "")
	}
	c.mu.Lock()
	if ctx.Err() != nil { // it may have ended while others were at work
		c.mu.Unlock()
		return c.fail(op, context.Cause(ctx), "")
	}
	return nil
}

// Add puts an item at the end of the history and into the window. It gives the
// item's id and everything that left the window for it, oldest first; what left is
// under a plan, the newest of Plans, so that Undo can bring it back.
//
// The item's ID must be 0. An item larger than the whole window is shown without
// its middle; the history has all of it. An item that is flagged "starred" is
// pinned.
func (c *Conversation) Add(ctx context.Context, it Item) (id int64, evicted []Item, err error) {
	const op = "add item"
	switch {
	case it.ID != 0:
		return 0, nil, c.fail(op, fmt.Errorf("%w: it has the id %d", ErrItem, it.ID), "leave ID 0: the conversation numbers its items")
	case it.Tokens < 0:
		return 0, nil, c.fail(op, fmt.Errorf("%w: it has %d tokens", ErrItem, it.Tokens), "leave Tokens 0 to have them counted")
	}
	if err := c.engine.enter(ctx); err != nil {
		return 0, nil, c.fail(op, err, "")
	}
	it = clone(it)
	if it.Tokens == 0 {
		it.Tokens = c.engine.config.Count(it.Content) // before anybody has to wait for it
	}
	if err := c.lock(ctx, op); err != nil {
		return 0, nil, err
	}
	defer c.mu.Unlock()
	it.ID = int64(len(c.history)) + 1
	if it.Time.IsZero() {
		it.Time = c.engine.config.Now()
	}
	c.tracker.Observe(it.Whole())
	was, _ := c.window.Limits()
	size := c.nextSize()
	before := c.window.Tokens()
	// A window that grows does so first, one that shrinks does so last: what
	// leaves then leaves for the item, and the item itself never does.
	if size > was {
		c.window.SetLimits(size, 0)
	}
	id, out, err := c.window.Add(it)
	if err != nil {
		return 0, nil, c.fail(op, err, "")
	}
	if size < was {
		out = append(out, c.window.SetLimits(size, 0)...)
		slices.SortFunc(out, func(a, b Item) int { return cmp.Compare(a.ID, b.ID) })
	}
	if size != was {
		c.tell(window.EventResize, was, size, 0)
	}
	shown, _ := c.window.Get(id)
	it.Flags = shown.Flags
	c.history = append(c.history, it)
	if len(out) == 0 {
		return id, nil, nil
	}
	return id, c.left(out, before+shown.Tokens, c.victims(fmt.Sprintf("item %d came", id))), nil
}

// nextSize is the size of the window from now on.
func (c *Conversation) nextSize() int {
	switch {
	case c.engine.config.Adaptive:
		return c.sizer.Next(c.tracker.Complexity(), c.tracker.State(), c.engine.allowed, c.override)
	case c.override > 0:
		return c.engine.bounded(c.override)
	}
	return c.engine.bounded(c.engine.config.MaxTokens)
}

// Resize gives the window a size of the user's own, which beats Config.Adaptive;
// 0 gives it back its own size, by steps where it is adaptive. It is never more
// than Config.Model takes. What no longer fits leaves and is returned, oldest first.
func (c *Conversation) Resize(ctx context.Context, tokens int) (evicted []Item, err error) {
	const op = "resize"
	if tokens < 0 {
		return nil, c.fail(op, fmt.Errorf("%w: %d tokens", ErrConfig, tokens), "give a number above 0, or 0 to end an earlier one")
	}
	if err := c.lock(ctx, op); err != nil {
		return nil, err
	}
	defer c.mu.Unlock()
	c.override = tokens
	before := c.window.Tokens()
	was, _ := c.window.Limits()
	size := c.nextSize()
	if size != was {
		c.tell(window.EventResize, was, size, 0)
	}
	if out := c.window.SetLimits(size, 0); len(out) > 0 {
		evicted = c.left(out, before, c.victims(fmt.Sprintf("the window was resized to %d tokens", size)))
	}
	return evicted, nil
}

// Items are the newest items of the window, at most limit of them, in the order in
// which they came; limit 0 means all.
func (c *Conversation) Items(ctx context.Context, limit int) ([]Item, error) {
	if err := c.lock(ctx, "list items"); err != nil {
		return nil, err
	}
	defer c.mu.Unlock()
	return c.handOut(c.window.Items(limit)), nil
}

// Item reads any item of the history, in view or not: whole, as it was added, with
// its id, time, tokens and flags.
func (c *Conversation) Item(ctx context.Context, id int64) (Item, error) {
	op := fmt.Sprintf("read item %d", id)
	if err := c.lock(ctx, op); err != nil {
		return Item{}, err
	}
	defer c.mu.Unlock()
	if err := c.known(op, id); err != nil {
		return Item{}, err
	}
	return clone(c.history[id-1]), nil
}

// known refuses the id of an item that never was.
func (c *Conversation) known(op string, id int64) error {
	switch n := len(c.history); {
	case id >= 1 && id <= int64(n):
		return nil
	case n == 0:
		return c.fail(op, ErrNoItem, "there are no items yet")
	default:
		return c.fail(op, ErrNoItem, fmt.Sprintf("there are items 1 to %d", n))
	}
}

// Clear takes every item out of view, pinned ones too, and starts afresh: holds
// end, the state of the conversation and the adaptive size begin anew. History,
// ids, pins and the size that Resize set stay, and Undo of the plan that Clear
// leaves brings everything back.
func (c *Conversation) Clear(ctx context.Context) error {
	if err := c.lock(ctx, "clear"); err != nil {
		return err
	}
	defer c.mu.Unlock()
	before := c.window.Tokens()
	if out := c.window.Clear(); len(out) > 0 {
		c.left(out, before, "the window was cleared")
	}
	clear(c.held)
	c.cleared = int64(len(c.history))
	c.query = nil
	c.window.SetQuery(nil)
	c.tracker = window.StateTracker{}
	c.sizer = window.Sizer{Base: c.engine.config.MaxTokens}
	size := c.engine.bounded(cmp.Or(c.override, c.engine.config.MaxTokens))
	c.window.SetLimits(size, 0)
	return nil
}

// Status is a conversation in numbers.
type Status struct {
	// Items and Tokens are what the window holds, MaxItems and MaxTokens the most
	// that it may hold now.
	Items, Tokens, MaxItems, MaxTokens int
	// History is the number of items that were ever added, Held how many an Undo
	// holds in view.
	History, Held int
	// State is what the conversation is busy with, Complexity how demanding its
	// newest ten items are, from 0 to 1.
	State      window.State
	Complexity float64
}

// Status says how full the window is.
func (c *Conversation) Status(ctx context.Context) (Status, error) {
	if err := c.lock(ctx, "read status"); err != nil {
		return Status{}, err
	}
	defer c.mu.Unlock()
	s := Status{
		Items: c.window.Len(), Tokens: c.window.Tokens(), History: len(c.history), Held: len(c.held),
		State: c.tracker.State(), Complexity: c.tracker.Complexity(),
	}
	s.MaxTokens, s.MaxItems = c.window.Limits()
	return s, nil
}

// handOut makes items of the window ready for callers: a hold is not a pin, and
// nothing that a caller does to them reaches the history.
func (c *Conversation) handOut(items []Item) []Item {
	for i := range items {
		items[i].Flags = c.history[items[i].ID-1].Flags
		items[i] = clone(items[i])
	}
	return items
}

func clone(it Item) Item {
	it.Flags = slices.Clone(it.Flags)
	it.Embedding = slices.Clone(it.Embedding)
	it.Meta = maps.Clone(it.Meta)
	return it
}
