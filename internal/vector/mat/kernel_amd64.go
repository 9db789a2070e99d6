//go:build !noasm

package mat

import "golang.org/x/sys/cpu"

//go:generate go -C ../../../tools run ./asm/mat -out ../internal/vector/mat/kernel_amd64.s

// native are the kernels that this CPU can run, the fastest first.
var native = detect()

func detect() (found []Kernels) {
	// A feature is only reported if the system saves the registers it needs.
	x := &cpu.X86
	avx2 := x.HasAVX2 && x.HasFMA
	avx512 := x.HasAVX512F && x.HasAVX512BW && x.HasAVX512VL && x.HasAVX512DQ && x.HasBMI2
	if avx2 && avx512 && x.HasAVX512VNNI {
		found = append(found, Kernels{
			Name:      "avx512vnni",
			Linear:    linearVNNI,
			Mul:       mulAVX512,
			Transpose: transposeBlocks,
			Quantise:  quantiseRow,
			Norm:      normWith(normAVX512),
			GELU:      geluWith(geluAVX512),
			Softmax:   softmaxWith(softmaxAVX512),
		})
	}
	if avx2 {
		found = append(found, Kernels{
			Name:      "avx2",
			Linear:    linearWide,
			Mul:       mulAVX2,
			Transpose: transposeBlocks,
			Quantise:  quantiseRow,
			Norm:      normWith(normAVX2),
			GELU:      geluWith(geluAVX2),
			Softmax:   softmaxWith(softmaxAVX2),
		})
	}
	return found
}
