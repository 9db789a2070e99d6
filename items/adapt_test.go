package items

import (
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// SPEC D6: total / (2·items), at most 1, over the newest ten.
func TestComplexity(t *testing.T) {
	items := func(texts ...string) (out []Item) {
		for _, s := range texts {
			out = append(out, Item{Content: s})
		}
		return out
	}
	long := strings.Repeat("é", 501)
	all := "```go\n```\nThe API failed?" + long
	for _, c := range []struct {
		name  string
		items []Item
		want  float64
	}{
		{"nothing", nil, 0},
		{"talk", items("hello"), 0},
		{"a question", items("why?"), 0.5},
		{"a fence", items("```\nx\n```"), 0.5},
		{"an error", items("it failed"), 0.5},
		{"an error in a name", items("a ValueError"), 0.5},
		{"long", items(long), 0.5},
		{"500 characters of two bytes", items(strings.Repeat("é", 500)), 0},
		{"a technical term", items("two APIs"), 0.5},
		{"rapid capital terror", items("rapid capital terror"), 0},
		{"two signs are the most that counts", items(all), 1},
		{"one of two", items("why?", "hello"), 0.25},
		{"five signs and three items without", items(all, "a", "b", "c"), 5.0 / 8},
		{"the newest ten", append(items(all, all, all), items(strings.Split("abcdefghij", "")...)...), 0},
		{"an elided item counts in full", []Item{{Content: "a", Full: long}}, 0.5},
	} {
		var tr Tracker
		for _, it := range c.items {
			tr.Observe(it.Whole())
		}
		if got := tr.Complexity(); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

// SPEC D6: worked numbers for where the size is heading.
func TestWantedSize(t *testing.T) {
	s := Sizer{Base: 8000}
	for _, c := range []struct {
		complexity float64
		state      State
		want       int
	}{
		{0, StateGeneral, 4000},
		{0.2, StateGeneral, 8000},
		{0.5, StateGeneral, 14000},
		{1, StateGeneral, 24000},
		{0.2, StateResearch, 10400},
		{0.5, StateCoding, 21000},
		{0.2, StateDebugging, 16000},
		{0.2, StateComplexAnalysis, 20000},
		{1, StateDebugging, 32000}, // 48,000: at most four times the base
		{0, "other", 4000},
		{math.NaN(), StateGeneral, 4000},
		{7, StateGeneral, 24000},
		{-7, StateGeneral, 4000},
	} {
		if got := s.wanted(c.complexity, c.state); got != c.want {
			t.Errorf("%v %s: %d, want %d", c.complexity, c.state, got, c.want)
		}
	}
}

// SPEC D6: at most a quarter of the base a step; an override beats everything but
// the model.
func TestSizeMovesInSteps(t *testing.T) {
	s := Sizer{Base: 8000}
	for i, c := range []struct {
		complexity        float64
		allowed, override int
		want              int
	}{
		{1, 0, 0, 10000}, // to 24,000
		{1, 0, 0, 12000},
		{0.5, 0, 0, 14000}, // there
		{0.5, 0, 0, 14000},
		{0, 0, 0, 12000},          // to 4,000
		{0, 11000, 0, 10000},      // allowed does not matter
		{1, 11000, 0, 11000},      // allowed
		{1, 5000, 0, 5000},        // a smaller model, at once
		{1, 200000, 0, 7000},      // and up again in steps
		{1, 200000, 50000, 50000}, // as the user wishes
		{1, 40000, 50000, 40000},  // if the model takes it
		{1, 0, 0, 38000},          // back in steps
		{0, 100, 0, 100},          // never beyond the model
	} {
		if got := s.Next(c.complexity, StateGeneral, c.allowed, c.override); got != c.want || s.Size() != got {
			t.Errorf("step %d: %d, want %d", i, got, c.want)
		}
	}
	var zero Sizer
	if zero.Size() != 8000 {
		t.Errorf("zero value: %d", zero.Size())
	}
}

// SPEC D6: the bounds hold from any size on.
func TestSizeBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := Sizer{Base: rapid.IntRange(1, 100_000).Draw(t, "base")}
		states := []State{StateGeneral, StateResearch, StateCoding, StateDebugging, StateComplexAnalysis}
		for range 20 {
			before := s.Size()
			allowed := rapid.SampledFrom([]int{0, 1, 5000, 1 << 30}).Draw(t, "allowed")
			got := s.Next(rapid.Float64Range(-1, 2).Draw(t, "complexity"), rapid.SampledFrom(states).Draw(t, "state"),
				allowed, 0)
			if allowed > 0 && got > allowed {
				t.Fatalf("%d is beyond %d", got, allowed)
			}
			if got > 4*s.Base || got > before+max(1, s.Base/4) || allowed == 0 && got < before-max(1, s.Base/4) {
				t.Fatalf("from %d to %d, base %d", before, got, s.Base)
			}
		}
	})
}

// SPEC D6: multipliers, bounds and step are settings.
func TestSizingIsASetting(t *testing.T) {
	s := Sizer{Base: 1000, Sizing: Sizing{Multipliers: map[State]float64{StateCoding: 3}, Least: 0.8, Most: 6, Step: 2}}
	for _, c := range []struct {
		complexity float64
		state      State
		want       int
	}{
		{0, StateGeneral, 800},     // 500: at least 0.8
		{0.2, StateCoding, 3000},   // not 1,500
		{0.2, StateResearch, 1300}, // the default
		{1, StateCoding, 6000},     // 9,000: at most 6
	} {
		if got := s.wanted(c.complexity, c.state); got != c.want {
			t.Errorf("%v %s: %d, want %d", c.complexity, c.state, got, c.want)
		}
	}
	if got := s.Next(1, StateCoding, 0, 0); got != 3000 { // 1,000 and a step of 2,000
		t.Errorf("the first step is to %d", got)
	}
	for _, bad := range []Sizing{
		{Least: -1}, {Most: math.NaN()}, {Step: math.Inf(1)}, {Step: 1e19}, {Least: 5}, {Most: 0.25},
		{Multipliers: map[State]float64{StateCoding: 0}}, {Multipliers: map[State]float64{StateCoding: -2}},
	} {
		if bad.Check() == nil {
			t.Errorf("%+v is accepted", bad)
		}
	}
	if err := s.Sizing.Check(); err != nil {
		t.Error(err)
	}
}

// SPEC D6: the bounds and the step hold for any settings.
func TestSizesKeepAnyBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := Sizer{Base: rapid.IntRange(1, 100_000).Draw(t, "base"), Sizing: Sizing{
			Least: rapid.Float64Range(0.01, 1).Draw(t, "least"), Most: rapid.Float64Range(1, 20).Draw(t, "most"),
			Step:        rapid.Float64Range(0.01, 30).Draw(t, "step"),
			Multipliers: map[State]float64{StateCoding: rapid.Float64Range(0.01, 50).Draw(t, "coding")},
		}}
		if err := s.Sizing.Check(); err != nil {
			t.Fatal(err)
		}
		base := float64(s.Base)
		for range 20 {
			before := s.Size()
			got := s.Next(rapid.Float64Range(0, 1).Draw(t, "complexity"),
				rapid.SampledFrom([]State{StateGeneral, StateCoding}).Draw(t, "state"), 0, 0)
			if n := float64(got); n > max(1, base*s.Sizing.Most) || n < math.Floor(base*s.Sizing.Least) ||
				math.Abs(n-float64(before)) > max(1, base*s.Sizing.Step) {
				t.Fatalf("from %d to %d, %+v", before, got, s)
			}
		}
	})
}
