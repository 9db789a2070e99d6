package bpe

import "math/bits"

// splitCL100K is
//
//	'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s
func splitCL100K(b []byte, i int) int {
	if end := asciiCL100K(b, i); end > 0 {
		return end
	}
	if n := contraction(b, i); n > 0 {
		return i + n
	}
	c, n := classAt(b, i)
	switch {
	case in(c, letters):
		return span(b, i+n, letters)
	case c == number:
		return upTo3Numbers(b, i)
	case c != newline:
		// An optional character before the letters. There is no way back
		// from it, but without it the letters would have to start here.
		if end := span(b, i+n, letters); end > i+n {
			return end
		}
	}
	if end := punctuationRun(b, i); end > i {
		for end < len(b) && byteClass[b[end]] == newline {
			end++
		}
		return end
	}
	r := whiteAt(b, i)
	switch {
	case r.end == len(b):
		return r.end
	case r.line > 0:
		return r.line
	}
	return r.allButLast(i)
}

// asciiCL100K finds the end of the most common pieces, or returns 0.
func asciiCL100K(b []byte, i int) int {
	c := byteClass[b[i]]
	j := i
	switch c {
	case number:
		for j = i + 1; j < i+3 && j < len(b); j++ {
			if c := byteClass[b[j]]; c == wide {
				return 0
			} else if c != number {
				break
			}
		}
		return j
	case newline, wide:
		return 0
	case other, space:
		if b[i] == '\'' {
			return 0
		}
		j++
	}
	for start := j; j+8 < len(b); j += 8 {
		k := bits.TrailingZeros64(^asciiLetters(load8(b, j))&highs) >> 3
		if k == 8 {
			continue
		}
		if j += k; b[j] >= 0x80 || j == start {
			return 0
		}
		return j
	}
	return 0
}

// upTo3Numbers is `\p{N}{1,3}`, where one number is known to be at i.
func upTo3Numbers(b []byte, i int) int {
	for range 3 {
		if i == len(b) {
			break
		}
		c, n := classAt(b, i)
		if c != number {
			break
		}
		i += n
	}
	return i
}

// punctuationRun is ` ?[^\s\p{L}\p{N}]+`; it returns i if there is none.
func punctuationRun(b []byte, i int) int {
	start := i
	if b[i] == ' ' {
		start++
	}
	if end := span(b, start, punctuation); end > start {
		return end
	}
	return i
}
