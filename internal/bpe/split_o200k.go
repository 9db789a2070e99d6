package bpe

import "math/bits"

// splitO200K is, with U for [\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}], L for
// [\p{Ll}\p{Lm}\p{Lo}\p{M}] and C for (?i:'s|'t|'re|'ve|'m|'ll|'d),
//
//	[^\r\n\p{L}\p{N}]?U*L+C?|[^\r\n\p{L}\p{N}]?U+L*C?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+
func splitO200K(b []byte, i int) int {
	if end := asciiO200K(b, i); end > 0 {
		return end
	}
	c, n := classAt(b, i)
	if c == number {
		return upTo3Numbers(b, i)
	}
	if end := cased(b, i, i+n, c); end > 0 {
		return end + contraction(b, end)
	}
	if end := punctuationRun(b, i); end > i {
		for end < len(b) && (byteClass[b[end]] == newline || b[end] == '/') {
			end++
		}
		return end
	}
	r := whiteAt(b, i)
	switch {
	case r.line > 0:
		return r.line
	case r.end == len(b):
		return r.end
	}
	return r.allButLast(i)
}

// cased is the first two alternatives without C. It returns 0 if neither
// matches. The character at i has class c and ends at next.
//
// The order of attempts is that of a backtracking engine: each alternative
// first with the optional character in front, then without it.
func cased(b []byte, i, next int, c class) int {
	prefix := !in(c, notPrefix)
	if prefix {
		if end := upperThenLower(b, next); end > 0 {
			return end
		}
	}
	if end := upperThenLower(b, i); end > 0 {
		return end
	}
	if prefix {
		if end := span(b, next, upperish); end > next {
			return span(b, end, lowerish)
		}
	}
	if end := span(b, i, upperish); end > i {
		return span(b, end, lowerish)
	}
	return 0
}

// upperThenLower is `U*L+` at i, or 0. If nothing lower follows the longest
// U*, the engine takes back characters until it has one that is in L too: the
// match then ends after the last caseless character of the run.
func upperThenLower(b []byte, i int) int {
	end, back := i, 0
	for end < len(b) {
		c, n := classAt(b, end)
		if !in(c, upperish) {
			break
		}
		end += n
		if in(c, caseless) {
			back = end
		}
	}
	if low := span(b, end, lowerish); low > end {
		return low
	}
	return back
}

// asciiO200K finds the end of the most common pieces, or returns 0.
func asciiO200K(b []byte, i int) int {
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
		j++
	}
	if j+8 >= len(b) {
		return 0
	}
	start := j
	w := load8(b, j)
	up := bits.TrailingZeros64(^asciiUpper(w)&highs) >> 3
	if up == 8 {
		return 0
	}
	notLow := ^asciiLower(w) & highs >> (8 * up) << (8 * up)
	k := bits.TrailingZeros64(notLow) >> 3
	for k == 8 {
		if j += 8; j+8 >= len(b) {
			return 0
		}
		k = bits.TrailingZeros64(^asciiLower(load8(b, j))&highs) >> 3
	}
	if j += k; b[j] >= 0x80 || b[j] == '\'' || j == start {
		return 0
	}
	return j
}
