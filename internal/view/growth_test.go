package view

import (
	"context"
	"errors"
	"testing"

	"github.com/oriel-context/oriel/internal/test/growth"
	"github.com/oriel-context/oriel/window"
	"github.com/oriel-context/oriel/wire"
)

// Requests of any shape get views within the budget, and every policy fits them. Package
// Package growth runs this test with larger sizes and counts its steps.
func TestShapes(t *testing.T) {
	for _, shape := range growth.Requests {
		t.Run(shape.Name, func(t *testing.T) {
			s := newStage(t, Options{})
			s.library()
			defer s.close()
			a := ask{format: shape.Format, session: "s", Input: Input{Budget: growth.Budget, Asked: true}}
			if a.format == wire.Auto {
				a.format = wire.Anthropic
			}
			for _, body := range shape.Bodies(growth.Size()) {
				c := s.find([]byte(body), a)
				a.Pins = nil
				for i := range c.body.Messages {
					if shape.Pinned != nil && shape.Pinned(i+1) {
						a.Pins = append(a.Pins, i+1)
					}
				}
				err := s.show(c, a)
				if err != nil && !(shape.Uncut(growth.Size()) && errors.Is(err, window.ErrCannotFit)) {
					t.Fatal(err)
				}
				if err == nil && c.After > growth.Budget {
					t.Errorf("%d tokens", c.After)
				}
				s.end(c)
				for _, policy := range window.Policies() {
					o := window.Options{Budget: growth.Budget, Policy: policy, ClearInputs: true,
						Query: "what does the fox do?", Cache: counts}
					for _, d := range a.Pins {
						o.Pins = append(o.Pins, d-1)
					}
					_, plan, err := window.FitBody(ctx, c.body, o)
					if err != nil && !(shape.Uncut(growth.Size()) && errors.Is(err, window.ErrCannotFit)) {
						t.Errorf("%s: %v", policy, err)
					} else if err == nil && plan.TokensAfter > growth.Budget {
						t.Errorf("%s: %d tokens", policy, plan.TokensAfter)
					}
				}
			}
		})
	}
}

// ending is a context that ends when it is looked at for the nth time.
type ending struct {
	context.Context
	left int
}

func (c *ending) Err() error {
	if c.left--; c.left < 0 {
		return context.Canceled
	}
	return nil
}

// A view that nobody waits for any more is given up at the next step, and leaves nothing
// behind.
func TestWorkEndsWithItsContext(t *testing.T) {
	for n := 0; ; n++ {
		s := newStage(t, Options{})
		a := ask{format: wire.Anthropic, session: "s", Input: Input{Budget: growth.Budget, Asked: true}}
		c := s.find([]byte(growth.Requests[0].Bodies(40)[1]), a)
		in := a.Input
		in.ID, in.Body, in.Thread, in.Now = "c", c.body, c.thread, s.now
		r, err := s.viewer.Show(&ending{ctx, n}, &in)
		if err == nil {
			if n < 5 {
				t.Errorf("the context was looked at %d times", n)
			}
			if r.Action == "none" {
				t.Error("nothing was cut")
			}
			return
		}
		if !errors.Is(err, context.Canceled) || len(s.book.PlansAt(c.thread)) > 0 {
			t.Fatalf("step %d: %v, %d plans", n, err, len(s.book.PlansAt(c.thread)))
		}
	}
}
