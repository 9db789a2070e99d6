package mat

import (
	"fmt"
	"testing"
)

// Each benchmark runs every set of kernels; choose one with -bench Linear/avx2.
func eachBenchmark(b *testing.B, f func(b *testing.B, k Kernels)) {
	for _, k := range All() {
		b.Run(k.Name, func(b *testing.B) { f(b, k) })
	}
}

func perSecond(b *testing.B, operations int) {
	b.ReportMetric(float64(operations)*float64(b.N)/b.Elapsed().Seconds()/1e9, "Gop/s")
}

// BenchmarkLinear counts a product and its addition as two operations. Every
// call has other weights, as in a model, whose weights no cache of a core holds.
func BenchmarkLinear(b *testing.B) {
	rng := newRand()
	var layers [][]*Matrix
	for _, s := range [][2]int{{384, 1152}, {384, 384}, {384, 1536}, {1536, 384}} {
		var layer []*Matrix
		for range 6 {
			layer = append(layer, randomMatrix(rng, s[0], s[1], func() int8 { return int8(rng.IntN(255) - 127) }))
		}
		layers = append(layers, layer)
	}
	eachBenchmark(b, func(b *testing.B, kernels Kernels) {
		for _, layer := range layers {
			k, n := layer[0].K, layer[0].N
			for _, m := range []int{16, 32, 128} {
				a, rows := randomRows(rng, m, k, func() uint8 { return uint8(rng.IntN(256)) })
				c := make([]float32, m*n)
				b.Run(fmt.Sprintf("%dx%dx%d", m, k, n), func(b *testing.B) {
					for i := range b.N {
						kernels.Linear(c, n, a, rows, layer[i%len(layer)], false)
					}
					perSecond(b, 2*m*k*n)
				})
			}
		}
		// All layers of a model in turn.
		for _, m := range []int{16, 32, 128} {
			a, rows := randomRows(rng, m, 1536, func() uint8 { return uint8(rng.IntN(256)) })
			c := make([]float32, m*1536)
			b.Run(fmt.Sprintf("%dxall", m), func(b *testing.B) {
				total := 0
				for range b.N {
					total = 0
					for i := range 6 {
						for _, layer := range layers {
							w := layer[i]
							kernels.Linear(c, w.N, a, rows, w, false)
							total += 2 * m * w.K * w.N
						}
					}
				}
				perSecond(b, total)
			})
		}
	})
}

func BenchmarkMul(b *testing.B) {
	rng := newRand()
	const hidden, head = 1152, 32
	eachBenchmark(b, func(b *testing.B, kernels Kernels) {
		for _, s := range []int{16, 32, 48, 128, 256} {
			x := normal(rng, s*hidden, 1)
			keys, scores, scale := normal(rng, s*head, 1), normal(rng, s*s, 1), normal(rng, s, 1)
			out := make([]float32, s*hidden)
			b.Run(fmt.Sprintf("scores%d", s), func(b *testing.B) {
				for range b.N {
					kernels.Mul(scores, s, x, hidden, keys, s, s, s, head, nil)
				}
				perSecond(b, 2*s*s*head)
			})
			b.Run(fmt.Sprintf("values%d", s), func(b *testing.B) {
				for range b.N {
					kernels.Mul(out, hidden, scores, s, x, hidden, s, head, s, scale)
				}
				perSecond(b, 2*s*s*head)
			})
		}
	})
}

func BenchmarkRow(b *testing.B) {
	rng := newRand()
	eachBenchmark(b, func(b *testing.B, k Kernels) {
		const n = 384
		x, y, z := normal(rng, 4*n, 1), normal(rng, 4*n, 1), normal(rng, 4*n, 1)
		work := make([]float32, 4*n)
		q := make([]uint8, 4*n)
		keys, turned := normal(rng, 128*1152, 1), make([]float32, 128*32)
		// Row after row, as in attention; in place again and again.
		scores, row := normal(rng, 32*128, 1), 0
		next := func(n int) []float32 { row = (row + 1) % 32; return scores[row*128 : row*128+n] }
		for _, bench := range []struct {
			name     string
			elements int
			run      func()
		}{
			{"Quantise384", n, func() { k.Quantise(q[:n], x[:n], y) }},
			{"Quantise1536", 4 * n, func() { k.Quantise(q, x, y) }},
			{"Norm384", n, func() { k.Norm(work[:n], y, z) }},
			{"GELU1536", 4 * n, func() { copy(work, x); k.GELU(work) }},
			{"Softmax16", 16, func() { k.Softmax(next(16), 16, 0.17) }},
			{"Softmax128", 128, func() { k.Softmax(next(128), 128, 0.17) }},
			{"Softmax121", 128, func() { k.Softmax(next(128), 121, 0.17) }},
			{"Transpose128x32", 128 * 32, func() { k.Transpose(turned, 128, keys, 1152, 128, 32) }},
		} {
			b.Run(bench.name, func(b *testing.B) {
				for range b.N {
					bench.run()
				}
				b.ReportMetric(b.Elapsed().Seconds()*1e9/float64(b.N)/float64(bench.elements), "ns/element")
			})
		}
	})
}
