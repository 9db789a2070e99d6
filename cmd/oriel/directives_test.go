package main

import (
	"strings"
	"testing"
	"time"

	"github.com/oriel-context/oriel"
	"github.com/oriel-context/oriel/internal/term"
)

// A terminal shows a standing instruction whole, within its width, at the local time.
func TestDirectivesFitTheTerminal(t *testing.T) {
	words := "Keep in mind that the full change of every commit is known, " + strings.Repeat("also of its lines, ", 6) +
		"to the end"
	at := time.Date(2026, 1, 23, 14, 46, 0, 0, time.FixedZone("", 3600))
	list := &listedDirectives{Directives: []oriel.Directive{{Conversation: "6113e919-67d3", ID: 73, Time: at,
		Kind: "instruction", Text: words}}}
	for _, width := range []int{60, 80, 120} {
		text, when := string(list.draw(shortIDs{"6113e919-67d3": "6113e919"}, width)),
			at.Local().Format("2006-01-02 15:04  ")
		if width == 60 {
			when = "" // a narrow one has no room for it
		}
		if !strings.Contains(text, "\n6113e919#73  "+when+"instruction  Keep in mind") {
			t.Errorf("%d columns:\n%s", width, text)
		}
		if joined := strings.Join(strings.Fields(text), " "); !strings.Contains(joined, words) {
			t.Errorf("%d columns, and not all words:\n%s", width, text)
		}
		for line := range strings.Lines(text) {
			if n := term.Cells(strings.TrimSuffix(line, "\n")); n > width {
				t.Errorf("%d columns of %d: %q", n, width, line)
			}
		}
	}
}
