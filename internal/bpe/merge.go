package bpe

// maxShort is the length up to which merging searches blocks of pairs for the
// lowest one. Above it a heap is faster.
const maxShort = 512

// A merger encodes pieces that are not tokens. The slices that merge returns
// are valid until the next call.
type merger struct {
	short shortMerger
	out   []uint32
	windows
}

// merge returns the tokens of the piece p: starting from single bytes, the
// adjacent pair whose merge has the lowest id is merged, the leftmost first,
// until no pair merges.
func (m *merger) merge(t *table, p []byte) []uint32 {
	if len(p) > oneWindow {
		return m.mergeLong(t, p)
	}
	m.short.run(t, p)
	m.out = m.out[:0]
	for i := 0; i < len(p); i = int(m.short.next[i%maxShort]) {
		m.out = append(m.out, m.short.id[i%maxShort])
	}
	return m.out
}

// A shortMerger encodes up to 512 bytes. Its arrays have an element for each
// byte; only those where a part starts are in use. Indices are taken modulo
// the size of the arrays, which costs nothing and spares the bounds checks.
type shortMerger struct {
	// rule[i] is rule<<9 | i, with the rule that merges the part at i with
	// the next one, or noRule: the smallest element is the pair to merge,
	// and says where it is.
	rule  [maxShort]uint32
	block [maxShort / 8]uint32  // the smallest of eight elements of rule
	super [maxShort / 64]uint32 // the smallest of eight elements of block
	id    [maxShort]uint32
	next  [maxShort]uint16 // start of the next part, or the length
	prev  [maxShort]uint16
}

const (
	noRule   = ^uint32(0)
	ruleBits = 9
)

func packRule(rule, i uint32) uint32 {
	if rule == none {
		return noRule
	}
	return rule<<ruleBits | i
}

// run encodes p. The result is the list of parts that starts at 0.
func (m *shortMerger) run(t *table, p []byte) {
	last := len(p) - 1
	for i := range last {
		m.id[i%maxShort] = t.byteID[p[i]]
		m.rule[i%maxShort] = packRule(t.bytes2[uint32(p[i])|uint32(p[i+1])<<8], uint32(i))
		m.next[i%maxShort] = uint16(i + 1)
		m.prev[(i+1)%maxShort] = uint16(i)
	}
	m.id[last%maxShort], m.next[last%maxShort] = t.byteID[p[last]], uint16(len(p))
	for i := last; i <= last|7; i++ {
		m.rule[i%maxShort] = noRule
	}
	// Few pairs are searched one by one, more by block, many by blocks of blocks.
	if len(p) <= 24 {
		for best := m.lowest(last); best != noRule; best = m.lowest(last) {
			m.join(t, best, len(p))
		}
		return
	}
	deep := len(p) > 128
	if deep {
		for b := range m.block {
			m.block[b] = noRule
		}
		m.super = [len(m.super)]uint32{noRule, noRule, noRule, noRule, noRule, noRule, noRule, noRule}
	}
	for b := 0; b <= last; b += 8 {
		m.renew(uint32(b), deep)
	}
	for {
		best := lowest8(&m.super)
		if !deep {
			best = m.lowestBlock(last)
		}
		if best == noRule {
			return
		}
		h, i, j := m.join(t, best, len(p))
		m.renew(i, deep)
		if h/8 != i/8 {
			m.renew(h, deep)
		}
		if j/8 != i/8 {
			m.renew(j, deep)
		}
	}
}

// join merges the pair that best names, at i with its right neighbour at j,
// and sets the rules of i, j and the left neighbour h.
func (m *shortMerger) join(t *table, best uint32, size int) (h, i, j uint32) {
	i, id := best%maxShort, best>>ruleBits
	j = uint32(m.next[i])
	k := uint32(m.next[j%maxShort])
	m.id[i], m.next[i] = id, uint16(k)
	m.rule[j%maxShort] = noRule
	m.rule[i] = noRule
	if int(k) < size {
		m.prev[k%maxShort] = uint16(i)
		m.rule[i] = packRule(t.pairs.get(id, m.id[k%maxShort]), i)
	}
	h = i
	if i > 0 {
		h = uint32(m.prev[i])
		m.rule[h%maxShort] = packRule(t.pairs.get(m.id[h%maxShort], id), h)
	}
	return h, i, j
}

// renew finds the smallest rule of the block of i, and if deep of its superblock.
func (m *shortMerger) renew(i uint32, deep bool) {
	b := i / 8 % (maxShort / 8)
	m.block[b] = lowest8((*[8]uint32)(m.rule[b*8:]))
	if deep {
		m.super[b/8] = lowest8((*[8]uint32)(m.block[b/8*8:]))
	}
}

func lowest8(r *[8]uint32) uint32 {
	return min(min(min(r[0], r[1]), min(r[2], r[3])), min(min(r[4], r[5]), min(r[6], r[7])))
}

// lowest returns the smallest rule up to last. It keeps four minima, since
// one would wait for itself.
func (m *shortMerger) lowest(last int) uint32 {
	a, b, c, d := noRule, noRule, noRule, noRule
	for i := 0; i <= last; i += 4 {
		r := (*[4]uint32)(m.rule[i%maxShort&^3:])
		a, b, c, d = min(a, r[0]), min(b, r[1]), min(c, r[2]), min(d, r[3])
	}
	return min(min(a, b), min(c, d))
}

// lowestBlock is lowest for when the blocks are up to date.
func (m *shortMerger) lowestBlock(last int) uint32 {
	a, b := noRule, noRule
	n := last / 8
	for i := 0; i < n; i += 2 {
		a, b = min(a, m.block[i%(maxShort/8)]), min(b, m.block[(i+1)%(maxShort/8)])
	}
	return min(a, b, m.block[n%(maxShort/8)])
}
