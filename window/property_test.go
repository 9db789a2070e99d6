package window

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/oriel-context/oriel/internal/test/histories"
	"github.com/oriel-context/oriel/internal/test/protocols"
	"github.com/oriel-context/oriel/token"
	"github.com/oriel-context/oriel/wire"
)

// For any history, budget, policy, pins and mode: what comes out is valid and
// within the budget or refused with the numbers, what the plan keeps has its bytes,
// the same input gives the same plan, a second fit changes nothing, and the input
// is as it was, so that dropping the plan undoes it. SPEC A2, A4, E1, E2, E4, E5, E6.
func TestFitHoldsForAnyHistory(t *testing.T) {
	for _, p := range protocols.All() {
		t.Run(p.Format.String(), func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				data := p.Draw(t, histories.Options{Valid: true, Turns: rapid.IntRange(2, 10).Draw(t, "turns")})
				b, err := wire.Read(data, p.Format, wire.Limits{})
				if err != nil {
					t.Skip(err)
				}
				b.Model = cmp.Or(b.Model, pathModel)
				counter := token.NewCounter(token.Builtin().Lookup(b.Model), token.Options{})
				total := counter.Request(&b.Request).Total
				o := Options{
					Format: p.Format, Model: b.Model,
					Policy: rapid.SampledFrom(Policies()).Draw(t, "policy"),
					Budget: max(1, total*rapid.IntRange(5, 110).Draw(t, "percent")/100),
					Mode:   rapid.SampledFrom([]Mode{Hard, Soft, Recovery}).Draw(t, "mode"),
					First:  rapid.SampledFrom([]string{"", FirstDirectives, FirstSummarise}).Draw(t, "first"),
				}
				if rapid.Bool().Draw(t, "low") {
					o.Low = max(1, o.Budget/2)
				}
				if n := len(b.Messages); n > 0 && rapid.Bool().Draw(t, "pins") {
					o.Pins = []int{rapid.IntRange(0, n-1).Draw(t, "pin")}
				}
				before := bytes.Clone(data)
				out, plan, err := Fit(context.Background(), data, o)
				if !bytes.Equal(before, data) {
					t.Fatal("the input was changed")
				}
				if errors.Is(err, ErrCannotFit) {
					if least, room := leastOf(b, counter), roomOf(o, total); least+markerRoom <= room &&
						!strings.Contains(err.Error(), "broken as it came") {
						t.Fatalf("%+v: what must stay and a marker have %d tokens, and the fit gives up: %v\n%s", o,
							least+markerRoom, err, data)
					}
					return
				}
				if err != nil {
					t.Fatalf("%v\n%s", err, data)
				}
				for _, problem := range p.Judge(out) {
					t.Fatalf("%+v: %v\n%s\nof\n%s", o, problem, out, data)
				}
				checkPlan(t, b, o, out, plan, counter)
				again, plan2, err := Fit(context.Background(), data, o)
				if err != nil || !bytes.Equal(again, out) || !gocmp.Equal(plan, plan2) {
					t.Fatalf("the same input gave another plan: %v", err)
				}
				if o.Mode == Hard && o.Pins == nil { // recovery always gets smaller
					if twice, _, err := Fit(context.Background(), out,
						Options{Format: p.Format, Model: o.Model, Policy: o.Policy,
							Budget: o.Budget, Low: o.Low, Mode: Hard}); err == nil && plan.TokensAfter <= o.Budget &&
						!bytes.Equal(twice, out) {
						t.Fatalf("a second fit changed\n%s\nto\n%s", out, twice)
					}
				}
			})
		})
	}
}

// pathModel is the model of bodies that do not name one, because it is in the path.
const pathModel = "gemini-2.5-pro"

// leastOf is the size of the least legal request, without any elision.
func leastOf(b *wire.Body, counter *token.Counter) int {
	h := HistoryOf(&b.Request, b.Rules(), counter, counter.Sizes(&b.Request))
	n := h.Base
	for e, keep := range h.Cuts.Keep(make([]bool, len(h.Cuts.Exchanges))) {
		if keep {
			n += h.exchangeTokens(e)
		}
	}
	return n
}

// roomOf is what a fit must reach.
func roomOf(o Options, total int) int {
	if o.Mode == Recovery {
		return min(o.Budget, total-max(1, total/10))
	}
	return o.Budget
}

func checkPlan(t *rapid.T, b *wire.Body, o Options, out []byte, plan *Plan, counter *token.Counter) {
	fitted, err := wire.Read(out, b.Format, wire.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	n := counter.Request(&fitted.Request).Total
	if n != plan.TokensAfter {
		t.Fatalf("%d tokens, the plan says %d", n, plan.TokensAfter)
	}
	switch {
	case o.Mode != Soft && n > o.Budget:
		t.Fatalf("%d tokens are over the budget of %d", n, o.Budget)
	case o.Mode == Recovery && n > plan.TokensBefore-max(1, plan.TokensBefore/10):
		t.Fatalf("recovery did not get smaller by a tenth: %d of %d", n, plan.TokensBefore)
	case o.Mode == Soft && plan.Action != "none" &&
		plan.TokensBefore-n < plan.TokensBefore/10-max(32, plan.TokensBefore/50) && !over(plan, o):
		t.Fatalf("a soft cut saved only %d of %d", plan.TokensBefore-n, plan.TokensBefore)
	}
	if plan.Action == "none" != bytes.Equal(out, b.Data()) {
		t.Fatalf("action %s, but the bytes are the same: %v", plan.Action, bytes.Equal(out, b.Data()))
	}
	inserted := map[int]bool{}
	for _, in := range plan.Inserted {
		inserted[in.Into] = true
	}
	if len(plan.Blocks) != len(b.Messages) {
		t.Fatalf("%d verdicts for %d messages", len(plan.Blocks), len(b.Messages))
	}
	for i, k := range plan.Blocks {
		if k.Reason == "" {
			t.Fatalf("no reason for message %d", i)
		}
		if k.Verdict == Keep && !inserted[i] && !bytes.Contains(out, b.Messages[i].Raw) {
			t.Fatalf("message %d was kept and changed", i)
		}
	}
	gone := plan.Action == "evict" || plan.Action == "digest" || plan.Action == "condense"
	if gone && len(plan.Inserted) == 0 {
		t.Fatal("messages left and nothing tells the model")
	}
}

// over reports whether a soft plan could not reach the budget anyhow.
func over(p *Plan, o Options) bool { return p.TokensAfter > o.Budget }
