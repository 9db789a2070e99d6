package items

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"
)

// Policy selects the item that a full window evicts.
type Policy string

const (
	// ByRelevance evicts the least relevant item, the oldest of several with the same
	// score (SPEC A4).
	ByRelevance Policy = "relevance"
	// ByAge evicts the oldest item (SPEC A5).
	ByAge Policy = "fifo"
)

// Defaults of Options.
const (
	DefaultMaxTokens    = 8000
	defaultMaxItems     = 100
	defaultMaxItemsFIFO = 50
)

// Errors of a Window.
var (
	// ErrNoItem: the window does not contain the item. The history may.
	ErrNoItem = errors.New("no such item in the window")
	// ErrItem: Add refused the item.
	ErrItem = errors.New("not a valid item")
)

// Options configure a Window. The zero value is usable.
type Options struct {
	// Policy selects what is evicted. Default ByRelevance.
	Policy Policy
	// MaxTokens and MaxItems limit the window. Default 8,000 tokens and 100 items, with
	// ByAge 50 items.
	MaxTokens, MaxItems int
	// Weights are the terms of relevance.
	Weights Weights
	// NoAutoFlags turns AutoFlags off: items have the flags that the caller sets.
	NoAutoFlags bool
	// Count counts the tokens of a text. Default: o200k_base.
	Count func(string) int
	// Now is the clock. Default: time.Now.
	Now func() time.Time
	// Embedding returns the vector of an item whose Embedding is nil, or nil if it has
	// none yet. It must not block. Default: no vectors.
	Embedding func(it *Item) []float32
}

// Window is a bounded list of items (SPEC A2). After every operation it has at most
// MaxTokens tokens and MaxItems items. Operations evict one item after another until that
// holds and return the evicted items.
//
// The newest item is never evicted. Pinned items are evicted last, the oldest first. If an
// item is larger than the whole window, Add trims it to half of the window, so that it
// neither is lost nor evicts all other items; Item.Full then holds the whole text.
//
// An eviction takes amortised O(1) time by age and O(window) by relevance, regardless of
// how many items the window has seen. A Window is not safe for concurrent use.
type Window struct {
	opts   Options
	query  []float32
	lastID int64
	tokens int

	// slots are the items in the order of their ids; those before head are empty. The
	// slot of an evicted item stays empty until there are as many empty slots as items.
	// Then compact removes the empty ones, which costs O(1) for each eviction.
	slots []slot
	head  int
	live  int
	// loose is an index of slots. All items before it are pinned.
	loose int
}

type slot struct {
	item Item
	gone bool
}

// New returns an empty window.
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

// Add appends an item and returns its id and the evicted items, oldest first. If the item
// has an id, as when a window is filled from a store, the id must be higher than all
// earlier ones.
func (w *Window) Add(it Item) (id int64, evicted []Item, err error) {
	switch {
	case it.Tokens < 0:
		return 0, nil, fmt.Errorf("add item: %w: %d tokens; give 0 to have them counted", ErrItem, it.Tokens)
	case it.ID < 0 || it.ID != 0 && it.ID <= w.lastID:
		return 0, nil, fmt.Errorf("add item: %w: id %d after id %d; ids rise, give 0 for the next one", ErrItem, it.ID,
			w.lastID)
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
	w.trim(&it)
	w.lastID = it.ID
	w.tokens += it.Tokens
	w.live++
	w.slots = append(w.slots, slot{item: it})
	return it.ID, w.settle(now), nil
}

// SetLimits changes the limits and returns the evicted items, oldest first. A limit of 0
// or less remains as it is.
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
			w.trim(&s.item)
			w.tokens += s.item.Tokens
		}
	}
	return w.settle(w.opts.Now())
}

// SetQuery sets the query that later evictions by relevance compare items with. nil
// removes it.
func (w *Window) SetQuery(embedding []float32) { w.query = embedding }

// Pin has the window evict all other items before this one.
func (w *Window) Pin(id int64) error { return w.pin(id, true) }

// Unpin undoes Pin.
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

// Clear removes and returns all items. It does not reset the ids.
func (w *Window) Clear() (evicted []Item) {
	evicted = w.Items(0)
	w.slots, w.head, w.loose, w.live, w.tokens = nil, 0, 0, 0, 0
	return evicted
}

// Items returns the newest limit items in the order of their ids. A limit of 0 means all.
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

// All iterates over the items in the order of their ids. The items belong to the window:
// callers must not modify them.
func (w *Window) All() iter.Seq[*Item] {
	return func(yield func(*Item) bool) {
		for i := w.head; i < len(w.slots); i++ {
			if s := &w.slots[i]; !s.gone && !yield(&s.item) {
				return
			}
		}
	}
}

// Get returns the item with an id.
func (w *Window) Get(id int64) (Item, bool) {
	i, ok := w.find(id)
	if !ok {
		return Item{}, false
	}
	return w.slots[i].item, true
}

// Len returns the number of items.
func (w *Window) Len() int { return w.live }

// Tokens returns the number of tokens of all items.
func (w *Window) Tokens() int { return w.tokens }

// Limits returns the token limit and the item limit.
func (w *Window) Limits() (maxTokens, maxItems int) { return w.opts.MaxTokens, w.opts.MaxItems }

func (w *Window) find(id int64) (int, bool) {
	i, ok := slices.BinarySearchFunc(w.slots[w.head:], id,
		func(s slot, id int64) int { return cmp.Compare(s.item.ID, id) })
	i += w.head
	return i, ok && !w.slots[i].gone
}

// Check returns an error if an invariant of the window is broken. It is for tests.
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
