package bpe

import "bytes"

// A long piece is encoded in windows, so that the working memory stays small
// and in cache however long the piece is. This is exact, because of two facts
// about merging in order of rank:
//
//   - Tokens are the encoding of a text if and only if each two neighbours are
//     the encoding of their own bytes. (Up to the first merge across a
//     boundary between two of them, the merges inside these two happen just as
//     they would if the two stood alone; so that merge would happen there.)
//   - Hence any consecutive tokens of an encoding are the encoding of their
//     own bytes.
//
// So if the encodings of two overlapping windows have one token in common, at
// the same place, then the tokens of the first up to it and those of the
// second from it on are together the encoding of both.
//
// Windows start small, for the search for the lowest pair, and grow where the
// text does not allow small ones, as in runs of one character, whose tokens
// are long. After some successes they shrink again.
const (
	oneWindow   = 64 // bytes that are not worth cutting
	firstWindow = 32
	overlap     = 4  // the next window starts in the last quarter of this one
	patience    = 16 // successes after which a smaller window is tried
)

// windows is the working memory of mergeLong.
type windows struct {
	heapMerger
	cur, ahead []part
	merged     int // bytes that windows have gone over so far, for tests

	// known are the tokens of the text last merged, with places in it: text
	// that repeats itself, such as a ruler of dashes, is merged once.
	text  []byte
	known []part
}

// A part is a token and the place of its first byte in the piece.
type part struct {
	id    uint32
	start int
}

// mergeLong is merge for pieces of any length.
func (m *merger) mergeLong(t *table, p []byte) []uint32 {
	m.out, m.text = m.out[:0], nil
	defer func() { m.text = nil }()
	size, successes := firstWindow, 0
	start, end := 0, size // of the window whose tokens are in cur
	m.cur = m.window(m.cur[:0], t, p, start, end)
	for end < len(p) {
		k := len(m.cur) - 1
		for k > 0 && m.cur[k].start > end-(end-start)/overlap {
			k--
		}
		a, b, beyond := -1, -1, 0
		if k > 0 {
			from := m.cur[k].start
			beyond = min(max(from+size, end+size/2), len(p))
			m.ahead = m.window(m.ahead[:0], t, p, from, beyond)
			a, b = common(m.cur[k:], m.ahead)
		}
		if a < 0 {
			// The two disagree all through the overlap. A window of twice
			// the size has twice the overlap, and the largest is the whole
			// rest. What is spent in vain is less than what the window that
			// succeeds will cover, so the time stays linear.
			size, successes = 2*size, 0
			if start+size > end {
				end = min(start+size, len(p))
				m.cur = m.window(m.cur[:0], t, p, start, end)
			}
			continue
		}
		for _, part := range m.cur[:k+a] {
			m.out = append(m.out, part.id)
		}
		if successes++; m.ahead[b].start-start < size/4 {
			size, successes = 2*size, 0 // too slow: the tokens are long
		} else if successes == patience {
			size, successes = max(size/2, firstWindow), 0
		}
		start, end = m.ahead[b].start, beyond
		m.cur = append(m.cur[:0], m.ahead[b:]...)
	}
	for _, part := range m.cur {
		m.out = append(m.out, part.id)
	}
	return m.out
}

// common returns the places of the first token that is in both lists, or -1.
func common(x, y []part) (int, int) {
	for i, j := 0, 0; i < len(x) && j < len(y); {
		switch {
		case x[i] == y[j]:
			return i, j
		case x[i].start <= y[j].start:
			i++
		default:
			j++
		}
	}
	return -1, -1
}

// window appends the encoding of p[start:end] to dst.
func (m *merger) window(dst []part, t *table, p []byte, start, end int) []part {
	p = p[start:end]
	if !bytes.Equal(p, m.text) || m.text == nil {
		m.merged += len(p)
		m.text, m.known = p, m.mergeWindow(m.known[:0], t, p)
	}
	for _, k := range m.known {
		dst = append(dst, part{k.id, start + k.start})
	}
	return dst
}

// mergeWindow appends the encoding of p to dst.
func (m *merger) mergeWindow(dst []part, t *table, p []byte) []part {
	if len(p) <= maxShort {
		m.short.run(t, p)
		for i := 0; i < len(p); i = int(m.short.next[i%maxShort]) {
			dst = append(dst, part{m.short.id[i%maxShort], i})
		}
		return dst
	}
	return m.heapWindow(dst, t, p, 0)
}
