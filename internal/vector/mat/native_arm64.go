//go:build arm64 && !noasm

package mat

import (
	"runtime"

	"golang.org/x/sys/cpu"
)

var native = neonKernels()

// neonKernels returns the kernels that this CPU can run, the best first. Their
// speed has not been measured.
func neonKernels() []Kernels {
	neon := Kernels{
		Name:      "neon",
		Linear:    linearPairsOf,
		Mul:       neonMul,
		Transpose: neonTranspose,
		Quantise:  neonQuantise,
		Norm:      neonNorm,
		GELU:      neonGELU,
		Softmax:   neonSoftmax,
	}
	// Every Mac with an arm64 CPU has the dot product, but macOS 11 does not
	// say so.
	if !cpu.ARM64.HasASIMDDP && runtime.GOOS != "darwin" {
		return []Kernels{neon}
	}
	dot := neon
	dot.Name = "neondot"
	dot.Linear = linearDotOf
	return []Kernels{dot, neon}
}

// The assembly does one tile of a product, or one row. Counts are in values, not
// bytes, and are not zero, with the exception of mulTile's k.

//go:noescape
func linearDot(c *float32, ldc int, a *uint8, k int, rows *Row, w *int8, scale *float32, sum *int32, bias *float32,
	add bool)

//go:noescape
func linearPairs(c *float32, ldc int, a *uint8, k int, rows *Row, w *int8, scale *float32, sum *int32, bias *float32,
	add bool)

//go:noescape
func mulTile(c *float32, ldc int, a *float32, lda int, b *float32, ldb int, k int, scale *float32)

//go:noescape
func transposeStrip(dst *float32, ldd int, src *float32, lds int, cols int)

//go:noescape
func lowHigh(x, by *float32, n int) (low, high float32)

//go:noescape
func steps(q *uint8, x, by *float32, n int, inverse float32, zero int32)

//go:noescape
func normRow(x, gamma, beta *float32, n int, epsilon float64)

//go:noescape
func geluRow(x *float32, n int)

//go:noescape
func expRow(x *float32, n int, scale float32)

//go:noescape
func sumRow(x *float32, n int) float32

func linearDotOf(c []float32, ldc int, a []uint8, rows []Row, w *Matrix, add bool) {
	if odd(c, ldc, a, rows, w) {
		linear(c, ldc, a, rows, w, add)
		return
	}
	const columns = 16
	for n := 0; n < w.N; n += columns {
		weights := &w.Weights[n/Panel*Panel*w.K+n%Panel*Step]
		for i := 0; i < len(rows); i += Tile {
			linearDot(&c[i*ldc+n], ldc, &a[i*w.K], w.K, &rows[i], weights, &w.Scale[n], &w.Sum[n], &w.Bias[n], add)
		}
	}
}

func linearPairsOf(c []float32, ldc int, a []uint8, rows []Row, w *Matrix, add bool) {
	if odd(c, ldc, a, rows, w) {
		linear(c, ldc, a, rows, w, add)
		return
	}
	const columns = 8
	for n := 0; n < w.N; n += columns {
		weights := &w.Weights[n/Panel*Panel*w.K+n%Panel*Step]
		for i := 0; i < len(rows); i += Tile {
			linearPairs(&c[i*ldc+n], ldc, &a[i*w.K], w.K, &rows[i], weights, &w.Scale[n], &w.Sum[n], &w.Bias[n], add)
		}
	}
}

func neonMul(c []float32, ldc int, a []float32, lda int, b []float32, ldb int, m, n, k int, scale []float32) {
	if oddMul(c, ldc, a, lda, b, ldb, m, n, k, scale) {
		mul(c, ldc, a, lda, b, ldb, m, n, k, scale)
		return
	}
	for j := 0; j < n; j += Lane {
		for i := 0; i < m; i += Tile {
			var by *float32
			if scale != nil {
				by = &scale[i]
			}
			mulTile(&c[i*ldc+j], ldc, &a[i*lda], lda, &b[j], ldb, k, by)
		}
	}
}

func neonTranspose(dst []float32, ldd int, src []float32, lds int, rows, cols int) {
	if rows <= 0 || cols <= 0 || rows%Lane != 0 || cols%Lane != 0 {
		transpose(dst, ldd, src, lds, rows, cols)
		return
	}
	_, _ = dst[(cols-1)*ldd+rows-1], src[(rows-1)*lds+cols-1]
	for i := 0; i < rows; i += Lane {
		transposeStrip(&dst[i], ldd, &src[i*lds], lds, cols)
	}
}

func neonQuantise(q []uint8, x, by []float32) Row {
	n := len(x)
	if n == 0 || n%Panel != 0 {
		return quantise(q, x, by)
	}
	_, _ = q[n-1], by[n-1]
	row, inverse := rowOf(lowHigh(&x[0], &by[0], n))
	steps(&q[0], &x[0], &by[0], n, inverse, row.Zero)
	return row
}

func neonNorm(x, gamma, beta []float32) {
	n := len(x)
	if n == 0 || n%Lane != 0 {
		norm(x, gamma, beta)
		return
	}
	_, _ = gamma[n-1], beta[n-1]
	normRow(&x[0], &gamma[0], &beta[0], n, epsilon)
}

func neonGELU(x []float32) {
	if len(x) == 0 || len(x)%Lane != 0 {
		gelu(x)
		return
	}
	geluRow(&x[0], len(x))
}

// neonSoftmax sums in an order that depends on n alone, not on the padding of
// x.
func neonSoftmax(x []float32, n int, scale float32) float32 {
	if len(x)%Lane != 0 {
		return softmax(x, n, scale)
	}
	_ = x[n-1]
	end := (n + Lane - 1) / Lane * Lane
	for i := range x[n:end] { // keep the padding below the maximum
		x[n+i] = x[0]
	}
	expRow(&x[0], end, scale)
	clear(x[n:])
	return 1 / sumRow(&x[0], end)
}
