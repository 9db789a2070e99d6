package window

import (
	"context"
	"fmt"
	"slices"

	"github.com/oriel-context/oriel/chat"
)

// slide keeps the newest MaxItems messages (default 40), beginning with a user's
// message: where the window would open on anything else it opens later. Nothing is
// done as long as there are no more messages than that. The first message has
// no protection. Sliding on every call changes the prefix on every call, which
// costs the provider's prompt cache.
func slide(_ context.Context, d *draft, s *settings) error {
	limit := s.MaxItems
	if limit <= 0 {
		limit = DefaultSlide
	}
	h := d.h
	d.newestOnly = true
	total := d.items()
	if total > limit && !d.brokenEnd() {
		start := d.slideStart(limit)
		open := len(h.Cuts.Exchanges)
		for e := len(h.Cuts.Exchanges) - 1; e >= 0; e-- {
			if x := h.Cuts.Exchanges[e]; x.Start >= start && x.First == chat.Question {
				open = e
			}
		}
		if open == len(h.Cuts.Exchanges) { // no question in the window: a whole tool exchange
			for e, x := range h.Cuts.Exchanges {
				if x.Start >= start && x.First == chat.Turn {
					open = e
					break
				}
			}
		}
		reason := fmt.Sprintf("before the newest %d messages", limit)
		d.drop(func(e int) bool { return e < open && !h.pinnedExchange(e) }, reason)
		// What must go along with the kept may be too many again: open later.
		for e := open + 1; e < len(h.Cuts.Exchanges) && d.items() > limit; e++ {
			if h.Cuts.Exchanges[e].First == h.Cuts.Exchanges[open].First {
				d.drop(func(o int) bool { return o < e && !h.pinnedExchange(o) }, reason)
			}
		}
		if s.Mode == Recovery && !d.changed() {
			return fmt.Errorf("%w: %d messages, none of which can leave", ErrCannotFit, total)
		}
	}
	if d.tokens() > s.Low {
		var order []int
		for e, x := range h.Cuts.Exchanges {
			if d.keep[e] && x.Fixed == "" && !h.pinnedExchange(e) {
				order = append(order, e)
			}
		}
		evictInOrder(d, order, s.Low-markerRoom, "before what fits")
	}
	d.mark(s.Budget)
	return nil
}

// brokenEnd reports whether what must stay is broken as it came. No window opens on
// anything that a provider accepts then, so that nothing leaves to make fewer messages.
func (d *draft) brokenEnd() bool {
	return slices.ContainsFunc(d.h.Cuts.Exchanges, func(x chat.Exchange) bool { return x.Fixed != "" && x.Broken != "" })
}

// slideStart is the first message of a window that, with what must stay before it,
// has no more than limit messages.
func (d *draft) slideStart(limit int) int {
	h := d.h
	kept, start := 0, len(h.Messages)
	fixed := 0 // messages before start that stay whatever comes
	for e, x := range h.Cuts.Exchanges {
		if x.First != chat.Preamble && (x.Fixed != "" || h.pinnedExchange(e)) {
			fixed += x.End - x.Start
		}
	}
	for e := len(h.Cuts.Exchanges) - 1; e >= 0; e-- {
		x := h.Cuts.Exchanges[e]
		if x.First == chat.Preamble {
			break
		}
		if x.Fixed != "" || h.pinnedExchange(e) {
			fixed -= x.End - x.Start
		}
		if kept += x.End - x.Start; kept+fixed > limit {
			break
		}
		start = x.Start
	}
	return start
}

// DefaultSlide is the number of messages that slide keeps.
const DefaultSlide = 40
