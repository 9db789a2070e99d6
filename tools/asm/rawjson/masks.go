package main

import (
	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Offsets of the fields of rawjson.index and sizes of its arrays; a test of
// that package holds them against the struct.
const (
	offN        = 0
	offNodds    = 8
	offEscaped  = 16
	offInString = 24
	offScalar   = 32
	offPending  = 40
	offBad      = 48
	offPrev     = 64
	offOdds     = 128
	offPos      = offOdds + fullOdds*16

	blockSize = 64
	fullPos   = 1024
	fullOdds  = 64
)

// vectors is the part of a kernel that depends on the width of its registers.
// Each method that fills a mask sets bit i for byte i of the block.
type vectors interface {
	constants(x reg.Register)
	load(p reg.Register)
	equal(mask reg.GPVirtual, c byte)
	// letters are the bytes / \ f n r t, which may follow a backslash.
	letters(mask reg.GPVirtual)
	nonASCII(mask reg.GPVirtual)
	// anyControl leaves the zero flag clear if there is a byte below 0x20.
	anyControl()
	control(mask reg.GPVirtual)
	// operators are [ ] { } : , and also the bytes 0x0c and 0x1a, which the
	// builder rejects.
	operators(mask reg.GPVirtual)
	spaces(mask reg.GPVirtual)
	// utf8 checks the block and the end of the one before it. It leaves the
	// zero flag clear if they are wrong.
	utf8()
	// end keeps what utf8 will need of the block.
	end()
	save(x reg.Register)
}

// emit writes the kernel name on top of v.
func emit(name string, v vectors) {
	TEXT(name, NOSPLIT, "func(x, p *byte, blocks, base int) (used int)")
	Doc(name + " lists the offsets that matter in blocks of 64 bytes.")
	x := Load(Param("x"), GP64())
	p := Load(Param("p"), GP64())
	blocks := Load(Param("blocks"), GP64())
	base := Load(Param("base"), GP64())
	field := func(off int) operand.Mem { return operand.Mem{Base: x, Disp: off} }

	escaped, inString, scalar, pending := GP64(), GP64(), GP64(), GP64()
	MOVQ(field(offEscaped), escaped)
	MOVQ(field(offInString), inString)
	MOVQ(field(offScalar), scalar)
	MOVQ(field(offPending), pending)
	out := GP64()
	MOVQ(field(offN), out)
	LEAQ(operand.Mem{Base: x, Index: out, Scale: 4, Disp: offPos}, out)
	odd := GP64()
	MOVQ(operand.U64(0xaaaaaaaaaaaaaaaa), odd)
	v.constants(x)

	Label("block")
	v.load(p)
	quotes, s := GP64(), GP64()
	{
		slashes, t, m := GP64(), GP64(), GP64()
		v.equal(slashes, '\\')
		v.equal(quotes, '"')
		Comment("Which bytes does a backslash escape? A subtraction carries through each run",
			"of backslashes; the odd bits tell runs of odd length from runs of even length.")
		ANDNQ(slashes, escaped, t)
		LEAQ(operand.Mem{Base: t, Index: t, Scale: 1}, m)
		ORQ(odd, m)
		SUBQ(t, m)
		XORQ(odd, m)
		ORQ(slashes, escaped)
		ANDQ(m, slashes)
		XORQ(m, escaped) // now the escaped bytes of this block
		MOVQ(slashes, m)
		SHRQ(operand.U8(63), m)

		Comment("Escapes that are not the usual ones are listed for the builder.")
		v.letters(t)
		ORQ(quotes, t)
		ANDNQ(quotes, escaped, quotes)
		ANDNQ(escaped, t, t)
		MOVQ(m, escaped)
		TESTQ(t, t)
		JZ(operand.LabelRef("escapes_done"))
		MOVQ(field(offNodds), m)
		SHLQ(operand.U8(4), m)
		MOVQ(t, operand.Mem{Base: x, Index: m, Scale: 1, Disp: offOdds})
		MOVQ(base, operand.Mem{Base: x, Index: m, Scale: 1, Disp: offOdds + 8})
		SHRQ(operand.U8(4), m)
		INCQ(m)
		MOVQ(m, field(offNodds))
		CMPQ(m, operand.U8(fullOdds))
		JB(operand.LabelRef("escapes_done"))
		Comment("Full: this block is the last.")
		MOVQ(operand.U32(1), blocks)
	}
	Label("escapes_done")
	{
		t := GP64()
		v.nonASCII(t)
		ORQ(t, pending)
		JZ(operand.LabelRef("utf8_done"))
		MOVQ(t, pending)
		SHRQ(operand.U8(61), pending)
		v.utf8()
		JNZ(operand.LabelRef("bad"))
	}
	Label("utf8_done")
	Comment("A block inside a string that does not end in it needs no more than this.")
	{
		t := GP64()
		MOVQ(inString, t)
		NOTQ(t)
		ORQ(quotes, t)
		JNZ(operand.LabelRef("mixed"))
	}
	v.anyControl()
	JNZ(operand.LabelRef("bad"))

	Label("next")
	v.end()
	ADDQ(operand.U8(blockSize), p)
	ADDQ(operand.U8(blockSize), base)
	DECQ(blocks)
	JNZ(operand.LabelRef("block"))

	Label("done")
	v.save(x)
	MOVQ(escaped, field(offEscaped))
	MOVQ(inString, field(offInString))
	MOVQ(scalar, field(offScalar))
	MOVQ(pending, field(offPending))
	SUBQ(x, out)
	SUBQ(operand.U32(offPos), out)
	SHRQ(operand.U8(2), out)
	MOVQ(out, field(offN))
	{
		p0 := Load(Param("p"), GP64())
		SUBQ(p0, p)
	}
	SHRQ(operand.U8(6), p)
	Store(p, ReturnIndex(0))
	VZEROUPPER()
	RET()

	Label("bad")
	MOVQ(operand.U32(1), field(offBad))
	JMP(operand.LabelRef("done"))

	Label("mixed")
	Comment("The bytes inside strings: the parity of the quotes up to each one.")
	{
		a, ones := XMM(), XMM()
		VPCMPEQB(ones, ones, ones)
		VMOVQ(quotes, a)
		VPCLMULQDQ(operand.U8(0), ones, a, a)
		VMOVQ(a, s)
	}
	XORQ(inString, s)
	MOVQ(s, inString)
	SARQ(operand.U8(63), inString)
	{
		t := GP64()
		v.control(t)
		TESTQ(t, s)
		JNZ(operand.LabelRef("bad"))
	}
	Comment("Of what is neither operator, space nor quote, the first byte of each run.")
	found := GP64()
	{
		ops, w, f := GP64(), GP64(), GP64()
		v.operators(ops)
		v.spaces(w)
		ORQ(ops, w)
		ORQ(quotes, w)
		NOTQ(w)
		LEAQ(operand.Mem{Base: w, Index: w, Scale: 1}, f)
		ORQ(scalar, f)
		MOVQ(w, scalar)
		SHRQ(operand.U8(63), scalar)
		ANDNQ(w, f, w)
		ORQ(ops, w)
		ORQ(quotes, s)
		ANDNQ(w, s, w)
		ORQ(quotes, w)
		MOVQ(w, found)
	}
	JZ(operand.LabelRef("next"))
	count, t := GP64(), GP64()
	POPCNTQ(found, count)
	LEAQ(operand.Mem{Base: out, Index: count, Scale: 4}, count) // where the next block writes
	Label("list")
	for i := range 8 {
		TZCNTQ(found, t)
		ADDL(base.(reg.GP).As32(), t.As32())
		MOVL(t.As32(), operand.Mem{Base: out, Disp: 4 * i})
		BLSRQ(found, found)
	}
	ADDQ(operand.U8(32), out)
	TESTQ(found, found)
	JNZ(operand.LabelRef("list"))
	MOVQ(count, out)
	LEAQ(operand.Mem{Base: x, Disp: offPos + 4*fullPos}, t)
	CMPQ(out, t)
	JB(operand.LabelRef("next"))
	Comment("Full: this block is the last.")
	MOVQ(operand.U32(1), blocks)
	JMP(operand.LabelRef("next"))
}
