package items

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"
)

// Policy says which item leaves a full window.
type Policy string

const (
	// ByRelevance lets the least relevant item leave, the oldest of those that
	// are equal (SPEC A4).
	ByRelevance Policy = "relevance"
	// ByAge lets the oldest item leave (SPEC A5).
	ByAge Policy = "fifo"
)

// Defaults of Options.
const (
	DefaultMaxTokens    = 8000
	defaultMaxItems     = 100
	defaultMaxItemsFIFO = 50
)

// Errors of Window.
var (
	// ErrNoItem: the window does not show the item. It may be in the history.
	ErrNoItem = errors.New("no such item in the window")
	// ErrItem: an item that cannot be added.
	ErrItem = errors.New("not a valid item")
)

// Options are the settings of a window of items.
type Options struct {
	// Policy is ByRelevance unless it is ByAge.
	Policy Policy
	// MaxTokens and MaxItems are the limits. Default 8,000 tokens and 100 items,
	// 50 items for ByAge.
	MaxTokens, MaxItems int
	// Weights are those of relevance.
	Weights Weights
	// NoAutoFlags leaves flags to the caller.
	NoAutoFlags bool
	// Count counts the tokens of a text. Default: o200k_base.
	Count func(string) int
	// Now is the clock. Default: time.Now.
	Now func() time.Time
	// Embedding, where it is set, is asked for the vector of an item that has none; nil
	// is none. It must not wait.
	Embedding func(it *Item) []float32
}

// Window is a bounded window of items (SPEC A2): after every operation it holds at
// most so many tokens and so many items. What no longer fits leaves one by one and
// is returned to the caller, whose history keeps it.
//
// The newest item never leaves. Pinned items leave only when nothing else is left,
// the oldest first. An item larger than the whole window is elided to half of it,
// so that it neither drops out nor drives all others out; Item.Full then holds the
// whole text.
//
// An eviction costs amortised O(1) by age and O(window) by relevance, however many
// items have passed through. Window is not safe for concurrent use.
type Window struct {
	opts   Options
	query  []float32
	lastID int64
	tokens int

	// slots are the items by id, from head on. A slot in the middle whose item
	// left stays as a hole until holes are as many as items; then the slots move
	// up. That costs O(1) for each item that left.
	slots []slot
	head  int
	live  int
	// loose is a slot before which no item is unpinned.
	loose int
}

type slot struct {
	item Item
	gone bool
}

