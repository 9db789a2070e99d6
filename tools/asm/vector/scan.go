package main

import (
	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/ir"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// emitVNNI writes the scan with VPDPBUSD, which multiplies unsigned bytes by
// signed ones. So 128 is added to the vectors' values by flipping their highest
// bits, and 128 times the query's sum is subtracted from the product.
func emitVNNI() {
	f := open("scanVNNI", "scanVNNI scans n vectors, a multiple of 4; query has its planes and sum adds up its values.")
	flip, excess := ZMM(), XMM()
	VPBROADCASTD(constant("high", 0x80808080), flip)
	VBROADCASTSS(argument("sum"), excess)
	VPSLLD(operand.U8(7), excess, excess)
	half, bits := K(), GP32()
	MOVL(operand.U32(0xffffffff), bits)
	KMOVQ(bits.As64(), half)
	steps := GP64()
	MOVQ(f.stride, steps)
	SHRQ(operand.U8(6), steps)

	var hi, lo [group]reg.VecVirtual
	for i := range hi {
		hi[i], lo[i] = ZMM(), ZMM()
	}
	base, planes, count, coming := GP64(), GP64(), GP64(), GP64()
	step := func(load func(from operand.Mem, to reg.VecVirtual)) {
		qhi, qlo := ZMM(), ZMM()
		VMOVDQU64(operand.Mem{Base: planes}, qhi)
		VMOVDQU64(operand.Mem{Base: planes, Disp: 64}, qlo)
		for i := range hi {
			v := ZMM()
			load(f.vector(base, i, 0), v)
			vpdpbusd(qhi, v, hi[i])
			vpdpbusd(qlo, v, lo[i])
		}
	}

	Label("group")
	for i := range hi {
		VPXORD(hi[i], hi[i], hi[i])
		VPXORD(lo[i], lo[i], lo[i])
	}
	MOVQ(f.values, base)
	MOVQ(f.values, coming)
	MOVQ(f.query, planes)
	MOVQ(steps, count)
	TESTQ(count, count)
	JZ(operand.LabelRef("rest"))
	Label("step")
	step(func(from operand.Mem, to reg.VecVirtual) { VPXORD(from, flip, to) })
	fetch(PREFETCHT0, coming, 2<<10, group)
	ADDQ(operand.U8(64), base)
	ADDQ(operand.U32(128), planes)
	DECQ(count)
	JNZ(operand.LabelRef("step"))
	Label("rest")
	TESTQ(operand.U32(32), f.stride)
	JZ(operand.LabelRef("fold"))
	step(func(from operand.Mem, to reg.VecVirtual) {
		VMOVDQU8_Z(from, half, to)
		VPXORD(flip, to, to)
	})

	Label("fold")
	var sums [group]reg.VecVirtual
	for i := range hi {
		VPSLLD(operand.U8(7), hi[i], hi[i])
		VPADDD(lo[i], hi[i], hi[i])
		upper := YMM()
		VEXTRACTI64X4(operand.U8(1), hi[i], upper)
		VPADDD(hi[i].AsY(), upper, hi[i].AsY())
		sums[i] = hi[i].AsY().(reg.VecVirtual)
	}
	dots := fold(sums)
	VPSUBD(excess, dots, dots)
	f.score(dots, "group")
	f.finish()
}

// emitAVX2 writes the scan with 16 bit values.
func emitAVX2() {
	f := open("scanAVX2", "scanAVX2 scans n vectors, a multiple of 4; query has its values, and sum is not used.")
	var sums [group]reg.VecVirtual
	for i := range sums {
		sums[i] = YMM()
	}
	base, query, count, coming := GP64(), GP64(), GP64(), GP64()
	Label("group")
	for i := range sums {
		VPXOR(sums[i], sums[i], sums[i])
	}
	MOVQ(f.values, base)
	MOVQ(f.values, coming)
	MOVQ(f.query, query)
	MOVQ(f.stride, count)
	Label("step")
	for part := range 2 {
		q := YMM()
		VMOVDQU(operand.Mem{Base: query, Disp: 32 * part}, q)
		for i := range sums {
			v := YMM()
			VPMOVSXBW(f.vector(base, i, 16*part), v)
			VPMADDWD(q, v, v)
			VPADDD(v, sums[i], sums[i])
		}
	}
	fetch(PREFETCHT1, coming, 6<<10, group/2)
	ADDQ(operand.U8(32), base)
	ADDQ(operand.U8(64), query)
	SUBQ(operand.U8(32), count)
	JNZ(operand.LabelRef("step"))
	f.score(fold(sums), "group")
	f.finish()
}

// vpdpbusd adds to each lane of sums the products of four unsigned bytes of x
// and four signed ones of q. The avo release in use does not know it.
func vpdpbusd(q, x, sums reg.VecVirtual) {
	Instruction(&ir.Instruction{
		Opcode:   "VPDPBUSD",
		Operands: []operand.Op{q, x, sums},
		Inputs:   []operand.Op{q, x, sums},
		Outputs:  []operand.Op{sums},
		ISA:      []string{"AVX512VNNI"},
	})
}
