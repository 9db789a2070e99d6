package recall

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Reply is the reply to a request, to find out which recalled passages it uses.
type Reply struct{ known, said map[string]bool }

// NewReply returns the reply to a request. rest is what the request has beside the
// passages.
func NewReply(reply, rest string) Reply { return Reply{significant(rest), significant(reply)} }

// Uses reports whether the reply uses a passage: it has words that say something and that
// only the passage brought into the request.
func (r Reply) Uses(passage string) bool {
	own, common := 0, 0
	for w := range significant(passage) {
		if r.known[w] {
			continue
		}
		if own++; r.said[w] {
			common++
		}
	}
	return common >= 2 || common == 1 && own == 1
}

// significant returns the words of a text that say something: of four letters or more, or
// with a digit, in lower case.
func significant(t string) map[string]bool {
	words := map[string]bool{}
	for w := range strings.FieldsFuncSeq(t, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) &&
			r != '_'
	}) {
		if utf8.RuneCountInString(w) >= 4 || strings.ContainsAny(w, "0123456789") {
			words[strings.ToLower(w)] = true
		}
	}
	return words
}
