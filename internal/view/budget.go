package view

import (
	"cmp"

	"github.com/oriel-context/oriel/internal/plan"
	"github.com/oriel-context/oriel/internal/thread"
	"github.com/oriel-context/oriel/window"
)

// limits is how large the view of a request may be.
type limits struct {
	// hard is what the model accepts or what the call asks for by a number,
	// whichever is less. wish is what the profile wants, at most hard. It is a
	// wish about history, which the budget exceeds for what must not be cut.
	hard, wish int
	// wanted is the wish before a refusal of this call lowered it.
	wanted int
	// budget is what the view must fit in: between wish and hard.
	budget int
	// floor is the size of what must stay, if it was computed; grown is why
	// the budget exceeds the wish.
	floor int
	grown *window.Growth
	// crowded reports that people's words leave too little of the budget free,
	// so that the oldest leave.
	crowded bool
}

// Room is how large the view of a call may be: Wish is what its profile wants,
// Hard what the model accepts or the call asks for, whichever is less.
type Room struct{ Wish, Hard int }

func (l *limits) room() Room { return Room{l.wish, l.hard} }

// reset sets the budget to the wish again.
func (l *limits) reset() { l.budget, l.floor, l.crowded, l.grown = l.wish, 0, false, nil }

// limit computes the limits.
func (s *request) limit() error {
	if s.Room != nil {
		s.hard, s.wish, s.wanted = s.Room.Hard, min(s.Room.Wish, s.Room.Hard), s.Room.Wish
		s.reset()
		return nil
	}
	margin := s.v.o.Margin
	if s.compacts { // what is cut here is missing in all that follows; a refusal is learnt
		margin = window.NoMargin
	}
	b, err := window.BudgetOf(window.Bounds{
		Model: s.model, Betas: s.Betas, Output: max(s.Body.MaxOutput, s.Body.ThinkingBudget), Margin: margin,
		Budget: s.Budget, Profile: s.profile, Thresholds: s.v.o.Thresholds, Size: s.Size, Fixed: s.fixed(),
		Learnt: func(size, allowed int) int {
			return s.v.o.Limits.Within(s.asked(size), allowed, s.Body.MaxOutput, s.Now)
		},
	})
	if err != nil {
		return err
	}
	s.hard, s.wish, s.wanted = b.Allowed, b.Wish, b.Wish
	if s.Most > 0 {
		s.hard = min(s.hard, s.Most)
	}
	if s.compacts {
		s.wish, s.wanted = s.hard, s.hard
	}
	s.wish = min(s.wish, s.hard)
	s.reset()
	return nil
}

// grow raises the budget above the wish if it must: for a request that
// continues nothing, and for what must not be cut (SPEC E2).
func (s *request) grow(cut *plan.Plan) {
	if s.wish < s.hard && !s.goesOn(cut) && s.before.Total <= s.hard {
		s.budget, s.grown = s.hard, &window.Growth{Wish: s.wish, For: window.ForFirst}
		return
	}
	h := window.HistoryOf(&s.Body.Request, s.Body.Rules(), s.counter, s.sizes)
	for i := range h.Pinned {
		h.Pinned[i] = s.pinned(i)
	}
	s.budget, s.floor, s.crowded, s.grown = h.Grow(s.wish, s.hard, s.profile.Words)
}

// goesOn reports whether a request continues something that Oriel has seen: an
// earlier request, or a reply. A first call, a one-off and a prompt of many
// examples do not, even if another one begins with the same examples. A
// request that is sent again is treated as the first time.
func (s *request) goesOn(cut *plan.Plan) bool {
	switch s.Thread.Kind {
	case thread.New, thread.Compacted:
		return false
	case thread.Branched, thread.Side:
		return s.Thread.Answered
	case thread.Retried:
		return cut != nil
	}
	return true
}

// outgrown is how much larger than the budget of a cut the current budget must
// be for the cut to be void: by a quarter. Budgets vary by a few per cent with
// the length of reply that is asked for and with what is learnt of a model.
const outgrown = 1.25

// void reports whether a cut no longer applies: it was made for a smaller
// budget, and now the whole request fits (SPEC E3), or the request continues
// nothing. A cut that leaves nothing out applies as long as it fits.
func (s *request) void(cut *plan.Plan) bool {
	if s.compacts { // a summary of what a small budget left is not one of the history
		return true
	}
	if onlyAdds(cut) {
		return false
	}
	if s.wish < s.hard && !s.goesOn(cut) {
		return s.before.Total <= s.hard
	}
	return s.before.Total <= s.wish && float64(s.wanted) >= outgrown*float64(cut.Within())
}

// free reports whether dropping a cut costs nothing: no cached prefix, and no
// model's summary.
func (s *request) free(cut *plan.Plan, total int) bool {
	if s.compacts {
		return false
	}
	if !s.Cold || s.v.o.Condense != nil || s.steps > 0 || s.Budget == 0 && s.profile.Budget == 0 ||
		s.Budget == 0 && !s.goesOn(cut) || total <= s.low() {
		return false
	}
	if s.floor == 0 {
		s.grow(cut)
	}
	return total > s.low()
}

// low returns the low mark: a share of the budget. Beside a long system prompt
// and many tools, or if what must stay exceeds that, a cut still leaves half
// of that share of the room for history. If people pinned or restored more
// than a tenth of the budget, it leaves the whole share, because they did not
// ask for less of the newest work.
func (s *request) low() int {
	if s.compacts {
		return s.budget
	}
	share := cmp.Or(s.profile.Low, s.v.o.Low, window.LowShare(s.wish < s.hard, s.model.Prices))
	low := window.LowMark(s.budget, share, min(s.fixed(), s.budget))
	if s.floor > low {
		low = window.LowMark(s.budget, share, min(s.floor, s.budget*3/4))
	}
	if held := s.held(); held > s.budget/heldShare {
		stays := min(max(s.floor, held), s.budget*3/4)
		low = max(low, stays+int(float64(s.budget-stays)*share))
	}
	return low
}

// heldShare is the inverse of the share of the budget above which pinned and
// held messages make cuts less deep.
const heldShare = 10

// held returns the tokens of the pinned and held messages.
func (s *request) held() int {
	if len(s.Pins) == 0 {
		return 0
	}
	n := 0
	for i, tokens := range s.before.Messages {
		if s.pinned(i) {
			n += tokens
		}
	}
	return n
}
