package mat

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// assembled names the kernels that are written for each architecture.
var assembled = map[string][]string{
	"amd64": {"avx512vnni", "avx2"},
	"arm64": {"neondot", "neon"},
}

// eachKernel runs a test on every set of kernels but the plain one, which is
// what they are compared with.
func eachKernel(t *testing.T, test func(t *testing.T, k Kernels)) {
	t.Helper()
	has := map[string]bool{}
	for _, k := range native {
		has[k.Name] = true
		t.Run(k.Name, func(t *testing.T) { test(t, k) })
	}
	for _, name := range assembled[runtime.GOARCH] {
		if !has[name] {
			t.Run(name, func(t *testing.T) {
				t.Skipf("this build or CPU cannot run the %s kernels: they are not tested", name)
			})
		}
	}
}

func TestEveryKernelOfThisMachineIsKnownToTheTests(t *testing.T) {
	for _, k := range native {
		if !slices.Contains(assembled[runtime.GOARCH], k.Name) {
			t.Errorf("%s is not in the list of kernels for %s", k.Name, runtime.GOARCH)
		}
	}
	eachKernel(t, func(t *testing.T, k Kernels) {
		if k.Linear == nil || k.Mul == nil || k.Transpose == nil || k.Quantise == nil || k.Norm == nil ||
			k.GELU == nil || k.Softmax == nil {
			t.Error("a kernel is missing")
		}
	})
}

func newRand() *rand.Rand { return rand.New(rand.NewPCG(1, 2)) }

// normal is n normally distributed numbers.
func normal(rng *rand.Rand, n int, deviation float32) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(rng.NormFloat64()) * deviation
	}
	return x
}

// unwritten marks memory that a kernel must leave alone.
var unwritten = math.Float32frombits(0x7fc0_1234)

func blank(n int) []float32 {
	return slices.Repeat([]float32{unwritten}, n)
}

// differ is the first place where the bits of two slices differ, or -1.
func differ(a, b []float32) int {
	for i := range a {
		if math.Float32bits(a[i]) != math.Float32bits(b[i]) {
			return i
		}
	}
	return -1
}

// randomMatrix has weights over the whole range of an int8, at an address that
// is a multiple of nothing.
func randomMatrix(rng *rand.Rand, k, n int, weight func() int8) *Matrix {
	w := &Matrix{K: k, N: n, Weights: make([]int8, k*n+1)[1:], Sum: make([]int32, n)}
	for i := range w.Weights {
		w.Weights[i] = weight()
	}
	for j := range w.Sum {
		for i := range k {
			w.Sum[j] += int32(w.Weights[Index(w.K, i, j)])
		}
	}
	w.Scale, w.Bias = normal(rng, n, 0.01), normal(rng, n, 1)
	return w
}

func randomRows(rng *rand.Rand, m, k int, value func() uint8) ([]uint8, []Row) {
	a, rows := make([]uint8, m*k), make([]Row, m)
	for i := range a {
		a[i] = value()
	}
	for i := range rows {
		rows[i] = Row{Scale: rng.Float32(), Zero: rng.Int32N(256)}
	}
	return a, rows
}

func TestLinearIsThePlainOneToTheBit(t *testing.T) {
	rng := newRand()
	weights := map[string]func() int8{
		"any":      func() int8 { return int8(rng.IntN(256)) },
		"lowest":   func() int8 { return -128 },
		"highest":  func() int8 { return 127 },
		"extremes": func() int8 { return int8(127 + rng.IntN(2)) },
	}
	values := map[string]func() uint8{
		"any":     func() uint8 { return uint8(rng.IntN(256)) },
		"highest": func() uint8 { return 255 },
	}
	eachKernel(t, func(t *testing.T, kernels Kernels) {
		for wname, weight := range weights {
			for vname, value := range values {
				for _, k := range []int{4, 8, 12, 16, 20, 36, 60, 384, 1536} {
					for _, n := range []int{32, 64, 96, 160} {
						w := randomMatrix(rng, k, n, weight)
						for m := 0; m <= 32; m += Tile {
							if k > 384 && m > 16 {
								continue
							}
							for _, add := range []bool{false, true} {
								a, rows := randomRows(rng, m, k, value)
								if m > 0 {
									rows[0].Zero, rows[m-1].Zero = 0, 255
								}
								ldc := n + rng.IntN(40)
								want := normal(rng, m*ldc, 1)
								for i := range m {
									for j := n; j < ldc; j++ {
										want[i*ldc+j] = unwritten
									}
								}
								got := slices.Clone(want)
								plain.Linear(want, ldc, a, rows, w, add)
								kernels.Linear(got, ldc, a, rows, w, add)
								if i := differ(got, want); i >= 0 {
									t.Fatalf("%d×%d×%d, %s weights, %s values, add %v: row %d column %d is %v, want %v",
										m, k, n, wname, vname, add, i/ldc, i%ldc, got[i], want[i])
								}
							}
						}
					}
				}
			}
		}
	})
}

