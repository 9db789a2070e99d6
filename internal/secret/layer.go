package secret

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// layers is how many times a text may be escaped, such as JSON within JSON within a URL.
const layers = 5

// layer is a text with some levels of escapes undone; at[i] is the offset of its byte i
// in the original text, at[len(text)] the original's length.
type layer struct {
	text []byte
	at   []int
}

func plainLayer(text string) layer {
	l := layer{[]byte(text), make([]int, len(text)+1)}
	for i := range l.at {
		l.at[i] = i
	}
	return l
}

// decode undoes one level of escapes.
func (l layer) decode() (next layer, changed bool) {
	next = layer{make([]byte, 0, len(l.text)), make([]int, 0, len(l.at))}
	for i := 0; i < len(l.text); {
		r, n := escape(l.text[i:])
		if n == 0 {
			next.text, next.at = append(next.text, l.text[i]), append(next.at, l.at[i])
			i++
			continue
		}
		changed = true
		before := len(next.text)
		if r < 0 { // a byte
			next.text = append(next.text, byte(-r-1))
		} else {
			next.text = utf8.AppendRune(next.text, r)
		}
		for range len(next.text) - before {
			next.at = append(next.at, l.at[i])
		}
		i += n
	}
	next.at = append(next.at, l.at[len(l.text)])
	return next, changed
}

// escape decodes the escape at the start of a text: its character, or -1 minus a byte,
// and its length, or 0 if there is none.
func escape(s []byte) (r rune, n int) {
	switch s[0] {
	case '\\':
		if len(s) >= 2 && strings.IndexByte(`/\"'`, s[1]) >= 0 {
			return rune(s[1]), 2
		}
		if len(s) >= 6 && (s[1] == 'u' || s[1] == 'U') {
			if v, err := strconv.ParseUint(string(s[2:6]), 16, 32); err == nil {
				return rune(v), 6
			}
		}
		if len(s) >= 4 && s[1] == 'x' {
			if v, err := strconv.ParseUint(string(s[2:4]), 16, 8); err == nil {
				return -rune(v) - 1, 4
			}
		}
	case '%':
		if len(s) >= 3 {
			if v, err := strconv.ParseUint(string(s[1:3]), 16, 8); err == nil {
				return -rune(v) - 1, 3
			}
		}
	case '&':
		return entity(s)
	}
	return 0, 0
}

// entity decodes an HTML entity.
func entity(s []byte) (r rune, n int) {
	const longest = 10
	end := strings.IndexByte(string(s[:min(len(s), longest)]), ';')
	if end < 0 {
		return 0, 0
	}
	name := string(s[1:end])
	switch number, ok := strings.CutPrefix(name, "#"); {
	case ok:
		base := 10
		if hex, ok := strings.CutPrefix(strings.ToLower(number), "x"); ok {
			number, base = hex, 16
		}
		if v, err := strconv.ParseUint(number, base, 21); err == nil {
			return rune(v), end + 1
		}
	case name == "amp":
		return '&', end + 1
	case name == "quot":
		return '"', end + 1
	case name == "lt":
		return '<', end + 1
	case name == "gt":
		return '>', end + 1
	}
	return 0, 0
}
