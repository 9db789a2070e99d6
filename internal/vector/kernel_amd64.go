//go:build !noasm

package vector

import "unsafe"

//go:generate go -C ../../tools run ./asm/vector -out ../internal/vector/kernel_amd64.s

// native returns the scanner of a set of kernels, or nil if it has none of its own.
func native(kernels string) scanner {
	switch kernels {
	case "avx512vnni":
		return vnni
	case "avx2":
		return avx2
	}
	return nil
}

func vnni(out []float32, values []int8, scales []float32, q *query, t *totals) {
	check(out, values, scales, q)
	n := len(out) &^ (lanes - 1)
	if n == 0 {
		plain(out, values, scales, q, t)
		return
	}
	scanVNNI(&out[0], &values[0], &scales[0], n, q.dimensions, unsafe.Pointer(&q.planes[0]), q.sum, q.factor, t)
	plainFrom(n, out, values, scales, q, t)
}

func avx2(out []float32, values []int8, scales []float32, q *query, t *totals) {
	check(out, values, scales, q)
	n := len(out) &^ (lanes - 1)
	if n == 0 {
		plain(out, values, scales, q, t)
		return
	}
	scanAVX2(&out[0], &values[0], &scales[0], n, q.dimensions, unsafe.Pointer(&q.values[0]), q.sum, q.factor, t)
	plainFrom(n, out, values, scales, q, t)
}

//go:noescape
func scanVNNI(out *float32, values *int8, scales *float32, n, dimensions int, query unsafe.Pointer, sum int32,
	factor float32, t *totals)

//go:noescape
func scanAVX2(out *float32, values *int8, scales *float32, n, dimensions int, query unsafe.Pointer, sum int32,
	factor float32, t *totals)
