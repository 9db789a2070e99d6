package view

import (
	"context"
	"fmt"
	"slices"

	"github.com/oriel-context/oriel/window"
)

// pinned reports whether somebody pinned or holds message i of the body.
func (s *sight) pinned(i int) bool {
	if s.pins == nil {
		s.pins = make(map[int]bool, len(s.Pins))
		for _, d := range s.Pins {
			s.pins[d] = true
		}
	}
	d := s.depth(i)
	return d > 0 && s.pins[d]
}

// missing lists the messages of the request that somebody pinned or holds and that a cut
// hides all the same, by depth.
func (s *sight) missing(cut *Cut) []int {
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
		if d := s.depth(i); s.pinned(i) && (hidden[d] || cut.Gone.Has(d)) {
			out = append(out, d)
		}
	}
	return out
}

// refuses reports whether it is known that these pins cannot all be shown.
func (c *Cut) refuses(pins []int) bool {
	if c == nil {
		return false
	}
	known := c.noRoom.Load()
	return known != nil && slices.Equal(*known, pins)
}

// bringBack makes an edition that shows the pins which a cut hides, and tells which;
// it is e itself where there are none, or no room for them, which is tried once.
func (s *sight) bringBack(ctx context.Context, cut *Cut, e *edition) (with *edition, back []int, refused error) {
	missing := s.missing(cut)
	if len(missing) == 0 || cut.refuses(s.Pins) {
		return e, nil, nil
	}
	with, err := s.restore(ctx, missing)
	if err != nil {
		cut.noRoom.Store(&s.Pins)
		return e, nil, err
	}
	with.least = cut.Covers
	return with, missing, nil
}

// restore makes a view anew that shows all pins whole. What leaves for them leaves by
// the usual rules; the view is not filled to the brim, so that it lasts a while.
func (s *sight) restore(ctx context.Context, missing []int) (*edition, error) {
	e := s.edition(nil, s.Body.Whole())
	e.changed = true
	if total := s.count(e.pieces).Total; total > s.budget {
		if err := e.cut(ctx, (s.low()+s.budget)/2, window.Hard); err != nil {
			return nil, err
		}
	}
	e.unbind(0)
	for i := range s.Body.Messages {
		if e.hidden[i] && s.pinned(i) {
			return nil, s.noRoom(missing)
		}
	}
	return e, nil
}

// noRoom says with numbers what cannot be shown.
func (s *sight) noRoom(missing []int) error {
	var which Ranges
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
	return fmt.Errorf("%w: messages %s have %d tokens, all that is pinned or held has %d; that does not fit beside the system prompt, the tools and the newest turn in the budget of %d: unpin or release something, or raise the budget",
		window.ErrCannotFit, which, size, pinned, s.budget)
}

// Hidden are the messages that a cut leaves out, or some of what they say, by depth.
func (c *Cut) Hidden() []int {
	var out []int
	for _, r := range c.Gone {
		for d := r[0]; d <= r[1]; d++ {
			out = append(out, d)
		}
	}
	for _, b := range c.Plan.Blocks {
		if (b.Verdict == window.Mask || b.Verdict == window.Trim) && !c.Gone.Has(b.Index) {
			out = append(out, b.Index)
		}
	}
	slices.Sort(out)
	return out
}

// CanShow tells whether a request could be shown with all its pins; the error has the
// numbers where it could not.
func (v *Viewer) CanShow(ctx context.Context, in *Input) error {
	s, err := v.newSight(in)
	if err != nil {
		return err
	}
	_, err = s.restore(ctx, in.Pins)
	return err
}
