//go:build race

package call_test

import (
	"flag"

	_ "pgregory.net/rapid" // has the flag
)

// The race detector makes each generated history take ten times as long: fewer of them must do.
func init() {
	if err := flag.Set("rapid.checks", "30"); err != nil {
		panic(err)
	}
}
