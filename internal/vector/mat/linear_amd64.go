//go:build !noasm

package mat

import "sync"

// tileHeight returns how many of the remaining rows to compute together. Tiles
// of 12 use all registers; 16 rows are better halved than split into 12 and 4.
func tileHeight(left int) int {
	switch {
	case left == 16 || left == 8:
		return 8
	case left >= 12:
		return 12
	default:
		return 4
	}
}

// linearVNNI reads the weights once, panel by panel, and multiplies each panel
// with all rows while it is in the cache. The last rows prefetch the next
// panel.
func linearVNNI(c []float32, ldc int, a []uint8, rows []Row, w *Matrix, add bool) {
	if odd(c, ldc, a, rows, w) {
		linear(c, ldc, a, rows, w, add)
		return
	}
	k := w.K
	for n := 0; n < w.N; n += Panel {
		weights, scale, sum, bias := &w.Weights[n*k], &w.Scale[n], &w.Sum[n], &w.Bias[n]
		for i := 0; i < len(rows); {
			c, a, row := &c[i*ldc+n], &a[i*k], &rows[i]
			height := tileHeight(len(rows) - i)
			i += height
			ahead := 0
			if i == len(rows) {
				ahead = k * Panel
			}
			switch height {
			case 12:
				linear12VNNI(c, ldc, a, row, k, weights, scale, sum, bias, ahead, add)
			case 8:
				linear8VNNI(c, ldc, a, row, k, weights, scale, sum, bias, ahead, add)
			default:
				linear4VNNI(c, ldc, a, row, k, weights, scale, sum, bias, ahead, add)
			}
		}
	}
}

// wideRows is how many rows are widened at a time.
const wideRows = 32

// wides are buffers for widened rows.
var wides = sync.Pool{New: func() any { return new([]int16) }}

func linearWide(c []float32, ldc int, a []uint8, rows []Row, w *Matrix, add bool) {
	if odd(c, ldc, a, rows, w) {
		linear(c, ldc, a, rows, w, add)
		return
	}
	buffer := wides.Get().(*[]int16)
	defer wides.Put(buffer)
	if need := wideRows * w.K; len(*buffer) < need {
		*buffer = make([]int16, need)
	}
	wide := *buffer
	for first := 0; first < len(rows); first += wideRows {
		last := min(first+wideRows, len(rows))
		for i := first; i < last; i += Tile {
			widenAVX2(&wide[(i-first)*w.K], &a[i*w.K], w.K)
		}
		for n := 0; n < w.N; n += 8 {
			weights := &w.Weights[n/Panel*Panel*w.K+n%Panel*Step]
			scale, sum, bias := &w.Scale[n], &w.Sum[n], &w.Bias[n]
			// Prefetch the second cache line of a group of four, or the first
			// one of the next panel.
			ahead := Panel * Step / 2
			if n%Panel >= Panel/2 {
				ahead = w.K*Panel - Panel*Step/2
			}
			for i := first; i < last; i += Tile {
				linearAVX2(&c[i*ldc+n], ldc, &wide[(i-first)*w.K], &rows[i], w.K, weights, scale, sum, bias, ahead, add)
			}
		}
	}
}

//go:noescape
func linear12VNNI(c *float32, ldc int, a *uint8, rows *Row, k int, w *int8, scale *float32, sum *int32, bias *float32,
	ahead int, add bool)

//go:noescape
func linear8VNNI(c *float32, ldc int, a *uint8, rows *Row, k int, w *int8, scale *float32, sum *int32, bias *float32,
	ahead int, add bool)

//go:noescape
func linear4VNNI(c *float32, ldc int, a *uint8, rows *Row, k int, w *int8, scale *float32, sum *int32, bias *float32,
	ahead int, add bool)

//go:noescape
func widenAVX2(wide *int16, a *uint8, k int)

//go:noescape
func linearAVX2(c *float32, ldc int, wide *int16, rows *Row, k int, w *int8, scale *float32, sum *int32, bias *float32,
	ahead int, add bool)
