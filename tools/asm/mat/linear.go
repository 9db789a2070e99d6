package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/ir"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// panelBytes is the size of four weights of each column of a panel.
const panelBytes = 128

const linearSignature = "func(c *float32, ldc int, a *uint8, rows *byte, k int, w *int8, scale *float32, sum *int32, bias *float32, ahead int, add bool)"

// vpdpbusd adds to each lane of sums the products of four unsigned bytes of x
// and four signed ones of w. The avo release in use does not know it.
func vpdpbusd(w, x, sums reg.VecVirtual) {
	Instruction(&ir.Instruction{
		Opcode:   "VPDPBUSD",
		Operands: []operand.Op{w, x, sums},
		Inputs:   []operand.Op{w, x, sums},
		Outputs:  []operand.Op{sums},
		ISA:      []string{"AVX512VNNI"},
	})
}

// emitLinearVNNI writes the product of some rows with a panel of weights.
func emitLinearVNNI(rows int) {
	name := fmt.Sprintf("linear%dVNNI", rows)
	TEXT(name, NOSPLIT, linearSignature)
	Pragma("noescape")
	Doc(fmt.Sprintf("%s multiplies %d rows by a panel.", name, rows))
	k := Load(Param("k"), GP64())
	w := Load(Param("w"), GP64())
	ahead := Load(Param("ahead"), GP64())
	bases := thirds(Load(Param("a"), GP64()), k, rows)

	acc := make([][2]reg.VecVirtual, rows)
	for i := range acc {
		acc[i] = [2]reg.VecVirtual{zmm.zero(), zmm.zero()}
	}
	w0, w1, x := ZMM(), ZMM(), ZMM()
	groups := func(n int) {
		for g := range n {
			VMOVDQU8(operand.Mem{Base: w, Disp: g * panelBytes}, w0)
			VMOVDQU8(operand.Mem{Base: w, Disp: g*panelBytes + 64}, w1)
			PREFETCHT0(operand.Mem{Base: w, Index: ahead, Scale: 1, Disp: g * panelBytes})
			PREFETCHT0(operand.Mem{Base: w, Index: ahead, Scale: 1, Disp: g*panelBytes + 64})
			for i := range acc {
				VPBROADCASTD(at(bases, k, i, 4*g), x)
				vpdpbusd(w0, x, acc[i][0])
				vpdpbusd(w1, x, acc[i][1])
			}
		}
		for _, b := range bases {
			ADDQ(operand.U8(4*n), b)
		}
		ADDQ(operand.U32(panelBytes*n), w)
	}
	const unroll = 4
	left := GP64()
	MOVQ(k, left)
	SHRQ(operand.U8(2), left)
	SUBQ(operand.U8(unroll), left)
	JB(operand.LabelRef("few"))
	Label("loop")
	groups(unroll)
	SUBQ(operand.U8(unroll), left)
	JAE(operand.LabelRef("loop"))
	Label("few")
	ADDQ(operand.U8(unroll), left)
	JZ(operand.LabelRef("done"))
	Label("tail")
	groups(1)
	DECQ(left)
	JNZ(operand.LabelRef("tail"))
	Label("done")

	row := Load(Param("rows"), GP64())
	c := Load(Param("c"), GP64())
	ldc := Load(Param("ldc"), GP64())
	SHLQ(operand.U8(2), ldc)
	var scale, sum, bias [2]reg.VecVirtual
	for _, p := range []struct {
		name string
		regs *[2]reg.VecVirtual
	}{{"scale", &scale}, {"sum", &sum}, {"bias", &bias}} {
		from := Load(Param(p.name), GP64())
		for j := range p.regs {
			p.regs[j] = ZMM()
			VMOVUPS(operand.Mem{Base: from, Disp: 64 * j}, p.regs[j])
		}
	}
	add := Load(Param("add"), GP8())
	TESTB(add, add)
	JNZ(operand.LabelRef("add"))
	for _, adding := range []bool{false, true} {
		if adding {
			Label("add")
		}
		t := ZMM()
		for i := range acc {
			for j, v := range acc[i] {
				place := operand.Mem{Base: c, Disp: 64 * j}
				VPMULLD_BCST(operand.Mem{Base: row, Disp: 8*i + 4}, sum[j], t)
				VPSUBD(t, v, v)
				VCVTDQ2PS(v, v)
				VMULPS_BCST(operand.Mem{Base: row, Disp: 8 * i}, scale[j], t)
				VMULPS(t, v, v)
				VADDPS(bias[j], v, v)
				if adding {
					VADDPS(place, v, v)
				}
				VMOVUPS(v, place)
			}
			if i < rows-1 {
				ADDQ(ldc, c)
			}
		}
		VZEROUPPER()
		RET()
	}
}

