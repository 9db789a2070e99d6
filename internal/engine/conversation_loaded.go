package engine

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"

	"github.com/oriel-context/oriel/internal/engine/fault"
	"github.com/oriel-context/oriel/internal/event"
	"github.com/oriel-context/oriel/items"
	"github.com/oriel-context/oriel/timeline"
)

// Kinds of the records that a conversation of items has beside its notes, with their keys
// (docs/reference/format/conversation.md).
const (
	kindCut   = "cut"   // the id of an item that is shown without its middle
	kindState = "state" // stateKey

	stateKey = "window"
)

// loaded is a conversation in memory. Its size follows the window, not the history (SPEC
// D8), and all of it can be read again from the store.
//
// An operation changes it and collects with put, drop and touch what must be stored;
// commit stores that. If commit fails, the loaded conversation is discarded.
type loaded struct {
	id     string
	tenant string
	engine *Engine

	// stored is the store's conversation; seen is what Changed returned just before it
	// was read.
	stored timeline.Conversation
	seen   int64
	// ofCalls reports that it is a conversation of calls. Nothing else of it is read then.
	ofCalls bool
	// hasItems reports that a program has added items to it, so that it gets no calls. An
	// imported conversation may still get them.
	hasItems bool
	// spoiled reports that an operation failed half-way, so that the conversation must be
	// read again.
	spoiled bool

	// window holds the items in view. Held items are starred in it, too; items that
	// callers get are starred only if they are pinned.
	window       *items.Window
	held, pinned map[int64]bool
	// holds are the stored holds on the way to the head. held has their items as long as
	// those are in view.
	holds []timeline.Hold
	// cuts are the stored contents of the items that are shown without their middle.
	cuts map[int64]string
	// query is the vector of the newest query, for relevance.
	query []float32

	// folding is the digest of what has left.
	folding folding

	tracker items.Tracker
	sizer   items.Sizer
	policy  string
	// base is the initial size, override the size set by Resize, or 0.
	base, override int
	// cleared is the newest item that Clear removed from view.
	cleared int64
	// lastPlan is the number of the newest plan, lastKept that of the newest plan with a
	// record: one that left something out.
	lastPlan, lastKept int64

	// savedUpTo is the newest item that the stored state covers, or -1 if there is no
	// state. Later items changed nothing but the window.
	savedUpTo int64
	// version is that of the stored state, or 0.
	version int

	// What the operation stores, and the events to emit once it is stored.
	change timeline.Change
	dirty  bool // the state is to be stored
	events []event.Event
}

// last returns the id of the newest item.
func (p *loaded) last() int64 { return p.stored.Head.Depth }

// touch marks the state as changed.
func (p *loaded) touch() { p.dirty = true }

// touched reports whether anything must be stored.
func (p *loaded) touched() bool {
	return p.dirty || len(p.change.Messages)+len(p.change.Put)+len(p.change.Drop) > 0
}

// put adds a record to the change.
func (p *loaded) put(r timeline.Record) {
	p.change.Put = slices.DeleteFunc(p.change.Put, func(o timeline.Record) bool {
		return o.Kind == r.Kind &&
			o.Key == r.Key
	})
	p.change.Put = append(p.change.Put, r)
}

// drop removes a record with the change.
func (p *loaded) drop(kind, key string) {
	p.change.Drop = append(p.change.Drop, timeline.Key{Kind: kind, Key: key})
}

func itemKey(id int64) string { return strconv.FormatInt(id, 10) }

// fail returns the error of an operation.
func (p *loaded) fail(op string, err error, hint string) error {
	return &fault.Error{Op: op, Conversation: p.id, Err: err, Hint: hint}
}

func (p *loaded) emptyWindow(maxTokens, maxItems int) *items.Window {
	o := &p.engine.config
	w := items.New(items.Options{
		Policy: items.Policy(p.policy), MaxTokens: maxTokens, MaxItems: maxItems, Weights: o.Weights,
		NoAutoFlags: true, Count: o.Count, Now: o.Now, // items have their flags when they come
		Embedding: func(it *items.Item) []float32 { return p.engine.meanings.get(it.Whole()) },
	})
	w.SetQuery(p.query)
	return w
}

