package embed

import (
	"container/list"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
)

// MaxCachedText is the longest text that a Cache keeps, in bytes. Longer texts are
// documents, not queries: they rarely repeat and would fill the memory.
const MaxCachedText = 4096

// Cache is a small LRU cache in front of a Model, for repeated queries. It is safe
// for concurrent use.
//
// It asks the model only for missing texts, without duplicates, and waits for texts
// that another caller is asking for. It does not keep errors. If a caller gives up,
// callers that waited for it ask the model themselves.
type Cache struct {
	model   Model
	entries int

	mu     sync.Mutex // guards the fields below
	order  *list.List // of *entry, most recently used first
	byText map[string]*list.Element
	// flights holds the texts that a caller is asking the model for.
	flights map[string]*flight
}

var _ Model = (*Cache)(nil)

// entry is a cached text. Its vector is never handed out, only copies.
type entry struct {
	text   string
	vector []float32
}

// flight is a text that a caller is asking the model for.
type flight struct {
	done chan struct{} // closed when the flight has ended
	// vector is nil if the flight failed. It is read after done and never changed.
	vector []float32
}

// NewCache returns a cache of the vectors of at most entries texts, the most
// recently used. If entries is 0 or less, every call goes to m.
func NewCache(m Model, entries int) *Cache {
	return &Cache{
		model:   m,
		entries: max(entries, 0),
		order:   list.New(),
		byText:  map[string]*list.Element{},
		flights: map[string]*flight{},
	}
}

// Name returns the model's name: a cache changes no vector.
func (c *Cache) Name() string { return c.model.Name() }

// Embed returns cached vectors and asks the model for the rest.
func (c *Cache) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	if len(texts) == 0 {
		return [][]float32{}, nil
	}
	if c.entries == 0 {
		return c.ask(ctx, texts)
	}
	found, own, others := c.look(texts)
	if len(own) > 0 {
		if err := c.fly(ctx, own, found); err != nil {
			return nil, err
		}
	}
	// The caller's own flights have ended by now, so callers that wait for
	// each other cannot deadlock.
	var failed []string
	for text, f := range others {
		select {
		case <-f.done:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		if f.vector == nil {
			failed = append(failed, text)
		} else {
			found[text] = slices.Clone(f.vector)
		}
	}
	if len(failed) > 0 {
		slices.Sort(failed) // ask the model in a reproducible order
		vectors, err := c.ask(ctx, failed)
		if err != nil {
			return nil, err
		}
		c.mu.Lock()
		for i, text := range failed {
			c.keep(text, slices.Clone(vectors[i]))
			found[text] = vectors[i]
		}
		c.mu.Unlock()
	}
	out := make([][]float32, len(texts))
	given := make(map[string]bool, len(found))
	for i, text := range texts {
		out[i] = found[text]
		if given[text] { // the text occurs twice in the batch: return two separate vectors
			out[i] = slices.Clone(out[i])
		}
		given[text] = true
	}
	return out, nil
}

// look divides the texts into cached ones, those that the caller must ask for
// (without duplicates, in order), and those that another caller is asking for. It
// starts the flights of own.
func (c *Cache) look(texts []string) (found map[string][]float32, own []string, others map[string]*flight) {
	found = make(map[string][]float32, len(texts))
	seen := make(map[string]bool, len(texts))
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, text := range texts {
		if seen[text] {
			continue
		}
		seen[text] = true
		if len(text) > MaxCachedText {
			own = append(own, text)
			continue
		}
		if e, ok := c.byText[text]; ok {
			c.order.MoveToFront(e)
			found[text] = slices.Clone(e.Value.(*entry).vector)
			continue
		}
		if f, ok := c.flights[text]; ok {
			if others == nil {
				others = map[string]*flight{}
			}
			others[text] = f
			continue
		}
		c.flights[text] = &flight{done: make(chan struct{})}
		own = append(own, text)
	}
	return found, own, others
}

// fly asks the model for the caller's own texts and ends their flights in any case.
func (c *Cache) fly(ctx context.Context, own []string, found map[string][]float32) error {
	var vectors [][]float32
	defer func() { // a model that panics must not leave others waiting
		c.mu.Lock()
		defer c.mu.Unlock()
		for i, text := range own {
			f, ok := c.flights[text]
			if !ok { // too long to be kept or waited for
				continue
			}
			if vectors != nil {
				f.vector = slices.Clone(vectors[i])
				c.keep(text, f.vector)
			}
			delete(c.flights, text)
			close(f.done)
		}
	}()
	got, err := c.ask(ctx, own)
	if err != nil {
		return err
	}
	vectors = got
	for i, text := range own {
		found[text] = got[i]
	}
	return nil
}

// ask asks the model and checks the number of vectors: a missing one would give
// texts their neighbours' vectors.
func (c *Cache) ask(ctx context.Context, texts []string) ([][]float32, error) {
	vectors, err := c.model.Embed(ctx, texts)
	if err != nil {
		return nil, err
	}
	if len(vectors) != len(texts) {
		return nil, fmt.Errorf("embed: %s returned %d vectors for %d texts", c.model.Name(), len(vectors), len(texts))
	}
	return vectors, nil
}

// keep adds a vector that nobody else modifies, and evicts the oldest. The caller
// holds mu.
func (c *Cache) keep(text string, vector []float32) {
	if e, ok := c.byText[text]; ok {
		e.Value.(*entry).vector = vector
		c.order.MoveToFront(e)
		return
	}
	text = strings.Clone(text) // a query may be part of a large body, which must not be kept alive
	c.byText[text] = c.order.PushFront(&entry{text, vector})
	if c.order.Len() > c.entries {
		last := c.order.Remove(c.order.Back()).(*entry)
		delete(c.byText, last.text)
	}
}
