package bpe

// A heapMerger encodes windows of any length. The arrays have an element for
// each byte of a window; only the ones where a part starts are in use.
type heapMerger struct {
	id, rule   []uint32
	next, prev []int32
	heap       []uint64 // rule<<32 | position: the lowest rule, leftmost, is on top
}

// heapWindow appends the encoding of p, whose first byte is at start. It is
// for windows that are too long for a shortMerger.
func (m *heapMerger) heapWindow(dst []part, t *table, p []byte, start int) []part {
	m.heapify(t, p)
	for len(m.heap) > 0 {
		top := m.heap[0]
		i, rule := int32(uint32(top)), uint32(top>>32)
		if m.rule[i] != rule { // a neighbour has been merged since
			m.pop()
			continue
		}
		// The part at i takes in its right neighbour at j.
		j := m.next[i]
		k := m.next[j]
		m.id[i], m.next[i], m.rule[j] = rule, k, none
		m.rule[i] = none
		if int(k) < len(p) {
			m.prev[k] = i
			m.rule[i] = t.pairs.get(rule, m.id[k])
		}
		if m.rule[i] != none {
			m.replaceTop(uint64(m.rule[i])<<32 | uint64(i))
		} else {
			m.pop()
		}
		if h := m.prev[i]; h >= 0 {
			m.rule[h] = t.pairs.get(m.id[h], rule)
			if m.rule[h] != none {
				m.push(uint64(m.rule[h])<<32 | uint64(h))
			}
		}
	}
	for i := int32(0); int(i) < len(p); i = m.next[i] {
		dst = append(dst, part{m.id[i], start + int(i)})
	}
	return dst
}

// heapify makes every byte of p a part and fills the heap with their pairs.
func (m *heapMerger) heapify(t *table, p []byte) {
	if n := len(p); n > len(m.id) {
		m.id, m.rule = make([]uint32, n), make([]uint32, n)
		m.next, m.prev = make([]int32, n), make([]int32, n)
	}
	m.heap = m.heap[:0]
	for i := range p {
		m.id[i], m.next[i], m.prev[i] = t.byteID[p[i]], int32(i+1), int32(i-1)
		m.rule[i] = none
		if i+1 < len(p) {
			m.rule[i] = t.bytes2[uint32(p[i])|uint32(p[i+1])<<8]
		}
		if m.rule[i] != none {
			m.heap = append(m.heap, uint64(m.rule[i])<<32|uint64(i))
		}
	}
	for i := len(m.heap)/2 - 1; i >= 0; i-- {
		m.down(i, m.heap[i])
	}
}

func (m *heapMerger) push(v uint64) {
	m.heap = append(m.heap, v)
	h := m.heap
	i := len(h) - 1
	for i > 0 {
		up := (i - 1) / 2
		if h[up] <= v {
			break
		}
		h[i] = h[up]
		i = up
	}
	h[i] = v
}

func (m *heapMerger) pop() {
	n := len(m.heap) - 1
	v := m.heap[n]
	m.heap = m.heap[:n]
	if n > 0 {
		m.down(0, v)
	}
}

func (m *heapMerger) replaceTop(v uint64) { m.down(0, v) }

// down puts v at i or below, where it belongs.
func (m *heapMerger) down(i int, v uint64) {
	h := m.heap
	for {
		k := 2*i + 1
		if k >= len(h) {
			break
		}
		if k+1 < len(h) && h[k+1] < h[k] {
			k++
		}
		if h[k] >= v {
			break
		}
		h[i] = h[k]
		i = k
	}
	h[i] = v
}