func TestLinearOfManyRowsIsThePlainOne(t *testing.T) {
	rng := newRand()
	eachKernel(t, func(t *testing.T, kernels Kernels) {
		w := randomMatrix(rng, 384, 64, func() int8 { return int8(rng.IntN(255) - 127) })
		for m := 36; m <= 260; m += 28 {
			a, rows := randomRows(rng, m, w.K, func() uint8 { return uint8(rng.IntN(256)) })
			want, got := blank(m*w.N), blank(m*w.N)
			plain.Linear(want, w.N, a, rows, w, false)
			kernels.Linear(got, w.N, a, rows, w, false)
			if i := differ(got, want); i >= 0 {
				t.Fatalf("%d rows: row %d column %d is %v, want %v", m, i/w.N, i%w.N, got[i], want[i])
			}
		}
	})
}

func TestMulIsThePlainOneWithinRounding(t *testing.T) {
	rng := newRand()
	eachKernel(t, func(t *testing.T, kernels Kernels) {
		for _, m := range []int{0, 4, 8, 12, 16, 20, 24, 28, 40, 64} {
			for _, n := range []int{16, 32, 48, 64, 80, 112, 128} {
				for _, k := range []int{0, 1, 2, 3, 4, 5, 7, 8, 31, 32, 33, 130} {
					for _, scaled := range []bool{false, true} {
						lda, ldb, ldc := k+rng.IntN(20), n+rng.IntN(20), n+rng.IntN(20)
						a, b := normal(rng, m*lda, 1), normal(rng, k*ldb, 1)
						var scale []float32
						if scaled {
							scale = normal(rng, m, 1)
						}
						want, got := blank(m*ldc), blank(m*ldc)
						plain.Mul(want, ldc, a, lda, b, ldb, m, n, k, scale)
						kernels.Mul(got, ldc, a, lda, b, ldb, m, n, k, scale)
						what := fmt.Sprintf("%d×%d×%d, scaled %v", m, k, n, scaled)
						for i := range m {
							for j := range ldc {
								g, w := got[i*ldc+j], want[i*ldc+j]
								if j >= n {
									if math.Float32bits(g) != math.Float32bits(unwritten) {
										t.Fatalf("%s: row %d, which has %d columns, was written in column %d", what, i,
											n, j)
									}
									continue
								}
								size := 0.0 // of what is summed
								for p := range k {
									size += math.Abs(float64(a[i*lda+p]) * float64(b[p*ldb+j]))
								}
								if scaled {
									size *= math.Abs(float64(scale[i]))
								}
								if !near(g, w, size*float64(k+2)*0x1p-23) {
									t.Fatalf("%s: row %d column %d is %v, want %v", what, i, j, g, w)
								}
							}
						}
					}
				}
			}
		}
	})
}

// near reports whether two numbers are at most the tolerance apart; a NaN is near
// a NaN.
func near(got, want float32, tolerance float64) bool {
	g, w := float64(got), float64(want)
	return g == w || math.IsNaN(g) && math.IsNaN(w) || math.Abs(g-w) <= tolerance
}

