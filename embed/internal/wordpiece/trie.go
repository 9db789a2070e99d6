package wordpiece

import (
	"errors"
	"fmt"
	"math/bits"
)

// A trie holds the pieces as a double array: a node's child by byte c is the
// cell at base^c, if that cell is labelled c. No two nodes share a base, so
// the label alone identifies the parent of a cell, and a step costs one load.
type trie struct {
	cells       []cell
	start, rest uint32 // bases of the two roots: pieces that start a word, and pieces that continue one
}

// A cell consists of 8 bits label (0 if the cell is free), 24 bits base (0 if
// there are no children) and 32 bits id of the piece that ends here, plus one
// (0 if none does), from the lowest bit up.
type cell uint64

const (
	baseBits = 24
	block    = 256 // base^c never leaves the block of base
)

// longest returns the longest piece that word starts with, from the root with
// the given base. n is its length, 0 if there is none. No byte of word may be
// 0.
func (t *trie) longest(base uint32, word []byte) (id int32, n int) {
	for i, c := range word {
		at := t.cells[base^uint32(c)]
		if byte(at) != c {
			break
		}
		if end := uint32(at >> 32); end != 0 {
			id, n = int32(end-1), i+1
		}
		base = uint32(at) >> 8
	}
	return id, n
}

// A builder places nodes in cells by first fit.
type builder struct {
	vocab   []byte
	cells   []cell
	free    []uint64 // one bit per cell
	bases   []uint64 // one bit per base that is taken
	first   int      // the words of free before this one have no free cell
	scratch []piece
}

// A node's children get a block of their own if they do not fit at any of this
// many free cells, and cells before the window are left free. This wastes a
// few cells and keeps the build linear.
const (
	tries  = 64
	window = 4 * block / 64 // words of builder.free
)

func buildTrie(vocab []byte, starts, rests []piece) (trie, error) {
	b := &builder{vocab: vocab, scratch: make([]piece, max(len(starts), len(rests)))}
	size := 3 * len(vocab) / 8
	b.cells = make([]cell, 0, size)
	b.grow()
	b.bases[0] |= 1 // base 0 says "no children"
	start, err := b.node(starts, 0)
	if err != nil {
		return trie{}, err
	}
	rest, err := b.node(rests, 0)
	if err != nil {
		return trie{}, err
	}
	if len(b.cells) > 1<<baseBits {
		return trie{}, errors.New("wordpiece: the vocabulary is too large")
	}
	return trie{cells: b.cells, start: start, rest: rest}, nil
}

// node places what follows the first depth bytes of pieces, which share these
// bytes and are longer. It returns the base of the children.
func (b *builder) node(pieces []piece, depth uint32) (uint32, error) {
	if len(pieces) == 0 {
		return 0, nil
	}
	b.sort(pieces, depth)
	var labels [block]byte
	n := 0
	for i, p := range pieces {
		if c := b.vocab[p.from+depth]; i == 0 || c != labels[n-1] {
			labels[n] = c
			n++
		}
	}
	base := b.place(labels[:n])
	for from := 0; from < len(pieces); {
		c := b.vocab[pieces[from].from+depth]
		to := from + 1
		for to < len(pieces) && b.vocab[pieces[to].from+depth] == c {
			to++
		}
		child := cell(c)
		// Within a group, pieces that end with this byte come first.
		longer := from
		for longer < to && pieces[longer].to == pieces[longer].from+depth+1 {
			longer++
		}
		if longer-from > 1 {
			p, q := pieces[from], pieces[from+1]
			return 0, fmt.Errorf("wordpiece: lines %d and %d of the vocabulary are the same piece, %q",
				min(p.id, q.id)+1, max(p.id, q.id)+1, b.vocab[p.from:p.to])
		}
		if longer > from {
			child |= cell(pieces[from].id+1) << 32
		}
		below, err := b.node(pieces[longer:to], depth+1)
		if err != nil {
			return 0, err
		}
		b.cells[base^uint32(c)] = child | cell(below)<<8
		from = to
	}
	return base, nil
}

// sort sorts pieces by the byte at depth; for equal bytes, pieces that end
// there come first.
func (b *builder) sort(pieces []piece, depth uint32) {
	key := func(p piece) int {
		k := 2 * int(b.vocab[p.from+depth])
		if p.to > p.from+depth+1 {
			k++
		}
		return k
	}
	if len(pieces) <= 32 {
		for i := 1; i < len(pieces); i++ {
			p, k := pieces[i], key(pieces[i])
			j := i
			for ; j > 0 && key(pieces[j-1]) > k; j-- {
				pieces[j] = pieces[j-1]
			}
			pieces[j] = p
		}
		return
	}
	var next [2*block + 1]int
	for _, p := range pieces {
		next[key(p)+1]++
	}
	for k := range 2 * block {
		next[k+1] += next[k]
	}
	for _, p := range pieces {
		k := key(p)
		b.scratch[next[k]] = p
		next[k]++
	}
	copy(pieces, b.scratch)
}

// place takes a base and one free cell for each label.
func (b *builder) place(labels []byte) uint32 {
	for b.free[b.first] == 0 {
		b.first++
		if b.first == len(b.free) {
			b.grow()
		}
	}
	b.first = max(b.first, len(b.free)-window)
	left := tries
	for w := b.first; w < len(b.free) && left > 0; w++ {
		for set := b.free[w]; set != 0 && left > 0; set &= set - 1 {
			at := uint32(w*64 + bits.TrailingZeros64(set))
			if base := at ^ uint32(labels[0]); b.fits(base, labels) {
				return b.claim(base, labels)
			}
			left--
		}
	}
	base := uint32(len(b.cells))
	b.grow()
	return b.claim(base, labels)
}

func (b *builder) fits(base uint32, labels []byte) bool {
	if b.bases[base/64]>>(base%64)&1 != 0 {
		return false
	}
	for _, c := range labels {
		if at := base ^ uint32(c); b.free[at/64]>>(at%64)&1 == 0 {
			return false
		}
	}
	return true
}

func (b *builder) claim(base uint32, labels []byte) uint32 {
	b.bases[base/64] |= 1 << (base % 64)
	for _, c := range labels {
		at := base ^ uint32(c)
		b.free[at/64] &^= 1 << (at % 64)
	}
	return base
}

func (b *builder) grow() {
	b.cells = append(b.cells, make([]cell, block)...)
	b.free = append(b.free, ^uint64(0), ^uint64(0), ^uint64(0), ^uint64(0))
	b.bases = append(b.bases, 0, 0, 0, 0)
}
