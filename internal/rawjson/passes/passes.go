// Package passes counts the passes over the bytes of a call, for tests that bound them.
// Nothing is counted unless a test calls Start.
package passes

import "sync/atomic"

// Kind is a kind of work that is counted.
type Kind int

// What is counted: in bytes, but for Counts.
const (
	JSON       Kind = iota // read by internal/rawjson
	Sums                   // hashed by chat.Sum
	SHA256                 // hashed by timeline.HashOf
	Counts                 // requests whose tokens are counted
	Bodies                 // of request bodies written by wire
	Compressed             // by the store
	Kinds                  // how many kinds there are
)

var (
	counting bool
	counts   [Kinds]atomic.Int64
)

// Start makes Add count. It must be called before goroutines that call Add are started.
func Start() { counting = true }

// Add counts n of a kind.
func Add(k Kind, n int) {
	if counting {
		counts[k].Add(int64(n))
	}
}

// Take returns what was counted since it was called last.
func Take() (all [Kinds]int64) {
	for i := range counts {
		all[i] = counts[i].Swap(0)
	}
	return all
}