// A sum must not depend on the rows that are computed with it, or the same text
// would have another embedding in another batch.
func TestARowIsTheSameWhateverIsComputedWithIt(t *testing.T) {
	rng := newRand()
	const most = 52
	test := func(t *testing.T, kernels Kernels) {
		w := randomMatrix(rng, 100, 96, func() int8 { return int8(rng.IntN(256)) })
		a, rows := randomRows(rng, most, w.K, func() uint8 { return uint8(rng.IntN(256)) })
		alone := make([]float32, most*w.N)
		for i := 0; i < most; i += Tile {
			kernels.Linear(alone[i*w.N:], w.N, a[i*w.K:], rows[i:i+Tile], w, false)
		}
		for m := Tile; m <= most; m += Tile {
			for i := 0; i+m <= most; i += Tile {
				got := make([]float32, m*w.N)
				kernels.Linear(got, w.N, a[i*w.K:], rows[i:i+m], w, false)
				if differ(got, alone[i*w.N:]) >= 0 {
					t.Fatalf("Linear: %d rows from row %d are not the same together and %d at a time", m, i, Tile)
				}
			}
		}

		for _, n := range []int{16, 32, 48, 80} {
			for _, k := range []int{3, 32, 37} {
				x, y, scale := normal(rng, most*k, 1), normal(rng, k*n, 1), normal(rng, most, 1)
				alone := make([]float32, most*n)
				for i := 0; i < most; i += Tile {
					kernels.Mul(alone[i*n:], n, x[i*k:], k, y, n, Tile, n, k, scale[i:])
				}
				for m := Tile; m <= most; m += Tile {
					for i := 0; i+m <= most; i += Tile {
						got := make([]float32, m*n)
						kernels.Mul(got, n, x[i*k:], k, y, n, m, n, k, scale[i:])
						if differ(got, alone[i*n:]) >= 0 {
							t.Fatalf("Mul: %d rows from row %d are not the same together and %d at a time", m, i, Tile)
						}
					}
				}
				// Nor on its place in its tile.
				for i := range Tile {
					var same []float32
					for range Tile {
						same = append(same, x[i*k:i*k+k]...)
					}
					got := make([]float32, Tile*n)
					kernels.Mul(got, n, same, k, y, n, Tile, n, k, slices.Repeat(scale[i:i+1], Tile))
					for r := range Tile {
						if differ(got[r*n:r*n+n], alone[i*n:]) >= 0 {
							t.Fatalf("Mul: row %d is another in place %d", i, r)
						}
					}
				}
			}
		}
	}
	eachKernel(t, test)
	t.Run("go", func(t *testing.T) { test(t, plain) })
}

// A score must not depend on how far its row of keys was padded.
func TestAColumnOfMulIsTheSameWhateverIsComputedWithIt(t *testing.T) {
	rng := newRand()
	eachKernel(t, func(t *testing.T, kernels Kernels) {
		const m, k, most = 20, 33, 144
		x, y := normal(rng, m*k, 1), normal(rng, k*most, 1)
		alone := make([]float32, m*most)
		for j := 0; j < most; j += Lane {
			kernels.Mul(alone[j:], most, x, k, y[j:], most, m, Lane, k, nil)
		}
		for n := Lane; n <= most; n += Lane {
			got := make([]float32, m*n)
			kernels.Mul(got, n, x, k, y, most, m, n, k, nil)
			for i := range m {
				if j := differ(got[i*n:i*n+n], alone[i*most:]); j >= 0 {
					t.Fatalf("%d columns: column %d of row %d is another than alone", n, j, i)
				}
			}
		}
	})
}

func TestTransposeIsThePlainOne(t *testing.T) {
	rng := newRand()
	eachKernel(t, func(t *testing.T, kernels Kernels) {
		for rows := 0; rows <= 64; rows += Lane {
			for cols := 0; cols <= 64; cols += Lane {
				ldd, lds := rows+rng.IntN(9), cols+rng.IntN(9)
				src := normal(rng, rows*lds, 1)
				want, got := blank(cols*ldd), blank(cols*ldd)
				plain.Transpose(want, ldd, src, lds, rows, cols)
				kernels.Transpose(got, ldd, src, lds, rows, cols)
				if i := differ(got, want); i >= 0 {
					t.Fatalf("%d×%d: row %d column %d is %v, want %v", rows, cols, i/ldd, i%ldd, got[i], want[i])
				}
			}
		}
	})
}