// push adds the next item to the window and returns what left for it.
func (p *loaded) push(it items.Item) (out []items.Item, err error) {
	p.tracker.Observe(it.Whole())
	if it.Embedding == nil && p.policy == string(items.ByRelevance) {
		p.engine.meanings.get(it.Whole())
	}
	was, _ := p.window.Limits()
	size := p.nextSize()
	// A window grows before it gets the item and shrinks after it, so that others leave
	// for the item and never the item itself.
	if size > was {
		p.window.SetLimits(size, 0)
	}
	if _, out, err = p.window.Add(it); err != nil {
		return nil, err
	}
	if it.Pinned() {
		p.pinned[it.ID] = true
	}
	if size < was {
		out = append(out, p.window.SetLimits(size, 0)...)
		slices.SortFunc(out, byID)
	}
	shown, _ := p.window.Get(it.ID)
	if size != was {
		p.tell(event.Resize, was, size, 0)
	}
	if size != was || shown.Full != "" {
		p.touch()
	}
	return out, nil
}

func byID(a, b items.Item) int { return cmp.Compare(a.ID, b.ID) }

// nextSize returns the size that the window has from now on.
func (p *loaded) nextSize() int {
	if p.engine.config.Adaptive {
		return p.sizer.Next(p.tracker.Complexity(), p.tracker.State(), p.engine.allowed, p.override)
	}
	return p.engine.bounded(cmp.Or(p.override, p.base))
}

// known returns an error for the id of an item that never existed.
func (p *loaded) known(op string, id int64) error {
	switch n := p.last(); {
	case id >= 1 && id <= n:
		return nil
	case n == 0:
		return p.fail(op, fault.ErrNoItem, "there are no items yet")
	default:
		return p.fail(op, fault.ErrNoItem, fmt.Sprintf("there are items 1 to %d", n))
	}
}

// item returns an item of the history, whole, with its star if it is pinned.
func (p *loaded) item(ctx context.Context, id int64) (items.Item, error) {
	it, shown := p.window.Get(id)
	if !shown || it.Full != "" {
		read, err := p.read(ctx, id, id)
		switch {
		case err != nil:
			return it, err
		case len(read) == 0:
			return it, fmt.Errorf("%w: item %d is missing", timeline.ErrDamaged, id)
		}
		it = read[0].Item
	}
	pinned, err := p.isPinned(ctx, id)
	it.Flags = starred(it.Flags, pinned)
	return it, err
}

// storedEntry is an item that was read; shown is that of itemOf.
type storedEntry struct {
	items.Item
	shown bool
}

// read returns items of the history.
func (p *loaded) read(ctx context.Context, first, last int64) (items []storedEntry, err error) {
	err = p.engine.store.Messages(ctx, p.tenant, p.stored.Head, first, last, false, func(e *timeline.Entry) error {
		it, shown := p.engine.itemOf(e)
		p.hasItems = p.hasItems || e.Format == timeline.FormatItem
		items = append(items, storedEntry{it, shown})
		return nil
	})
	return items, err
}

// handOut prepares items of the window for callers: held items lose their star, and
// changes that callers make do not reach the window.
func (p *loaded) handOut(items []items.Item) []items.Item {
	for i := range items {
		items[i] = clone(items[i])
		items[i].Flags = starred(items[i].Flags, p.pinned[items[i].ID])
	}
	return items
}

// swap is a change of the window that brings items into view.
type swap struct {
	wanted map[int64]bool
	came   map[int64]bool // those that were not in view, and whether they are pinned
	// in are the items of the new window, out those that leave.
	in, out []items.Item
	total   int // tokens of both
}

