package bpe

// splitR50K is
//
//	'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s
//
// for r50k_base and the p50k encodings. They are of old models, so there is
// no short path.
func splitR50K(b []byte, i int) int {
	if n := contraction(b, i); n > 0 && b[i+1] >= 'a' && b[i+1] <= 'z' && b[i+n-1] >= 'a' {
		return i + n
	}
	j := i
	if b[i] == ' ' && i+1 < len(b) {
		j++
	}
	c, n := classAt(b, j)
	switch {
	case in(c, letters):
		return span(b, j+n, letters)
	case c == number:
		return span(b, j+n, 1<<number)
	case in(c, punctuation):
		return span(b, j+n, punctuation)
	}
	r := whiteAt(b, i)
	if r.end == len(b) {
		return r.end
	}
	return r.allButLast(i)
}
