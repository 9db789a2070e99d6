//go:build !oriel_tally

package tally

// Add counts n of a kind.
func Add(Kind, int) {}
