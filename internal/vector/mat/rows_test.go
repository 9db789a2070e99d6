package mat

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func TestQuantiseIsThePlainOneToTheBit(t *testing.T) {
	rng := newRand()
	eachKernel(t, func(t *testing.T, kernels Kernels) {
		check := func(what string, x []float32) {
			t.Helper()
			input := slices.Clone(x)
			ones := slices.Repeat([]float32{1}, len(x))
			for _, by := range [][]float32{ones, normal(rng, len(x), 1)} {
				want, got := make([]uint8, len(x)), make([]uint8, len(x))
				wantRow, gotRow := plain.Quantise(want, x, by), kernels.Quantise(got, x, by)
				if wantRow != gotRow {
					t.Fatalf("%s: %+v, want %+v", what, gotRow, wantRow)
				}
				for i := range got {
					if got[i] != want[i] {
						t.Fatalf("%s: %v·%v at %d of %d became %d, want %d", what, x[i], by[i], i, len(x), got[i],
							want[i])
					}
				}
				if differ(x, input) >= 0 {
					t.Fatalf("%s: the input was changed", what)
				}
			}
		}
		for n := Panel; n <= 1536; n += Panel {
			check("normal", normal(rng, n, float32(math.Exp(rng.NormFloat64()*8))))
			x := normal(rng, n, 1)
			for i := range x {
				x[i] = float32(math.Abs(float64(x[i])))
			}
			check("positive", x)
			for i := range x {
				x[i] = -x[i]
			}
			check("negative", x)
			clear(x)
			check("zero", x)
			x[rng.IntN(n)] = 3 // the extremes can be anywhere
			check("one peak", x)
			x[rng.IntN(n)] = -5
			check("two peaks", x)
			for i := range x { // halves, which round to even
				x[i] = float32(rng.IntN(511)) / 2
			}
			x[0], x[n-1] = 0, 255
			check("halves", x)
			for i := range x {
				x[i] = float32(rng.IntN(511))/2 - 100
			}
			x[n/2], x[n/2-1] = -100, 155
			check("halves around zero", x)
		}
		zero := float32(math.Copysign(0, -1))
		check("minus zero", slices.Repeat([]float32{zero}, Panel))
		for _, v := range []float32{math.SmallestNonzeroFloat32, 1e-42, 1e-37, 1e-36, math.MaxFloat32 / 2} {
			x := make([]float32, 2*Panel)
			x[3] = v
			check(fmt.Sprint(v), x)
			x[40] = -v
			check(fmt.Sprint("±", v), x)
		}
	})
}

func TestNormIsThePlainOneWithinRounding(t *testing.T) {
	rng := newRand()
	eachKernel(t, func(t *testing.T, kernels Kernels) {
		for n := Lane; n <= 1536; n += Lane {
			for _, mean := range []float32{0, 0.1, -3, 100} {
				for _, deviation := range []float32{1e-3, 1, 50} {
					x, gamma, beta := normal(rng, n, deviation), normal(rng, n, 1), normal(rng, n, 1)
					for i := range x {
						x[i] += mean
					}
					want, got := slices.Clone(x), slices.Clone(x)
					plain.Norm(want, gamma, beta)
					kernels.Norm(got, gamma, beta)
					for i := range got {
						d := math.Abs(float64(want[i] - beta[i]))
						shift := 2e-7 * math.Abs(float64(mean/deviation*gamma[i])) // what rounding the mean costs
						if !near(got[i], want[i], 1e-5*d+1e-6*math.Abs(float64(want[i]))+1e-6+shift) {
							t.Fatalf("%d values around %v±%v: value %d is %v, want %v", n, mean, deviation, i, got[i],
								want[i])
						}
					}
				}
			}
			// No variance: nothing is left but beta.
			x, gamma, beta := make([]float32, n), normal(rng, n, 1), normal(rng, n, 1)
			kernels.Norm(x, gamma, beta)
			if i := differ(x, beta); i >= 0 {
				t.Fatalf("%d zeros: value %d is %v, want %v", n, i, x[i], beta[i])
			}
		}
	})
}

func TestGELUIsThePlainOneWithinRounding(t *testing.T) {
	rng := newRand()
	eachKernel(t, func(t *testing.T, kernels Kernels) {
		check := func(x []float32) {
			t.Helper()
			want, got := slices.Clone(x), slices.Clone(x)
			plain.GELU(want)
			kernels.GELU(got)
			for i, v := range x {
				size := math.Abs(float64(v))
				if !near(got[i], want[i], 1e-6*min(1, size)+2e-7*math.Abs(float64(want[i]))) {
					t.Fatalf("GELU(%v) is %v, want %v", v, got[i], want[i])
				}
				if v >= 9 && got[i] != v {
					t.Fatalf("GELU(%v) is %v", v, got[i])
				}
				if v <= -40 && got[i] != 0 {
					t.Fatalf("GELU(%v) is %v", v, got[i])
				}
			}
		}
		for n := 0; n <= 1536; n += Lane {
			check(normal(rng, n, 2))
		}
		var x []float32
		for v := float32(-12); v <= 12; v += 1.0 / 1024 {
			x = append(x, v)
		}
		for e := -126; e < 128; e++ {
			v := float32(math.Ldexp(1+rng.Float64(), e))
			x = append(x, v, -v)
		}
		x = append(x, float32(math.Inf(1)), float32(math.NaN()), math.MaxFloat32, -math.MaxFloat32,
			math.SmallestNonzeroFloat32)
		check(append(x, make([]float32, (Lane-len(x)%Lane)%Lane)...))
	})
}

