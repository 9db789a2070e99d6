package mat

import "math"

// plain defines every kernel, and runs if there is no assembly.
var plain = Kernels{
	Name:      "go",
	Linear:    linear,
	Mul:       mul,
	Transpose: transpose,
	Quantise:  quantise,
	Norm:      norm,
	GELU:      gelu,
	Softmax:   softmax,
}

func linear(c []float32, ldc int, a []uint8, rows []Row, w *Matrix, add bool) {
	for i, row := range rows {
		x := a[i*w.K : (i+1)*w.K]
		y := c[i*ldc : i*ldc+w.N]
		for n := 0; n < w.N; n += Panel {
			panel := w.Weights[n*w.K : (n+Panel)*w.K]
			var sums [Panel]int32
			for k := 0; k < w.K; k += Step {
				x0, x1, x2, x3 := int32(x[k]), int32(x[k+1]), int32(x[k+2]), int32(x[k+3])
				group := panel[k*Panel : (k+Step)*Panel]
				for j := range sums {
					g := group[j*Step : j*Step+Step : j*Step+Step]
					sums[j] += x0*int32(g[0]) + x1*int32(g[1]) + x2*int32(g[2]) + x3*int32(g[3])
				}
			}
			for j, sum := range sums {
				j += n
				// The conversions keep the compiler from fusing, so that the
				// definition is the same on every architecture.
				v := float32(float32(sum-row.Zero*w.Sum[j])*float32(row.Scale*w.Scale[j])) + w.Bias[j]
				if add {
					v += y[j]
				}
				y[j] = v
			}
		}
	}
}

func mul(c []float32, ldc int, a []float32, lda int, b []float32, ldb int, m, n, k int, scale []float32) {
	for i := range m {
		y := c[i*ldc : i*ldc+n]
		clear(y)
		for p, x := range a[i*lda : i*lda+k] {
			for j, v := range b[p*ldb : p*ldb+n] {
				y[j] += float32(x * v)
			}
		}
		if scale != nil {
			for j := range y {
				y[j] *= scale[i]
			}
		}
	}
}

func transpose(dst []float32, ldd int, src []float32, lds int, rows, cols int) {
	for i := range rows {
		for j, v := range src[i*lds : i*lds+cols] {
			dst[j*ldd+i] = v
		}
	}
}

func quantise(q []uint8, x, by []float32) Row {
	var low, high float32
	for i, v := range x {
		v *= by[i]
		low, high = min(low, v), max(high, v)
	}
	row, inverse := rowOf(low, high)
	for i, v := range x {
		v = float32(v*by[i]) * inverse
		q[i] = uint8(min(max(int32(math.RoundToEven(float64(v)))+row.Zero, 0), 255))
	}
	return row
}

// rowOf maps 256 steps to the range from low to high, which contains zero. It
// treats a range as empty if the inverse of a step does not fit a float32.
func rowOf(low, high float32) (row Row, inverse float32) {
	if high-low < 1e-36 {
		return Row{}, 0
	}
	row.Scale = (high - low) / 255
	inverse = 255 / (high - low)
	row.Zero = int32(math.RoundToEven(float64(-low * inverse)))
	return row, inverse
}

// epsilon is what BERT's layer norms add to the variance.
const epsilon = 1e-12

func norm(x, gamma, beta []float32) {
	var sum float64
	for _, v := range x {
		sum += float64(v)
	}
	mean := sum / float64(len(x))
	var squares float64
	for _, v := range x {
		d := float64(v) - mean
		squares += d * d
	}
	inverse := 1 / math.Sqrt(squares/float64(len(x))+epsilon)
	for i, v := range x {
		x[i] = float32((float64(v)-mean)*inverse*float64(gamma[i]) + float64(beta[i]))
	}
}

func gelu(x []float32) {
	for i, v := range x {
		x[i] = float32(0.5 * float64(v) * (1 + math.Erf(float64(v)/math.Sqrt2)))
	}
}

func softmax(x []float32, n int, scale float32) float32 {
	top := x[0]
	for _, v := range x[:n] {
		top = max(top, v)
	}
	var sum float64
	for i, v := range x[:n] {
		e := math.Exp(float64(scale) * (float64(v) - float64(top)))
		x[i] = float32(e)
		sum += e
	}
	clear(x[n:])
	return float32(1 / sum)
}
