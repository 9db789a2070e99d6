package embed

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/oriel-context/oriel/embed/minilm"
)

// alone embeds the texts one at a time, on all processors.
func alone(m *minilm.Model, texts []text) ([][]float32, error) {
	out := make([][]float32, len(texts))
	errs := make([]error, runtime.GOMAXPROCS(0))
	var next atomic.Int64
	var wait sync.WaitGroup
	for worker := range errs {
		wait.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(texts); i = int(next.Add(1)) - 1 {
				v, err := m.Embed(context.Background(), []string{texts[i].Text})
				if err != nil {
					errs[worker] = err
					return
				}
				out[i] = v[0]
			}
		})
	}
	wait.Wait()
	return out, errors.Join(errs...)
}

func dot(a, b []float32) float64 {
	sum := 0.0
	for i := range a {
		sum += float64(a[i]) * float64(b[i])
	}
	return sum
}

func cosines(a, b [][]float32) []float64 {
	out := make([]float64, len(a))
	for i := range a {
		out[i] = dot(a[i], b[i]) / math.Sqrt(dot(a[i], a[i])*dot(b[i], b[i]))
	}
	return out
}

func largest(a, b [][]float32) float64 {
	most := 0.0
	for i := range a {
		for k := range a[i] {
			most = max(most, math.Abs(float64(a[i][k]-b[i][k])))
		}
	}
	return most
}

func mean(c []float64) float64 {
	sum := 0.0
	for _, x := range c {
		sum += x
	}
	return sum / float64(len(c))
}

func readVectors(path string, n int) ([][]float32, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	if len(data) != n*width*4 {
		return nil, fmt.Errorf("%s has %d bytes, not %d vectors", path, len(data), n)
	}
	out := make([][]float32, n)
	for i := range out {
		out[i] = make([]float32, width)
		for k := range out[i] {
			out[i][k] = math.Float32frombits(binary.LittleEndian.Uint32(data[4*(i*width+k):]))
		}
	}
	return out, nil
}

func readTokens(path string, n int) ([]int, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var tokens []int
	if err := json.Unmarshal(data, &tokens); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if len(tokens) != n {
		return nil, fmt.Errorf("%s counts %d texts, not %d", path, len(tokens), n)
	}
	return tokens, nil
}
