package oriel

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/oriel-context/oriel/items"
	"github.com/oriel-context/oriel/timeline"
)

// Kinds of the records that a conversation of items has beside its notes, and their keys
// (docs/format/conversation.md).
const (
	kindCut   = "cut"   // the id of an item that is shown without its middle
	kindState = "state" // stateKey

	stateKey = "window"
)

// present is a conversation as it stands: as much as its window is large, however
// long its history is (SPEC D8). All of it can be read anew from the store.
//
// An operation changes it and says by put, drop, add and touch what is to be
// stored; commit stores it. Where that fails, the present is thrown away.
type loaded struct {
	id     string
	tenant string
	engine *Engine

	// stored is the conversation as the store has it; seen is what Changed said
	// just before it was read.
	stored timeline.Conversation
	seen   int64
	// spoiled: an operation failed half-way, so that only what is stored counts.
	spoiled bool

	// window shows some items. What is held is starred in it, too; the star of an
	// item that is handed out is that of pinned.
	window       *items.Window
	held, pinned map[int64]bool
	// holds are the holds of the way to the head, as they are stored. What they hold is
	// in held as long as it is in view.
	holds []timeline.Hold
	// cuts are the contents, as they are stored, of the items that are shown
	// without their middle.
	cuts map[int64]string
	// query is the vector of the newest query, for relevance.
	query []float32

	tracker items.Tracker
	sizer   items.Sizer
	policy  string
	// base is the size to start from, override the one that the user wants; 0 for
	// none.
	base, override int
	// cleared is the newest item that Clear took out of view.
	cleared int64
	// lastPlan is the number of the newest plan, lastKept of the newest that left
	// something out and so has a record.
	lastPlan, lastKept int64

	// upto is the newest item that the stored state knows of, -1 where there is no
	// state. Items after it have come without anything else happening.
	savedUpTo int64
	// version is that of the stored state; 0 where there is none.
	version int

	// What the operation wants to have stored, and told once it is.
	change timeline.Change
	dirty  bool // the state is to be stored
	events []Event
}

// last is the id of the newest item.
func (p *loaded) last() int64 { return p.stored.Head.Depth }

// touch says that the state has changed.
func (p *loaded) touch() { p.dirty = true }

// touched reports whether there is anything to be stored.
func (p *loaded) touched() bool {
	return p.dirty || len(p.change.Messages)+len(p.change.Put)+len(p.change.Drop) > 0
}

// put has a record stored.
func (p *loaded) put(r timeline.Record) {
	p.change.Put = slices.DeleteFunc(p.change.Put, func(o timeline.Record) bool { return o.Kind == r.Kind && o.Key == r.Key })
	p.change.Put = append(p.change.Put, r)
}

// drop has a record removed.
func (p *loaded) drop(kind, key string) {
	p.change.Drop = append(p.change.Drop, timeline.Key{Kind: kind, Key: key})
}

func itemKey(id int64) string { return strconv.FormatInt(id, 10) }

// fail is the error of an operation.
func (p *loaded) fail(op string, err error, hint string) error {
	return &Error{Op: op, Conversation: p.id, Err: err, Hint: hint}
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

// take puts the next item into the window and gives what left for it.
func (p *loaded) take(it items.Item) (out []items.Item, err error) {
	p.tracker.Observe(it.Whole())
	if it.Embedding == nil && p.policy == string(items.ByRelevance) {
		p.engine.meanings.get(it.Whole())
	}
	was, _ := p.window.Limits()
	size := p.nextSize()
	// A window that grows does so first, one that shrinks does so last: what
	// leaves then leaves for the item, and the item itself never does.
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
		p.tell(EventResize, was, size, 0)
	}
	if size != was || shown.Full != "" {
		p.touch()
	}
	return out, nil
}

func byID(a, b items.Item) int { return cmp.Compare(a.ID, b.ID) }

// nextSize is the size of the window from now on.
func (p *loaded) nextSize() int {
	if p.engine.config.Adaptive {
		return p.sizer.Next(p.tracker.Complexity(), p.tracker.State(), p.engine.allowed, p.override)
	}
	return p.engine.bounded(cmp.Or(p.override, p.base))
}

// known refuses the id of an item that never was.
func (p *loaded) known(op string, id int64) error {
	switch n := p.last(); {
	case id >= 1 && id <= n:
		return nil
	case n == 0:
		return p.fail(op, ErrNoItem, "there are no items yet")
	default:
		return p.fail(op, ErrNoItem, fmt.Sprintf("there are items 1 to %d", n))
	}
}

// item reads an item of the history, whole, with its star if it is pinned.
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

// storedEntry is an item as it was read; shown is that of itemOf.
type storedEntry struct {
	items.Item
	shown bool
}

// read reads items of the history.
func (p *loaded) read(ctx context.Context, first, last int64) (items []storedEntry, err error) {
	err = p.engine.store.Messages(ctx, p.tenant, p.stored.Head, first, last, false, func(e *timeline.Entry) error {
		it, shown := p.engine.itemOf(e)
		items = append(items, storedEntry{it, shown})
		return nil
	})
	return items, err
}

// handOut makes items of the window ready for callers: a hold is not a pin, and
// nothing that a caller does to them reaches the window.
func (p *loaded) handOut(items []items.Item) []items.Item {
	for i := range items {
		items[i] = clone(items[i])
		items[i].Flags = starred(items[i].Flags, p.pinned[items[i].ID])
	}
	return items
}

// swap is what brings items into view.
type swap struct {
	wanted map[int64]bool
	came   map[int64]bool // those that were not in view, and whether they are pinned
	// in are the items of the window as it becomes, out those that leave for them.
	in, out []items.Item
	total   int // tokens of both
}

// swap finds what has to leave for items that an undo brings back: as few as must, the
// oldest first (SPEC E5). Without undo the window chooses by itself, and out is empty. The
// error has the numbers where the items cannot all be shown.
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
		err := fmt.Errorf("%w: with what is pinned, held and newest it would take %d tokens in %d items, the window has %d in %d",
			ErrCannotFit, tokens, stay, maxTokens, maxItems)
		return nil, p.fail(op, err, "release or unpin something, or enlarge the window")
	}
	over, many := s.total-maxTokens, len(items)-maxItems
	for i := range items {
		if undo && !stays(i) && (over > 0 || many > 0) {
			s.out = append(s.out, items[i])
			over, many = over-items[i].Tokens, many-1
			continue
		}
		s.in = append(s.in, items[i])
	}
	return s, nil
}

// show brings items into view and stars them there. All of them fit, or an error
// has the numbers and nothing is changed. It costs O(window).
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
	reason := p.victims(when)
	if undo {
		reason = "the oldest when " + when
	}
	if out = append(s.out, out...); len(out) > 0 {
		if _, err := p.left(out, s.total, reason); err != nil {
			return err
		}
	}
	return nil
}

// fill makes the window anew, for it takes items in the order of their ids only,
// and lets it settle once everything is in it.
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

// sized is an item of the history as a window shows it: without its middle if it
// is larger than the window.
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

// tell remembers what happened, for those who listen (SPEC B7): they are told when
// it is stored.
func (p *loaded) tell(kind string, before, after, items int) {
	p.tellEvent(Event{Kind: kind, TokensBefore: before, TokensAfter: after, Items: items})
}

func (p *loaded) tellEvent(e Event) {
	if p.engine.config.Events != nil {
		e.Conversation, e.Policy = p.id, p.policy
		p.events = append(p.events, e)
	}
}
