//go:build !oriel_nomodel

package minilm

import (
	"math"
	"testing"

	"github.com/oriel-context/oriel/internal/vector/mat"
)

// float makes a float32 model of the embedded int8 weights, so that the float32
// path can be tested without the 90 MB of the original.
func float(t *testing.T, kernel string) *Model {
	t.Helper()
	w, err := readWeights(embedded)
	if err != nil {
		t.Fatal(err)
	}
	w.float = true
	w.piecesF32 = make([]float32, len(w.pieces))
	for i, q := range w.pieces {
		w.piecesF32[i] = float32(q) * w.pieceScale[i/width]
	}
	for i := range w.layers {
		for _, d := range w.layers[i].dense() {
			d.f32 = make([]float32, d.K*d.N)
			for k := range d.K {
				for n := range d.N {
					d.f32[k*d.N+n] = float32(d.Weights[mat.Index(d.K, k, n)]) * d.Scale[n] * d.by[k]
				}
			}
		}
	}
	m, err := Read(w.file(), Options{Kernel: kernel})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Close)
	return m
}

// The same computation, written down as the papers have it.
func TestFloat32PathIsTheTextbookEncoder(t *testing.T) {
	computes(t)
	texts := []string{"", "The cat sat.", "fmt.Println(\"hi\")", "図書館 où?"}
	var want [][]float32
	for _, k := range mat.All() {
		m := float(t, k.Name)
		for i, v := range vectorsOf(t, m, texts) {
			if len(want) == i {
				want = append(want, textbook(m.weights, m.tokenizer.Encode(nil, texts[i], positions)))
			}
			if c := cosine(v, want[i]); c < 0.9999999 {
				t.Errorf("%s: cosine %.9f for %q", k.Name, c, texts[i])
			}
		}
	}
}

func TestInt8VectorsAreNearTheFloat32OnesOfTheSameWeights(t *testing.T) {
	computes(t)
	texts, _ := golden(t)
	texts = first(80, texts)
	f := vectorsOf(t, float(t, ""), texts)
	for i, v := range vectorsOf(t, open(t, Options{}), texts) {
		if c := cosine(v, f[i]); c < 0.99 {
			t.Errorf("cosine %.5f for %.60q", c, texts[i])
		}
	}
}

// textbook is the encoder in double precision and without a thought for speed.
func textbook(w *weights, ids []int32) []float32 {
	var x [][]float64
	for i, id := range ids {
		row := make([]float64, width)
		for j := range row {
			row[j] = float64(w.piecesF32[int(id)*width+j]) + float64(w.positions[i*width+j])
		}
		x = append(x, textbookNorm(row, w.norm))
	}
	for i := range w.layers {
		l := &w.layers[i]
		var qkv [][]float64
		for _, row := range x {
			qkv = append(qkv, textbookDense(&l.qkv, row))
		}
		for r := range x {
			mixed := make([]float64, width)
			for h := range heads {
				weight, sum := make([]float64, len(x)), 0.0
				for s := range x {
					dot := 0.0
					for j := h * headWidth; j < (h+1)*headWidth; j++ {
						dot += qkv[r][j] * qkv[s][width+j]
					}
					weight[s] = math.Exp(dot / math.Sqrt(headWidth))
					sum += weight[s]
				}
				for s := range x {
					for j := h * headWidth; j < (h+1)*headWidth; j++ {
						mixed[j] += weight[s] / sum * qkv[s][2*width+j]
					}
				}
			}
			x[r] = textbookNorm(textbookSum(x[r], textbookDense(&l.out, mixed)), l.attentionNorm)
		}
		for r := range x {
			hidden := textbookDense(&l.up, x[r])
			for j, v := range hidden {
				hidden[j] = v * (1 + math.Erf(v/math.Sqrt2)) / 2
			}
			x[r] = textbookNorm(textbookSum(x[r], textbookDense(&l.down, hidden)), l.outputNorm)
		}
	}
	v := make([]float32, width)
	for _, row := range x {
		for j, u := range row {
			v[j] += float32(u)
		}
	}
	return v
}

func textbookDense(d *dense, x []float64) []float64 {
	y := make([]float64, d.N)
	for n := range y {
		y[n] = float64(d.Bias[n])
		for k, v := range x {
			y[n] += v * float64(d.f32[k*d.N+n])
		}
	}
	return y
}

func textbookSum(a, b []float64) []float64 {
	sum := make([]float64, len(a))
	for i := range a {
		sum[i] = a[i] + b[i]
	}
	return sum
}

func textbookNorm(x []float64, n norm) []float64 {
	var mean, variance float64
	for _, v := range x {
		mean += v / width
	}
	for _, v := range x {
		variance += (v - mean) * (v - mean) / width
	}
	y := make([]float64, width)
	for j, v := range x {
		y[j] = (v-mean)/math.Sqrt(variance+1e-12)*float64(n.gamma[j]) + float64(n.beta[j])
	}
	return y
}
