package window

import (
	"context"
	"fmt"
	"slices"

	"github.com/oriel-context/oriel/chat"
)

// slide keeps the newest MaxItems messages (default 40), beginning with a
// user's message: if the window would begin with anything else, it begins
// later. It does nothing as long as there are no more messages than that. The
// first message is not protected. Sliding on every call changes the prefix on
// every call, which defeats the provider's prompt cache.
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
		if open == len(h.Cuts.Exchanges) { // no question in the window: begin with a whole tool exchange
			for e, x := range h.Cuts.Exchanges {
				if x.Start >= start && x.First == chat.Turn {
					open = e
					break
				}
			}
		}
		reason := fmt.Sprintf("before the newest %d messages", limit)
		d.drop(func(e int) bool { return e < open && !h.pinnedExchange(e) }, reason)
		// What must stay with the kept messages may be too many again: begin
		// later.
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

// brokenEnd reports whether what must stay is broken as received. No provider
// would accept any window then, so nothing is dropped to reduce the number of
// messages.
func (d *draft) brokenEnd() bool {
	return slices.ContainsFunc(d.h.Cuts.Exchanges, func(x chat.Exchange) bool {
		return x.Fixed != "" &&
			x.Broken != ""
	})
}

// slideStart returns the first message of a window that, with what must stay
// before it, has at most limit messages.
func (d *draft) slideStart(limit int) int {
	h := d.h
	kept, start := 0, len(h.Messages)
	fixed := 0 // messages before start that always stay
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
