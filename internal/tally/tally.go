// Package tally counts the passes over the bytes of a call, for tests that bound them:
// go test -tags oriel_tally. Without the tag nothing is counted, and Add costs nothing.
package tally

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
