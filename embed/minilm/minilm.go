// Package minilm turns texts into vectors with all-MiniLM-L6-v2, on the CPU and
// without cgo: 384 dimensions, mean pooling, length one, the first 256 word
// pieces of a text.
//
// The weights are int8 and part of the program (build with the tag
// oriel_nomodel to leave them out). Activations are quantised row by row, so a
// text has the same vector, bit by bit, whatever else is in its batch. The
// kernels of different CPUs give vectors that differ by rounding only.
//
// Any string is a text: invalid UTF-8 is skipped, and blank text has the vector
// of an empty list of pieces, which resembles no text in particular.
package minilm

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"unsafe"

	"github.com/oriel-context/oriel/embed"
	"github.com/oriel-context/oriel/embed/internal/wordpiece"
	"github.com/oriel-context/oriel/internal/vector/mat"
)

// Options configures a model. The zero value is right for most uses.
type Options struct {
	// Threads is the number of threads; 0 means GOMAXPROCS. A single text uses
	// one; a batch uses all unless it is very small. Each thread keeps 3 MB
	// after first use.
	Threads int
	// Kernel names the set of kernels, such as "avx2" or "go". "" means the one
	// in ORIEL_KERNEL, or else the CPU's best.
	Kernel string
}

var _ embed.Model = (*Model)(nil)

// Model is an encoder ready to run. It is safe for concurrent use.
type Model struct {
	name      string
	weights   *weights
	tokenizer *wordpiece.Tokenizer
	kernels   mat.Kernels
	threads   int

	free chan *scratch // as many as threads may compute at once
	jobs chan *job     // batches that parked workers may help with
	idle chan *job     // for the next call
	done chan struct{} // closed by Close
	once sync.Once

	// probe, if set, sees the input of every linear layer.
	probe func(d *dense, x []float32)
}

// Read returns a model of a weight file. The model keeps the file, which must
// not change.
func Read(file []byte, opts Options) (*Model, error) {
	return read(unsafe.String(unsafe.SliceData(file), len(file)), opts)
}

func read(file string, opts Options) (*Model, error) {
	w, err := readWeights(file)
	if err != nil {
		return nil, fmt.Errorf("minilm: %w", err)
	}
	tokenizer, err := wordpiece.New(w.vocabulary)
	if err != nil {
		return nil, fmt.Errorf("minilm: %w: %w", ErrFile, err)
	}
	kernels, err := mat.Choose(opts.Kernel)
	if err != nil {
		return nil, fmt.Errorf("minilm: %w", err)
	}
	m := &Model{
		name:      "all-MiniLM-L6-v2/" + kind(w) + "-1",
		weights:   w,
		tokenizer: tokenizer,
		kernels:   kernels,
		threads:   opts.Threads,
		done:      make(chan struct{}),
	}
	if m.threads <= 0 {
		m.threads = runtime.GOMAXPROCS(0)
	}
	m.free = make(chan *scratch, m.threads)
	for range m.threads {
		m.free <- nil // made when first taken
	}
	m.jobs = make(chan *job)
	m.idle = make(chan *job, m.threads)
	for range m.threads - 1 {
		go m.work()
	}
	return m, nil
}

func kind(w *weights) string {
	if w.float {
		return "f32"
	}
	return "int8"
}

// Name returns the model's name with its quantisation and version. Vectors of
// different names must not be compared.
func (m *Model) Name() string { return m.name }

// Kernel returns the name of the kernels in use.
func (m *Model) Kernel() string { return m.kernels.Name }

// Notice returns the origin and licence of the weights.
func (m *Model) Notice() string { return strings.TrimSpace(m.weights.notice) }

// Embed returns the vector of each text, in order. If ctx ends, it returns
// ctx's error after the current 256 pieces: some tens of milliseconds, or
// seconds in plain Go.
func (m *Model) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	flat := make([]float32, len(texts)*width)
	if err := m.EmbedInto(ctx, flat, texts); err != nil {
		return nil, err
	}
	vectors := make([][]float32, len(texts))
	for i := range vectors {
		vectors[i] = flat[i*width : (i+1)*width : (i+1)*width]
	}
	return vectors, nil
}

// Close ends the parked workers. The model must not be used afterwards.
func (m *Model) Close() { m.once.Do(func() { close(m.done) }) }
