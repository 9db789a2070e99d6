package timeline_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/oriel-context/oriel/timeline"
)

func TestRangesAreReadAsWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var ids []int
		last := 0
		for _, step := range rapid.SliceOf(rapid.IntRange(1, 3)).Draw(t, "steps") {
			last += step
			ids = append(ids, last)
		}
		r := timeline.RangesOf(ids)
		got, err := timeline.ParseRanges(r.String())
		if err != nil || !slices.Equal(got, r) || !slices.Equal(slices.Collect(got.All()), ids) ||
			got.Len() != len(ids) {
			t.Fatalf("%v was written as %q and read as %v, %v", ids, r, got, err)
		}
		for id := range last + 2 {
			if got.Has(id) != slices.Contains(ids, id) {
				t.Fatalf("%q: Has(%d) is %v", r, id, got.Has(id))
			}
		}
	})
}

func TestRangesRejectWhatDoesNotRise(t *testing.T) {
	for _, bad := range []string{"x", "1,", "2,1", "1,1", "3-1", "0", "-1", "1-99999999999", "1-16777216,16777217",
		"1,,2", "1-", "1-9223372036854775807"} {
		if got, err := timeline.ParseRanges(bad); err == nil {
			t.Errorf("%q reads %v", bad, got)
		}
	}
}

func TestRangesUniteAndSubtract(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		draw := func(name string) (ids map[int]bool, r timeline.Ranges) {
			ids = map[int]bool{}
			for id := range 40 {
				if rapid.Bool().Draw(t, name) {
					ids[id+1] = true
					r.Add(id + 1)
				}
			}
			return ids, r
		}
		a, x := draw("a")
		b, y := draw("b")
		both, rest := x.Union(y), x.Minus(y)
		for id := 1; id <= 41; id++ {
			if both.Has(id) != (a[id] || b[id]) || rest.Has(id) != (a[id] && !b[id]) {
				t.Fatalf("%d: %v and %v are %v, without %v", id, x, y, both, rest)
			}
		}
		for _, r := range []timeline.Ranges{both, rest} { // as Add makes them
			if want := timeline.RangesOf(slices.Collect(r.All())); !slices.Equal(r, want) {
				t.Fatalf("%v, want %v", r, want)
			}
		}
	})
}
