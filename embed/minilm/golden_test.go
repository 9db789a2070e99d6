//go:build !oriel_nomodel

package minilm

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/json"
	"math"
	"os"
	"testing"

	"github.com/oriel-context/oriel/internal/vector/mat"
)

// golden are texts with the vectors that onnxruntime gives them on the float32
// weights; testdata/golden.py makes them.
func golden(t testing.TB) (texts []string, vectors [][]float32) {
	t.Helper()
	f, err := os.Open("testdata/golden.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var line struct {
			Text  string
			Bytes []byte // instead of text, where it is no UTF-8
		}
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			t.Fatal(err)
		}
		texts = append(texts, line.Text+string(line.Bytes))
	}
	data, err := os.ReadFile("testdata/golden.f32")
	if err != nil {
		t.Fatal(err)
	}
	if len(texts) < 200 || len(data) != 4*width*len(texts) {
		t.Fatalf("%d texts, %d bytes of vectors", len(texts), len(data))
	}
	for i := range texts {
		v := make([]float32, width)
		if _, err := binary.Decode(data[4*width*i:], binary.LittleEndian, v); err != nil {
			t.Fatal(err)
		}
		vectors = append(vectors, v)
	}
	if testing.Short() { // an emulated CPU takes a second a text
		return every(40, texts), every(40, vectors)
	}
	return texts, vectors
}

func every[T any](n int, all []T) (some []T) {
	for i := 0; i < len(all); i += n {
		some = append(some, all[i])
	}
	return some
}

// first are n texts, or all where there are fewer.
func first(n int, texts []string) []string { return texts[:min(n, len(texts))] }

func cosine(a, b []float32) float64 {
	var dot, aa, bb float64
	for i := range a {
		dot += float64(a[i]) * float64(b[i])
		aa += float64(a[i]) * float64(a[i])
		bb += float64(b[i]) * float64(b[i])
	}
	return dot / math.Sqrt(aa*bb)
}

// SPEC D2
func TestVectorsAreThoseOfTheReference(t *testing.T) {
	computes(t)
	texts, want := golden(t)
	got := vectorsOf(t, open(t, Options{}), texts)
	sum, worst, at := 0.0, 1.0, 0
	for i := range texts {
		c := cosine(got[i], want[i])
		sum += c
		if c < worst {
			worst, at = c, i
		}
	}
	mean := sum / float64(len(texts))
	t.Logf("%d texts: mean cosine %.5f, worst %.5f (%.60q)", len(texts), mean, worst, texts[at])
	if mean < 0.995 || worst < 0.98 {
		t.Errorf("mean cosine %.5f, worst %.5f (%.60q); want 0.995 and 0.98 at least", mean, worst, texts[at])
	}
}

// The float32 weights are 90 MB and not shipped: scripts/check embed makes the
// file and runs this test on it.
func TestFloat32VectorsAreThoseOfTheReference(t *testing.T) {
	computes(t)
	path := os.Getenv("ORIEL_MINILM_F32")
	if path == "" {
		t.Skip("ORIEL_MINILM_F32 names no float32 weight file: scripts/check embed makes one")
	}
	file, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	texts, want := golden(t)
	for _, k := range mat.All() {
		t.Run(k.Name, func(t *testing.T) {
			if k.Name == "go" && testing.Short() {
				t.Skip("plain Go takes a minute")
			}
			m, err := Read(file, Options{Kernel: k.Name})
			if err != nil {
				t.Fatal(err)
			}
			defer m.Close()
			for i, v := range vectorsOf(t, m, texts) {
				if c := cosine(v, want[i]); c < 0.99999 {
					t.Errorf("cosine %.7f for %.60q", c, texts[i])
				}
			}
		})
	}
}

func open(t testing.TB, opts Options) *Model {
	t.Helper()
	m, err := Open(opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Close)
	return m
}

func vectorsOf(t testing.TB, m *Model, texts []string) [][]float32 {
	t.Helper()
	vectors, err := m.Embed(context.Background(), texts)
	if err != nil {
		t.Fatal(err)
	}
	return vectors
}
