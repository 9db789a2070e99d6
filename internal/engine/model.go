package engine

import (
	"context"
	"sync"

	"github.com/oriel-context/oriel/embed"
	"github.com/oriel-context/oriel/embed/minilm"
	"github.com/oriel-context/oriel/internal/engine/fault"
)

// builtinModel is all-MiniLM-L6-v2. It is loaded at its first use, so that an engine
// without recall does not pay for it.
type builtinModel struct {
	mu     sync.Mutex // protects what follows
	model  *minilm.Model
	closed bool
}

var _ embed.Model = (*builtinModel)(nil)

func (b *builtinModel) open() (*minilm.Model, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return nil, fault.ErrClosed
	}
	var err error
	if b.model == nil {
		b.model, err = minilm.Open(minilm.Options{})
	}
	return b.model, err
}

func (b *builtinModel) Name() string {
	m, err := b.open()
	if err != nil {
		return "" // Embed says why
	}
	return m.Name()
}

func (b *builtinModel) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	m, err := b.open()
	if err != nil {
		return nil, err
	}
	return m.Embed(ctx, texts)
}

// release is called when the model is no longer used.
func (b *builtinModel) release() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	if b.model != nil {
		b.model.Close()
	}
}
