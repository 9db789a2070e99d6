package view

import (
	"context"

	"github.com/oriel-context/oriel/internal/plan"
	"github.com/oriel-context/oriel/window"
)

// Again shows a request by a cut of an earlier one, if its place in the
// history is unknown. The caller knows that both begin with the same messages.
func (v *Viewer) Again(in *Input, cut *plan.Plan) (*Result, error) {
	s, err := v.newRequest(in)
	if err != nil {
		return nil, err
	}
	if s.profile.Off || s.managed() || s.void(cut) {
		return s.leave(), nil
	}
	return s.again(cut)
}

// Fit shows a request about which nothing is known: it cuts what is too large,
// and remembers nothing.
func (v *Viewer) Fit(ctx context.Context, in *Input) (*Result, error) {
	s, err := v.newRequest(in)
	if err != nil {
		return nil, err
	}
	if s.before.Total > s.budget {
		s.grow(nil)
	}
	r := s.leave()
	if s.profile.Off || s.managed() || s.before.Total <= s.budget {
		return r, nil
	}
	o := window.Options{
		Model: in.Body.Model, Models: v.o.Models,
		Budget: s.budget, Low: s.low(), Profile: in.Profile, Profiles: v.o.Profiles, Policy: s.profile.Policy,
		KeepTools: v.o.KeepTools, Now: in.Now,
	}
	if o.Policy == "condense" {
		o.Wish, o.Budget = s.budget, s.hard
	}
	fitted, err := window.FitView(ctx, s.counted(in.Body.Whole()), o)
	if err != nil {
		return nil, err
	}
	r.Body, err = in.Body.Write(fitted.Shown)
	r.After, r.Action = fitted.Plan.TokensAfter, fitted.Plan.Action
	return r, err
}
