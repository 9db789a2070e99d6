package main

import (
	"fmt"
	"math"

	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// vector is a width of registers, in bytes. Most instructions have the same
// name in both widths.
type vector int

const (
	ymm vector = 32
	zmm vector = 64
)

func (v vector) reg() reg.VecVirtual {
	if v == zmm {
		return ZMM()
	}
	return YMM()
}

// lanes returns how many numbers a register holds.
func (v vector) lanes() int { return int(v) / 4 }

func (v vector) zero() reg.VecVirtual {
	r := v.reg()
	v.setZero(r)
	return r
}

func (v vector) setZero(r reg.VecVirtual) {
	if v == zmm {
		VPXORD(r, r, r)
		return
	}
	VXORPS(r, r, r)
}

// spread returns a register that holds f in every lane.
func (v vector) spread(f float32) reg.VecVirtual {
	r := v.reg()
	VBROADCASTSS(constant(f), r)
	return r
}

// operand returns f in every lane: in a register if there are many, otherwise
// in memory.
func (v vector) operand(f float32) operand.Op {
	if v == zmm {
		return v.spread(f)
	}
	return constant(f)
}

// param broadcasts an argument of the function.
func (v vector) param(name string) reg.VecVirtual {
	arg, err := Param(name).Resolve()
	if err != nil {
		panic(err)
	}
	r := v.reg()
	VBROADCASTSS(arg.Addr, r)
	return r
}

// block returns registers for 16 numbers; lengths are a multiple of that.
// Alternating between two narrow ones hides latency.
func (v vector) block() (regs []reg.VecVirtual) {
	for range 16 / v.lanes() {
		regs = append(regs, v.reg())
	}
	return regs
}

// polynomial evaluates a polynomial in each register; coeffs[i] belongs to
// x^i.
func (v vector) polynomial(coeffs []operand.Op, x []reg.VecVirtual) []reg.VecVirtual {
	y := v.block()
	for i := len(coeffs) - 1; i >= 0; i-- {
		for j := range y {
			if i == len(coeffs)-1 {
				VMOVUPS(coeffs[i], y[j])
			} else {
				VFMADD213PS(coeffs[i], x[j], y[j])
			}
		}
	}
	return y
}

// fold combines the lanes of r by op, and leaves the result in the first lane.
func (v vector) fold(op func(ops ...operand.Op), r reg.VecVirtual) reg.VecVirtual {
	if v == zmm {
		high := YMM()
		VEXTRACTF64X4(operand.U8(1), r, high)
		op(high, r.AsY(), high)
		r = high
	}
	a, b := XMM(), XMM()
	VEXTRACTF128(operand.U8(1), r.AsY(), a)
	op(a, r.AsX(), a)
	VPSHUFD(operand.U8(0x4e), a, b)
	op(b, a, a)
	VPSHUFD(operand.U8(0xb1), a, b)
	op(b, a, a)
	return a
}

var constants = map[uint32]operand.Mem{}

// constant returns f eight times.
func constant(f float32) operand.Mem {
	bits := math.Float32bits(f)
	if m, ok := constants[bits]; ok {
		return m
	}
	m := GLOBL(fmt.Sprintf("constant%08x", bits), RODATA|NOPTR)
	for i := range 8 {
		DATA(4*i, operand.U32(bits))
	}
	constants[bits] = m
	return m
}

// at returns the address of row i of a matrix, given that of every third row.
func at(bases []reg.GPVirtual, stride reg.Register, i, disp int) operand.Mem {
	m := operand.Mem{Base: bases[i/3], Disp: disp}
	if i%3 > 0 {
		m.Index, m.Scale = stride, uint8(i%3)
	}
	return m
}

// thirds returns the addresses of every third row from first.
func thirds(first reg.Register, stride reg.Register, rows int) []reg.GPVirtual {
	base := GP64()
	MOVQ(first, base)
	bases := []reg.GPVirtual{base}
	if rows > 3 {
		three := GP64()
		LEAQ(operand.Mem{Base: stride, Index: stride, Scale: 2}, three)
		for i := 3; i < rows; i += 3 {
			next := GP64()
			LEAQ(operand.Mem{Base: bases[len(bases)-1], Index: three, Scale: 1}, next)
			bases = append(bases, next)
		}
	}
	return bases
}
