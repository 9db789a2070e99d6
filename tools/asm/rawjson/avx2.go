package main

import (
	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// avx2 holds a block in two registers.
type avx2 struct {
	lo, hi, prev             reg.VecVirtual // prev is the high half of the last block
	quote, slash, last, bit5 reg.VecVirtual // last is the last control character
	letter, space, operator  reg.VecVirtual
}

func (v *avx2) table(name string, data [16]byte) reg.VecVirtual {
	r := YMM()
	VBROADCASTI128(global(name, data), r)
	return r
}

func (v *avx2) constants(x reg.Register) {
	v.lo, v.hi, v.prev = YMM(), YMM(), YMM()
	VMOVDQU(operand.Mem{Base: x, Disp: offPrev}, v.prev)
	v.quote = v.table("quote", bytes16('"'))
	v.slash = v.table("slash", bytes16('\\'))
	v.last = v.table("last", bytes16(0x1f))
	v.bit5 = v.table("bit5", bytes16(0x20))
	v.letter = v.table("letter", letterTable)
	v.space = v.table("space", spaceTable)
	v.operator = v.table("operator", operatorTable)
}

func (v *avx2) load(p reg.Register) {
	VMOVDQU(operand.Mem{Base: p}, v.lo)
	VMOVDQU(operand.Mem{Base: p, Disp: 32}, v.hi)
}

// gather joins the high bits of two registers' bytes.
func (v *avx2) gather(lo, hi reg.VecVirtual, mask reg.GPVirtual) {
	t := GP64()
	VPMOVMSKB(lo, mask.As32())
	VPMOVMSKB(hi, t.As32())
	SHLQ(operand.U8(32), t)
	ORQ(t, mask)
}

func (v *avx2) equal(mask reg.GPVirtual, c byte) {
	want := v.quote
	if c == '\\' {
		want = v.slash
	}
	a, b := YMM(), YMM()
	VPCMPEQB(want, v.lo, a)
	VPCMPEQB(want, v.hi, b)
	v.gather(a, b, mask)
}

// lookup marks the bytes of lo and hi that are in the table's set.
func (v *avx2) lookup(table, lo, hi reg.VecVirtual, mask reg.GPVirtual) {
	a, b := YMM(), YMM()
	VPSHUFB(v.lo, table, a)
	VPSHUFB(v.hi, table, b)
	VPCMPEQB(lo, a, a)
	VPCMPEQB(hi, b, b)
	v.gather(a, b, mask)
}

func (v *avx2) letters(mask reg.GPVirtual) { v.lookup(v.letter, v.lo, v.hi, mask) }
func (v *avx2) spaces(mask reg.GPVirtual)  { v.lookup(v.space, v.lo, v.hi, mask) }

func (v *avx2) operators(mask reg.GPVirtual) {
	a, b := YMM(), YMM()
	VPOR(v.bit5, v.lo, a)
	VPOR(v.bit5, v.hi, b)
	v.lookup(v.operator, a, b, mask)
}

func (v *avx2) nonASCII(mask reg.GPVirtual) { v.gather(v.lo, v.hi, mask) }

func (v *avx2) anyControl() {
	a, b, t := YMM(), YMM(), GP32()
	VPMINUB(v.lo, v.hi, a)
	VPMINUB(v.last, a, b)
	VPCMPEQB(a, b, b)
	VPMOVMSKB(b, t)
	TESTL(t, t)
}

func (v *avx2) control(mask reg.GPVirtual) {
	a, b := YMM(), YMM()
	VPMINUB(v.last, v.lo, a)
	VPMINUB(v.last, v.hi, b)
	VPCMPEQB(v.lo, a, a)
	VPCMPEQB(v.hi, b, b)
	v.gather(a, b, mask)
}

func (v *avx2) utf8() {
	wrong := YMM()
	VPXOR(wrong, wrong, wrong)
	prev := v.prev
	for _, cur := range []reg.VecVirtual{v.lo, v.hi} {
		a, b, c := YMM(), YMM(), YMM()
		shifted := YMM()
		VPERM2I128(operand.U8(0x21), cur, prev, shifted)
		Comment("b: how the byte before and this one may be wrong together.")
		VPALIGNR(operand.U8(15), shifted, cur, a)
		nibble := v.table("nibble", bytes16(15))
		tab := v.table("firstLow", firstLow)
		VPAND(nibble, a, b)
		VPSHUFB(b, tab, b)
		VPSRLW(operand.U8(4), a, a)
		VPAND(nibble, a, a)
		VBROADCASTI128(global("firstHigh", firstHigh), tab)
		VPSHUFB(a, tab, a)
		VPAND(a, b, b)
		VPSRLW(operand.U8(4), cur, a)
		VPAND(nibble, a, a)
		VBROADCASTI128(global("secondHigh", secondHigh), tab)
		VPSHUFB(a, tab, a)
		VPAND(a, b, b)
		Comment("c: the high bit where a longer sequence wants a continuation.")
		VPALIGNR(operand.U8(14), shifted, cur, c)
		VBROADCASTI128(global("third", bytes16(0xe0-0x80)), tab)
		VPSUBUSB(tab, c, c)
		VPALIGNR(operand.U8(13), shifted, cur, a)
		VBROADCASTI128(global("fourth", bytes16(0xf0-0x80)), tab)
		VPSUBUSB(tab, a, a)
		VPOR(a, c, c)
		VBROADCASTI128(global("high", bytes16(0x80)), tab)
		VPAND(tab, c, c)
		VPXOR(b, c, c)
		VPOR(c, wrong, wrong)
		prev = cur
	}
	VPTEST(wrong, wrong)
}

func (v *avx2) end() { VMOVDQA(v.hi, v.prev) }

func (v *avx2) save(x reg.Register) {
	VMOVDQU(v.prev, operand.Mem{Base: x, Disp: offPrev})
}
