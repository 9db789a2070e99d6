package window

import (
	"cmp"
	"fmt"
	"math"
	"sort"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/token"
)

// A budget that nobody asked for by a number, such as that of a profile, is a
// wish about history. It grows up to what the model accepts for what must not
// be cut: the newest turn, what people pinned and, under some profiles,
// everything that people wrote (SPEC E2).

// Growth is why a budget grew.
type Growth struct {
	// Wish is the budget before it grew.
	Wish int `json:"wish"`
	// For is what it grew for.
	For string `json:"for"`
}

// Why a budget grows.
const (
	ForNewest = "the newest turn"
	ForPins   = "what is pinned or held"
	ForWords  = "what people wrote"
	ForFirst  = "a request that continues nothing"
	ForWhole  = "a history that no summary makes small enough"
)

// historyShare is the part of a wish that is left for the rest of the history
// if the budget has to grow.
const historyShare = 4

// Grow returns a budget between wish and hard that is large enough for what must stay and,
// beside it, for a quarter of the wish for the rest of the history. growth says what the
// budget grew for; it is nil where the budget is the wish.
//
// floor is the size of what must stay. It is 0 where only the newest turn must stay and the
// budget has not grown.
//
// crowded reports that people's words leave less than a quarter of hard free. The floor does
// not contain them then, and the oldest of them leave: otherwise they would fill the budget,
// and every later call would cut again.
func (h *History) Grow(wish, hard int, words bool) (budget, floor int, crowded bool, growth *Growth) {
	budget = wish
	if h.Total() <= wish {
		return budget, 0, false, nil
	}
	newest, must := 0, 0
	for _, step := range []struct {
		why   string
		stays func(e int) bool
	}{
		{ForNewest, func(e int) bool { return h.Cuts.Exchanges[e].Fixed != "" }},
		{ForPins, func(e int) bool { return h.Cuts.Exchanges[e].Fixed != "" || h.pinnedExchange(e) }},
		{ForWords, func(e int) bool {
			return h.Cuts.Exchanges[e].Fixed != "" || h.pinnedExchange(e) || words && h.prompts(e)
		}},
	} {
		floor = max(floor, h.floor(words && step.why == ForWords, step.stays))
		if need := min(hard, floor+wish/historyShare); need > budget {
			budget, growth = need, &Growth{wish, step.why}
		}
		switch step.why {
		case ForNewest:
			newest = floor
		case ForPins:
			must = floor
		case ForWords:
			if crowded = words && budget == hard && floor > hard*3/4; crowded {
				floor = must
			}
		}
	}
	if growth == nil && floor <= newest {
		floor = 0
	}
	return budget, floor, crowded, growth
}

// floor returns the size of the smallest legal request with the given exchanges. It
// counts their results as masked, except pinned ones and those that no model has seen
// yet, and the model's words as clipped if replies is set. It leaves out what Oriel
// inserted, because every cut writes that anew.
func (h *History) floor(replies bool, stays func(e int) bool) int {
	want := make([]bool, len(h.Cuts.Exchanges))
	for e := range want {
		want[e] = stays(e)
	}
	n := h.Base
	for e, keep := range h.Cuts.Keep(want) {
		if !keep {
			continue
		}
		n += h.exchangeTokens(e)
		if e == len(want)-1 {
			continue
		}
		for i := h.Cuts.Exchanges[e].Start; i < h.Cuts.Exchanges[e].End; i++ {
			for j := range h.Messages[i].Parts {
				switch p := &h.Messages[i].Parts[j]; {
				case p.Written:
					n -= h.partTokens(i, j)
				case p.Kind == chat.Result && !p.Hosted && !h.Pinned[i]:
					n -= max(0, h.partTokens(i, j)-stubRoom)
				case replies && h.reply(i, j):
					n -= max(0, h.partTokens(i, j)-replyRoom)
				}
			}
		}
	}
	return n
}

const (
	// stubRoom is about the size of a stub.
	stubRoom = 40
	// replyRoom is what is left of a clipped reply.
	replyRoom = 64
)

// reply reports whether a part is a model's text that may be clipped.
func (h *History) reply(message, part int) bool {
	m := &h.Messages[message]
	return m.Role == chat.Assistant && m.Parts[part].Kind == chat.Text && !h.Pinned[message] &&
		clippable(&m.Parts[part])
}

// Shares of a budget that a cut goes down to. A token that stays is paid for at every call, and
// once more after every pause that the provider's cache does not survive; so the dearer cached
// tokens are, the deeper a cut goes. What is removed may be needed again, and more so the
// deeper: half is kept where little is saved, or where nobody knows what is.
const (
	halfMark = 0.5
	deepMark = 0.42
	// deepMark holds where cached tokens cost dearRead of others or more, halfMark where they
	// cost cheapRead or less.
	dearRead, cheapRead = 0.1, 0.025
)

// LowShare returns the share of a budget that a cut goes down to if nobody named one. It
// follows the prices of the model where the budget is a wish to save, and is a half where it
// is all that the model takes or what a call asked for.
func LowShare(wish bool, prices token.Prices) float64 {
	if !wish || prices.Input <= 0 {
		return halfMark
	}
	read := cmp.Or(prices.CacheRead, prices.Input) / prices.Input
	steps := math.Log2(min(max(read, cheapRead), dearRead)/cheapRead) / math.Log2(dearRead/cheapRead)
	return halfMark - (halfMark-deepMark)*steps
}

// LowMark returns the size that a cut goes down to: a share of the budget or,
// if that is larger, the floor plus half of that share of the room above it.
// The other half stays free, so that the next calls need no cut.
func LowMark(budget int, share float64, floor int) int {
	return max(int(float64(budget)*share), floor+int(float64(budget-floor)*share/2))
}

// words marks the exchanges with what people wrote: all of them if a request
// with them has at most most tokens, otherwise the newest that fit into few.
func (h *History) words(most, few int) []bool {
	var all []int
	for e := range h.Cuts.Exchanges {
		if h.prompts(e) {
			all = append(all, e)
		}
	}
	size := func(newest int) int {
		first := len(h.Cuts.Exchanges)
		if newest > 0 {
			first = all[len(all)-newest]
		}
		return h.floor(true, func(e int) bool {
			return h.Cuts.Exchanges[e].Fixed != "" || h.pinnedExchange(e) || e >= first && h.prompts(e)
		})
	}
	n := len(all)
	if size(n) > most {
		n = sort.Search(n, func(n int) bool { return size(n+1) > few })
	}
	out := make([]bool, len(h.Cuts.Exchanges))
	for _, e := range all[len(all)-n:] {
		out[e] = true
	}
	return out
}

// String returns the growth in words.
func (g *Growth) String() string { return fmt.Sprintf("grew from %d for %s", g.Wish, g.For) }
