package rawjson

import (
	"math/bits"
	"slices"
	"sync"
)

const (
	blockSize = 64   // bytes a kernel reads at once
	fullPos   = 1024 // a kernel stops when it has listed so many offsets
	fullOdds  = 64   // or so many blocks with odd escapes

	// stride is how many blocks a kernel is given at once: 512 KiB. The runtime
	// cannot interrupt assembly, so this bounds how long a collection waits.
	stride = 8192
)

// index is the data that a kernel and the builder of the tape exchange. A
// kernel reads blocks until pos or odds is full; the builder then empties
// them. The generator in tools/asm knows the offsets of the fields.
type index struct {
	n     uint64 // offsets in pos
	nodds uint64 // entries in odds

	// How the last block ended.
	escaped  uint64 // 1: with a backslash that escapes the next byte
	inString uint64 // all ones: inside a string
	scalar   uint64 // 1: with a byte of a number or literal
	pending  uint64 // not 0: with bytes that are not ASCII
	bad      uint64 // 1: a control character in a string or invalid UTF-8
	_        uint64
	prev     [blockSize]byte // its bytes (those of its end, for AVX2)

	// odds are the escapes that are not one of \" \\ \/ \f \n \r \t.
	odds [fullOdds]oddBlock
	// pos are the offsets of brackets, colons, commas and quotes outside
	// strings and of the first byte of whatever else there is.
	pos [fullPos + blockSize]uint32

	tail [blockSize]byte // the last bytes of a text, filled up with spaces
}

// indexes lends Parse the buffers that a Doc meant for Reset keeps.
var indexes = sync.Pool{New: func() any { return new(index) }}

// oddBlock marks the letters of odd escapes in one block.
type oddBlock struct {
	letters uint64 // bit i is the byte at base+i
	base    uint64
}

// kernel is one way to fill an index.
type kernel struct {
	name string
	// run reads whole blocks from p, the text's bytes from base on, until
	// there is no more room or something is invalid. It returns how many
	// blocks it read.
	run func(x *index, p *byte, blocks, base int) (used int)
}

// parseIndexed validates d.data and writes the tape with the help of k. False
// means that the text is not valid; the scalar parser then finds out why and
// where.
func (d *Doc) parseIndexed(lim Limits, k *kernel) bool {
	if d.idx == nil {
		d.idx = new(index)
	}
	x, data := d.idx, d.data
	x.n, x.nodds = 0, 0
	x.escaped, x.inString, x.scalar, x.pending, x.bad = 0, 0, 0, 0, 0
	x.prev = [blockSize]byte{}
	b := builder{data: data, tape: d.tape[:cap(d.tape)], cur: none, lim: lim, low: -1}

	ok := true
	whole := len(data) / blockSize
	for at := 0; ok && at < whole; {
		at += k.run(x, &data[at*blockSize], min(whole-at, stride), at*blockSize)
		ok = x.bad == 0 && b.checkOdds(x) && b.consume(x)
	}
	if rest := data[whole*blockSize:]; ok && len(rest) > 0 {
		for i := copy(x.tail[:], rest); i < blockSize; i++ {
			x.tail[i] = ' '
		}
		k.run(x, &x.tail[0], 1, whole*blockSize)
		ok = x.bad == 0 && b.checkOdds(x) && b.consume(x)
	}
	d.tape = b.tape[:b.n]
	return ok && b.done && x.n == 0 && x.inString == 0
}

// checkOdds validates the escapes that the kernel left open and empties odds.
func (b *builder) checkOdds(x *index) bool {
	for _, odd := range x.odds[:x.nodds] {
		for m := odd.letters; m != 0; m &= m - 1 {
			i := int(odd.base) + bits.TrailingZeros64(m)
			if i >= len(b.data) {
				return false
			}
			if b.data[i] == 'b' || i == b.low {
				continue
			}
			if b.data[i] != 'u' {
				return false
			}
			r := hex4(b.data[i+1:])
			if r&^0x7ff != 0xd800 {
				if r < 0 {
					return false
				}
				continue
			}
			if _, err := scanEscape(b.data, i-1); err != nil {
				return false
			}
			b.low = i + 6
		}
	}
	x.nodds = 0
	return true
}

