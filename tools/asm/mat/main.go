// Command mat writes the amd64 kernels of package mat. The module tools
// is separate so that Oriel does not depend on avo.
//
//	go -C internal/vector/mat generate
package main

import . "github.com/mmcloughlin/avo/build"

func main() {
	ConstraintExpr("amd64")
	ConstraintExpr("!noasm")
	for _, rows := range []int{12, 8, 4} {
		emitLinearVNNI(rows)
	}
	emitWiden()
	emitLinearAVX2()
	for _, rows := range []int{12, 8, 4} {
		emitMul(zmm, "AVX512", rows)
	}
	emitMul(ymm, "AVX2", 4)
	emitTranspose()
	emitRange()
	emitQuantise()
	emitRows(zmm, "AVX512")
	emitRows(ymm, "AVX2")
	Generate()
}
