package main

import (
	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// emitRange writes the first pass of a quantisation.
func emitRange() {
	TEXT("rangeAVX2", NOSPLIT, "func(x, by *float32, n int) (low, high float32)")
	Pragma("noescape")
	Doc("rangeAVX2 is the least and the greatest of 0 and the products of x and by.")
	x := Load(Param("x"), GP64())
	by := Load(Param("by"), GP64())
	left := Load(Param("n"), GP64())
	var low, high [4]reg.VecVirtual
	for i := range low {
		low[i], high[i] = ymm.zero(), ymm.zero()
	}
	Label("loop")
	for i := range low {
		v := YMM()
		VMOVUPS(operand.Mem{Base: x, Disp: 32 * i}, v)
		VMULPS(operand.Mem{Base: by, Disp: 32 * i}, v, v)
		VMINPS(v, low[i], low[i])
		VMAXPS(v, high[i], high[i])
	}
	ADDQ(operand.I32(128), x)
	ADDQ(operand.I32(128), by)
	SUBQ(operand.U8(32), left)
	JNZ(operand.LabelRef("loop"))
	VMINPS(low[1], low[0], low[0])
	VMINPS(low[3], low[2], low[2])
	VMINPS(low[2], low[0], low[0])
	VMAXPS(high[1], high[0], high[0])
	VMAXPS(high[3], high[2], high[2])
	VMAXPS(high[2], high[0], high[0])
	Store(ymm.fold(VMINPS, low[0]), ReturnIndex(0))
	Store(ymm.fold(VMAXPS, high[0]), ReturnIndex(1))
	VZEROUPPER()
	RET()
}

// emitQuantise writes the second pass.
func emitQuantise() {
	TEXT("quantiseAVX2", NOSPLIT, "func(q *uint8, x, by *float32, n int, inverse float32, zero int32)")
	Pragma("noescape")
	Doc("quantiseAVX2 sets q to the products of x, by and inverse, rounded, plus zero.")
	q := Load(Param("q"), GP64())
	x := Load(Param("x"), GP64())
	by := Load(Param("by"), GP64())
	left := Load(Param("n"), GP64())
	inverse, zero := ymm.param("inverse"), ymm.param("zero")
	order := GLOBL("order", RODATA|NOPTR)
	for i, lane := range []uint32{0, 4, 1, 5, 2, 6, 3, 7} {
		DATA(4*i, operand.U32(lane))
	}
	lanes := YMM()
	VMOVDQU(order, lanes)
	Label("loop")
	var v [4]reg.VecVirtual
	for i := range v {
		v[i] = YMM()
		VMOVUPS(operand.Mem{Base: x, Disp: 32 * i}, v[i])
		VMULPS(operand.Mem{Base: by, Disp: 32 * i}, v[i], v[i])
		VMULPS(inverse, v[i], v[i])
		VCVTPS2DQ(v[i], v[i])
		VPADDD(zero, v[i], v[i])
	}
	Comment("Packing clamps, and mixes the lanes.")
	VPACKSSDW(v[1], v[0], v[0])
	VPACKSSDW(v[3], v[2], v[2])
	VPACKUSWB(v[2], v[0], v[0])
	VPERMD(v[0], lanes, v[0])
	VMOVDQU(v[0], operand.Mem{Base: q})
	ADDQ(operand.I32(128), x)
	ADDQ(operand.I32(128), by)
	ADDQ(operand.U8(32), q)
	SUBQ(operand.U8(32), left)
	JNZ(operand.LabelRef("loop"))
	VZEROUPPER()
	RET()
}
