package bpe

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"sync"
	"unicode/utf8"
)

// A class is what the split patterns need to know about a character. The
// values are those of classes.bin.
type class = uint8

const (
	other   class = iota // also an invalid byte
	lower                // Ll
	upper                // Lu, Lt
	letter               // Lm, Lo: neither case, matches where either does
	mark                 // M
	number               // N
	space                // white space except CR and LF
	newline              // CR and LF
	wide                 // only in byteClass: the first byte of a longer character
)

// Sets of classes, as bit masks for in.
const (
	letters     = 1<<lower | 1<<upper | 1<<letter
	punctuation = 1<<other | 1<<mark
	whites      = 1<<space | 1<<newline
	notPrefix   = letters | 1<<number | 1<<newline // cannot stand before a word
	upperish    = 1<<upper | 1<<letter | 1<<mark
	lowerish    = 1<<lower | 1<<letter | 1<<mark
	caseless    = 1<<letter | 1<<mark // both upperish and lowerish
)

func in(c class, set uint16) bool { return set>>c&1 != 0 }

// Class lookup in two stages: classPage names the page of 256 code points,
// classPages holds the distinct pages. byteClass answers for ASCII alone.
var (
	byteClass  [256]class
	classPage  [0x110000 >> 8]uint8
	classPages [][256]class
)

var loadClasses = sync.OnceValue(func() error {
	data, err := tables.ReadFile("tables/classes.bin")
	if err != nil {
		return err
	}
	return parseClasses(data)
})

func parseClasses(data []byte) error {
	bad := func(what string) error { return fmt.Errorf("%w classes.bin: %s", ErrTable, what) }
	if len(data) < 16 || string(data[:8]) != "ORIELCLS" {
		return bad("not a class file")
	}
	if v := binary.LittleEndian.Uint32(data[8:]); v != 1 {
		return bad(fmt.Sprintf("version %d, want 1", v))
	}
	if crc32.Checksum(data[16:], castagnoli) != binary.LittleEndian.Uint32(data[12:]) {
		return bad("checksum does not match")
	}
	// Most pages are of one class and come from a run that covers them, so
	// the code points need not be written out.
	var pages [][256]class
	var uniform [8]int // number of the page of one class, plus one
	runs, left, c := data[16:], uint64(0), class(0)
	for p := range classPage {
		var page [256]class
		whole := left >= 256
		for i := 0; i < 256; {
			if left == 0 {
				v, n := binary.Uvarint(runs)
				if n <= 0 || v>>3 == 0 {
					return bad("does not cover all code points")
				}
				runs, left, c = runs[n:], v>>3, class(v&7)
				whole = i == 0 && left >= 256
			}
			n := int(min(left, uint64(256-i)))
			if !whole || uniform[c] == 0 {
				for k := range n {
					page[i+k] = c
				}
			}
			i += n
			left -= uint64(n)
		}
		if whole && uniform[c] > 0 {
			classPage[p] = uint8(uniform[c] - 1)
			continue
		}
		if len(pages) == 256 {
			return bad("too many distinct pages")
		}
		classPage[p] = uint8(len(pages))
		pages = append(pages, page)
		if whole {
			uniform[c] = len(pages)
		}
	}
	if left > 0 || len(runs) > 0 {
		return bad("runs on after the last code point")
	}
	classPages = pages
	for b := range byteClass {
		byteClass[b] = wide
		if b < utf8.RuneSelf {
			byteClass[b] = pages[classPage[0]][b]
		}
	}
	return nil
}

// classAt returns the class and the length in bytes of the character at i.
func classAt(b []byte, i int) (class, int) {
	if c := byteClass[b[i]]; c != wide {
		return c, 1
	}
	r, n := utf8.DecodeRune(b[i:])
	return classPages[classPage[r>>8]][r&0xFF], n // U+FFFD, which stands for an invalid byte, is other
}

// span returns the end of the longest run from i on of characters in set.
func span(b []byte, i int, set uint16) int {
	for i < len(b) {
		c, n := classAt(b, i)
		if !in(c, set) {
			break
		}
		i += n
	}
	return i
}
