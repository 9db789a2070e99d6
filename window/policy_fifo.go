package window

import "context"

// DefaultFIFO is the number of messages that fifo keeps.
const DefaultFIFO = 50

// fifo keeps the newest messages: at most MaxItems of them (default 50), and no
// more than the low mark in tokens. The oldest leaves first (SPEC A5).
func fifo(_ context.Context, d *draft, s *settings) error {
	limit := s.MaxItems
	if limit <= 0 {
		limit = DefaultFIFO
	}
	h := d.h
	d.newestOnly = true
	var order []int
	for e, x := range h.Cuts.Exchanges {
		if x.Fixed == "" && !h.pinnedExchange(e) {
			order = append(order, e)
		}
	}
	evictUntil(d, order, func(d *draft) bool {
		return d.items() <= limit && d.tokens() <= s.Low-markerRoom
	}, "first in, first out")
	d.mark(s.Budget)
	return nil
}

// items counts the messages that are shown, without the leading system
// messages.
func (d *draft) items() int {
	n := 0
	for e, k := range d.keep {
		if x := d.h.Cuts.Exchanges[e]; k && x.First != 0 {
			n += x.End - x.Start
		}
	}
	return n
}
