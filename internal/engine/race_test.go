//go:build race

package engine

import (
	"flag"

	_ "pgregory.net/rapid" // has the flag
)

// The race detector makes each generated history take ten times as long: fewer of
// them, and shorter ones, must do.
func init() {
	manyMessages = 10_000
	if err := flag.Set("rapid.checks", "30"); err != nil {
		panic(err)
	}
}
