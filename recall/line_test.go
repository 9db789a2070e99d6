package recall

import (
	"strings"
	"testing"
)

// Lines that have the words of the query are evidence, but not those that the window shows:
// the query itself is one of them.
func TestLinesInTheWindowAreNoEvidence(t *testing.T) {
	filler := strings.Repeat("Numbers of gallery widgets were painted, sorted, packed and varnished in the studio. ", 30)
	s := scopeOf(t, Options{Model: &bags{}}, talk("user: "+filler+"The pilot prefers Sunday tides. "+filler+"\nassistant: "+filler+"\nuser: Which tide does the pilot prefer?"))
	for name, test := range map[string]struct {
		shown string
		found bool
	}{
		"nothing":                {"", true},
		"the query":              {"3", true},
		"the query and the fact": {"1 3", false},
	} {
		r := find(t, s, "Which tide does the pilot prefer?", RecallOptions{Exclude: func(block string) bool { return strings.Contains(test.shown, block) }})
		if found := r.Tokens > 0; found != test.found {
			t.Errorf("%s in the window: %d tokens", name, r.Tokens)
		}
	}
}
