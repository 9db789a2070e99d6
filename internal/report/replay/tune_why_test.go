package replay

import (
	"strings"
	"testing"
)

// Where none of the budgets is worth it, the reason does not praise another profile.
func TestWhyNoBudgetIsWorthIt(t *testing.T) {
	all := []*Outcome{{Policy: Append, Calls: 100, Cost: 10}, {Policy: "balanced", Calls: 100, Cost: 9, PromptTokens: 1},
		{Policy: "thrifty", Calls: 100, Cost: 9.2}}
	for range budgets {
		all = append(all, &Outcome{Policy: tuned, Calls: 100, Cost: 9.8, Cuts: 1})
	}
	if bestOf(all, 3) >= 0 {
		t.Fatal("a budget is worth it")
	}
	if why := whyNone(all); !strings.Contains(why, "not worth a change") || strings.Contains(why, "It would have") {
		t.Error(why)
	}
}
