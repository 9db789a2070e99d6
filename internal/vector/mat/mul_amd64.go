//go:build !noasm

package mat

func mulAVX512(c []float32, ldc int, a []float32, lda int, b []float32, ldb int, m, n, k int, scale []float32) {
	if oddMul(c, ldc, a, lda, b, ldb, m, n, k, scale) {
		mul(c, ldc, a, lda, b, ldb, m, n, k, scale)
		return
	}
	for j := 0; j+2*Lane <= n; j += 2 * Lane {
		for i := 0; i < m; {
			c, a, b, scale := &c[i*ldc+j], &a[i*lda], &b[j], at(scale, i)
			height := tileHeight(m - i)
			switch height {
			case 12:
				mul12x32AVX512(c, ldc, a, lda, b, ldb, k, scale)
			case 8:
				mul8x32AVX512(c, ldc, a, lda, b, ldb, k, scale)
			default:
				mul4x32AVX512(c, ldc, a, lda, b, ldb, k, scale)
			}
			i += height
		}
	}
	if j := n - Lane; n%(2*Lane) != 0 { // two half registers are faster than one whole
		for i := 0; i < m; i += Tile {
			mul4x16AVX2(&c[i*ldc+j], ldc, &a[i*lda], lda, &b[j], ldb, k, at(scale, i))
		}
	}
}

func mulAVX2(c []float32, ldc int, a []float32, lda int, b []float32, ldb int, m, n, k int, scale []float32) {
	if oddMul(c, ldc, a, lda, b, ldb, m, n, k, scale) {
		mul(c, ldc, a, lda, b, ldb, m, n, k, scale)
		return
	}
	for j := 0; j < n; j += Lane {
		for i := 0; i < m; i += Tile {
			mul4x16AVX2(&c[i*ldc+j], ldc, &a[i*lda], lda, &b[j], ldb, k, at(scale, i))
		}
	}
}

// at returns the address of value i, or nil if there are none.
func at(x []float32, i int) *float32 {
	if x == nil {
		return nil
	}
	return &x[i]
}

func transposeBlocks(dst []float32, ldd int, src []float32, lds int, rows, cols int) {
	const block = 8
	if rows <= 0 || rows%block != 0 || cols <= 0 || cols%block != 0 || ldd < rows || lds < cols {
		transpose(dst, ldd, src, lds, rows, cols)
		return
	}
	_, _ = dst[(cols-1)*ldd+rows-1], src[(rows-1)*lds+cols-1]
	for i := 0; i < rows; i += block {
		transposeAVX2(&dst[i], ldd, &src[i*lds], lds, cols)
	}
}

//go:noescape
func mul12x32AVX512(c *float32, ldc int, a *float32, lda int, b *float32, ldb int, k int, scale *float32)

//go:noescape
func mul8x32AVX512(c *float32, ldc int, a *float32, lda int, b *float32, ldb int, k int, scale *float32)

//go:noescape
func mul4x32AVX512(c *float32, ldc int, a *float32, lda int, b *float32, ldb int, k int, scale *float32)

//go:noescape
func mul4x16AVX2(c *float32, ldc int, a *float32, lda int, b *float32, ldb int, k int, scale *float32)

//go:noescape
func transposeAVX2(dst *float32, ldd int, src *float32, lds int, cols int)
