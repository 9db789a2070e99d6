package window

import (
	"testing"

	"github.com/oriel-context/oriel/token"
)

// SPEC B1: all that bounds a request acts in one place.
func TestBudgetOf(t *testing.T) {
	wide := token.Model{Known: true, Window: 200_000, MaxInput: 150_000,
		Widen: []token.Widen{{Beta: "context-1m", Window: 1_000_000}}}
	thrifty, err := LookupProfile("thrifty")
	if err != nil {
		t.Fatal(err)
	}
	known := token.Model{Known: true, Window: 200_000}
	for name, c := range map[string]struct {
		Bounds
		wish, allowed int
	}{
		"the model's":                {Bounds{Model: known}, 171_808, 171_808},
		"a length of reply":          {Bounds{Model: known, Output: 20_000}, 160_000, 160_000},
		"a reserve goes before it":   {Bounds{Model: known, Output: 20_000, Reserve: 1000}, 179_000, 179_000},
		"a reply beyond the window":  {Bounds{Model: known, Output: 300_000}, 130_000, 130_000},
		"the largest input":          {Bounds{Model: wide}, 150_000, 150_000},
		"a wider window has another": {Bounds{Model: wide, Betas: []string{"x,context-1m-2025"}}, 891_808, 891_808},
		"a window of one's own":      {Bounds{Model: wide, Window: 100_000}, 81_808, 81_808},
		"a profile":                  {Bounds{Model: known, Profile: thrifty}, 64_000, 171_808},
		"a long system prompt":       {Bounds{Model: known, Profile: thrifty, Fixed: 84_000}, 116_000, 171_808},
		"a very long one":            {Bounds{Model: known, Profile: thrifty, Fixed: 160_000}, 171_808, 171_808},
		"an adaptive size":           {Bounds{Model: known, Size: 8_000, Fixed: 2_000}, 10_000, 171_808},
		"a threshold":                {Bounds{Model: known, Thresholds: Thresholds{Global: 50}}, 100_000, 171_808},
		"a number is hard": {Bounds{Model: known, Profile: thrifty, Size: 8_000, Budget: 90_000,
			Thresholds: Thresholds{Global: 10}}, 90_000, 90_000},
		"and within the model":      {Bounds{Model: known, Budget: 190_000}, 171_808, 171_808},
		"a model that is not known": {Bounds{Model: token.Model{Window: 8_000}, Budget: 50_000}, 50_000, 50_000},
		"what was learnt": {Bounds{Model: known, Profile: thrifty,
			Learnt: func(window, allowed int) int { return allowed - window + 60_000 }}, 31_808, 31_808},
	} {
		if b, err := BudgetOf(c.Bounds); err != nil || b.Wish != c.wish || b.Allowed != c.allowed {
			t.Errorf("%s: %+v, %v; want a wish of %d within %d", name, b, err, c.wish, c.allowed)
		}
	}
	for name, o := range map[string]Bounds{"window": {Window: 1000}, "reserve": {Model: known, Reserve: 200_000},
		"margin": {Model: known, Margin: 2}} {
		if b, err := BudgetOf(o); err == nil {
			t.Errorf("%s: %+v", name, b)
		}
	}
}
