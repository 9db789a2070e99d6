package window

import (
	"context"
	"fmt"
	"sort"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/oriel-context/oriel/token"
	"github.com/oriel-context/oriel/wire"
)

// workOf returns a conversation of so many turns, each with a tool call. The larger fold is,
// the larger are its messages.
func workOf(turns, fold int) []byte {
	var b strings.Builder
	for i := range turns {
		fmt.Fprintf(&b, `{"role":"user","content":"question %d %s"},{"role":"assistant","content":[{"type":"tool_use","id":"t%d","name":"Bash","input":{}}]},`+
			`{"role":"user","content":[{"type":"tool_result","tool_use_id":"t%d","content":"%s"}]},{"role":"assistant","content":"answer %s"},`,
			i, strings.Repeat("what of it ", (1+i%4)*fold), i, i, strings.Repeat("a line of output ", (4+i%5*4)*fold),
			strings.Repeat("thus it is ", (1+i%3)*fold))
	}
	return []byte(`{"model":"claude-opus-4-6","max_tokens":1000,"system":"Be brief.","messages":[` + b.String() +
		`{"role":"user","content":"go on"}]}`)
}

// A calibration's offset below 0 stays when messages leave: cuts neither exceed the budget
// because of it nor leave it unused.
func TestACutUsesItsBudgetDespiteAnOffset(t *testing.T) {
	scale := token.Scale{Slope: 1.06, Offset: -3000, N: 64}
	work := workOf(60, 15)
	for _, policy := range []string{"ladder", "mask", "relevance"} {
		for _, budget := range []int{2_500, 20_000} {
			if n, _ := fitScaled(t, work, Options{Policy: policy, Budget: budget, Scale: scale}); n < budget*17/20 {
				t.Errorf("%s to %d: %d tokens are left", policy, budget, n)
			}
		}
	}
}

// Where the correction is level, fewer messages do not count less. A budget just below that
// still keeps what the same budget in local tokens keeps.
func TestACutDoesNotFallThroughALevel(t *testing.T) {
	work := workOf(60, 15)
	for _, policy := range []string{"ladder", "mask", "relevance"} {
		for _, c := range []struct{ least, budget int }{{0, 600}, {0, 2_960}, {0, 2_990}, {0, 2_999}, {0, 3_000},
			{0, 3_010}, {3_500, 600}, {3_500, 720}} {
			scale := token.Scale{Slope: 1.06, Offset: -3000, N: 64, Least: c.least}
			checkKept(t, work, Options{Policy: policy, Budget: c.budget, Scale: scale})
		}
	}
}

// A low mark below the level is reached from a budget above it.
func TestACutReachesALowMarkBelowALevel(t *testing.T) {
	o := Options{Policy: "ladder", Budget: 3_100, Low: 1_500, Scale: token.Scale{Slope: 1.06, Offset: -3000, N: 64}}
	if n, _ := fitScaled(t, workOf(80, 4), o); n < 1_000 || n > o.Low {
		t.Errorf("%d tokens are left", n)
	}
}

// The same holds for any offset below 0, budget, low mark and policy.
func TestACutFollowsAnyScale(t *testing.T) {
	work := workOf(80, 4) // exchanges are small beside any budget
	rapid.Check(t, func(t *rapid.T) {
		o := Options{
			Policy: rapid.SampledFrom(Policies()).Draw(t, "policy"),
			Scale: token.Scale{
				Slope:  rapid.Float64Range(0.5, 1.5).Draw(t, "slope"),
				Offset: rapid.Float64Range(-9000, -100).Draw(t, "offset"),
				Least:  rapid.SampledFrom([]int{0, 4_000, 12_000}).Draw(t, "least"),
				N:      64,
			},
			Budget: rapid.IntRange(3_000, 12_000).Draw(t, "budget"),
		}
		if level := int(-o.Scale.Offset); level > 3_000 && rapid.Bool().Draw(t, "near") {
			o.Budget = level + rapid.IntRange(-80, 40).Draw(t, "above")
		}
		if rapid.Bool().Draw(t, "low") {
			o.Low = o.Budget * 2 / 3
		}
		checkKept(t, work, o)
	})
}

// checkKept compares a fit with one that does not correct counts and has the same budget in
// local tokens.
func checkKept(t rapid.TB, work []byte, o Options) {
	t.Helper()
	plain := o
	plain.Scale = token.Scale{}
	plain.Budget, plain.Low = mostLocal(o.Scale, o.Budget), mostLocal(o.Scale, o.Low)
	_, got := fitScaled(t, work, o)
	_, want := fitScaled(t, work, plain)
	fills := o.Policy != "condense" && o.Policy != "halve" // these go below the budget in large steps
	if fills && got < want/2 {
		t.Errorf("%s to %d, low %d, by %+v: %d local tokens are left, want about %d", o.Policy, o.Budget, o.Low,
			o.Scale, got, want)
	}
}

// fitScaled fits a conversation, checks the budget, and returns the tokens of the result,
// corrected and not.
func fitScaled(t rapid.TB, work []byte, o Options) (tokens, local int) {
	t.Helper()
	out, _, err := Fit(context.Background(), work, o)
	if err != nil {
		t.Fatalf("%s to %d by %+v: %v", o.Policy, o.Budget, o.Scale, err)
	}
	b, err := wire.Read(out, wire.Auto, wire.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	n := token.NewCounter(token.Builtin().Lookup(b.Model), token.Options{Scale: o.Scale}).Request(&b.Request)
	if n.Total > o.Budget {
		t.Fatalf("%s to %d by %+v: %d tokens are left", o.Policy, o.Budget, o.Scale, n.Total)
	}
	return n.Total, n.Local
}

// mostLocal returns the largest local total that counts at most so many tokens.
func mostLocal(s token.Scale, tokens int) int {
	return sort.Search(100_000, func(x int) bool { return s.Apply(x+1) > tokens })
}
