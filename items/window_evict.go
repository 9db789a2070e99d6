package items

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/oriel-context/oriel/internal/clip"
)

// settle evicts until both limits hold.
func (w *Window) settle(now time.Time) (evicted []Item) {
	for w.live > 1 && (w.tokens > w.opts.MaxTokens || w.live > w.opts.MaxItems) {
		evicted = append(evicted, w.remove(w.victim(now)))
	}
	slices.SortFunc(evicted, func(a, b Item) int { return cmp.Compare(a.ID, b.ID) })
	return evicted
}

// victim returns the index of the slot to evict next. The window must have at least two
// items: the newest is never evicted.
func (w *Window) victim(now time.Time) int {
	newest := len(w.slots) - 1
	for w.loose < newest && (w.slots[w.loose].gone || w.slots[w.loose].item.Pinned()) {
		w.loose++
	}
	if w.loose == newest {
		return w.head // all other items are pinned: evict the oldest
	}
	if w.opts.Policy == ByAge {
		return w.loose
	}
	best, least := -1, 0.0
	for i := w.loose; i < newest; i++ {
		s := &w.slots[i]
		if s.gone || s.item.Pinned() {
			continue
		}
		if r := w.opts.Weights.Score(s.item, now, w.nearness(&s.item)); best < 0 || r < least {
			best, least = i, r
		}
	}
	return best
}

// nearness returns the cosine of an item and the query, 0 if either has no vector.
func (w *Window) nearness(it *Item) float64 {
	v := it.Embedding
	if v == nil && len(w.query) > 0 && w.opts.Embedding != nil {
		v = w.opts.Embedding(it)
	}
	return Cosine(w.query, v)
}

// remove empties a slot and returns its item. The slot keeps the id, so that slots stay
// sorted.
func (w *Window) remove(i int) Item {
	it := w.slots[i].item
	w.slots[i] = slot{item: Item{ID: it.ID}, gone: true}
	w.live--
	w.tokens -= it.Tokens
	for w.slots[w.head].gone {
		w.head++
	}
	w.loose = max(w.loose, w.head)
	if len(w.slots) >= 2*w.live+minSlots {
		w.compact()
	}
	return it
}

// minSlots is the number of empty slots below which compact is not worth its cost.
const minSlots = 16

// compact removes the empty slots.
func (w *Window) compact() {
	n, loose := 0, 0
	for i, s := range w.slots {
		if i == w.loose {
			loose = n
		}
		if !s.gone {
			w.slots[n] = s
			n++
		}
	}
	clear(w.slots[n:])
	w.slots, w.head, w.loose = w.slots[:n], 0, loose
}

// foreignText is the ratio of an item's tokens to those of its text above which the tokens
// are not the text's own: the text may stand for a picture.
const foreignText = 4

// trim shortens an item that is larger than the window to half of the window (SPEC A4).
// Where Item.Tokens is not what Options.Count returns, counts are scaled by the ratio of
// the two.
func (w *Window) trim(it *Item) {
	if it.Tokens <= w.opts.MaxTokens {
		return
	}
	whole := it.Whole()
	count := w.opts.Count
	shown := count(it.Content)
	if shown > 0 && it.Tokens > shown && it.Tokens <= foreignText*shown {
		worth := float64(it.Tokens) / float64(shown)
		count = func(s string) int { return int(float64(w.opts.Count(s))*worth + 0.999) }
	}
	hint := fmt.Sprintf("the whole text is item %d of the history", it.ID)
	it.Content, _ = clip.MiddleHint(whole, w.opts.MaxTokens-w.opts.MaxTokens/2, count, hint)
	it.Tokens = count(it.Content)
	if it.Content != whole {
		it.Full = whole
	}
}
