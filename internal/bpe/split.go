package bpe

import "encoding/binary"

// A splitter returns the end of the piece that starts at i, for i < len(b).
// Each one is a pattern of the reference, written out by hand: the pattern is
// quoted above it and the comments name its alternatives. A splitter has a
// short path for ASCII, which most text takes, and a complete path that is
// right for all text.
//
// Every splitter looks at each byte a bounded number of times over a whole
// text, which is what keeps counting linear.
type splitter func(b []byte, i int) int

// contraction returns the length of `'(?i:[sdmt]|ll|ve|re)` at i, or 0.
// Ignoring case, the long s (U+017F) is an s too.
func contraction(b []byte, i int) int {
	if i+1 >= len(b) || b[i] != '\'' {
		return 0
	}
	next := byte(0)
	if i+2 < len(b) {
		next = b[i+2]
	}
	switch b[i+1] {
	case 's', 'd', 'm', 't', 'S', 'D', 'M', 'T':
		return 2
	case 'l', 'L':
		if next|0x20 == 'l' {
			return 3
		}
	case 'v', 'V', 'r', 'R':
		if next|0x20 == 'e' {
			return 3
		}
	case 0xC5:
		if next == 0xBF {
			return 3
		}
	}
	return 0
}

// A whiteRun is the run of white space from some position on.
type whiteRun struct {
	end  int // after the last character
	last int // start of the last character
	line int // after the last CR or LF, or 0
}

func whiteAt(b []byte, i int) whiteRun {
	r := whiteRun{end: i, last: i}
	for r.end < len(b) {
		c, n := classAt(b, r.end)
		if !in(c, whites) {
			break
		}
		r.last = r.end
		r.end += n
		if c == newline {
			r.line = r.end
		}
	}
	return r
}

// allButLast is `\s+(?!\S)|\s`: the run is followed by something else, so its
// last character stays behind, unless it is the only one.
func (r whiteRun) allButLast(i int) int {
	if r.last > i {
		return r.last
	}
	return r.end
}

// Constants for looking at eight bytes at once: a byte of a result has its
// high bit set where the byte of the input has the property, all else is zero.
const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// between marks the ASCII bytes of w from first to last.
func between(w uint64, first, last byte) uint64 {
	low := w &^ highs // so that no addition carries into the next byte
	return (low + (0x80-uint64(first))*ones) &^ (low + (0x7F-uint64(last))*ones) &^ w & highs
}

func asciiLetters(w uint64) uint64 { return between(w|0x20*ones, 'a', 'z') }
func asciiLower(w uint64) uint64   { return between(w, 'a', 'z') }
func asciiUpper(w uint64) uint64   { return between(w, 'A', 'Z') }

func load8(b []byte, i int) uint64 { return binary.LittleEndian.Uint64(b[i:]) }
