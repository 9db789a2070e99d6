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
		if err != nil || !slices.Equal(got, r) || !slices.Equal(slices.Collect(got.All()), ids) || got.Len() != len(ids) {
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
	for _, bad := range []string{"x", "1,", "2,1", "1,1", "3-1", "0", "-1", "1-99999999999", "1-16777216,16777217", "1,,2", "1-", "1-9223372036854775807"} {
		if got, err := timeline.ParseRanges(bad); err == nil {
			t.Errorf("%q reads %v", bad, got)
		}
	}
}
