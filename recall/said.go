package recall

import (
	"slices"
	"strings"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/internal/quote"
)

// flagsOf returns whose words the part of a user's text from begin to end is; spoken are the
// stretches that are a person's (see [chat.Spoken]). A page that a program put there is what
// was given to it. In a text that is one passage, words beside it remain the person's.
func flagsOf(text string, spoken [][2]int, begin, end int) uint8 {
	own, others := false, false
	at := begin
	for _, s := range spoken {
		if s[0] >= end {
			break
		}
		others = others || s[0] > at && strings.TrimSpace(text[at:s[0]]) != ""
		if from, to := max(s[0], begin), min(s[1], end); from < to {
			own = own || strings.TrimSpace(text[from:to]) != ""
			at = to
		}
	}
	others = others || at < end && strings.TrimSpace(text[at:end]) != ""
	switch {
	case !others:
		return flagUser
	case own && begin == 0 && end == len(text):
		return flagUser | flagMixed
	}
	return flagGiven
}

// QuoteMixed quotes a passage that has a person's words and what programs put beside them: the
// words as those of label, the rest as a tool's. It returns the label of the first lines
// apart.
func QuoteMixed(label, text string) (first, quoted string) {
	var b strings.Builder
	add := func(by, part string) {
		if part = strings.Trim(part, "\r\n"); strings.TrimSpace(part) == "" {
			return
		}
		if b.Len() == 0 {
			first, by = by, ""
		} else {
			b.WriteByte('\n')
		}
		b.WriteString(quote.Text(by, part))
	}
	at := 0
	for _, s := range chat.Spoken(text) {
		add(string(chat.Tool), text[at:max(at, s[0])])
		add(label, text[max(at, s[0]):s[1]])
		at = max(at, s[1])
	}
	add(string(chat.Tool), text[at:])
	return first, b.String()
}

// saysTheSame reports whether the first n bytes of a text show the same words as a person's as
// the whole text does. They do not if the end of a page is missing: its beginning alone reads
// as a person's.
func saysTheSame(text string, n int) bool {
	var whole [][2]int
	for _, s := range chat.Spoken(text) {
		if s[1] = min(s[1], n); s[0] < s[1] {
			whole = append(whole, s)
		}
	}
	return slices.Equal(whole, chat.Spoken(text[:n]))
}