func TestSoftmaxIsThePlainOneWithinRounding(t *testing.T) {
	rng := newRand()
	eachKernel(t, func(t *testing.T, kernels Kernels) {
		check := func(x []float32, n int, scale float32) {
			t.Helper()
			want, got := slices.Clone(x), slices.Clone(x)
			wantSum, gotSum := plain.Softmax(want, n, scale), kernels.Softmax(got, n, scale)
			top := slices.Max(x[:n])
			for i := range got {
				if i >= n {
					if math.Float32bits(got[i]) != 0 {
						t.Fatalf("%d of %d: value %d is %v, want 0", n, len(x), i, got[i])
					}
					continue
				}
				// The argument is rounded, and an exponential has the
				// relative error that its argument has absolutely.
				arg := math.Abs(float64(scale) * float64(x[i]-top))
				tolerance := 3e-7 + 1.5e-7*min(arg, 100)
				if !near(got[i], want[i], tolerance*float64(want[i])+0x1p-125) {
					t.Fatalf("%d of %d: exp(%v·(%v−%v)) is %v, want %v", n, len(x), scale, x[i], top, got[i], want[i])
				}
			}
			if !near(gotSum, wantSum, 2e-6*float64(wantSum)) {
				t.Fatalf("%d of %d: one over the sum is %v, want %v", n, len(x), gotSum, wantSum)
			}
		}
		for size := Lane; size <= 272; size += Lane {
			for n := 1; n <= size; n++ {
				x := normal(rng, size, 20)
				for i := n; i < size; i++ { // what is behind the end counts for nothing
					x[i] = []float32{unwritten, math.MaxFloat32, float32(math.Inf(1))}[i%3]
				}
				check(x, n, 0.17677669)
				if n%7 == 0 {
					check(x, n, 1)
					check(x, n, 0)
				}
			}
		}
		x := make([]float32, 4096)
		for i := range x {
			x[i] = -float32(i) / 32
		}
		check(x, len(x), 1)
		x = normal(rng, 64, 1e30) // all but one vanish
		check(x, 60, 1)
		x = normal(rng, 64, 1)
		for i := 3; i < 64; i += 2 {
			x[i] = float32(math.Inf(-1)) // as a mask does
		}
		check(x, 33, 0.5)
		for i := range x[:32] {
			x[i] = float32(math.Inf(-1))
		}
		check(x, 63, 0.5) // the first block holds masked values alone
	})
}

// Nor may a value depend on what else is in the buffer, or on where it lies.
func TestValuesAreTheSameWhateverSurroundsThem(t *testing.T) {
	rng := newRand()
	eachKernel(t, func(t *testing.T, kernels Kernels) {
		for n := 1; n <= 80; n++ {
			x := normal(rng, n, 3)
			short := make([]float32, (n+Lane-1)/Lane*Lane)
			copy(short, x)
			want := kernels.Softmax(short, n, 0.3)
			for more := Lane; more <= 4*Lane; more += Lane {
				for shift := range 3 {
					long := make([]float32, shift+len(short)+more)[shift:]
					copy(long, x)
					if got := kernels.Softmax(long, n, 0.3); got != want || differ(long[:n], short) >= 0 {
						t.Fatalf("Softmax: %d values are others in %d", n, len(long))
					}
				}
			}
		}
		x := normal(rng, 10*Lane, 2)
		together := slices.Clone(x)
		kernels.GELU(together)
		for i := 0; i+Lane <= len(x); i++ {
			alone := slices.Clone(x[i : i+Lane])
			kernels.GELU(alone)
			if j := differ(alone, together[i:]); j >= 0 {
				t.Fatalf("GELU(%v) is another in place %d than in place %d", x[i+j], i+j, j)
			}
		}
		for shift := range 5 {
			x, gamma, beta := normal(rng, 384, 1), normal(rng, 384, 1), normal(rng, 384, 1)
			moved := append(make([]float32, shift), x...)[shift:]
			kernels.Norm(x, gamma, beta)
			kernels.Norm(moved, gamma, beta)
			if differ(x, moved) >= 0 {
				t.Fatal("Norm depends on where a row lies")
			}
		}
	})
}

// A shape that no kernel is made for is computed all the same, and nothing beside it.
func TestOddShapesAreThePlainOnes(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	w := randomMatrix(rng, 8, 32, func() int8 { return int8(rng.IntN(256)) })
	a, rows := randomRows(rng, 3, 8, func() uint8 { return uint8(rng.IntN(256)) })
	x, by := normal(rng, 37, 1), normal(rng, 37, 1)
	for _, k := range native {
		t.Run(k.Name, func(t *testing.T) {
			got, want := blank(5*32), blank(5*32)
			plain.Linear(want, 32, a, rows, w, false)
			k.Linear(got, 32, a, rows, w, false)
			if i := differ(got, want); i >= 0 {
				t.Errorf("3 rows: value %d is %v, want %v", i, got[i], want[i])
			}
			got, want = blank(5*19), blank(5*19)
			plain.Mul(want, 19, x, 4, x, 19, 3, 17, 1, nil)
			k.Mul(got, 19, x, 4, x, 19, 3, 17, 1, nil)
			if i := differ(got, want); i >= 0 {
				t.Errorf("3×17: value %d is %v, want %v", i, got[i], want[i])
			}
			q, p := make([]uint8, 40), make([]uint8, 40)
			if k.Quantise(q, x, by) != plain.Quantise(p, x, by) || !slices.Equal(q, p) {
				t.Errorf("37 values: %v, want %v", q, p)
			}
			one, other := slices.Clone(x), slices.Clone(x)
			k.GELU(one)
			plain.GELU(other)
			if i := differ(one, other); i >= 0 {
				t.Errorf("37 values: GELU of %v is %v", x[i], one[i])
			}
		})
	}
}
