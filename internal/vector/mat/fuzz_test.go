package mat

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// FuzzLinear has the shape and the seed of everything else from the fuzzer, and
// the first weights and activations themselves.
func FuzzLinear(f *testing.F) {
	f.Add(uint8(4), uint8(12), uint8(1), uint64(1), []byte{0x80, 0xff, 0x7f}, false)
	f.Add(uint8(7), uint8(3), uint8(2), uint64(9), []byte("\x80\x80\x80\x80\xff\xff\xff\xff"), true)
	f.Fuzz(func(t *testing.T, tiles, groups, panels uint8, seed uint64, data []byte, add bool) {
		m, k, n := int(tiles%12)*Tile, (1+int(groups%40))*Step, (1+int(panels%3))*Panel
		rng := rand.New(rand.NewPCG(seed, 1))
		next := func() byte { return byte(rng.IntN(256)) }
		w := randomMatrix(rng, k, n, func() int8 { return int8(next()) })
		a, rows := randomRows(rng, m, k, next)
		for i, b := range data[:min(len(data), len(w.Weights))] {
			w.Weights[i] = int8(b)
		}
		for j := range n {
			w.Sum[j] = 0
			for i := range k {
				w.Sum[j] += int32(w.Weights[Index(k, i, j)])
			}
		}
		copy(a, data)
		c := normal(rng, m*n, 1)
		want := slices.Clone(c)
		plain.Linear(want, n, a, rows, w, add)
		for _, kernels := range native {
			got := slices.Clone(c)
			kernels.Linear(got, n, a, rows, w, add)
			if i := differ(got, want); i >= 0 {
				t.Fatalf("%s: %d×%d×%d: row %d column %d is %v, want %v", kernels.Name, m, k, n, i/n, i%n, got[i],
					want[i])
			}
		}
	})
}

// FuzzQuantise gives rows of any finite numbers.
func FuzzQuantise(f *testing.F) {
	f.Add([]byte("\x00\x00\x80\x3f\x00\x00\x80\xbf"), uint64(1))
	f.Add([]byte("\x01\x00\x00\x00"), uint64(2))
	f.Fuzz(func(t *testing.T, data []byte, seed uint64) {
		x := make([]float32, (len(data)/4+Panel-1)/Panel*Panel)
		by := normal(rand.New(rand.NewPCG(seed, 1)), len(x), 1)
		for i := range len(data) / 4 {
			bits := uint32(data[4*i]) | uint32(data[4*i+1])<<8 | uint32(data[4*i+2])<<16 | uint32(data[4*i+3])<<24
			x[i] = math.Float32frombits(bits)
			// Products and their range must be finite too.
			if v := math.Abs(float64(x[i])); !(v < 1e37) {
				return
			}
		}
		want, got := make([]uint8, len(x)), make([]uint8, len(x))
		wantRow := plain.Quantise(want, x, by)
		for _, kernels := range native {
			if gotRow := kernels.Quantise(got, x, by); gotRow != wantRow || !slices.Equal(got, want) {
				t.Fatalf("%s: %v becomes %v %v, want %v %v", kernels.Name, x, gotRow, got, wantRow, want)
			}
		}
	})
}
