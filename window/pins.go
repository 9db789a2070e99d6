package window

import (
	"context"
	"math"
	"slices"

	"github.com/oriel-context/oriel/chat"
)

// lostPins reports whether a pinned exchange has left that was not broken as
// received.
func (d *draft) lostPins() bool {
	for e, k := range d.keep {
		if !k && d.h.Cuts.Exchanges[e].Broken == "" && d.h.pinnedExchange(e) {
			return true
		}
	}
	return false
}

// wholePins reports whether all pinned messages are shown unchanged.
func (d *draft) wholePins() bool {
	for _, all := range []edits{d.masked, d.trimmed} {
		for at := range all {
			if d.h.Pinned[at.message] && !d.h.Messages[at.message].Parts[at.part].Written {
				return false
			}
		}
	}
	return !d.lostPins()
}

// writeWithPins writes a view that keeps all pins whole, in place of a draft
// that has lost some, or returns nil if there is none. If they do not fit
// beside whole messages, the ladder masks and clips those, whatever the
// policy.
func (f *fitting) writeWithPins(ctx context.Context, d *draft) *View {
	whole := func(p *draft) *View {
		if v, err := f.write(p); err == nil && p.wholePins() {
			return v
		}
		return nil
	}
	if p := d.pinsAlone(f.settings.Budget); p != nil {
		p.mark(f.settings.Budget)
		if v := whole(p); v != nil {
			return v
		}
	}
	for _, budget := range []int{f.careful(), f.settings.Budget} {
		s := f.settings
		s.Budget, s.Low, s.Words, s.Condenser = budget, budget, budget, nil
		p, err := decide(ctx, f.history, "ladder", s)
		if err != nil || !p.wholePins() {
			continue
		}
		p.warnings = append(p.warnings, d.warnings...)
		p.inherit(d)
		if v := whole(p); v != nil {
			return v
		}
	}
	return nil
}

// pinsAlone returns a draft that keeps the pinned exchanges, what must stay,
// and the least that the order of roles needs besides. It returns nil if that
// and its marker, which the draft does not have yet, exceed the budget. It
// ignores what the policy decided about the rest.
func (d *draft) pinsAlone(budget int) *draft {
	p := newDraft(d.h)
	keep := d.h.smallestWithPins()
	p.drop(func(e int) bool { return !keep[e] }, "to make room for what is pinned")
	p.summary, p.warnings, p.words, p.newestOnly = d.summary, d.warnings, d.words, d.newestOnly
	p.summary.Text = ""
	marked := p.clone()
	if marked.mark(budget); marked.tokens() > budget {
		return nil
	}
	return p
}

// smallestWithPins returns the smallest legal set with the pinned exchanges
// and what must stay.
func (h *History) smallestWithPins() []bool {
	x := h.Cuts.Exchanges
	keep := make([]bool, len(x))
	for e := range x {
		keep[e] = x[e].Fixed != "" || x[e].Broken == "" && h.pinnedExchange(e)
	}
	must := slices.Clone(keep)
	before := -1
	for e := range x {
		if !must[e] {
			continue
		}
		if x[e].First != chat.Preamble {
			for _, between := range h.smallestBetween(before, e) {
				keep[between] = true
			}
		}
		before = e
	}
	if !h.Cuts.Legal(keep) {
		return h.Cuts.Keep(must)
	}
	return keep
}

// near is how many exchanges at either end of a gap are searched for what the
// order of roles needs in it: it is nearly always in the first or the last
// turn.
const near = 100

// smallestBetween returns the exchanges with the fewest tokens that make a
// legal order between two, the first of which may be -1. It returns none if
// the two may be adjacent.
func (h *History) smallestBetween(before, e int) []int {
	if h.Cuts.Follows(before, e) {
		return nil
	}
	at := []int{before}
	for j := before + 1; j < e; j++ {
		if h.Cuts.Exchanges[j].Broken == "" && (j <= before+near || j >= e-near) {
			at = append(at, j)
		}
	}
	at = append(at, e)
	// cost[i] is the cost of the way from before to at[i], which comes from
	// at[from[i]].
	cost, from := make([]int, len(at)), make([]int, len(at))
	for i := 1; i < len(at); i++ {
		cost[i] = math.MaxInt
		for j := range i {
			if cost[j] < cost[i] && h.Cuts.Follows(at[j], at[i]) {
				cost[i], from[i] = cost[j], j
			}
		}
		if cost[i] < math.MaxInt && i < len(at)-1 {
			cost[i] += h.exchangeTokens(at[i])
		}
	}
	last := len(at) - 1
	if cost[last] == math.MaxInt {
		return nil
	}
	var out []int
	for i := from[last]; i > 0; i = from[i] {
		out = append(out, at[i])
	}
	return out
}