func TestKernelsDoNotAllocate(t *testing.T) {
	rng := newRand()
	for _, k := range All() {
		t.Run(k.Name, func(t *testing.T) {
			const m, n = 20, 96
			w := randomMatrix(rng, 64, n, func() int8 { return 1 })
			a, rows := randomRows(rng, m, w.K, func() uint8 { return 1 })
			c, x, y, z := make([]float32, m*n), normal(rng, n, 1), normal(rng, n*n, 1), normal(rng, n*n, 1)
			q := make([]uint8, n)
			for name, f := range map[string]func(){
				"Linear":    func() { k.Linear(c, n, a, rows, w, true) },
				"Mul":       func() { k.Mul(c, n, z, n, y, n, m, n, n, x) },
				"Transpose": func() { k.Transpose(z, n, y, n, n, n) },
				"Quantise":  func() { k.Quantise(q, x, y) },
				"Norm":      func() { k.Norm(x, y, y) },
				"GELU":      func() { k.GELU(x) },
				"Softmax":   func() { k.Softmax(x, n-3, 0.5) },
			} {
				if got := testing.AllocsPerRun(20, f); got != 0 {
					t.Errorf("%s allocates %v times", name, got)
				}
			}
		})
	}
}

func TestAShortSliceIsRefused(t *testing.T) {
	rng := newRand()
	for _, k := range All() {
		t.Run(k.Name, func(t *testing.T) {
			const m, n = 8, 64
			w := randomMatrix(rng, 64, n, func() int8 { return 1 })
			a, rows := randomRows(rng, m, w.K, func() uint8 { return 1 })
			f := func(size int) []float32 { return slices.Clip(make([]float32, size)) }
			q := make([]uint8, n)
			cut := func(change func(w *Matrix)) *Matrix { v := *w; change(&v); return &v }
			const tile = Tile * n
			for name, f := range map[string]func(){
				"Linear c": func() { k.Linear(f(m*n-1), n, a, rows, w, false) },
				"Linear a": func() { k.Linear(f(m*n), n, a[:m*w.K-1:m*w.K-1], rows, w, false) },
				"Linear weights": func() {
					k.Linear(f(m*n), n, a, rows, cut(func(w *Matrix) { w.Weights = w.Weights[: w.K*n-1 : w.K*n-1] }),
						false)
				},
				"Linear scale": func() {
					k.Linear(f(m*n), n, a, rows, cut(func(w *Matrix) { w.Scale = w.Scale[:n-1] }),
						false)
				},
				"Linear sum": func() {
					k.Linear(f(m*n), n, a, rows, cut(func(w *Matrix) { w.Sum = w.Sum[:n-1] }),
						false)
				},
				"Linear bias": func() {
					k.Linear(f(m*n), n, a, rows, cut(func(w *Matrix) { w.Bias = w.Bias[:n-1] }),
						false)
				},
				"Mul c":         func() { k.Mul(f(tile-1), n, f(tile), n, f(n*n), n, Tile, n, n, f(Tile)) },
				"Mul a":         func() { k.Mul(f(tile), n, f(tile-1), n, f(n*n), n, Tile, n, n, f(Tile)) },
				"Mul b":         func() { k.Mul(f(tile), n, f(tile), n, f(n*n-1), n, Tile, n, n, f(Tile)) },
				"Mul scale":     func() { k.Mul(f(tile), n, f(tile), n, f(n*n), n, Tile, n, n, f(Tile-1)) },
				"Transpose dst": func() { k.Transpose(f(n*n-1), n, f(n*n), n, n, n) },
				"Transpose src": func() { k.Transpose(f(n*n), n, f(n*n-1), n, n, n) },
				"Quantise q":    func() { k.Quantise(q[:n-1], f(n), f(n)) },
				"Quantise by":   func() { k.Quantise(q, f(n), f(n-1)) },
				"Norm gamma":    func() { k.Norm(f(n), f(n-1), f(n)) },
				"Norm beta":     func() { k.Norm(f(n), f(n), f(n-1)) },
				"Softmax":       func() { k.Softmax(f(n), n+1, 1) },
			} {
				func() {
					defer func() {
						err, ok := recover().(error)
						if !ok || !strings.Contains(err.Error(), "out of range") {
							t.Errorf("%s: %v", name, err)
						}
					}()
					f()
				}()
			}
		})
	}
}
