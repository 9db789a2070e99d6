//go:build (amd64 || arm64) && !noasm

package mat

// odd reports whether only the plain kernel supports the shape of a product.
// Otherwise it checks that all slices are long enough, which the assembly does
// not.
func odd(c []float32, ldc int, a []uint8, rows []Row, w *Matrix) bool {
	m := len(rows)
	if m == 0 || m%Tile != 0 || w.K <= 0 || w.K%Step != 0 || w.N <= 0 || w.N%Panel != 0 || ldc < w.N {
		return true
	}
	_ = c[(m-1)*ldc+w.N-1]
	_ = a[m*w.K-1]
	_ = w.Weights[w.K*w.N-1]
	_, _, _ = w.Scale[w.N-1], w.Sum[w.N-1], w.Bias[w.N-1]
	return false
}

// oddMul reports whether only the plain kernel supports the shape of a
// product. Otherwise it checks that all slices are long enough.
func oddMul(c []float32, ldc int, a []float32, lda int, b []float32, ldb int, m, n, k int, scale []float32) bool {
	if m <= 0 || m%Tile != 0 || n <= 0 || n%Lane != 0 || k <= 0 || min(ldc, ldb) < n || lda < k {
		return true
	}
	_, _, _ = c[(m-1)*ldc+n-1], a[(m-1)*lda+k-1], b[(k-1)*ldb+n-1]
	if scale != nil {
		_ = scale[m-1]
	}
	return false
}
