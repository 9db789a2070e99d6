package main

import (
	"math"

	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

func emitRows(v vector, suffix string) {
	emitNorm(v, "norm"+suffix)
	emitGELU(v, "gelu"+suffix)
	emitSoftmax(v, "softmax"+suffix)
}

// power holds the constants of a power of two.
type power struct {
	vector
	magic  reg.VecVirtual
	coeffs []operand.Op
}

// bias is so large that adding it rounds to an integer in the low bits, plus
// the bias of an exponent: shifted by 23 bits these are that power of two, and
// zero for -127.
const bias = 0x1.8p23 + 127

// 2^x for |x| ≤ ½, with a relative error below 2e-9: the polynomial of degree six
// with the smallest greatest error.
var powerCoeffs = []float32{
	1.0000000005541867, 0.693147205737196, 0.2402264689047963, 0.05550328777074312, 0.00961848897375623,
	0.001339993118426564, 0.00015345807530794977,
}

func newPower(v vector) power {
	p := power{vector: v, magic: v.spread(bias)}
	for _, c := range powerCoeffs {
		p.coeffs = append(p.coeffs, v.operand(c))
	}
	return p
}

// finish returns 2^n·2^fraction for each register, given magic+n in sums,
// which it overwrites.
func (p power) finish(sums, fractions []reg.VecVirtual) (powers []reg.VecVirtual) {
	powers = p.polynomial(p.coeffs, fractions)
	for i, sum := range sums {
		VPSLLD(operand.U8(23), sum, sum)
		VMULPS(sum, powers[i], powers[i])
	}
	return powers
}

// The base-2 logarithm of 1-Φ(t) for t from 0 to 6, so close that 1-Φ(t) is
// right within 8e-9. Beyond, it falls without bounds, as it should.
var tailCoeffs = []float32{
	-0.9999999782409645, -1.1511057437928331, -0.4592046708081522, -0.05250592952671794, 0.007077035539549946,
	-0.00014726817206969447, -0.0001818844249235005, 3.846292918834572e-05, -2.7572880833684406e-06,
}

// emitGELU writes x·Φ(x) as max(x,0) − t·(1−Φ(t)), where t is |x|: this needs no
// division, and nothing cancels where x is negative.
func emitGELU(v vector, name string) {
	TEXT(name, NOSPLIT, "func(x *float32, n int)")
	Pragma("noescape")
	Doc(name + " replaces the values of x by x·Φ(x).")
	x := Load(Param("x"), GP64())
	left := Load(Param("n"), GP64())
	p := newPower(v)
	magnitude := v.spread(math.Float32frombits(math.MaxInt32))
	// From here on the tail is zero.
	far := v.spread(14)
	least := v.operand(-127)
	zero := v.zero()
	var coeffs []operand.Op
	for _, c := range tailCoeffs {
		coeffs = append(coeffs, v.operand(c))
	}
	Label("loop")
	in, t, sum := v.block(), v.block(), v.block()
	for i := range in {
		VMOVUPS(operand.Mem{Base: x, Disp: int(v) * i}, t[i])
		VANDPS(magnitude, t[i], t[i])
		Comment("The order of the operands keeps a NaN.")
		VMINPS(t[i], far, t[i])
	}
	g := v.polynomial(coeffs, t)
	for i := range g {
		VMAXPS(least, g[i], g[i])
		VADDPS(p.magic, g[i], sum[i])
		n := v.reg()
		VSUBPS(p.magic, sum[i], n)
		VSUBPS(n, g[i], g[i])
	}
	for i, y := range p.finish(sum, g) {
		VMAXPS(operand.Mem{Base: x, Disp: int(v) * i}, zero, in[i])
		VFNMADD231PS(y, t[i], in[i])
		VMOVUPS(in[i], operand.Mem{Base: x, Disp: int(v) * i})
	}
	ADDQ(operand.U8(64), x)
	SUBQ(operand.U8(16), left)
	JNZ(operand.LabelRef("loop"))
	VZEROUPPER()
	RET()
}

// emitSoftmax writes exponentials as powers of two. Values that do not count
// become the least, whose power is exactly zero.
func emitSoftmax(v vector, name string) {
	TEXT(name, NOSPLIT, "func(x *float32, size, n int, scale, rest, least float32) (sum float32)")
	Pragma("noescape")
	Doc(name+" replaces the first n values of x by 2^((scale+rest)·(x−max)), others by zero.",
		"least is the difference whose power is 2^-127, taken for zero.")
	lanes := v.lanes()
	x := Load(Param("x"), GP64())
	size := Load(Param("size"), GP64())
	n := Load(Param("n"), GP64())

	Comment("Put minus infinity behind the first n.")
	none := v.spread(float32(math.Inf(-1)))
	at, count := GP64(), GP64()
	MOVQ(n, count)
	MOVQ(n, at)
	ANDQ(operand.I32(-lanes), at)
	ANDQ(operand.U8(lanes-1), count)
	JZ(operand.LabelRef("whole"))
	place, last := operand.Mem{Base: x, Index: at, Scale: 4}, v.reg()
	VMOVUPS(place, last)
	if v == zmm {
		ones, mask := GP32(), K()
		MOVL(operand.I32(-1), ones)
		SHLXL(count.As32(), ones, ones)
		KMOVW(ones, mask)
		VBLENDMPS(none, last, mask, last)
	} else {
		table := GLOBL("tails", RODATA|NOPTR)
		for i := range 16 {
			DATA(4*i, operand.I32(-(i / 8)))
		}
		from, mask := GP64(), YMM()
		LEAQ(table, from)
		NEGQ(count)
		VMOVUPS(operand.Mem{Base: from, Index: count, Scale: 4, Disp: 32}, mask)
		VBLENDVPS(mask, none, last, last)
	}
	Comment("Not a masked store: what that writes cannot be loaded for a while.")
	VMOVUPS(last, place)
	ADDQ(operand.U8(lanes), at)
	JMP(operand.LabelRef("whole"))
	Label("fill")
	VMOVUPS(none, place)
	ADDQ(operand.U8(lanes), at)
	Label("whole")
	CMPQ(at, size)
	JB(operand.LabelRef("fill"))

	Comment("The greatest.")
	top := v.reg()
	VMOVUPS(operand.Mem{Base: x}, top)
	MOVQ(operand.U32(lanes), at)
	JMP(operand.LabelRef("topped"))
	Label("top")
	VMAXPS(place, top, top)
	ADDQ(operand.U8(lanes), at)
	Label("topped")
	CMPQ(at, n)
	JB(operand.LabelRef("top"))
	greatest := v.reg()
	VBROADCASTSS(v.fold(VMAXPS, top), greatest)

	Comment("The powers.")
	p := newPower(v)
	scale, rest, least := v.param("scale"), v.param("rest"), v.param("least")
	total := v.zero()
	XORQ(at, at)
	Label("loop")
	d, sum, f := v.block(), v.block(), v.block()
	for i := range d {
		place.Disp = int(v) * i
		VMOVUPS(place, d[i])
		VSUBPS(greatest, d[i], d[i])
		VMAXPS(d[i], least, d[i])
		VMOVAPS(p.magic, sum[i])
		VFMADD231PS(scale, d[i], sum[i])
		VSUBPS(p.magic, sum[i], f[i])
		VFMSUB231PS(scale, d[i], f[i])
		VFMADD231PS(rest, d[i], f[i])
	}
	for i, y := range p.finish(sum, f) {
		place.Disp = int(v) * i
		VMOVUPS(y, place)
		VADDPS(y, total, total)
	}
	ADDQ(operand.U8(16), at)
	CMPQ(at, size)
	JB(operand.LabelRef("loop"))
	Store(v.fold(VADDPS, total), ReturnIndex(0))
	VZEROUPPER()
	RET()
}

// emitNorm writes a layer norm. The mean is rounded; the mean difference of
// the values from it corrects the mean and the variance.
func emitNorm(v vector, name string) {
	TEXT(name, NOSPLIT, "func(x, gamma, beta *float32, n int)")
	Pragma("noescape")
	Doc(name + " makes the mean of x 0 and its variance 1, multiplies by gamma and adds beta.")
	lanes := v.lanes()
	x := Load(Param("x"), GP64())
	gamma := Load(Param("gamma"), GP64())
	beta := Load(Param("beta"), GP64())
	n := Load(Param("n"), GP64())
	at := GP64()
	each := func(label string, unroll int, body func(i int, place func(base reg.Register) operand.Mem)) {
		XORQ(at, at)
		Label(label)
		for i := range unroll {
			body(i, func(base reg.Register) operand.Mem {
				return operand.Mem{Base: base, Index: at, Scale: 4, Disp: int(v) * i}
			})
		}
		ADDQ(operand.U8(lanes*unroll), at)
		CMPQ(at, n)
		JB(operand.LabelRef(label))
	}
	// Lengths are multiples of 16.
	unroll := 16 / lanes
	count, all := XMM(), v.reg()
	VXORPS(count, count, count)
	VCVTSI2SSQ(n, count, count)
	mean := func(parts []reg.VecVirtual) reg.VecVirtual {
		for _, p := range parts[1:] {
			VADDPS(p, parts[0], parts[0])
		}
		sum := v.fold(VADDPS, parts[0])
		VDIVSS(count, sum, sum)
		return sum
	}
	zeros := func() (parts []reg.VecVirtual) {
		for range unroll {
			parts = append(parts, v.zero())
		}
		return parts
	}

	sums := zeros()
	each("sum", unroll, func(i int, place func(reg.Register) operand.Mem) {
		VADDPS(place(x), sums[i], sums[i])
	})
	VBROADCASTSS(mean(sums), all)

	errors, squares := zeros(), zeros()
	each("square", unroll, func(i int, place func(reg.Register) operand.Mem) {
		d := v.reg()
		VMOVUPS(place(x), d)
		VSUBPS(all, d, d)
		VADDPS(d, errors[i], errors[i])
		VFMADD231PS(d, d, squares[i])
	})
	off, variance := mean(errors), mean(squares)
	VFNMADD231SS(off, off, variance)
	one, zero := XMM(), XMM()
	VXORPS(zero, zero, zero)
	VMAXSS(zero, variance, variance)
	VADDSS(constant(1e-12), variance, variance)
	VSQRTSS(variance, variance, variance)
	VMOVSS(constant(1), one)
	VDIVSS(variance, one, one)
	inverse, correction := v.reg(), v.reg()
	VBROADCASTSS(one, inverse)
	VBROADCASTSS(off, correction)

	each("scale", unroll, func(i int, place func(reg.Register) operand.Mem) {
		d := v.reg()
		VMOVUPS(place(x), d)
		VSUBPS(all, d, d)
		VSUBPS(correction, d, d)
		VMULPS(inverse, d, d)
		by := v.reg()
		VMOVUPS(place(gamma), by)
		VFMADD213PS(place(beta), by, d)
		VMOVUPS(d, place(x))
	})
	VZEROUPPER()
	RET()
}
