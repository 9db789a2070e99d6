// Package harness holds what the benchmarks share: how the figures of rounds
// become one.
package harness

import (
	"cmp"
	"slices"
)

// Quantile returns the value below which the share q of the values lies, or
// zero if there are none.
func Quantile[T cmp.Ordered](values []T, q float64) (v T) {
	if len(values) == 0 {
		return v
	}
	s := slices.Sorted(slices.Values(values))
	return s[min(len(s)-1, int(q*float64(len(s))))]
}

// Median returns the middle value, the upper one of two.
func Median[T cmp.Ordered](values []T) T { return Quantile(values, 0.5) }
