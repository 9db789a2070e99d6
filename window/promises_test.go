package window

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/condense"
	"github.com/oriel-context/oriel/internal/test/histories"
	"github.com/oriel-context/oriel/internal/test/protocols"
	"github.com/oriel-context/oriel/token"
	"github.com/oriel-context/oriel/wire"
)

// drawn draws a history of any protocol, with the tokens that it has.
func drawn(t *rapid.T) (data []byte, b *wire.Body, total int) {
	p := rapid.SampledFrom(protocols.All()).Draw(t, "protocol")
	data = p.Draw(t, histories.Options{Valid: true, Turns: rapid.IntRange(2, 10).Draw(t, "turns")})
	b, err := wire.Read(data, p.Format, wire.Limits{})
	if err != nil {
		t.Skip(err)
	}
	b.Model = cmp.Or(b.Model, pathModel)
	return data, b, token.NewCounter(token.Builtin().Lookup(b.Model), token.Options{}).Request(&b.Request).Total
}

// SPEC B3: whatever the history, the threshold and the failure, a condensation that is due
// below what is allowed and fails leaves every byte, and one that is good and fits is used.
func TestCondensingBelowTheLimitOfAnyHistory(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		data, b, total := drawn(t)
		reply := rapid.SampledFrom([]string{"error", "empty", "larger", "good"}).Draw(t, "reply")
		asked := false
		o := Options{
			Format: b.Format, Model: b.Model, Policy: "condense", Margin: NoMargin, Reserve: 100,
			Window: 100 + total + rapid.SampledFrom([]int{0, 1, roundingRoom - 1, roundingRoom, total / 2,
				total}).Draw(t, "room"),
			Thresholds: Thresholds{Global: float64(rapid.IntRange(5, 100).Draw(t, "threshold"))},
			Condenser: condense.Func(func(_ context.Context, in condense.Input) (condense.Output, error) {
				asked = true
				switch reply {
				case "error":
					return condense.Output{Cost: .5}, errors.New("no answer")
				case "empty":
					return condense.Output{Cost: .5}, nil
				case "larger":
					return condense.Output{Text: strings.Repeat("more ", 9*total), Cost: .5}, nil
				}
				return condense.Output{Text: "They talked.", Cost: .5}, nil
			}),
		}
		out, plan, err := Fit(context.Background(), data, o)
		if err != nil {
			t.Fatalf("%d tokens in a window of %d: %v", total, o.Window, err)
		}
		switch {
		case reply == "good" && asked && plan.Summary.Error == "":
			if plan.Action != "condense" || plan.Summary.Text == "" || plan.Summary.Cost != .5 ||
				plan.TokensAfter >= total {
				t.Fatalf("%+v, %d of %d tokens", plan.Summary, plan.TokensAfter, total)
			}
		case !bytes.Equal(out, data) || plan.Action != "none" || asked && plan.Summary.Error == "":
			t.Fatalf("%s: %s, %+v, %d of %d tokens", reply, plan.Action, plan.Summary, plan.TokensAfter, total)
		case reply == "good" && asked && !strings.Contains(plan.Summary.Error, "smaller"):
			t.Fatalf("a good summary is not used: %+v", plan.Summary)
		}
	})
}

// SPEC B8: WouldFit says what Fit does, for any history.
func TestWouldFitAgreesWithFitOnAnyHistory(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		data, b, total := drawn(t)
		o := Options{
			Format: b.Format, Model: b.Model,
			Policy:  rapid.SampledFrom(Policies()).Draw(t, "policy"),
			Mode:    rapid.SampledFrom([]Mode{Soft, Hard, Recovery}).Draw(t, "mode"),
			Budget:  max(1, total*rapid.IntRange(50, 120).Draw(t, "percent")/100),
			Profile: rapid.SampledFrom([]string{"", "thrifty", "off"}).Draw(t, "profile"),
		}
		if o.Policy == "mask" {
			o.ClearInputs = rapid.Bool().Draw(t, "inputs")
		}
		would, err := WouldFit(b, o)
		if err != nil {
			t.Fatal(err)
		}
		_, plan, err := Fit(context.Background(), data, o)
		if does := err != nil || plan.Action != "none"; does != would.Manages() {
			t.Fatalf("%+v, %d tokens: said %v (%s), did %v: %v\n%s", o, total, would.Manages(), would.Reason, does, err,
				data)
		}
	})
}

// SPEC E2: where a smaller budget shows the newest message whole, a larger one does not trim
// it, for any history: neither room for rounding nor a marker costs a word of it. Under condense
// the text in place of the middle is made for the budget, so that views of two budgets may differ
// by a few tokens more.
func TestTheNewestMessageOfAnyHistoryIsNotTrimmedInVain(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		data, b, total := drawn(t)
		policies := slices.DeleteFunc(slices.Clone(Policies()), func(name string) bool { return name == "condense" })
		o := Options{Format: b.Format, Model: b.Model, Policy: rapid.SampledFrom(policies).Draw(t, "policy")}
		least := max(1, total*rapid.IntRange(20, 100).Draw(t, "percent")/100)
		whole := 0      // the least size of a view with the whole message
		const sums = 16 // what budgets that differ by less may share: a view is chosen by sums of parts
		for budget := least + 80; budget > least; budget -= rapid.IntRange(1, 8).Draw(t, "step") {
			o.Budget = budget
			out, plan, err := Fit(context.Background(), data, o)
			if err != nil {
				return
			}
			switch trimmed := trimsNewest(b, plan, out); {
			case !trimmed:
				whole = plan.TokensAfter
			case whole > 0 && whole+sums <= budget:
				t.Fatalf("%s: a budget of %d trims the message, though %d tokens hold all of it\n%s", o.Policy, budget,
					whole, data)
			}
		}
	})
}

// trimsNewest reports whether a plan trims the newest words of a person: those of a message
// that has results of tools too may be whole where these are not.
func trimsNewest(b *wire.Body, plan *Plan, out []byte) bool {
	for i := len(b.Messages) - 1; i >= 0; i-- {
		m := &b.Messages[i]
		if !m.Prompts() {
			continue
		}
		fitted, err := wire.Read(out, b.Format, wire.Limits{})
		return plan.Blocks[i].Verdict == Trim && (err != nil || slices.ContainsFunc(m.Parts, func(p chat.Part) bool {
			return p.Kind == chat.Text && !slices.ContainsFunc(fitted.Messages, func(sent chat.Message) bool {
				return slices.ContainsFunc(sent.Parts, func(q chat.Part) bool {
					return q.Kind == chat.Text &&
						q.Text.String() == p.Text.String()
				})
			})
		}))
	}
	return false
}

// SPEC E5: for any history whose calls lose their inputs, the plan is what is sent.
func TestClearedInputsOfAnyHistoryAreTold(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		data, b, total := drawn(t)
		o := Options{
			Format: b.Format, Model: b.Model, Policy: "mask", ClearInputs: true,
			KeepResults: rapid.SampledFrom([]int{-1, 1, 3}).Draw(t,
				"keep"),
			Budget: max(1, total*rapid.IntRange(30, 100).Draw(t, "percent")/100),
		}
		out, plan, err := Fit(context.Background(), data, o)
		if err != nil {
			return
		}
		checkPlan(t, b, o, out, plan, token.NewCounter(token.Builtin().Lookup(b.Model), token.Options{}))
	})
}