// emitWiden writes the step before linearAVX2: bytes to 16-bit numbers, four
// rows side by side.
func emitWiden() {
	TEXT("widenAVX2", NOSPLIT, "func(wide *int16, a *uint8, k int)")
	Pragma("noescape")
	Doc("widenAVX2 widens four rows, and puts their groups of four next to each other.")
	wide := Load(Param("wide"), GP64())
	k := Load(Param("k"), GP64())
	a := thirds(Load(Param("a"), GP64()), k, 4)
	left := GP64()
	MOVQ(k, left)
	Label("loop")
	x, y := XMM(), YMM()
	VMOVD(at(a, k, 0, 0), x)
	for i := 1; i < 4; i++ {
		VPINSRD(operand.U8(i), at(a, k, i, 0), x, x)
	}
	VPMOVZXBW(x, y)
	VMOVDQU(y, operand.Mem{Base: wide})
	for _, b := range a {
		ADDQ(operand.U8(4), b)
	}
	ADDQ(operand.U8(32), wide)
	SUBQ(operand.U8(4), left)
	JNZ(operand.LabelRef("loop"))
	VZEROUPPER()
	RET()
}

// emitLinearAVX2 writes the product of four rows with eight columns. Bytes are
// multiplied as 16-bit numbers, because the instruction that multiplies bytes
// saturates. A register of sums holds four columns, each in two halves.
func emitLinearAVX2() {
	TEXT("linearAVX2", NOSPLIT,
		"func(c *float32, ldc int, wide *int16, rows *byte, k int, w *int8, scale *float32, sum *int32, bias *float32, ahead int, add bool)")
	Pragma("noescape")
	Doc("linearAVX2 multiplies four rows, widened, by eight columns of a panel.")
	const rows, unroll = 4, 4
	a := Load(Param("wide"), GP64())
	left := Load(Param("k"), GP64())
	w := Load(Param("w"), GP64())
	ahead := Load(Param("ahead"), GP64())
	var acc [rows][2]reg.VecVirtual
	for i := range acc {
		acc[i] = [2]reg.VecVirtual{ymm.zero(), ymm.zero()}
	}
	w0, w1, x, t0, t1 := YMM(), YMM(), YMM(), YMM(), YMM()
	groups := func(n int) {
		for g := range n {
			VPMOVSXBW(operand.Mem{Base: w, Disp: g * panelBytes}, w0)
			VPMOVSXBW(operand.Mem{Base: w, Disp: g*panelBytes + 16}, w1)
			PREFETCHT1(operand.Mem{Base: w, Index: ahead, Scale: 1, Disp: g * panelBytes})
			for i := range acc {
				VPBROADCASTQ(operand.Mem{Base: a, Disp: 32*g + 8*i}, x)
				VPMADDWD(x, w0, t0)
				VPADDD(t0, acc[i][0], acc[i][0])
				VPMADDWD(x, w1, t1)
				VPADDD(t1, acc[i][1], acc[i][1])
			}
		}
		ADDQ(operand.I32(32*n), a)
		ADDQ(operand.I32(panelBytes*n), w)
	}
	SHRQ(operand.U8(2), left)
	SUBQ(operand.U8(unroll), left)
	JB(operand.LabelRef("few"))
	Label("loop")
	groups(unroll)
	SUBQ(operand.U8(unroll), left)
	JAE(operand.LabelRef("loop"))
	Label("few")
	ADDQ(operand.U8(unroll), left)
	JZ(operand.LabelRef("done"))
	Label("tail")
	groups(1)
	DECQ(left)
	JNZ(operand.LabelRef("tail"))
	Label("done")

	row := Load(Param("rows"), GP64())
	c := Load(Param("c"), GP64())
	ldc := Load(Param("ldc"), GP64())
	SHLQ(operand.U8(2), ldc)
	scale, sum, bias := YMM(), YMM(), YMM()
	VMOVUPS(operand.Mem{Base: Load(Param("scale"), GP64())}, scale)
	VMOVUPS(operand.Mem{Base: Load(Param("sum"), GP64())}, sum)
	VMOVUPS(operand.Mem{Base: Load(Param("bias"), GP64())}, bias)
	add := Load(Param("add"), GP8())
	for i := range acc {
		v, t := acc[i][0], YMM()
		VPHADDD(acc[i][1], v, v)
		VPERMQ(operand.U8(0xd8), v, v)
		VPBROADCASTD(operand.Mem{Base: row, Disp: 8*i + 4}, t)
		VPMULLD(t, sum, t)
		VPSUBD(t, v, v)
		VCVTDQ2PS(v, v)
		VBROADCASTSS(operand.Mem{Base: row, Disp: 8 * i}, t)
		VMULPS(t, scale, t)
		VMULPS(t, v, v)
		VADDPS(bias, v, v)
	}
	TESTB(add, add)
	JZ(operand.LabelRef("store"))
	from := GP64()
	MOVQ(c, from)
	for i := range acc {
		VADDPS(operand.Mem{Base: from}, acc[i][0], acc[i][0])
		ADDQ(ldc, from)
	}
	Label("store")
	for i := range acc {
		VMOVUPS(acc[i][0], operand.Mem{Base: c})
		ADDQ(ldc, c)
	}
	VZEROUPPER()
	RET()
}
