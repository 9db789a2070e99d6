package term

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Cells returns how many columns of a terminal a text takes. It has no control characters.
func Cells(s string) int {
	n := 0
	for _, r := range s {
		n += runeCells(r)
	}
	return n
}

func runeCells(r rune) int {
	switch {
	case r < 0x300:
		return 1
	case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf):
		return 0
	case unicode.Is(wide, r):
		return 2
	}
	return 1
}

// wide has the characters that take two columns: those of East Asia, and the signs that
// terminals draw as pictures.
var wide = &unicode.RangeTable{
	R16: []unicode.Range16{
		{0x1100, 0x115f, 1}, {0x231a, 0x231b, 1}, {0x23e9, 0x23ec, 1}, {0x23f0, 0x23f3, 3}, {0x25fd, 0x25fe, 1},
		{0x2614, 0x2615, 1}, {0x2648, 0x2653, 1},
		{0x267f, 0x2693, 0x14}, {0x26a1, 0x26a1, 1}, {0x26aa, 0x26ab, 1}, {0x26bd, 0x26be, 1}, {0x26c4, 0x26c5, 1},
		{0x26ce, 0x26d4, 6}, {0x26ea, 0x26ea, 1},
		{0x26f2, 0x26f3, 1}, {0x26f5, 0x26fa, 5}, {0x26fd, 0x2705, 8}, {0x270a, 0x270b, 1}, {0x2728, 0x2728, 1},
		{0x274c, 0x274e, 2}, {0x2753, 0x2755, 1},
		{0x2757, 0x2757, 1}, {0x2795, 0x2797, 1}, {0x27b0, 0x27bf, 0xf}, {0x2b1b, 0x2b1c, 1}, {0x2b50, 0x2b55, 5},
		{0x2e80, 0x303e, 1}, {0x3040, 0xa4cf, 1},
		{0xac00, 0xd7a3, 1}, {0xf900, 0xfaff, 1}, {0xfe30, 0xfe6f, 1}, {0xff00, 0xff60, 1}, {0xffe0, 0xffe6, 1},
	},
	R32: []unicode.Range32{{0x1f004, 0x1f0cf, 0xcb}, {0x1f18e, 0x1f18e, 1}, {0x1f191, 0x1f19a, 1},
		{0x1f200, 0x1f265, 1}, {0x1f300, 0x1faff, 1}, {0x20000, 0x3fffd, 1}},
}

// Clip returns the beginning of a text that takes at most width columns, with an
// ellipsis for what is missing.
func Clip(s string, width int) string {
	if Cells(s) <= width {
		return s
	}
	n := 0
	for i, r := range s {
		if n += runeCells(r); n > width-1 {
			return strings.TrimRight(s[:i], " ") + "…"
		}
	}
	return s
}

// Wrap breaks a line between words, and words that are too long anywhere, into
// lines of at most width columns. It keeps the spaces at the beginning, and
// indents the other lines by hang.
func Wrap(line string, width, hang int) []string {
	width = max(width, 8)
	var out []string
	for indent := 0; ; indent = min(hang, width/2) {
		room := width - indent
		pad := strings.Repeat(" ", indent)
		end, space, n := len(line), 0, 0
		for i, r := range line { // no further than room: lines may be very long
			if n += runeCells(r); n > room {
				end = i
				break
			}
			if r == ' ' && strings.TrimLeft(line[:i], " ") != "" {
				space = i
			}
		}
		if end == len(line) {
			return append(out, pad+line)
		}
		if line[end] == ' ' {
			space = end
		}
		if space > 0 {
			end = space
		}
		out = append(out, pad+strings.TrimRight(line[:end], " "))
		line = strings.TrimLeft(line[end:], " ")
	}
}

// Printable makes a foreign text, such as a name or an error, safe for a
// terminal. It replaces control characters, with which a text could overwrite
// others, ring or change the title, and invisible characters, with which it
// could change its direction, by spaces. Newlines and tabs stay. Everything
// printed for people that is not Oriel's own passes through printable.
func Printable(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n', r == '\t':
			return r
		case unicode.IsControl(r), unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp):
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
}

// MaxError is the most characters of an error that are printed.
const MaxError = 4000

// OneLine returns the beginning of a text on one line, without control
// characters.
func OneLine(s string, width int) string {
	if len(s) > 8*width { // more than any width needs
		s = strings.ToValidUTF8(s[:8*width], "")
	}
	runes := []rune(strings.Join(strings.Fields(Printable(s)), " "))
	if len(runes) > width {
		return string(runes[:width-1]) + "…"
	}
	return string(runes)
}

// Pad fills a line with spaces.
func Pad(line string, width int) string {
	return line + strings.Repeat(" ", max(0, width-Cells(line)))
}

// Column returns a text in so many columns, one of them free.
func Column(s string, width int) string {
	s = Clip(s, max(1, width-1))
	return s + strings.Repeat(" ", max(0, width-Cells(s)))
}

// Right returns a text at the right end of so many columns.
func Right(s string, width int) string {
	return strings.Repeat(" ", max(0, width-utf8.RuneCountInString(s))) + s
}
