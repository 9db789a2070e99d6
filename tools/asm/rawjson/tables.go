package main

import (
	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
)

// A table of 16 bytes is looked up by the low half of a byte, so a byte c is in
// the set if table[c&15] == c. Bytes that are not ASCII look up 0.
var (
	letterTable = set(1, '/', '\\', 'f', 'n', 'r', 't') // b is left out: it shares its half with r
	spaceTable  = set(' ', '\t', '\n', '\r')
	// Looked up with c|0x20, which makes [ a { and ] a }.
	operatorTable = set(':', '{', ',', '}')
)

// set returns the table of the given bytes. Entry 0 must be filled, or byte 0
// is in the set; if necessary, give it a byte with another low half, such as
// 1.
func set(cs ...byte) (t [16]byte) {
	for _, c := range cs {
		if c == 1 {
			t[0] = 1
			continue
		}
		if t[c&15] != 0 {
			panic("two bytes share a half")
		}
		t[c&15] = c
	}
	return t
}

// The ways two bytes in a row can be wrong in UTF-8, one bit each, after John
// Keiser and Daniel Lemire, "Validating UTF-8 in less than one instruction per
// byte" (2021). A pair is wrong if the three tables agree on a bit.
const (
	tooShort     = 1 << 0 // lead byte, then no continuation
	tooLong      = 1 << 1 // ASCII, then a continuation
	overlong3    = 1 << 2 // e0 80..9f
	tooLarge     = 1 << 3 // f4 90..bf, or f5..ff and 90..bf
	surrogate    = 1 << 4 // ed a0..bf
	overlong2    = 1 << 5 // c0 or c1
	tooLarge1000 = 1 << 6 // f5..ff, 80..8f
	overlong4    = 1 << 6 // f0 80..8f
	twoConts     = 1 << 7 // two continuations: right if a longer sequence is open
	carry        = tooShort | tooLong | twoConts
)

var (
	firstHigh = [16]byte{
		tooLong, tooLong, tooLong, tooLong, tooLong, tooLong, tooLong, tooLong,
		twoConts, twoConts, twoConts, twoConts,
		tooShort | overlong2,
		tooShort,
		tooShort | overlong3 | surrogate,
		tooShort | tooLarge | tooLarge1000 | overlong4,
	}
	firstLow = [16]byte{
		carry | overlong3 | overlong2 | overlong4,
		carry | overlong2,
		carry,
		carry,
		carry | tooLarge,
		carry | tooLarge | tooLarge1000, carry | tooLarge | tooLarge1000, carry | tooLarge | tooLarge1000,
		carry | tooLarge | tooLarge1000, carry | tooLarge | tooLarge1000, carry | tooLarge | tooLarge1000,
		carry | tooLarge | tooLarge1000, carry | tooLarge | tooLarge1000,
		carry | tooLarge | tooLarge1000 | surrogate,
		carry | tooLarge | tooLarge1000, carry | tooLarge | tooLarge1000,
	}
	secondHigh = [16]byte{
		tooShort, tooShort, tooShort, tooShort, tooShort, tooShort, tooShort, tooShort,
		tooLong | overlong2 | twoConts | overlong3 | tooLarge1000 | overlong4,
		tooLong | overlong2 | twoConts | overlong3 | tooLarge,
		tooLong | overlong2 | twoConts | surrogate | tooLarge,
		tooLong | overlong2 | twoConts | surrogate | tooLarge,
		tooShort, tooShort, tooShort, tooShort,
	}
)

var globals = map[string]operand.Mem{}

// global declares a read-only datum of 16 bytes.
func global(name string, data [16]byte) operand.Mem {
	if m, ok := globals[name]; ok {
		return m
	}
	m := GLOBL(name, RODATA|NOPTR)
	for i, b := range data {
		DATA(i, operand.U8(b))
	}
	globals[name] = m
	return m
}

// bytes16 returns c sixteen times.
func bytes16(c byte) (t [16]byte) {
	for i := range t {
		t[i] = c
	}
	return t
}
