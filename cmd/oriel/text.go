package main

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// cells returns how many columns of a terminal a text takes. It has no control characters.
func cells(s string) int {
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
	case r >= 0x1100 && r <= 0x115f, r >= 0x2e80 && r <= 0xa4cf && r != 0x303f, r >= 0xac00 && r <= 0xd7a3, r >= 0xf900 && r <= 0xfaff,
		r >= 0xfe30 && r <= 0xfe6f, r >= 0xff00 && r <= 0xff60, r >= 0xffe0 && r <= 0xffe6, r >= 0x1f300 && r <= 0x1faff, r >= 0x20000 && r <= 0x3fffd:
		return 2
	}
	return 1
}

// clipCells returns the beginning of a text that takes at most width columns, with an
// ellipsis for what is missing.
func clipCells(s string, width int) string {
	if cells(s) <= width {
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

// wrap breaks a line between words, and words that are too long anywhere, into
// lines of at most width columns. It keeps the spaces at the beginning, and
// indents the other lines by hang.
func wrap(line string, width, hang int) []string {
	width = max(width, 8)
	if cells(line) <= width {
		return []string{line}
	}
	var out []string
	for indent := 0; ; indent = min(hang, width/2) {
		room := width - indent
		pad := strings.Repeat(" ", indent)
		if cells(line) <= room {
			return append(out, pad+line)
		}
		end, space, n := 0, 0, 0
		for i, r := range line {
			if n += runeCells(r); n > room {
				break
			}
			if r == ' ' && strings.TrimLeft(line[:i], " ") != "" {
				space = i
			}
			end = i + utf8.RuneLen(r)
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
