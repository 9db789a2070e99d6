// Command rawjson writes the amd64 kernels of package rawjson. The module
// tools is separate so that Oriel does not depend on avo.
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
