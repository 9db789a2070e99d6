package recall

import (
	"strings"

	"github.com/oriel-context/oriel/recall/keyword"
)

// Asks reports whether a text that was said names something that can be looked for: two
// words of content at least, or one that is no plain word, such as a number or a name in
// code. "Yes, go on" is said with nothing in mind that history would have.
func Asks(text string) bool {
	var a keyword.Analyser
	var terms []keyword.Term
	found := 0
	for _, w := range strings.Fields(text) {
		w = strings.Trim(w, ".,;:!?\"'`()[]{}…#")
		if len(w) < 2 || assents[strings.ToLower(w)] {
			continue
		}
		if strings.ContainsAny(w, "0123456789_/.") || strings.ToLower(w[1:]) != w[1:] {
			return true
		}
		if terms, _ = a.Terms(terms[:0], w); len(terms) > 0 {
			found++
		}
		if len(terms) > 1 { // a script without blanks
			return true
		}
	}
	return found > 1
}

// assents are words of agreement and of going on, beside the stop words.
var assents = map[string]bool{
	"yes": true, "yep": true, "yeah": true, "ok": true, "okay": true, "sure": true, "please": true, "thanks": true, "thank": true, "great": true, "good": true,
	"nice": true, "perfect": true, "cool": true, "no": true, "nope": true, "continue": true, "go": true, "on": true, "ahead": true, "next": true, "let's": true,
	"do": true, "it": true, "that": true, "fix": true, "try": true, "again": true, "now": true, "proceed": true, "commit": true, "push": true,
}
