// Command asm writes the amd64 kernels of package rawjson. It lives in a module
// of its own so that avo is no dependency of the package.
//
//	go -C internal/rawjson generate
package main

import . "github.com/mmcloughlin/avo/build"

func main() {
	ConstraintExpr("amd64")
	ConstraintExpr("!noasm")
	emitCPU()
	emit("indexAVX2", &avx2{})
	emit("indexAVX512", &avx512{})
	Generate()
}
