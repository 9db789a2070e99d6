package main

import (
	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// avx512 holds a block in one register. It needs AVX-512 F and BW only.
type avx512 struct {
	cur, prev                reg.VecVirtual
	quote, slash, last, bit5 reg.VecVirtual
	letter, space, operator  reg.VecVirtual
}

func (v *avx512) table(name string, data [16]byte) reg.VecVirtual {
	r := ZMM()
	VBROADCASTI32X4(global(name, data), r)
	return r
}

func (v *avx512) constants(x reg.Register) {
	v.cur, v.prev = ZMM(), ZMM()
	VMOVDQU64(operand.Mem{Base: x, Disp: offPrev}, v.prev)
	v.quote = v.table("quote", bytes16('"'))
	v.slash = v.table("slash", bytes16('\\'))
	v.last = v.table("last", bytes16(0x1f))
	v.bit5 = v.table("bit5", bytes16(0x20))
	v.letter = v.table("letter", letterTable)
	v.space = v.table("space", spaceTable)
	v.operator = v.table("operator", operatorTable)
}

func (v *avx512) load(p reg.Register) { VMOVDQU64(operand.Mem{Base: p}, v.cur) }

func (v *avx512) equal(mask reg.GPVirtual, c byte) {
	want := v.quote
	if c == '\\' {
		want = v.slash
	}
	k := K()
	VPCMPEQB(want, v.cur, k)
	KMOVQ(k, mask)
}

// lookup marks the bytes of cur that are in the table's set.
func (v *avx512) lookup(table, cur reg.VecVirtual, mask reg.GPVirtual) {
	a, k := ZMM(), K()
	VPSHUFB(v.cur, table, a)
	VPCMPEQB(cur, a, k)
	KMOVQ(k, mask)
}

func (v *avx512) letters(mask reg.GPVirtual) { v.lookup(v.letter, v.cur, mask) }
func (v *avx512) spaces(mask reg.GPVirtual)  { v.lookup(v.space, v.cur, mask) }

func (v *avx512) operators(mask reg.GPVirtual) {
	a := ZMM()
	VPORQ(v.bit5, v.cur, a)
	v.lookup(v.operator, a, mask)
}

func (v *avx512) nonASCII(mask reg.GPVirtual) {
	k := K()
	VPMOVB2M(v.cur, k)
	KMOVQ(k, mask)
}

// notAbove is the predicate "not above" of VPCMPUB.
const notAbove = 2

func (v *avx512) anyControl() {
	k := K()
	VPCMPUB(operand.U8(notAbove), v.last, v.cur, k)
	KORTESTQ(k, k)
}

func (v *avx512) control(mask reg.GPVirtual) {
	k := K()
	VPCMPUB(operand.U8(notAbove), v.last, v.cur, k)
	KMOVQ(k, mask)
}

func (v *avx512) utf8() {
	a, b, c, shifted := ZMM(), ZMM(), ZMM(), ZMM()
	VALIGNQ(operand.U8(6), v.prev, v.cur, shifted)
	nibble := v.table("nibble", bytes16(15))
	tab := v.table("firstLow", firstLow)
	Comment("b: how the byte before and this one may be wrong together.")
	VPALIGNR(operand.U8(15), shifted, v.cur, a)
	VPANDQ(nibble, a, b)
	VPSHUFB(b, tab, b)
	VPSRLW(operand.U8(4), a, a)
	VPANDQ(nibble, a, a)
	VBROADCASTI32X4(global("firstHigh", firstHigh), tab)
	VPSHUFB(a, tab, a)
	VPANDQ(a, b, b)
	VPSRLW(operand.U8(4), v.cur, a)
	VPANDQ(nibble, a, a)
	VBROADCASTI32X4(global("secondHigh", secondHigh), tab)
	VPSHUFB(a, tab, a)
	VPANDQ(a, b, b)
	Comment("c: the high bit where a longer sequence wants a continuation.")
	VPALIGNR(operand.U8(14), shifted, v.cur, c)
	VBROADCASTI32X4(global("third", bytes16(0xe0-0x80)), tab)
	VPSUBUSB(tab, c, c)
	VPALIGNR(operand.U8(13), shifted, v.cur, a)
	VBROADCASTI32X4(global("fourth", bytes16(0xf0-0x80)), tab)
	VPSUBUSB(tab, a, a)
	VPORQ(a, c, c)
	VBROADCASTI32X4(global("high", bytes16(0x80)), tab)
	VPANDQ(tab, c, c)
	VPXORQ(b, c, c)
	k := K()
	VPTESTMB(c, c, k)
	KORTESTQ(k, k)
}

func (v *avx512) end() { VMOVDQA64(v.cur, v.prev) }

func (v *avx512) save(x reg.Register) {
	VMOVDQU64(v.prev, operand.Mem{Base: x, Disp: offPrev})
}
