//go:build oriel_tally

package tally

import "sync/atomic"

var counts [Kinds]atomic.Int64

// Add counts n of a kind.
func Add(k Kind, n int) { counts[k].Add(int64(n)) }

// Take returns what was counted since it was called last.
func Take() (all [Kinds]int64) {
	for i := range counts {
		all[i] = counts[i].Swap(0)
	}
	return all
}
