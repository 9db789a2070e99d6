package number

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestSplitSumsUpAndEmptiesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		was := rapid.SliceOfN(rapid.IntRange(0, 1000), 0, 30).Draw(t, "parts")
		total := rapid.IntRange(0, 40_000).Draw(t, "total")
		sum, some := 0, 0
		for _, n := range was {
			sum, some = sum+n, some+min(n, 1)
		}
		got := slices.Clone(was)
		Split(got, total)
		is := 0
		for i, n := range got {
			is += n
			if n < 0 || was[i] == 0 && n != 0 || was[i] > 0 && n == 0 && total >= some {
				t.Fatalf("%v of %v for %d", got, was, total)
			}
			// At most a token for each other part is taken away for those that would be empty.
			if fair := float64(was[i]) * float64(total) / float64(max(1,
				sum)); math.Abs(float64(n)-fair) > float64(some)+1 {
				t.Fatalf("part %d of %v is %d, want about %.1f", i, was, n, fair)
			}
		}
		if sum > 0 && is != total {
			t.Fatalf("%v sums up to %d, want %d", got, is, total)
		}
	})
}

func TestSplitIsInProportion(t *testing.T) {
	for _, c := range []struct {
		parts []int
		total int
		want  []int
	}{
		{[]int{10, 20, 30}, 6, []int{1, 2, 3}},
		{[]int{10, 20, 30}, 600, []int{100, 200, 300}},
		{[]int{1, 0, 1000}, 100, []int{1, 0, 99}},
		{[]int{1000, 1, 1}, 100, []int{98, 1, 1}},
		{[]int{5, 5, 5}, 2, []int{1, 0, 1}},
		{[]int{0, 0}, 7, []int{0, 0}},
	} {
		got := slices.Clone(c.parts)
		if Split(got, c.total); !slices.Equal(got, c.want) {
			t.Errorf("%v for %d: %v, want %v", c.parts, c.total, got, c.want)
		}
	}
}
