package bpe

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"hash/crc32"
)

const (
	headerSize = 24
	entrySize  = 5
	maxIDs     = noPart - 1
	maxToken   = 255 // bytes
	noPart     = 0xFFFFF
	literal    = 0
	hole       = 1
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// A table is a vocabulary ready for use: the bytes of every token, maps
// from bytes to ids, and the merge rules.
type table struct {
	blob   []byte   // all tokens by id, then zeros so that 16 bytes may be loaded anywhere
	off    []uint32 // token id is blob[off[id]:off[id+1]]; empty for a hole
	words  wordMap
	longs  longSet
	pairs  pairMap
	bytes2 [1 << 16]uint32 // rule of two single bytes, first | second<<8: id or none
	byteID [256]uint32
	pool   scratchPool
}

func (t *table) size() int { return len(t.off) - 1 }

func (t *table) bytes(id uint32) []byte { return t.blob[t.off[id]:t.off[id+1]] }

// parseTable reads a table file and builds the table of its first limit ids,
// or of all if limit is 0. The file's name is for errors.
func parseTable(name string, data []byte, limit int) (*table, error) {
	bad := func(format string, args ...any) (*table, error) {
		return nil, fmt.Errorf("%w %s: %s", ErrTable, name, fmt.Sprintf(format, args...))
	}
	if len(data) < headerSize || string(data[:8]) != "ORIELBPE" {
		return bad("not a table file")
	}
	le := binary.LittleEndian
	if v := le.Uint32(data[8:]); v != 1 {
		return bad("version %d, want 1", v)
	}
	n, m := int64(le.Uint32(data[12:])), int64(le.Uint32(data[16:]))
	if n == 0 || n > maxIDs || int64(len(data)) != headerSize+entrySize*n+m {
		return bad("%d bytes do not hold %d ids and %d bytes of literals", len(data), n, m)
	}
	if crc32.Update(crc32.Checksum(data[:20], castagnoli), castagnoli, data[24:]) != le.Uint32(data[20:]) {
		return bad("checksum does not match")
	}
	r := reader{entries: data[headerSize : headerSize+entrySize*n], literals: data[headerSize+entrySize*n:]}
	ids := int(n)
	if limit > 0 && limit < ids {
		ids = limit
	}
	t := &table{}
	if err := t.build(&r, ids); err != nil {
		return bad("%v", err)
	}
	if ids == int(n) && len(r.literals) > 0 {
		return bad("%d bytes of literals left over", len(r.literals))
	}
	return t, nil
}

// A reader gives the entries and literals of a file in order.
type reader struct{ entries, literals []byte }

func (r *reader) entry(id int) (left, right uint32) {
	e := r.entries[id*entrySize:][:entrySize]
	lo := binary.LittleEndian.Uint32(e)
	return lo & 0xFFFFF, lo>>20 | uint32(e[4])<<12
}

func (r *reader) literal() ([]byte, bool) {
	if len(r.literals) == 0 || r.literals[0] == 0 || len(r.literals) <= int(r.literals[0]) {
		return nil, false
	}
	n := 1 + int(r.literals[0])
	lit := r.literals[1:n]
	r.literals = r.literals[n:]
	return lit, true
}

// build fills the table from the first ids entries. It runs over them twice:
// the first pass finds the lengths, which say how large everything will be.
func (t *table) build(r *reader, ids int) error {
	if err := t.measure(*r, ids); err != nil {
		return err
	}
	// The rules need the entries only, not the bytes of the tokens, so the
	// two halves of the work run side by side.
	rules := make(chan error, 1)
	own := *r
	go func() { rules <- t.fillRules(own, ids) }()
	tokens := t.fillTokens(r, ids)
	if err := cmp.Or(<-rules, tokens); err != nil {
		return err
	}
	for b, id := range t.byteID {
		if id == none {
			return fmt.Errorf("byte %#02x has no token", b)
		}
	}
	return nil
}

// batch is the number of ids that are treated together: first all their slots
// are touched, then they are filled. So the cache misses, of which there is
// one for nearly every slot, overlap instead of following each other.
const batch = 64

// fillTokens writes the bytes of the tokens and enters them into the maps.
func (t *table) fillTokens(r *reader, ids int) error {
	t.blob = make([]byte, t.off[ids]+16)
	for i := range t.byteID {
		t.byteID[i] = none
	}
	short := 0
	for id := range ids {
		if t.off[id+1]-t.off[id] <= maxWord {
			short++
		}
	}
	t.words.init(short)
	t.longs.init(ids - short)
	var words [batch]word
	for first := 0; first < ids; first += batch {
		last := min(first+batch, ids)
		for id := first; id < last; id++ {
			tok := t.blob[t.off[id]:t.off[id+1]]
			if left, right := r.entry(id); left != noPart {
				t.copyToken(t.off[id], left)
				t.copyToken(t.off[id]+t.off[left+1]-t.off[left], right)
			} else if right == literal {
				lit, _ := r.literal() // measure has checked it
				if copy(tok, lit) == 1 {
					t.byteID[tok[0]] = uint32(id)
				}
			}
		}
		for id := first; id < last; id++ {
			if n := int(t.off[id+1] - t.off[id]); n <= maxWord {
				words[id-first] = loadWord(t.blob, int(t.off[id]), n)
				t.words.touch(words[id-first])
			}
		}
		for id := first; id < last; id++ {
			tok := t.bytes(uint32(id))
			fresh := true
			switch {
			case len(tok) == 0: // a hole
			case len(tok) <= maxWord:
				fresh = t.words.put(words[id-first], uint32(id))
			default:
				fresh = t.longs.put(t, tok, uint32(id))
			}
			if !fresh {
				return fmt.Errorf("id %d repeats a token", id)
			}
		}
	}
	return nil
}

// copyToken writes the bytes of a token to a place in the blob, and perhaps
// some more, where tokens of higher ids will go: copying a fixed size takes a
// third of the time of copying the right one.
func (t *table) copyToken(to, id uint32) {
	from := t.off[id]
	*(*[16]byte)(t.blob[to:]) = *(*[16]byte)(t.blob[from:])
	if size := t.off[id+1] - from; size > 16 {
		copy(t.blob[to:], t.blob[from:from+size])
	}
}

// fillRules enters the merge rules. It reads literals from its own reader.
func (t *table) fillRules(r reader, ids int) error {
	for i := range t.bytes2 {
		t.bytes2[i] = none
	}
	t.pairs.init(ids)
	single := make([]uint16, ids) // the byte of a token of one byte, plus one
	for first := 0; first < ids; first += batch {
		last := min(first+batch, ids)
		for id := first; id < last; id++ {
			if left, right := r.entry(id); left != noPart {
				t.pairs.touch(left, right)
			}
		}
		for id := first; id < last; id++ {
			left, right := r.entry(id)
			switch {
			case left != noPart:
				if !t.pairs.put(left, right, uint32(id)) {
					return fmt.Errorf("id %d repeats a rule", id)
				}
				if a, b := single[left], single[right]; a > 0 && b > 0 {
					t.bytes2[uint32(a-1)|uint32(b-1)<<8] = uint32(id)
				}
			case right == literal:
				if lit, _ := r.literal(); len(lit) == 1 {
					single[id] = uint16(lit[0]) + 1
				}
			}
		}
	}
	return nil
}

// measure fills off and checks every entry. It works on a copy of the reader.
func (t *table) measure(r reader, ids int) error {
	t.off = make([]uint32, ids+1)
	for id := range ids {
		left, right := r.entry(id)
		size := uint32(0)
		switch {
		case left != noPart:
			if left >= uint32(id) || right >= uint32(id) {
				return fmt.Errorf("id %d is made of %d and %d", id, left, right)
			}
			l, r := t.off[left+1]-t.off[left], t.off[right+1]-t.off[right]
			if l == 0 || r == 0 {
				return fmt.Errorf("id %d is made of a hole", id)
			}
			if size = l + r; size > maxToken {
				return fmt.Errorf("id %d has %d bytes", id, size)
			}
		case right == literal:
			lit, ok := r.literal()
			if !ok {
				return fmt.Errorf("id %d: literals end early", id)
			}
			size = uint32(len(lit))
		case right != hole:
			return fmt.Errorf("id %d: unknown entry %d", id, right)
		}
		t.off[id+1] = t.off[id] + size
	}
	return nil
}
