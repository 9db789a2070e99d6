package condense

import (
	"strings"
	"unicode/utf8"
)

// clipAtSentence returns the longest beginning of text that ends with a sentence or
// a line and has at most limit tokens, or "" if there is none.
func clipAtSentence(text string, limit int, count func(string) int) string {
	if count(text) <= limit {
		return text
	}
	text = clipBytes(text, limit, count)
	for end := len(text); end > 0; {
		end = lastBorder(text[:end])
		if s := strings.TrimSpace(text[:end]); end > 0 && s != "" && count(s) <= limit {
			return s
		}
		if end > 0 {
			_, n := utf8.DecodeLastRuneInString(text[:end])
			end -= n
		}
	}
	return ""
}

// clipWords is clipAtSentence for a piece that must be shown although it is too
// long: it cuts at a word and adds an ellipsis.
func clipWords(text string, limit int, count func(string) int) string {
	if count(text) <= limit {
		return text
	}
	const more = " …"
	for room := limit - count(more); room > 0; room-- {
		s := clipBytes(text, room, count)
		if i := strings.LastIndexAny(s, " \n\t"); i > len(s)/2 {
			s = s[:i]
		}
		if s = strings.TrimSpace(s); s == "" {
			return ""
		}
		if s += more; count(s) <= limit {
			return s
		}
	}
	return ""
}

// clipBytes returns a beginning of text of at most limit tokens, close to the
// longest, by bisection.
func clipBytes(text string, limit int, count func(string) int) string {
	if limit <= 0 {
		return ""
	}
	// No known encoding averages more than 128 bytes per token.
	low, high := 0, min(len(text), limit*128)
	for low < high {
		mid := border(text, (low+high+1)/2)
		if mid <= low { // no rune ends between the two
			mid = low + 1
			for mid < high && !utf8.RuneStart(text[mid]) {
				mid++
			}
		}
		if count(text[:mid]) <= limit {
			low = mid
		} else {
			high = border(text, mid-1)
		}
	}
	return text[:border(text, low)]
}

// border moves n back to the beginning of a rune.
func border(text string, n int) int {
	for n > 0 && n < len(text) && !utf8.RuneStart(text[n]) {
		n--
	}
	return n
}

// lastBorder returns the end of the last sentence or line that is complete in
// text.
func lastBorder(text string) int {
	for i := len(text); i > 0; {
		r, n := utf8.DecodeLastRuneInString(text[:i])
		if r == '\n' || wide(r) {
			return i
		}
		if ends(r) && (i == len(text) || text[i] == ' ' || text[i] == '\n') {
			return i
		}
		i -= n
	}
	return 0
}

// clipLine cuts a line to about limit bytes, at the end of a word, with an
// ellipsis.
func clipLine(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	s = s[:border(s, limit)]
	if i := strings.LastIndexByte(s, ' '); i > limit*2/3 {
		s = s[:i]
	}
	return strings.TrimRight(s, " ,;:") + " …"
}
