package condense

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// Texts of megabytes are searched for sentences at both ends, and many texts at both ends of
// each; what people write by hand is searched as a whole.
func TestSpansAreReadUpToABound(t *testing.T) {
	for _, c := range []struct{ texts, size, most int }{{1, 60 << 20, mostOfText}, {1000, 64 << 10, mostRead},
		{65536, 800, 8 << 20}, {8, 100 << 10,
			mostRead}} {
		text := "The first words. " + strings.Repeat("ü tabs. ", c.size/9) + " The last words."
		events := make([]event, c.texts)
		for i := range events {
			events[i].text = text
		}
		n := 0
		for _, e := range bounded(events) {
			n += len(e.text)
			if !strings.HasPrefix(e.text, "The first words.") || !strings.HasSuffix(e.text, "The last words.") ||
				!utf8.ValidString(e.text) {
				t.Fatalf("%d texts of %d bytes: %.80q", c.texts, c.size, e.text)
			}
		}
		if n > c.most+2*c.texts {
			t.Errorf("%d texts of %d bytes: %d bytes are read", c.texts, c.size, n)
		}
		if c.texts == 8 && n != 8*len(text) {
			t.Errorf("%d of %d bytes are read", n, 8*len(text))
		}
	}
}