// swap determines what leaves for items that an undo brings back: the oldest first, and none
// for which there is room in the end (SPEC E5). Without undo the window's policy chooses, and
// out is empty. If the items cannot all be shown, the error has the numbers.
func (p *loaded) swap(ctx context.Context, op string, ids []int64, undo bool) (*swap, error) {
	s := &swap{wanted: map[int64]bool{}, came: map[int64]bool{}}
	items := p.window.Items(0)
	there := map[int64]bool{}
	for i := range items {
		there[items[i].ID] = true
	}
	maxTokens, maxItems := p.window.Limits()
	for _, id := range ids {
		s.wanted[id] = true
		if !there[id] {
			it, err := p.item(ctx, id)
			if err != nil {
				return nil, err
			}
			s.came[id] = it.Pinned()
			items = append(items, p.sized(it, maxTokens))
		}
	}
	slices.SortFunc(items, byID)
	tokens, stay := 0, 0 // of what must stay
	stays := func(i int) bool {
		return s.wanted[items[i].ID] || items[i].Pinned() || i == len(items)-1
	}
	for i := range items {
		s.total += items[i].Tokens
		if stays(i) {
			tokens += items[i].Tokens
			stay++
		}
	}
	if tokens > maxTokens || stay > maxItems {
		err := fmt.Errorf(
			"%w: with what is pinned, held and newest it would take %d tokens in %d items, the window has %d in %d",
			fault.ErrCannotFit, tokens, stay, maxTokens, maxItems)
		return nil, p.fail(op, err, "release or unpin something, or enlarge the window")
	}
	leaves := make([]bool, len(items))
	over, many := s.total-maxTokens, len(items)-maxItems
	for i := range items {
		if leaves[i] = undo && !stays(i) && (over > 0 || many > 0); leaves[i] {
			over, many = over-items[i].Tokens, many-1
		}
	}
	for i := range slices.Backward(items) { // a large one may have made room for small ones
		if leaves[i] && over+items[i].Tokens <= 0 && many < 0 {
			leaves[i] = false
			over, many = over+items[i].Tokens, many+1
		}
	}
	for i := range items {
		if leaves[i] {
			s.out = append(s.out, items[i])
		} else {
			s.in = append(s.in, items[i])
		}
	}
	return s, nil
}

// show brings items into view and stars them there. If they do not all fit, it returns an
// error with the numbers and changes nothing. It takes O(window).
func (p *loaded) show(ctx context.Context, op string, ids []int64, undo bool, when string) error {
	s, err := p.swap(ctx, op, ids, undo)
	if err != nil {
		return err
	}
	if len(s.came) == 0 {
		for _, id := range ids {
			if err := p.window.Pin(id); err != nil {
				return err
			}
		}
		return nil
	}
	p.touch()
	for i := range s.in {
		if s.wanted[s.in[i].ID] {
			s.in[i].Flags = starred(s.in[i].Flags, true)
		}
	}
	maxTokens, maxItems := p.window.Limits()
	out, err := p.fill(s.in, maxTokens, maxItems)
	if err != nil {
		return err
	}
	for id, pinned := range s.came {
		if pinned {
			p.pinned[id] = true
		}
	}
	p.folding.come(slices.Sorted(maps.Keys(s.came)))
	reason := p.victims(when)
	if undo {
		reason = "the oldest when " + when
	}
	if out = append(s.out, out...); len(out) > 0 {
		if _, err := p.left(ctx, out, s.total, reason); err != nil {
			return err
		}
	}
	return nil
}

// fill replaces the window by a new one with these items, because a window accepts items
// by rising id only, and then applies the limits.
func (p *loaded) fill(items []items.Item, maxTokens, maxItems int) (out []items.Item, err error) {
	fresh := p.emptyWindow(math.MaxInt, max(1, len(items)))
	for _, it := range items {
		if _, _, err := fresh.Add(it); err != nil {
			return nil, err
		}
	}
	p.window = fresh
	return fresh.SetLimits(maxTokens, maxItems), nil
}

// sized returns an item of the history as a window shows it: without its middle if it is
// larger than the window.
func (p *loaded) sized(it items.Item, maxTokens int) items.Item {
	if it.Tokens <= maxTokens {
		return it
	}
	w := p.emptyWindow(maxTokens, 1)
	if _, _, err := w.Add(it); err != nil {
		return it // it was in a window before
	}
	it, _ = w.Get(it.ID)
	return it
}

// tell queues an event, which commit emits (SPEC B7).
func (p *loaded) tell(kind string, before, after, items int) {
	p.tellEvent(event.Event{Kind: kind, TokensBefore: before, TokensAfter: after, Items: items})
}

func (p *loaded) tellEvent(e event.Event) {
	if p.engine.config.Events != nil {
		e.Time, e.Tenant, e.Conversation, e.Policy = p.engine.config.Now(), p.engine.eventTenant(), p.id, p.policy
		p.events = append(p.events, e)
	}
}
