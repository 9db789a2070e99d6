package view

import (
	"cmp"

	"github.com/oriel-context/oriel/internal/thread"
	"github.com/oriel-context/oriel/window"
)

// limits are how large the view of a request may be.
type limits struct {
	// hard is what the model takes, or what the call asks for by a number, whichever is
	// less. wish is what the profile wants, at most hard: a wish about history, which
	// the budget exceeds for what must not be cut.
	hard, wish int
	// wanted is the wish without what was learnt from a refusal of this very call.
	wanted int
	// budget is what the view must fit in: between wish and hard.
	budget int
	// floor is the size of what must stay, where that was asked for, grown why the
	// budget is more than the wish.
	floor int
	grown *window.Growth
	// crowded: people's words leave too little of it free, so that the oldest leave.
	crowded bool
}

// Room is how large the view of a call may be: Wish is what its profile wants, Hard what
// the model takes or the call asks for, whichever is less.
type Room struct{ Wish, Hard int }

func (l *limits) room() Room { return Room{l.wish, l.hard} }

// reset makes the budget the wish again.
func (l *limits) reset() { l.budget, l.floor, l.crowded, l.grown = l.wish, 0, false, nil }

// limit finds them.
func (s *request) limit() error {
	if s.Room != nil {
		s.hard, s.wish, s.wanted = s.Room.Hard, min(s.Room.Wish, s.Room.Hard), s.Room.Wish
		s.reset()
		return nil
	}
	b, err := window.BudgetOf(window.Bounds{
		Model: s.model, Betas: s.Betas, Output: max(s.Body.MaxOutput, s.Body.ThinkingBudget), Margin: s.v.o.Margin,
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
	s.wish = min(s.wish, s.hard)
	s.reset()
	return nil
}

// grow makes the budget larger than the wish where it must be: for a request that goes on
// from nothing, and for what must not be cut (SPEC E2).
func (s *request) grow(cut *Cut) {
	if s.wish < s.hard && !s.goesOn(cut) && s.before.Total <= s.hard {
		s.budget, s.grown = s.hard, &window.Growth{Wish: s.wish, For: window.ForFirst}
		return
	}
	h := window.HistoryOf(&s.Body.Request, s.Body.Rules(), s.counter, s.before)
	for i := range h.Pinned {
		h.Pinned[i] = s.pinned(i)
	}
	s.budget, s.floor, s.crowded, s.grown = h.Grow(s.wish, s.hard, s.profile.Words)
}

// goesOn reports whether a request goes on from something that Oriel has seen: an earlier
// request, or a reply. A first call, a one-off and a prompt of many examples do not, also
// where another one begins with the same examples. What is sent again goes as it went the
// first time.
func (s *request) goesOn(cut *Cut) bool {
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

// outgrown is how much larger a budget must be than that of a cut for the cut to be void:
// by a quarter. Budgets waver by a few per cent, with the length of reply that is asked
// for and with what is learnt of a model.
const outgrown = 1.25

// void reports whether a cut does not hold any more: it was made for a smaller budget, and
// by now the whole request fits (SPEC E3), or the request goes on from nothing.
func (s *request) void(cut *Cut) bool {
	if s.wish < s.hard && !s.goesOn(cut) {
		return s.before.Total <= s.hard
	}
	return s.before.Total <= s.wish && float64(s.wanted) >= outgrown*float64(cut.within())
}

// free reports whether a cut costs nothing: no cached prefix, and no model's summary.
func (s *request) free(cut *Cut, total int) bool {
	if !s.Cold || s.v.o.Condense != nil || s.steps > 0 || s.Budget == 0 && s.profile.Budget == 0 || s.Budget == 0 && !s.goesOn(cut) || total <= s.low() {
		return false
	}
	if s.floor == 0 {
		s.grow(cut)
	}
	return total > s.low()
}

// low is the low mark: a share of the budget. Beside a long system prompt and many tools,
// and where what must stay is more than that, a cut still leaves half of that share of
// what there is for the history. Where people pinned or brought back more than a tenth of
// the budget, it leaves the whole share: they did not ask for less of the newest work.
func (s *request) low() int {
	share := cmp.Or(s.profile.Low, s.v.o.Low)
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

// heldShare is the part of the budget above which what is held makes cuts less deep.
const heldShare = 10

// held counts the tokens of the messages that somebody pinned or holds.
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
