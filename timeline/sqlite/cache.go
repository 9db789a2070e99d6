package sqlite

import "sync"

// cache remembers the most recently used values: at least size and at most
// twice as many.
type cache[K comparable, V any] struct {
	size       int
	mu         sync.Mutex // protects all below
	young, old map[K]V
}

func newCache[K comparable, V any](size int) *cache[K, V] {
	return &cache[K, V]{size: size, young: map[K]V{}}
}

func (c *cache[K, V]) get(k K) (v V, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if v, ok = c.young[k]; ok {
		return v, true
	}
	if v, ok = c.old[k]; ok {
		c.set(k, v)
	}
	return v, ok
}

func (c *cache[K, V]) put(k K, v V) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.set(k, v)
}

func (c *cache[K, V]) set(k K, v V) {
	if len(c.young) >= c.size {
		c.old, c.young = c.young, make(map[K]V, c.size)
	}
	c.young[k] = v
}

func (c *cache[K, V]) drop(k K) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.young, k)
	delete(c.old, k)
}

func (c *cache[K, V]) reset() {
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.young)
	c.old = nil
}
