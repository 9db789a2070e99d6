package view

import (
	"context"
	"errors"
	"fmt"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/internal/plan"
	"github.com/oriel-context/oriel/window"
)

// Show decides what is sent.
func (v *Viewer) Show(ctx context.Context, in *Input) (*Result, error) {
	if v.o.Index == nil {
		return nil, errors.New("show a view: the viewer has no index: set Options.Index, or use Fit")
	}
	s, err := v.newRequest(in)
	if err != nil {
		return nil, err
	}
	if s.profile.Off || s.managed() {
		return s.leave(), nil
	}
	var made []*plan.Plan
	var first *Result // of two steps
	for ctx.Err() == nil {
		before := v.o.Index.PlansAt(in.Thread)
		cut := s.usable(before)
		s.reset()
		recalled := s.recalled
		s.recallsNewest, s.foundNothing = false, false
		r, fresh, err := s.show(ctx, cut)
		if err != nil {
			return r, err
		}
		if fresh != nil {
			if !s.agreed(Decision{fresh, before, s.recallsNewest}) || !v.o.Index.AddPlan(in.Thread, fresh, before) {
				s.recalled = recalled
				continue // another call was first: use its cut
			}
			v.o.Condense.follow(s, cut, fresh)
			made = append(made, fresh)
			s.steps++
		}
		if first != nil {
			r.Folded, r.Cleared, r.Restored, r.Left, r.Refused = first.Folded, first.Cleared ||
				r.Cleared, first.Restored, first.Left, first.Refused
			if r.Grown == nil { // it was needed for the first step
				r.Budget, r.Grown = first.Budget, first.Grown
			}
		}
		first = r
		if fresh == nil || !r.again || len(made) > 1 {
			if s.foundNothing && !s.agreed(Decision{Before: v.o.Index.PlansAt(in.Thread)}) {
				continue
			}
			r.New, r.Made, r.Lacks = len(made) > 0, made, s.compacts || s.lacks()
			if r.RecallBegan = s.recallBegan; !r.RecallBegan.IsZero() {
				r.RecallTook = s.recallWait - s.recallTime.Left
			}
			return r, nil
		}
	}
	return nil, ctx.Err()
}

// agreed reports whether a decision counts. If another process has recalled
// nothing for the same words, this one recalls nothing either.
func (s *request) agreed(d Decision) bool {
	if s.Agree == nil {
		return true
	}
	verdict := s.Agree(d)
	s.quiet = s.quiet || verdict == Quiet
	return verdict == Agreed
}

// show makes the view that continues from a cut; fresh is the cut that it
// made, or nil. The first of two steps has no body.
func (s *request) show(ctx context.Context, cut *plan.Plan) (r *Result, fresh *plan.Plan, err error) {
	pieces, err := s.apply(cut)
	if err != nil {
		return nil, nil, err
	}
	e, back, left, refused := s.bringBack(ctx, cut, s.newDraft(cut, pieces))
	e.rebind()
	if err := e.fill(ctx, s.unsent(), s.budget/2); err != nil { // as if the tool had answered in full
		return nil, nil, err
	}
	if err := ctx.Err(); err != nil { // nobody waits any more
		return nil, nil, err
	}
	if err := e.clearOld(); err != nil {
		return nil, nil, err
	}
	total := s.count(e.pieces)
	if total.Total > s.budget {
		s.grow(cut)
	}
	over := total.Total > s.budget
	if over && s.inVain(total.Total) {
		over = false
	}
	if over || s.free(cut, total.Total) {
		if err := e.cut(ctx, s.low(), window.Hard); err != nil && (over || !errors.Is(err, window.ErrCannotFit)) {
			return nil, nil, err
		}
		total = s.count(e.pieces)
		if again := s.cutAnew(ctx, cut, total.Total); again != nil {
			e, total = again, s.count(again.pieces)
		}
		s.stayOver(total.Total)
	} else if smaller := e.makeRoom(ctx, total.Total); smaller != e {
		e, total = smaller, s.count(smaller.pieces)
	}
	if err := ctx.Err(); err != nil {
		return nil, nil, err
	}
	if len(back) == 0 { // what people restore comes first
		if ok, err := e.recall(ctx, total.Total); err != nil {
			return nil, nil, err
		} else if ok {
			total = s.count(e.pieces)
		}
	}
	if cut == nil && !e.changed {
		return s.leave(), nil, nil
	}
	r = &Result{Before: s.before.Total, After: total.Total, Local: total.Local, Action: action(cut), Cut: cut,
		Room: s.room(), Budget: s.budget, Grown: s.grown, Recalled: s.recalled, Restored: back, Left: left,
		Refused: refused, Failed: s.failed, Asked: s.askedModel, Unused: s.unused}
	r.again = e.again
	if e.changed {
		fresh = e.finish(total.Total)
		r.Cut, r.New, r.Action = fresh, true, action(fresh)
		r.Folded, r.Cleared = e.plan != nil, e.cleared
		if left := s.missing(fresh); len(left) > 0 {
			if !cut.Refuses(s.Pins) {
				r.Refused = s.noRoom(left)
			}
			fresh.Refuse(s.Pins)
		}
	}
	if r.again && s.steps == 0 { // the next step writes the body
		return r, fresh, nil
	}
	r.request, r.pieces = s, e.pieces
	r.Body, total, err = s.write(e.pieces, total)
	if r.Cut != nil && err == nil {
		r.Body, r.Beta = s.askDrop(r.Body, r.Cut)
	}
	if r.Changed = s.changed(r.Body); !r.Changed && fresh == nil { // nothing of the cut is in this request
		r.Action = "none"
	}
	r.After, r.Local = total.Total, total.Local
	return r, fresh, err
}

// unsent returns the first message that no model has seen: what follows the
// last reply. Everything before it is in the provider's cache.
func (s *request) unsent() int {
	for i := len(s.Body.Messages) - 1; i >= s.lead; i-- {
		switch m := &s.Body.Messages[i]; {
		case m.Role == chat.Assistant, m.Type != "" && m.Type != "message" && !returns(m):
			return i + 1
		}
	}
	return s.lead
}

// returns reports whether an item of Responses is the result of a tool.
func returns(m *chat.Message) bool {
	return len(m.Parts) > 0 && m.Parts[0].Kind == chat.Result && !m.Parts[0].Hosted
}

// managed reports whether the provider manages the window itself, and the call
// does not ask for a budget.
func (s *request) managed() bool {
	return s.Body.Managed != "" && s.Budget == 0 && !s.Asked
}

func (s *request) leave() *Result {
	r := &Result{Body: s.steady(s.Body.Data()), Before: s.before.Total, After: s.before.Total, Local: s.before.Local,
		Action: "none", Room: s.room(), Budget: s.budget, Grown: s.grown, Asked: s.askedModel, Unused: s.unused,
		request: s, pieces: s.Body.Whole()}
	r.Changed = s.changed(r.Body)
	if s.managed() {
		r.Why = fmt.Sprintf("the request has %s: its provider manages the window", s.Body.Managed)
	}
	return r
}
