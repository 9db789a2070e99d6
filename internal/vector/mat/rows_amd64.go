//go:build !noasm

package mat

import "math"

// quantiseRow computes the range with the function that defines it, between
// two passes over the row.
func quantiseRow(q []uint8, x, by []float32) Row {
	n := len(x)
	if n == 0 || n%Panel != 0 {
		return quantise(q, x, by)
	}
	_, _ = q[n-1], by[n-1]
	row, inverse := rowOf(rangeAVX2(&x[0], &by[0], n))
	quantiseAVX2(&q[0], &x[0], &by[0], n, inverse, row.Zero)
	return row
}

func normWith(run func(x, gamma, beta *float32, n int)) func(x, gamma, beta []float32) {
	return func(x, gamma, beta []float32) {
		n := len(x)
		if n == 0 || n%Lane != 0 {
			norm(x, gamma, beta)
			return
		}
		_, _ = gamma[n-1], beta[n-1]
		run(&x[0], &gamma[0], &beta[0], n)
	}
}

func geluWith(run func(x *float32, n int)) func(x []float32) {
	return func(x []float32) {
		if len(x) == 0 || len(x)%Lane != 0 {
			gelu(x)
			return
		}
		run(&x[0], len(x))
	}
}

// softmaxWith passes the kernels the factor for powers of two in two parts,
// because the rounding error matters for small powers. If scale is so small
// that no value can vanish, it passes no such factor.
func softmaxWith(run func(x *float32, size, n int, scale, rest, least float32) float32) func(x []float32, n int,
	scale float32) float32 {
	return func(x []float32, n int, scale float32) float32 {
		if len(x) == 0 || len(x)%Lane != 0 || n < 1 || !(scale > 1e-30) {
			return softmax(x, n, scale)
		}
		_ = x[n-1]
		exact := float64(scale) * math.Log2E
		rounded := float32(exact)
		rest := float32(exact - float64(rounded))
		return 1 / run(&x[0], len(x), n, rounded, rest, -127/rounded)
	}
}

//go:noescape
func rangeAVX2(x, by *float32, n int) (low, high float32)

//go:noescape
func quantiseAVX2(q *uint8, x, by *float32, n int, inverse float32, zero int32)

//go:noescape
func normAVX512(x, gamma, beta *float32, n int)

//go:noescape
func normAVX2(x, gamma, beta *float32, n int)

//go:noescape
func geluAVX512(x *float32, n int)

//go:noescape
func geluAVX2(x *float32, n int)

//go:noescape
func softmaxAVX512(x *float32, size, n int, scale, rest, least float32) (sum float32)

//go:noescape
func softmaxAVX2(x *float32, size, n int, scale, rest, least float32) (sum float32)
