// Command vector writes the amd64 kernels of package vector. The module
// tools is separate so that Oriel does not depend on avo.
//
//	go -C internal/vector generate
package main

import (
	"math"

	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// group is how many vectors are scanned side by side, which hides the latency
// of the sums.
const group = 4

func main() {
	ConstraintExpr("amd64")
	ConstraintExpr("!noasm")
	emitVNNI()
	emitAVX2()
	Generate()
}

// frame is what both kernels have: arguments, and the sums.
type frame struct {
	out, scales, values, stride, stride3, left reg.Register
	query, totals                              reg.Register
	factor                                     reg.VecVirtual
	sum, squares, top                          reg.VecVirtual
}

func open(name, doc string) frame {
	TEXT(name, NOSPLIT,
		"func(out *float32, values *int8, scales *float32, n, dimensions int, query *byte, sum int32, factor float32, t *byte)")
	Pragma("noescape")
	Doc(doc)
	var f frame
	f.out = Load(Param("out"), GP64())
	f.values = Load(Param("values"), GP64())
	f.scales = Load(Param("scales"), GP64())
	f.left = Load(Param("n"), GP64())
	f.stride = Load(Param("dimensions"), GP64())
	f.query = Load(Param("query"), GP64())
	f.totals = Load(Param("t"), GP64())
	f.stride3 = GP64()
	LEAQ(operand.Mem{Base: f.stride, Index: f.stride, Scale: 2}, f.stride3)
	f.factor = XMM()
	VBROADCASTSS(argument("factor"), f.factor)
	f.sum, f.squares, f.top = YMM(), YMM(), XMM()
	VMOVUPD(operand.Mem{Base: f.totals}, f.sum)
	VMOVUPD(operand.Mem{Base: f.totals, Disp: 32}, f.squares)
	VBROADCASTSS(constant("least", math.Float32bits(float32(math.Inf(-1)))), f.top)
	return f
}

var constants = map[string]operand.Mem{}

func constant(name string, bits uint32) operand.Mem {
	if _, ok := constants[name]; !ok {
		constants[name] = GLOBL(name, RODATA|NOPTR)
		DATA(0, operand.U32(bits))
	}
	return constants[name]
}

func argument(name string) operand.Mem {
	arg, err := Param(name).Resolve()
	if err != nil {
		panic(err)
	}
	return arg.Addr
}

// vector returns the address of the i-th vector, given the first of a group.
func (f frame) vector(base reg.Register, i, disp int) operand.Mem {
	m := operand.Mem{Base: base, Disp: disp}
	switch i {
	case 1, 2:
		m.Index, m.Scale = f.stride, uint8(i)
	case 3:
		m.Index, m.Scale = f.stride3, 1
	}
	return m
}

// fetch prefetches the lines that are needed some steps later, in the order of
// their addresses and not of their use: memory is faster that way, by half.
func fetch(prefetch func(m operand.Op), place reg.Register, ahead, lines int) {
	for i := range lines {
		prefetch(operand.Mem{Base: place, Disp: ahead + 64*i})
	}
	ADDQ(operand.U32(64*lines), place)
}

// fold sums the lanes of each of four registers, into one lane each.
func fold(a [group]reg.VecVirtual) reg.VecVirtual {
	VPHADDD(a[1], a[0], a[0])
	VPHADDD(a[3], a[2], a[2])
	VPHADDD(a[2], a[0], a[0])
	dots := XMM()
	VEXTRACTI128(operand.U8(1), a[0], dots)
	VPADDD(a[0].AsX(), dots, dots)
	return dots
}

// score writes the scores for the products of a group, adds them to the
// totals, and continues with the next group, if there is one.
func (f frame) score(dots reg.VecVirtual, next string) {
	VCVTDQ2PS(dots, dots)
	VMULPS(operand.Mem{Base: f.scales}, dots, dots)
	VMULPS(f.factor, dots, dots)
	VMOVUPS(dots, operand.Mem{Base: f.out})
	VMAXPS(dots, f.top, f.top)
	wide := YMM()
	VCVTPS2PD(dots, wide)
	VADDPD(wide, f.sum, f.sum)
	VMULPD(wide, wide, wide)
	VADDPD(wide, f.squares, f.squares)
	ADDQ(operand.U8(4*group), f.out)
	ADDQ(operand.U8(4*group), f.scales)
	LEAQ(operand.Mem{Base: f.values, Index: f.stride, Scale: group}, f.values)
	SUBQ(operand.U8(group), f.left)
	JNZ(operand.LabelRef(next))
}

func (f frame) finish() {
	VMOVUPD(f.sum, operand.Mem{Base: f.totals})
	VMOVUPD(f.squares, operand.Mem{Base: f.totals, Disp: 32})
	VMOVUPS(f.top, operand.Mem{Base: f.totals, Disp: 64})
	VZEROUPPER()
	RET()
}
