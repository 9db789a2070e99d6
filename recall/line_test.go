package recall

import (
	"fmt"
	"strings"
	"testing"
)

// Lines that have the words of the query are evidence, but not those that the window shows:
// the query itself is one of them.
func TestLinesInTheWindowAreNoEvidence(t *testing.T) {
	filler := strings.Repeat("Numbers of gallery widgets were painted, sorted, packed and varnished in the studio. ",
		30)
	s := scopeOf(t, Options{Model: &bags{}}, talk("user: "+filler+"The pilot prefers Sunday tides. "+filler+
		"\nassistant: "+filler+"\nuser: Which tide does the pilot prefer?"))
	for name, test := range map[string]struct {
		shown string
		found bool
	}{
		"nothing":                {"", true},
		"the query":              {"3", true},
		"the query and the fact": {"1 3", false},
	} {
		r := find(t, s, "Which tide does the pilot prefer?",
			RecallOptions{Exclude: func(block string) bool { return strings.Contains(test.shown, block) }})
		if found := r.Tokens > 0; found != test.found {
			t.Errorf("%s in the window: %d tokens", name, r.Tokens)
		}
	}
}

// A search for one word finds it among other lines if it is rare and names something.
func TestOneRareWordIsFoundOnALine(t *testing.T) {
	const filler = "Numbers of gallery widgets were painted, sorted, packed and varnished in the studio. "
	var lines strings.Builder
	for i := range linePassages + 2 {
		fmt.Fprintf(&lines, "assistant: %sPicture %d is lacquered. %s\n", strings.Repeat(filler, 20), i,
			strings.Repeat(filler, 20))
	}
	fmt.Fprintf(&lines, "user: %sIt failed with E4017, press enter to continue. %s\n", strings.Repeat(filler, 15),
		strings.Repeat(filler, 15))
	s := scopeOf(t, Options{Model: &bags{}}, talk(lines.String()))
	for query, found := range map[string]bool{"E4017": true, "the E4017?": true, "continue": false,
		"Press enter": false, "lacquered": false, "press E4017": false} {
		if r := find(t, s, query, RecallOptions{}); r.Tokens > 0 != found ||
			found && !strings.Contains(r.Text, "E4017") {
			t.Errorf("%q: %d tokens", query, r.Tokens)
		}
	}
}
