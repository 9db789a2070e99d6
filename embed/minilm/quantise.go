package minilm

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/oriel-context/oriel/internal/vector/mat"
)

// Quantise converts a float32 weight file to int8. It runs the texts through the
// float32 model to learn the ranges of its activations; a few hundred of many
// kinds are enough.
func Quantise(ctx context.Context, float32File []byte, texts []string) ([]byte, error) {
	// Plain Go, which is slow: the same file must come out on every machine.
	m, err := Read(float32File, Options{Threads: 1, Kernel: "go"})
	if err != nil {
		return nil, err
	}
	defer m.Close()
	if !m.weights.float {
		return nil, errors.New("quantise: the file is int8 already")
	}
	if len(texts) == 0 {
		return nil, errors.New("quantise: no texts to learn the activations' ranges from")
	}
	largest := make(map[*dense][]float32)
	m.probe = func(d *dense, x []float32) {
		top := largest[d]
		if top == nil {
			top = make([]float32, d.K)
			largest[d] = top
		}
		for i, v := range x {
			top[i%d.K] = max(top[i%d.K], float32(math.Abs(float64(v))))
		}
	}
	if _, err := m.Embed(ctx, texts); err != nil {
		return nil, fmt.Errorf("quantise: %w", err)
	}
	w := *m.weights
	w.float = false
	w.pieces, w.pieceScale = quantisePieces(w.piecesF32)
	for i := range w.layers {
		from := m.weights.layers[i].dense()
		for j, d := range w.layers[i].dense() {
			*d = quantiseDense(from[j], largest[from[j]])
		}
	}
	return w.file(), nil
}

func quantisePieces(x []float32) (q []int8, scale []float32) {
	q, scale = make([]int8, len(x)), make([]float32, len(x)/width)
	for i := range scale {
		row := x[i*width : (i+1)*width]
		var top float32
		for _, v := range row {
			top = max(top, float32(math.Abs(float64(v))))
		}
		scale[i] = top / 127
		for j, v := range row {
			q[i*width+j] = step(v, scale[i])
		}
	}
	return q, scale
}

// step returns v in whole steps of scale.
func step(v, scale float32) int8 {
	if scale == 0 {
		return 0
	}
	return int8(max(-127, min(127, math.RoundToEven(float64(v/scale)))))
}

// quantiseDense halves, on a logarithmic scale, the difference between an
// input channel and the others. It multiplies the activations by the square
// root of the ratio of the channel's largest weight to its largest activation,
// and divides the weights by it.
func quantiseDense(d *dense, largest []float32) dense {
	out := dense{by: make([]float32, d.K)}
	out.K, out.N, out.Bias = d.K, d.N, d.Bias
	for k := range out.by {
		var top float32
		for _, v := range d.f32[k*d.N : (k+1)*d.N] {
			top = max(top, float32(math.Abs(float64(v))))
		}
		out.by[k] = 1
		if top > 0 && largest[k] > 0 {
			out.by[k] = float32(math.Sqrt(float64(top / largest[k])))
		}
	}
	out.Scale, out.Sum = make([]float32, d.N), make([]int32, d.N)
	out.Weights = make([]int8, d.K*d.N)
	for n := range d.N {
		var top float32
		for k := range d.K {
			top = max(top, float32(math.Abs(float64(d.f32[k*d.N+n]/out.by[k]))))
		}
		out.Scale[n] = top / 127
		for k := range d.K {
			q := step(d.f32[k*d.N+n]/out.by[k], out.Scale[n])
			out.Sum[n] += int32(q)
			out.Weights[mat.Index(d.K, k, n)] = q
		}
	}
	return out
}
