package view

import (
	"context"
	"fmt"
	"slices"

	"github.com/oriel-context/oriel/internal/plan"
	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/window"
	"github.com/oriel-context/oriel/wire"
)

// pinned reports whether message i of the body is pinned or held.
func (s *request) pinned(i int) bool {
	if s.pins == nil {
		s.pins = make(map[int]bool, len(s.Pins))
		for _, d := range s.Pins {
			s.pins[d] = true
		}
	}
	d := s.depth(i)
	return d > 0 && s.pins[d]
}

// missing returns the pinned or held messages of the request that a cut hides,
// by depth.
func (s *request) missing(cut *plan.Plan) []int {
	if cut == nil || len(s.Pins) == 0 {
		return nil
	}
	hidden := map[int]bool{}
	for _, b := range cut.Plan.Blocks {
		if b.Verdict == window.Mask || b.Verdict == window.Trim {
			hidden[b.Index] = true
		}
	}
	var out []int
	for i := range s.Body.Messages {
		if d := s.depth(i); s.pinned(i) && (hidden[d] || cut.Dropped.Has(d)) {
			out = append(out, d)
		}
	}
	return out
}

// bringBack returns a draft that shows the pins which a cut hides, with their
// depths and what leaves for them. It returns e itself if there are none, or
// no room for them, which is tried once.
func (s *request) bringBack(ctx context.Context, cut *plan.Plan,
	e *draft) (with *draft, back, left []int, refused error) {
	missing := s.missing(cut)
	if len(missing) == 0 || cut.Refuses(s.Pins) {
		return e, nil, nil, nil
	}
	with, left, err := s.restore(ctx, cut, missing)
	if err != nil {
		cut.Refuse(s.Pins)
		return e, nil, nil, err
	}
	with.least = cut.Covers
	return with, missing, left, nil
}

// restore returns a view that shows what a cut shows, and all pins whole. If
// that exceeds the budget, as few others leave as necessary, the oldest first;
// left are those, by depth (SPEC E5).
func (s *request) restore(ctx context.Context, cut *plan.Plan, missing []int) (e *draft, left []int, err error) {
	back := map[int]bool{}
	for _, d := range missing {
		back[d] = true
	}
	blocks := map[int]window.Block{}
	if cut != nil {
		for _, b := range cut.Plan.Blocks {
			blocks[b.Index] = b
		}
	}
	pieces, out := s.Body.Whole(), []int{}
	for k := range pieces {
		d := s.depth(k)
		if cut == nil || d == 0 || back[d] {
			continue
		}
		if cut.Dropped.Has(d) {
			out = append(out, k)
		} else if v := blocks[d].Verdict; v == window.Mask || v == window.Trim {
			pieces[k].Raw = s.named(cut.Replaced[d])
		}
	}
	e = s.newDraft(nil, pieces)
	e.changed = true
	if s.before.Total > s.budget {
		s.grow(cut)
	}
	if s.count(pieces).Total > s.budget {
		e.out = out
		if err := e.cut(ctx, s.budget, window.Hard); err != nil {
			return nil, nil, err
		}
	}
	for d, b := range blocks { // earlier decisions that still apply
		if _, again := e.blocks[d]; !again && (b.Verdict == window.Mask || b.Verdict == window.Trim) && !back[d] ||
			cut.Dropped.Has(d) && e.blocks[d].Verdict != "" {
			e.blocks[d] = b
		}
	}
	e.unbind(0)
	e.findHidden()
	for i := range s.Body.Messages {
		switch d := s.depth(i); {
		case e.hidden[i] && s.pinned(i):
			return nil, nil, s.noRoom(missing)
		case cut != nil && d > 0 && !cut.Dropped.Has(d):
			if _, sent := e.piece(i); !sent {
				left = append(left, d)
			}
		}
	}
	return e, left, nil
}

// noRoom returns an error with the numbers of what cannot be shown.
func (s *request) noRoom(missing []int) error {
	var which timeline.Ranges
	size, pinned := 0, 0
	left := map[int]bool{}
	for _, d := range missing {
		left[d] = true
	}
	for i := range s.Body.Messages {
		if !s.pinned(i) {
			continue
		}
		d := s.depth(i)
		n := s.counter.Message(&s.Body.Messages[i]).Tokens
		pinned += n
		if left[d] {
			which.Add(d)
			size += n
		}
	}
	return fmt.Errorf("%w: messages %s have %d tokens, all that is pinned or held has %d; that does not fit with the system prompt, the tools and the newest turn in the budget of %d: unpin or release something, or raise the budget",
		window.ErrCannotFit, which, size, pinned, s.budget)
}

// Restoration is what a view would have if all pins were shown that a cut hides.
type Restoration struct {
	// Left are the depths of the messages that would leave.
	Left []int
	// Back is how many tokens the pins would have more, Lost how many all others would
	// have less: the view grows by Back − Lost.
	Back, Lost int
}

// Restoring returns what would change if all pins of a request were shown that a cut hides.
// If they cannot be shown, the error explains that with numbers. It changes nothing.
func (v *Viewer) Restoring(ctx context.Context, in *Input, cut *plan.Plan) (r Restoration, err error) {
	s, err := v.newRequest(in)
	if err != nil {
		return r, err
	}
	missing := s.missing(cut)
	if len(missing) == 0 || s.void(cut) {
		return r, nil
	}
	before, err := s.apply(cut)
	if err != nil {
		return r, err
	}
	e, left, err := s.restore(ctx, cut, missing)
	if err != nil {
		return r, err
	}
	r.Left = left
	for sign, pieces := range map[int][]wire.Piece{-1: before, 1: e.pieces} {
		for _, p := range pieces {
			if _, back := slices.BinarySearch(missing, s.depth(p.Index)); back {
				r.Back += sign * s.weight(p)
			}
		}
	}
	r.Lost = s.count(before).Total - s.count(e.pieces).Total + r.Back
	return r, nil
}

// cutAnew cuts the whole history again if a cut on top of an earlier one
// leaves almost nothing of it, because a large message has left for which the
// earlier cut removed all others. It returns nil if total, the size of that
// view, suffices, or if no larger view fits.
func (s *request) cutAnew(ctx context.Context, cut *plan.Plan, total int) *draft {
	if cut == nil || s.Thread.From > 0 || total-s.fixed() >= (s.low()-s.fixed())/nearlyEmpty {
		return nil
	}
	e := s.newDraft(nil, s.Body.Whole())
	if err := e.cut(ctx, s.low(), window.Hard); err != nil {
		return nil
	}
	e.unbind(0) // what the earlier cut left out is back, before all that was said since
	if s.count(e.pieces).Total <= total {
		return nil
	}
	e.least = cut.Covers
	return e
}

// A view is nearly empty if its messages take less than 1/nearlyEmpty of the
// room for messages.
const nearlyEmpty = 8