// New makes an empty window.
func New(o Options) *Window {
	if o.MaxTokens <= 0 {
		o.MaxTokens = DefaultMaxTokens
	}
	if o.MaxItems <= 0 {
		o.MaxItems = defaultMaxItems
		if o.Policy == ByAge {
			o.MaxItems = defaultMaxItemsFIFO
		}
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	o.Count = countOr(o.Count)
	return &Window{opts: o}
}

// Add puts an item at the end of the window and returns its id and what had to
// leave for it, oldest first. An item that comes with an id, as when a window is
// filled again from a store, must have a higher one than any before.
func (w *Window) Add(it Item) (id int64, evicted []Item, err error) {
	switch {
	case it.Tokens < 0:
		return 0, nil, fmt.Errorf("add item: %w: %d tokens; give 0 to have them counted", ErrItem, it.Tokens)
	case it.ID < 0 || it.ID != 0 && it.ID <= w.lastID:
		return 0, nil, fmt.Errorf("add item: %w: id %d after id %d; ids rise, give 0 for the next one", ErrItem, it.ID, w.lastID)
	}
	if it.ID == 0 {
		it.ID = w.lastID + 1
	}
	now := w.opts.Now()
	if it.Time.IsZero() {
		it.Time = now
	}
	if it.Tokens == 0 {
		it.Tokens = w.opts.Count(it.Content)
	}
	if !w.opts.NoAutoFlags {
		for _, f := range AutoFlags(it.Whole(), it.Source, it.Failed) {
			it.Flags = flagged(it.Flags, f, true)
		}
	}
	w.elide(&it)
	w.lastID = it.ID
	w.tokens += it.Tokens
	w.live++
	w.slots = append(w.slots, slot{item: it})
	return it.ID, w.settle(now), nil
}

// SetLimits changes the limits; 0 or less leaves one as it is. What no longer fits
// leaves at once and is returned, oldest first.
func (w *Window) SetLimits(maxTokens, maxItems int) (evicted []Item) {
	if maxTokens > 0 {
		w.opts.MaxTokens = maxTokens
	}
	if maxItems > 0 {
		w.opts.MaxItems = maxItems
	}
	for i := w.head; i < len(w.slots); i++ {
		if s := &w.slots[i]; !s.gone && s.item.Tokens > w.opts.MaxTokens {
			w.tokens -= s.item.Tokens
			w.elide(&s.item)
			w.tokens += s.item.Tokens
		}
	}
	return w.settle(w.opts.Now())
}

// SetQuery makes relevance count nearness to a query from now on; nil ends that.
func (w *Window) SetQuery(embedding []float32) { w.query = embedding }

// Pin keeps an item in the window as long as anything else can leave.
func (w *Window) Pin(id int64) error { return w.pin(id, true) }

// Unpin lets an item leave in its turn.
func (w *Window) Unpin(id int64) error { return w.pin(id, false) }

func (w *Window) pin(id int64, on bool) error {
	i, ok := w.find(id)
	if !ok {
		return fmt.Errorf("item %d: %w; it may have been evicted: look in the history", id, ErrNoItem)
	}
	it := &w.slots[i].item
	it.Flags = flagged(it.Flags, FlagStarred, on)
	if !on {
		w.loose = min(w.loose, i)
	}
	return nil
}

// Clear empties the window and returns what was in it. Ids go on from where they
// were.
func (w *Window) Clear() (evicted []Item) {
	evicted = w.Items(0)
	w.slots, w.head, w.loose, w.live, w.tokens = nil, 0, 0, 0, 0
	return evicted
}

// Items are the newest items, at most limit of them, in the order in which they
// came; limit 0 means all.
func (w *Window) Items(limit int) []Item {
	if limit <= 0 || limit > w.live {
		limit = w.live
	}
	out := make([]Item, limit)
	for i := len(w.slots) - 1; limit > 0; i-- {
		if !w.slots[i].gone {
			limit--
			out[limit] = w.slots[i].item
		}
	}
	return out
}

// All visits the items in the order in which they came, without copying them: they
// are the window's own and must not be changed.
func (w *Window) All() iter.Seq[*Item] {
	return func(yield func(*Item) bool) {
		for i := w.head; i < len(w.slots); i++ {
			if s := &w.slots[i]; !s.gone && !yield(&s.item) {
				return
			}
		}
	}
}

// Get finds an item of the window.
func (w *Window) Get(id int64) (Item, bool) {
	i, ok := w.find(id)
	if !ok {
		return Item{}, false
	}
	return w.slots[i].item, true
}

// Len is the number of items in the window.
func (w *Window) Len() int { return w.live }

// Tokens is the size of the window.
func (w *Window) Tokens() int { return w.tokens }

// Limits are the most tokens and items that the window may have.
func (w *Window) Limits() (maxTokens, maxItems int) { return w.opts.MaxTokens, w.opts.MaxItems }

// LastID is the highest id that was given.
func (w *Window) LastID() int64 { return w.lastID }

func (w *Window) find(id int64) (int, bool) {
	i, ok := slices.BinarySearchFunc(w.slots[w.head:], id, func(s slot, id int64) int { return cmp.Compare(s.item.ID, id) })
	i += w.head
	return i, ok && !w.slots[i].gone
}

// Check reports whether everything that Window promises holds. It is for tests and
// for tools that verify a store.
func (w *Window) Check() error {
	tokens, live, last := 0, 0, int64(0)
	for i, s := range w.slots[w.head:] {
		if s.item.ID <= last || s.item.ID > w.lastID {
			return fmt.Errorf("slot %d: id %d after %d, highest %d", i, s.item.ID, last, w.lastID)
		}
		last = s.item.ID
		if s.gone {
			continue
		}
		live++
		tokens += s.item.Tokens
		if i+w.head < w.loose && !s.item.Pinned() {
			return fmt.Errorf("item %d is unpinned and stands before the first that may be", s.item.ID)
		}
		if s.item.Tokens < 0 {
			return fmt.Errorf("item %d has %d tokens", s.item.ID, s.item.Tokens)
		}
	}
	switch {
	case tokens != w.tokens || live != w.live:
		return fmt.Errorf("%d tokens in %d items, counted %d in %d", w.tokens, w.live, tokens, live)
	case tokens > w.opts.MaxTokens:
		return fmt.Errorf("%d tokens are more than %d", tokens, w.opts.MaxTokens)
	case live > w.opts.MaxItems:
		return fmt.Errorf("%d items are more than %d", live, w.opts.MaxItems)
	case live > 0 && w.slots[len(w.slots)-1].gone:
		return fmt.Errorf("the newest item, %d, has left", last)
	case len(w.slots) > 4*(live+minSlots):
		return fmt.Errorf("%d slots for %d items", len(w.slots), live)
	}
	return nil
}
