// Package minilm turns texts into vectors with all-MiniLM-L6-v2, on the CPU and
// without cgo: 384 dimensions, mean pooling, length one, the first 256 word
// pieces of a text.
//
// The weights are int8 and part of the program (build with the tag
// oriel_nomodel to leave them out). Activations are quantised row by row, so a
// text has the same vector, bit by bit, whatever else is in its batch. The
// kernels of different CPUs give vectors that differ by rounding only.
//
// Any string is a text: bytes that are no UTF-8 are passed over, and a text of
// nothing but white space has the vector of no pieces at all, which is like no
// other text in particular.
package minilm

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"unsafe"

	"github.com/oriel-context/oriel/embed"
	"github.com/oriel-context/oriel/embed/wordpiece"
	"github.com/oriel-context/oriel/internal/mat"
)

// Options are how a model runs. The zero value is right for most.
type Options struct {
	// Threads is how many may compute at once. 0 means GOMAXPROCS. A single
	// text takes one; a batch is spread over all, unless it is very small. Each
	// keeps 3 MB once it has computed.
	Threads int
	// Kernel names the set of kernels to use, such as "avx2" or "go". ""
	// means the best that the CPU has, or what ORIEL_KERNEL says.
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

	// probe, where it is set, sees the input of every linear layer.
	probe func(d *dense, x []float32)
}

// Read makes a model of a weight file. The model holds on to the file, which
// must not change.
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

// Name returns the model, its quantisation and the version of both: vectors of
// different names must not be compared.
func (m *Model) Name() string { return m.name }

// Kernel names the kernels in use.
func (m *Model) Kernel() string { return m.kernels.Name }

// Notice says where the weights come from and under which licence.
func (m *Model) Notice() string { return strings.TrimSpace(m.weights.notice) }

// Embed returns the vector of each text, in order. When ctx ends it returns
// ctx's error as soon as the 256 pieces at hand are done: some tens of
// milliseconds, with plain Go seconds.
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