// builder checks the grammar and writes the tape from the offsets of an index.
type builder struct {
	data  []byte
	tape  []entry // as long as its capacity
	n     int     // entries written
	cur   uint32  // the innermost open container
	depth int
	lim   Limits
	state state
	done  bool // the outermost value is complete
	low   int  // offset of the u of a low surrogate that is already checked
}

// state is what may come next.
type state uint8

const (
	wantValue   state = iota
	wantElement       // or the end of an array
	wantMember        // or the end of an object
	wantName
	wantComma // or the end of a container
)

// ends marks the bytes that may follow a number or literal.
var ends = [256]bool{' ': true, '\t': true, '\n': true, '\r': true, ',': true, ']': true, '}': true}

// consume works through the offsets of x. It leaves those of an unfinished
// item at the start of x.pos. False means that the text is wrong.
func (b *builder) consume(x *index) bool {
	pos, data := x.pos[:x.n], b.data
	if len(b.tape)-b.n < len(pos) {
		b.tape = slices.Grow(b.tape[:b.n], len(pos))
		b.tape = b.tape[:cap(b.tape)]
	}
	tape, n, cur := b.tape, b.n, b.cur
	j := 0 // the next offset
	var start, end int
	var closer byte
	if cur != none {
		closer = data[tape[cur].start] + 2
	}
	st := b.state
	switch st {
	case wantName:
		goto name
	case wantMember:
		goto member
	case wantElement:
		goto element
	case wantComma:
		goto comma
	}

value:
	if j >= len(pos) {
		st = wantValue
		goto out
	}
	start = int(pos[j])
	if data[start] == '"' {
		if j+1 >= len(pos) {
			st = wantValue
			goto out
		}
		tape[n] = entry{uint32(start), pos[j+1] + 1, uint32(n + 1)}
		n++
		j += 2
		goto comma
	}
	switch c := data[start]; c {
	case '{', '[':
		if b.depth++; b.depth > b.lim.Depth {
			return false
		}
		tape[n] = entry{uint32(start), 0, cur}
		cur, closer = uint32(n), c+2
		n++
		j++
		if c == '{' {
			goto member
		}
		goto element
	case '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
		var ok bool
		if end, ok = scanNumber(data, start); !ok {
			return false
		}
	case 't', 'f', 'n':
		var ok bool
		if end, ok = scanLiteral(data, start); !ok {
			return false
		}
	default:
		return false
	}
	if end < len(data) && !ends[data[end]] {
		return false
	}
	tape[n] = entry{uint32(start), uint32(end), uint32(n + 1)}
	n++
	j++

comma:
	if cur == none {
		b.done = true
		if j < len(pos) {
			return false
		}
		st = wantComma
		goto out
	}
	if j >= len(pos) {
		st = wantComma
		goto out
	}
	switch c := data[pos[j]]; {
	case c == ',':
		j++
		if closer == ']' {
			goto value
		}
		goto name
	case c != closer:
		return false
	}

closed:
	b.depth--
	{
		e := &tape[cur]
		cur = e.next
		e.end, e.next = pos[j]+1, uint32(n)
	}
	if cur != none {
		closer = data[tape[cur].start] + 2
	}
	j++
	goto comma

element:
	if j >= len(pos) {
		st = wantElement
		goto out
	}
	if data[pos[j]] == ']' {
		goto closed
	}
	goto value

member:
	if j >= len(pos) {
		st = wantMember
		goto out
	}
	if data[pos[j]] == '}' {
		goto closed
	}

name:
	if j+2 >= len(pos) {
		st = wantName
		goto out
	}
	if data[pos[j]] != '"' || data[pos[j+2]] != ':' {
		return false
	}
	tape[n] = entry{pos[j], pos[j+1] + 1, uint32(n + 1)}
	n++
	j += 3
	goto value

out:
	b.n, b.cur, b.state = n, cur, st
	x.n = uint64(copy(x.pos[:], pos[j:]))
	return n <= b.lim.Values
}
