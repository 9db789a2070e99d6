package engine

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/oriel-context/oriel/embed"
)

// Bounds of what meanings keeps.
const (
	keptMeanings  = 4096 // vectors, about 1.5 kB each
	queueMeanings = 1024 // texts that wait; more are dropped, and asked for again
	meaningBatch  = 16
)

// meanings embeds items in the background, for relevance (SPEC A3). Callers get the
// vectors that exist and never wait. The zero value embeds nothing.
type meanings struct {
	model embed.Model // nil for none

	mu      sync.Mutex // protects what follows
	vectors map[string][]float32
	order   []string // of vectors, the oldest first
	queue   []string
	waiting map[string]bool // texts of queue, and those that are being embedded
	idle    chan struct{}   // closed while nothing is under way; nil before the first text
	stop    context.CancelFunc
	closed  bool
}

// meaningOf returns what is embedded of a text: white space is folded, and a model reads
// only the beginning.
func meaningOf(text string) string {
	const most = 4096
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "")
	}
	return strings.Join(strings.Fields(text), " ")
}

// get returns the vector of a text. If there is none, get returns nil and queues the
// text.
func (m *meanings) get(text string) []float32 {
	if text = meaningOf(text); text == "" || m.model == nil {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if v, ok := m.vectors[text]; ok || m.closed || m.waiting[text] || len(m.queue) >= queueMeanings {
		return v
	}
	if m.waiting == nil {
		m.waiting, m.vectors = map[string]bool{}, map[string][]float32{}
	}
	m.waiting[text] = true
	m.queue = append(m.queue, text)
	if m.stop == nil {
		var ctx context.Context
		ctx, m.stop = context.WithCancel(context.Background())
		m.idle = make(chan struct{})
		go m.work(ctx)
	}
	return nil
}

// work embeds until the queue is empty. A text that fails has no vector.
func (m *meanings) work(ctx context.Context) {
	for {
		m.mu.Lock()
		batch := slices.Clone(m.queue[:min(len(m.queue), meaningBatch)])
		m.queue = slices.Delete(m.queue, 0, len(batch))
		if len(batch) == 0 || ctx.Err() != nil {
			m.stop()
			m.stop = nil
			clear(m.waiting)
			close(m.idle)
			m.mu.Unlock()
			return
		}
		m.mu.Unlock()
		vectors, err := m.model.Embed(ctx, batch)
		m.mu.Lock()
		for i, text := range batch {
			delete(m.waiting, text)
			var v []float32
			if err == nil && i < len(vectors) {
				v = vectors[i]
			}
			m.vectors[text] = v
			m.order = append(m.order, text)
		}
		if n := len(m.order) - keptMeanings; n > 0 {
			for _, text := range m.order[:n] {
				delete(m.vectors, text)
			}
			m.order = slices.Delete(m.order, 0, n)
		}
		m.mu.Unlock()
	}
}

// wait waits until nothing is being embedded.
func (m *meanings) wait(ctx context.Context) error {
	m.mu.Lock()
	idle := m.idle
	m.mu.Unlock()
	if idle == nil {
		return nil
	}
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// shutDown stops the background work and waits for it.
func (m *meanings) shutDown() {
	m.mu.Lock()
	m.closed = true
	idle := m.idle
	if m.stop != nil {
		m.stop()
	}
	m.mu.Unlock()
	if idle != nil {
		<-idle
	}
}

// queryMeaning embeds a query within a quarter of the time until the deadline. It returns
// nil if that fails or is turned off.
func (m *meanings) queryMeaning(ctx context.Context, query string) []float32 {
	if query = meaningOf(query); query == "" || m.model == nil {
		return nil
	}
	if end, ok := ctx.Deadline(); ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Until(end)/4)
		defer cancel()
	}
	v, err := m.model.Embed(ctx, []string{query})
	if err != nil || len(v) != 1 {
		return nil
	}
	return v[0]
}
