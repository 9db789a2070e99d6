package vector

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/oriel-context/oriel/internal/vector/mat"
)

func newRand() *rand.Rand { return rand.New(rand.NewPCG(1, 2)) }

func randomVector(rng *rand.Rand, dimensions int) []float32 {
	v := make([]float32, dimensions)
	for i := range v {
		v[i] = float32(rng.NormFloat64())
	}
	return v
}

// eachKernel runs a test with every scanner that this machine has.
func eachKernel(t *testing.T, f func(t *testing.T, scan scanner)) {
	for _, k := range mat.All() {
		t.Run(k.Name, func(t *testing.T) { f(t, scannerOf(k.Name)) })
	}
}

func best() scanner { return scannerOf(mat.All()[0].Name) }

// material is what a scanner reads.
type material struct {
	values []int8
	scales []float32
	query  query
}

func newMaterial(rng *rand.Rand, n, dimensions int, value func() int8, v []float32) material {
	m := material{values: make([]int8, n*dimensions), scales: make([]float32, n), query: newScratch(dimensions).query}
	for i := range m.values {
		m.values[i] = value()
	}
	for i := range m.scales {
		m.scales[i] = rng.Float32()
	}
	greatest, err := greatestOf(v)
	if err != nil {
		panic(err)
	}
	m.query.set(v, greatest)
	return m
}

func constantVector(dimensions int, f float32) []float32 {
	v := make([]float32, dimensions)
	for i := range v {
		v[i] = f
	}
	return v
}

// Every bit is the same, for every number of vectors and dimensions, at the
// extremes, and wherever the memory begins.
func TestScannersAreThePlainOne(t *testing.T) {
	rng := newRand()
	any8 := func() int8 { return int8(rng.IntN(256)) }
	eachKernel(t, func(t *testing.T, scan scanner) {
		for _, d := range []int{32, 64, 96, 128, 352, 384, 416, 768, 1536, 4096, MaxDimensions} {
			counts := []int{0, 1, 3, 4, 5, 8, 31, 63, 64}
			if d > 1536 {
				counts = []int{1, 5}
			}
			for _, n := range counts {
				for name, m := range map[string]material{
					"random":  newMaterial(rng, n, d, any8, randomVector(rng, d)),
					"least":   newMaterial(rng, n, d, func() int8 { return -128 }, constantVector(d, -1)),
					"against": newMaterial(rng, n, d, func() int8 { return -128 }, constantVector(d, 1)),
					"most":    newMaterial(rng, n, d, func() int8 { return 127 }, constantVector(d, 1)),
				} {
					before := totals{sum: [lanes]float64{1, 2, 3, 4}, squares: [lanes]float64{5, 6, 7, 8},
						top: [lanes]float32{9, 9, 9, 9}}
					want, got := make([]float32, n), make([]float32, n)
					wantTotals, gotTotals := before, before
					plain(want, m.values, m.scales, &m.query, &wantTotals)
					scan(got, m.values, m.scales, &m.query, &gotTotals)
					for i := range want {
						if math.Float32bits(got[i]) != math.Float32bits(want[i]) {
							t.Fatalf("%s, %d×%d: score %d is %v, want %v", name, n, d, i, got[i], want[i])
						}
					}
					if gotTotals != wantTotals {
						t.Fatalf("%s, %d×%d: totals\n%v, want\n%v", name, n, d, gotTotals, wantTotals)
					}
				}
			}
		}
	})
}

// The plain one is right: no product overflows, however many dimensions there
// are, and both forms of a query say the same.
func TestThePlainProductIsExact(t *testing.T) {
	rng := newRand()
	for _, d := range []int{32, 96, 384, 1024, 1056, 4096, MaxDimensions} {
		for name, m := range map[string]material{
			"random": newMaterial(rng, 1, d, func() int8 { return int8(rng.IntN(256)) }, randomVector(rng, d)),
			"least":  newMaterial(rng, 1, d, func() int8 { return -128 }, constantVector(d, 1)),
			"most":   newMaterial(rng, 1, d, func() int8 { return -128 }, constantVector(d, -1)),
		} {
			var want, sum int64
			for i, v := range m.values {
				q := int64(m.query.values[i])
				want += int64(v) * q
				sum += q
				at := i/plane*2*plane + i%plane
				if both := 128*int64(m.query.planes[at]) + int64(m.query.planes[at+plane]); both != q {
					t.Fatalf("%s, %d: the planes say %d, want %d", name, d, both, q)
				}
			}
			if got := dot(m.values, m.query.values); int64(got) != want {
				t.Errorf("%s, %d: product %d, want %d", name, d, got, want)
			}
			if int64(m.query.sum) != sum {
				t.Errorf("%s, %d: sum %d, want %d", name, d, m.query.sum, sum)
			}
		}
	}
}

func TestAShortSliceIsRefused(t *testing.T) {
	rng := newRand()
	eachKernel(t, func(t *testing.T, scan scanner) {
		const n, d = 8, 64
		for name, cut := range map[string]func(m *material){
			"values": func(m *material) { m.values = m.values[: n*d-1 : n*d-1] },
			"scales": func(m *material) { m.scales = m.scales[: n-1 : n-1] },
			"query":  func(m *material) { m.query.values = m.query.values[: d-1 : d-1] },
		} {
			m := newMaterial(rng, n, d, func() int8 { return 1 }, randomVector(rng, d))
			cut(&m)
			func() {
				defer func() {
					if recover() == nil {
						t.Errorf("%s: no panic", name)
					}
				}()
				scan(make([]float32, n), m.values, m.scales, &m.query, new(totals))
			}()
		}
	})
}

func TestTheEnvironmentChoosesTheKernels(t *testing.T) {
	t.Setenv(mat.Variable, "go")
	if _, err := New(384); err != nil {
		t.Error(err)
	}
	t.Setenv(mat.Variable, "abacus")
	if _, err := New(384); err == nil {
		t.Error("kernels that do not exist were found")
	}
}

// BenchmarkTop scans with every set of kernels. A million vectors take 390 MB:
// they are left out with -short.
func BenchmarkTop(b *testing.B) {
	rng := newRand()
	const dimensions = 384
	q := make([]int8, dimensions)
	x := newIndex(dimensions, plain)
	for _, n := range []int{10_000, 100_000, 1_000_000} {
		if n > 100_000 && testing.Short() {
			continue
		}
		for x.Len() < n {
			for i := range q {
				q[i] = int8(rng.IntN(255) - 127)
			}
			if _, err := x.AddQuantised(q, 0.001); err != nil {
				b.Fatal(err)
			}
		}
		query := randomVector(rng, dimensions)
		for _, k := range mat.All() {
			x.scan = scannerOf(k.Name)
			b.Run(fmt.Sprintf("%s/%d", k.Name, n), func(b *testing.B) {
				hits := make([]Hit, 0, 10)
				b.SetBytes(int64(n * dimensions))
				for b.Loop() {
					hits, _ = x.Top(query, 10, hits)
				}
			})
		}
	}
}
