// Package cache remembers the most recently used values of a map, at least a given
// number of them and at most twice as many.
package cache

import "sync"

// Cache remembers at least size values and at most twice as many. It is safe for
// concurrent use.
type Cache[K comparable, V any] struct {
	size       int
	mu         sync.Mutex // protects all below
	young, old map[K]V
}

// New returns an empty cache.
func New[K comparable, V any](size int) *Cache[K, V] {
	return &Cache[K, V]{size: size, young: map[K]V{}}
}

// Get returns the value of a key.
func (c *Cache[K, V]) Get(k K) (v V, ok bool) {
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

// Put remembers a value.
func (c *Cache[K, V]) Put(k K, v V) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.set(k, v)
}

func (c *Cache[K, V]) set(k K, v V) {
	if len(c.young) >= c.size {
		c.old, c.young = c.young, make(map[K]V, c.size)
	}
	c.young[k] = v
}

// Drop forgets a key.
func (c *Cache[K, V]) Drop(k K) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.young, k)
	delete(c.old, k)
}

// Take returns the value of a key and forgets it.
func (c *Cache[K, V]) Take(k K) (v V, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if v, ok = c.young[k]; !ok {
		v, ok = c.old[k]
	}
	delete(c.young, k)
	delete(c.old, k)
	return v, ok
}

// Reset forgets everything.
func (c *Cache[K, V]) Reset() {
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.young)
	c.old = nil
}
