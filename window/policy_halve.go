package window

import (
	"context"
	"fmt"

	"github.com/oriel-context/oriel/chat"
)

// halve keeps the first message and removes floor((n−1)·fraction) messages,
// rounded down to an even number, right after it (SPEC B2). An exchange of
// which only a part would leave stays. It halves again if once is not enough.
func halve(_ context.Context, d *draft, s *settings) error {
	fraction := s.Fraction
	if fraction <= 0 || fraction > 1 {
		fraction = 0.5
	}
	for {
		try := d.clone()
		halveOnce(try, fraction)
		if try.items() >= d.items() { // a legal set may need what had left
			break
		}
		if *d = *try; d.tokens() <= s.Budget-markerRoom {
			break
		}
	}
	d.mark(s.Budget)
	return nil
}

func halveOnce(d *draft, fraction float64) {
	n := d.items()
	if n < 2 {
		return
	}
	remove := int(float64(n-1) * fraction)
	remove -= remove % 2
	seen := 0
	gone := map[int]bool{}
	for e, x := range d.h.Cuts.Exchanges {
		if !d.keep[e] || x.First == chat.Preamble {
			continue
		}
		size := x.End - x.Start
		if seen >= 1 && seen+size <= 1+remove && !d.h.pinnedExchange(e) {
			gone[e] = true
		}
		seen += size
	}
	d.drop(func(e int) bool { return gone[e] }, fmt.Sprintf("among the %d messages after the first", remove))
}
