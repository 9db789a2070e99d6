package keyword

import "math/bits"

// A posting is a document's number and how often a term occurs in it.
type posting uint32

const (
	freqBits = 6
	maxFreq  = 1<<freqBits - 1
	// MaxDocs is how many documents an Index can be given.
	MaxDocs = 1 << (32 - freqBits)
)

// An entry is a term in the table. Its newest posting is in the entry itself,
// where counting a further occurrence finds it; the n-1 before are in blocks.
type entry struct {
	term Term
	n    uint32 // number of postings; 0 in a free place of the table
	head uint32 // first block, if n > 1
	tail uint32 // where the next posting goes
	last [1]posting
}

// A table finds the entry of a term: open addressing, the next free place, at
// most four fifths full. It never forgets a term.
type table struct {
	entries []entry
	used    int
}

// find returns the entry of t, or the free place where it belongs. The table
// has one.
func (b *table) find(t Term) *entry {
	// The high word of the product spreads the hash over any length.
	at, _ := bits.Mul64(uint64(t), uint64(len(b.entries)))
	for i := int(at); ; {
		e := &b.entries[i]
		if e.term == t || e.n == 0 {
			return e
		}
		if i++; i == len(b.entries) {
			i = 0
		}
	}
}

// get returns the entry of t or nil.
func (b *table) get(t Term) *entry {
	if b.used == 0 {
		return nil
	}
	if e := b.find(t); e.n > 0 {
		return e
	}
	return nil
}

// entry returns the entry of t, which is new if it has no postings yet. The
// caller fills a new one and counts it in used.
func (b *table) entry(t Term) *entry {
	if b.used*5 >= len(b.entries)*4 {
		old := b.entries
		b.entries = make([]entry, max(64, len(old)*3/2))
		for i := range old {
			if old[i].n > 0 {
				*b.find(old[i].term) = old[i]
			}
		}
	}
	return b.find(t)
}

const (
	pageBits = 16
	pageSize = 1 << pageBits
	// Blocks double from 2 postings to smallBlock. From there a block is a
	// quarter of what came before it, at most largeBlock: long lists lie in few
	// places, and no list has much spare room.
	smallBlock = 256
	largeBlock = 2048
)

// blockAt returns the number of postings of the block that is to hold the
// posting after s-2 others. The sizes follow from s alone, so that no list has
// to note them.
func blockAt(s uint32) uint32 {
	size := uint32(1) << (bits.Len32(s) - 1)
	if size <= smallBlock {
		return size
	}
	return min(max(size/4, smallBlock), largeBlock)
}

// blocks is the memory of the postings: pages without pointers, cut into
// blocks. The first word of a block is the address of the next one.
type blocks struct {
	pages [][]posting
	next  uint32 // address of the first free word
}

// alloc returns the address of a new block for size postings.
func (b *blocks) alloc(size uint32) uint32 {
	size++
	at := b.next
	if at>>pageBits != (at+size-1)>>pageBits { // a block lies in one page
		at = (at>>pageBits + 1) << pageBits
	}
	b.next = at + size
	switch page := int(at >> pageBits); {
	case page == 0: // the first page grows, for the many small indexes
		if len(b.pages) == 0 {
			b.pages = append(b.pages, nil)
		}
		if need := int(b.next); need > len(b.pages[0]) {
			grown := make([]posting, min(pageSize, max(256, need, len(b.pages[0])*2)))
			copy(grown, b.pages[0])
			b.pages[0] = grown
		}
	case page == len(b.pages):
		b.pages = append(b.pages, make([]posting, pageSize))
	}
	return at
}

func (b *blocks) at(address uint32) *posting {
	return &b.pages[address>>pageBits][address&(pageSize-1)]
}

// push makes p the newest posting of e and moves the one before to a block.
func (b *blocks) push(e *entry, p posting) {
	if e.n > 0 {
		s := e.n + 1 // the blocks hold s-2
		if size := blockAt(s); s&(size-1) == 0 {
			at := b.alloc(size)
			if e.n == 1 {
				e.head = at
			} else {
				*b.at(e.tail - blockAt(s-1) - 1) = posting(at)
			}
			e.tail = at + 1
		}
		*b.at(e.tail) = e.last[0]
		e.tail++
	}
	e.last[0] = p
	e.n++
}

// walk calls f with the postings of e in order, as slices that are valid until
// the next push.
func (b *blocks) walk(e *entry, f func([]posting)) {
	at := e.head
	for s := uint32(2); s <= e.n; {
		size := blockAt(s)
		page := b.pages[at>>pageBits]
		off := at & (pageSize - 1)
		f(page[off+1:][:min(size, e.n+1-s)])
		at = uint32(page[off])
		s += size
	}
	f(e.last[:])
}
