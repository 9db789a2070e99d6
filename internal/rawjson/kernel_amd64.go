//go:build amd64 && !noasm

package rawjson

import "unsafe"

//go:generate go -C ../../tools run ./asm/rawjson -out ../internal/rawjson/kernel_amd64.s

// available are the kernels that this CPU can run, the fastest first; lacking
// are the names of the others.
var available, lacking = detect()

func detect() (available []*kernel, lacking []string) {
	has2, has512 := features()
	for _, k := range []struct {
		kernel
		has bool
	}{
		{kernel{"avx512", runAVX512}, has512},
		{kernel{"avx2", runAVX2}, has2},
	} {
		if k.has {
			available = append(available, &k.kernel)
		} else {
			lacking = append(lacking, k.name)
		}
	}
	return available, lacking
}

// features reports whether the CPU has what the kernels use, and the operating
// system saves the registers they use them on.
func features() (avx2, avx512 bool) {
	const (
		pclmulqdq = 1 << 1  // leaf 1, ecx
		popcnt    = 1 << 23 // leaf 1, ecx
		osxsave   = 1 << 27 // leaf 1, ecx
		avx       = 1 << 28 // leaf 1, ecx
		bmi1      = 1 << 3  // leaf 7, ebx
		avx2Bit   = 1 << 5  // leaf 7, ebx
		avx512f   = 1 << 16 // leaf 7, ebx
		avx512bw  = 1 << 30 // leaf 7, ebx
		ymm       = 0x06    // xcr0: SSE and AVX state
		zmm       = 0xe6    // xcr0: and the masks and both halves of the rest
	)
	leaves, _, _, _ := cpuid(0, 0)
	if leaves < 7 {
		return false, false
	}
	_, _, ecx, _ := cpuid(1, 0)
	_, ebx, _, _ := cpuid(7, 0)
	if !contains(ecx, pclmulqdq|popcnt|osxsave|avx) || !contains(ebx, bmi1|avx2Bit) {
		return false, false
	}
	saved := xgetbv()
	return contains(saved, ymm), contains(saved, zmm) && contains(ebx, avx512f|avx512bw)
}

func contains(word, bits uint32) bool { return word&bits == bits }

func runAVX2(x *index, p *byte, blocks, base int) int {
	return indexAVX2((*byte)(unsafe.Pointer(x)), p, blocks, base)
}

func runAVX512(x *index, p *byte, blocks, base int) int {
	return indexAVX512((*byte)(unsafe.Pointer(x)), p, blocks, base)
}

// indexAVX2 is a kernel's run on two registers a block.
//
//go:noescape
func indexAVX2(x, p *byte, blocks, base int) (used int)

// indexAVX512 is a kernel's run on one register a block.
//
//go:noescape
func indexAVX512(x, p *byte, blocks, base int) (used int)

// cpuid asks the CPU what it is; leaf and sub are its inputs in eax and ecx.
func cpuid(leaf, sub uint32) (eax, ebx, ecx, edx uint32)

// xgetbv returns the low half of xcr0: the registers that the system saves.
func xgetbv() (eax uint32)
