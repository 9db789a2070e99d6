package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// emitMul writes the float32 product of some rows with two registers of columns.
// A sum runs over k in order whatever the tile and the width, so its bits are
// the same in all of them.
func emitMul(v vector, suffix string, rows int) {
	name := fmt.Sprintf("mul%dx%d%s", rows, 2*v.lanes(), suffix)
	TEXT(name, NOSPLIT, "func(c *float32, ldc int, a *float32, lda int, b *float32, ldb int, k int, scale *float32)")
	Pragma("noescape")
	Doc(fmt.Sprintf("%s multiplies %d rows by %d columns; scale may be nil.", name, rows, 2*v.lanes()))
	lda := Load(Param("lda"), GP64())
	SHLQ(operand.U8(2), lda)
	bases := thirds(Load(Param("a"), GP64()), lda, rows)
	b := Load(Param("b"), GP64())
	ldb := Load(Param("ldb"), GP64())
	SHLQ(operand.U8(2), ldb)
	left := Load(Param("k"), GP64())
	acc := make([][2]reg.VecVirtual, rows)
	for i := range acc {
		acc[i] = [2]reg.VecVirtual{v.zero(), v.zero()}
	}
	x, columns := v.reg(), [2]reg.VecVirtual{v.reg(), v.reg()}
	steps := func(n int) {
		for s := range n {
			for j, y := range columns {
				VMOVUPS(operand.Mem{Base: b, Disp: int(v) * j}, y)
			}
			ADDQ(ldb, b)
			for i := range acc {
				VBROADCASTSS(at(bases, lda, i, 4*s), x)
				for j, y := range columns {
					VFMADD231PS(y, x, acc[i][j])
				}
			}
		}
		for _, base := range bases {
			ADDQ(operand.U8(4*n), base)
		}
	}
	const unroll = 4
	SUBQ(operand.U8(unroll), left)
	JL(operand.LabelRef("few"))
	Label("loop")
	steps(unroll)
	SUBQ(operand.U8(unroll), left)
	JGE(operand.LabelRef("loop"))
	Label("few")
	ADDQ(operand.U8(unroll), left)
	JZ(operand.LabelRef("done"))
	Label("tail")
	steps(1)
	DECQ(left)
	JNZ(operand.LabelRef("tail"))
	Label("done")

	scale := Load(Param("scale"), GP64())
	TESTQ(scale, scale)
	JZ(operand.LabelRef("store"))
	for i := range acc {
		VBROADCASTSS(operand.Mem{Base: scale, Disp: 4 * i}, x)
		for _, r := range acc[i] {
			VMULPS(x, r, r)
		}
	}
	Label("store")
	c := Load(Param("c"), GP64())
	ldc := Load(Param("ldc"), GP64())
	SHLQ(operand.U8(2), ldc)
	for i := range acc {
		for j, r := range acc[i] {
			VMOVUPS(r, operand.Mem{Base: c, Disp: int(v) * j})
		}
		if i < rows-1 {
			ADDQ(ldc, c)
		}
	}
	VZEROUPPER()
	RET()
}

// emitTranspose writes the transposition of 8 rows, 8 columns at a time.
func emitTranspose() {
	TEXT("transposeAVX2", NOSPLIT, "func(dst *float32, ldd int, src *float32, lds int, cols int)")
	Pragma("noescape")
	Doc("transposeAVX2 makes eight columns of eight rows.")
	dst := Load(Param("dst"), GP64())
	ldd := Load(Param("ldd"), GP64())
	lds := Load(Param("lds"), GP64())
	SHLQ(operand.U8(2), ldd)
	SHLQ(operand.U8(2), lds)
	src := thirds(Load(Param("src"), GP64()), lds, 8)
	left := Load(Param("cols"), GP64())
	Label("loop")
	Comment("Four columns of rows i and i+4 share a register.")
	var half [2][4]reg.VecVirtual
	for h := range half {
		for i := range half[h] {
			r := YMM()
			VMOVUPS(at(src, lds, i, 16*h), r.AsX())
			VINSERTF128(operand.U8(1), at(src, lds, i+4, 16*h), r, r)
			half[h][i] = r
		}
	}
	for h := range half {
		r := half[h]
		a, b, c, d := YMM(), YMM(), YMM(), YMM()
		VUNPCKLPS(r[1], r[0], a)
		VUNPCKHPS(r[1], r[0], b)
		VUNPCKLPS(r[3], r[2], c)
		VUNPCKHPS(r[3], r[2], d)
		for j, pair := range [][2]reg.VecVirtual{{a, c}, {a, c}, {b, d}, {b, d}} {
			t := YMM()
			VSHUFPS(operand.U8([]uint8{0x44, 0xee}[j%2]), pair[1], pair[0], t)
			VMOVUPS(t, operand.Mem{Base: dst})
			ADDQ(ldd, dst)
		}
	}
	for _, s := range src {
		ADDQ(operand.U8(32), s)
	}
	SUBQ(operand.U8(8), left)
	JNZ(operand.LabelRef("loop"))
	VZEROUPPER()
	RET()
}
