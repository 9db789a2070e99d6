package bpe

import (
	"bytes"
	"encoding/binary"
	"math/bits"
)

// maxWord is the length of the longest piece that fits a word.
const maxWord = 13

// none is the id of no token.
const none = ^uint32(0)

// A word is a piece of 1 to 13 bytes in two registers: the bytes, then zeros,
// then four bits of length, then 20 bits that are zero in a key and hold a
// value in a slot. Two pieces are equal if and only if their words are, so a
// lookup never goes to the bytes of the tokens.
type word struct{ lo, hi uint64 }

const (
	lengthShift = 40
	valueShift  = 44
	keyMask     = 1<<valueShift - 1
)

// holds reports whether the slot w has the key k.
func (w *word) holds(k word) bool { return w.lo == k.lo && w.hi&keyMask == k.hi }

// value returns what a slot holds beside its key.
func (w *word) value() uint32 { return uint32(w.hi >> valueShift) }

// wordMask[n] keeps the first n bytes of a 16-byte load.
var wordMask = func() (m [16]word) {
	for n := range m {
		if n < 8 {
			m[n].lo = 1<<(8*n) - 1
		} else {
			m[n] = word{^uint64(0), 1<<(8*(n-8)) - 1}
		}
	}
	return m
}()

// loadWord returns the word of b[i:i+n], for n up to maxWord.
func loadWord(b []byte, i, n int) word {
	if i+16 > len(b) {
		var tail [16]byte
		copy(tail[:], b[i:])
		b, i = tail[:], 0
	}
	m := &wordMask[n&15]
	return word{
		binary.LittleEndian.Uint64(b[i:]) & m.lo,
		binary.LittleEndian.Uint64(b[i+8:])&m.hi | uint64(n)<<lengthShift,
	}
}

// Odd constants with well mixed bits, for multiplicative hashing.
const (
	mul1 = 0x9E3779B97F4A7C15
	mul2 = 0xC2B2AE3D27D4EB4F
)

// hash folds a full product, so that each byte reaches all bits. Words are
// alike in many bytes; a product cut to 64 bits puts too many of them together.
func (w word) hash() uint64 {
	hi, lo := bits.Mul64(w.lo^mul1, w.hi^mul2)
	return hi ^ lo
}

// slotBits returns the logarithm of a table size that n entries fill to
// between a quarter and a half: most lookups end at the first slot, and all
// end, since some slot is empty.
func slotBits(n int) uint { return uint(bits.Len(uint(2 * n))) }

// A wordMap is an open-addressing table of the tokens that fit a word.
type wordMap struct {
	slots   []word // the value is the id; hi is 0 in an empty slot
	shift   uint
	touched uint64 // keeps the loads of touch alive
}

// init makes room for n tokens. The map may be three quarters full, and then
// half of the tokens lie beside their home; but the common ones have low ids,
// come first and lie at home, so counting is as fast as with twice the memory.
func (s *wordMap) init(n int) {
	b := uint(bits.Len(uint(n + n/3)))
	s.slots = make([]word, 1<<b)
	s.shift = 64 - b
}

// touch loads the slot where w will go into the cache.
func (s *wordMap) touch(w word) { s.touched += s.slots[w.hash()>>s.shift].lo }

func (s *wordMap) put(w word, id uint32) bool {
	mask := uint64(len(s.slots) - 1)
	i := w.hash() >> s.shift
	for ; s.slots[i].hi != 0; i = (i + 1) & mask {
		if s.slots[i].holds(w) {
			return false
		}
	}
	s.slots[i] = word{w.lo, w.hi | uint64(id)<<valueShift}
	return true
}

func (s *wordMap) has(w word) bool {
	mask := uint64(len(s.slots) - 1)
	for i := w.hash() >> s.shift; ; i = (i + 1) & mask {
		if slot := &s.slots[i]; slot.holds(w) {
			return true
		} else if slot.hi == 0 {
			return false
		}
	}
}

// A longSet is an open-addressing table of the tokens that do not fit a word.
// They are few, so a slot is an id and a tag, and a likely hit is compared
// with the token's bytes.
type longSet struct {
	slots []uint64 // tag<<32 | id+1; 0 is empty
	shift uint
}

func (s *longSet) init(n int) {
	b := slotBits(n)
	s.slots = make([]uint64, 1<<b)
	s.shift = 64 - b
}

// hashLong hashes a piece of at least 8 bytes.
func hashLong(p []byte) uint64 {
	h := uint64(len(p)) * mul2
	for i := 0; i+8 < len(p); i += 8 {
		h = bits.RotateLeft64((h^binary.LittleEndian.Uint64(p[i:]))*mul1, 29)
	}
	return (h ^ binary.LittleEndian.Uint64(p[len(p)-8:])) * mul1
}

// find returns the slot that holds p, or the empty slot where it belongs.
func (s *longSet) find(t *table, p []byte, h uint64) uint64 {
	mask := uint64(len(s.slots) - 1)
	i := h >> s.shift
	for ; s.slots[i] != 0; i = (i + 1) & mask {
		if v := s.slots[i]; v>>32 == h&0xFFFFFFFF && bytes.Equal(t.bytes(uint32(v)-1), p) {
			break
		}
	}
	return i
}

func (s *longSet) put(t *table, p []byte, id uint32) bool {
	h := hashLong(p)
	i := s.find(t, p, h)
	if s.slots[i] != 0 {
		return false
	}
	s.slots[i] = h<<32 | uint64(id+1)
	return true
}

func (s *longSet) get(t *table, p []byte) uint32 {
	if len(p) > maxToken {
		return none
	}
	return uint32(s.slots[s.find(t, p, hashLong(p))]) - 1
}

// A pairMap is an open-addressing table of the merge rules.
type pairMap struct {
	slots   []uint64 // left<<40 | right<<20 | id; all ones is empty
	shift   uint
	touched uint64 // keeps the loads of touch alive
}

func (p *pairMap) init(n int) {
	b := slotBits(n)
	p.slots = make([]uint64, 1<<b)
	for i := range p.slots {
		p.slots[i] = ^uint64(0)
	}
	p.shift = 64 - b
}

// touch loads the slot where the pair will go into the cache.
func (p *pairMap) touch(left, right uint32) {
	p.touched += p.slots[(uint64(left)<<20|uint64(right))*mul1>>p.shift]
}

func (p *pairMap) put(left, right, id uint32) bool {
	key := uint64(left)<<20 | uint64(right)
	mask := uint64(len(p.slots) - 1)
	i := key * mul1 >> p.shift
	for ; p.slots[i] != ^uint64(0); i = (i + 1) & mask {
		if p.slots[i]>>20 == key {
			return false
		}
	}
	p.slots[i] = key<<20 | uint64(id)
	return true
}

// get returns the id that left and right merge to, or none.
func (p *pairMap) get(left, right uint32) uint32 {
	key := uint64(left)<<20 | uint64(right)
	mask := uint64(len(p.slots) - 1)
	for i := key * mul1 >> p.shift; ; i = (i + 1) & mask {
		if v := p.slots[i]; v>>20 == key {
			return uint32(v & 0xFFFFF)
		} else if v == ^uint64(0) {
			return none
		}
	}
}
