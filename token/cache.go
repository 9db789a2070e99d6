package token

import (
	"hash/maphash"
	"sync"

	"github.com/oriel-context/oriel/chat"
)

// Cache caches counts by the content's hash, so that a message resent with every
// request costs one hash and one lookup. It holds the encoding's counts only,
// before any multiplier or calibration, and one cache serves all models. It is
// bounded, evicts approximately the least recently used half, and is safe for
// concurrent use.
type Cache struct {
	seed   maphash.Seed
	shards [cacheShards]cacheShard
	runs   runs
	// half is the most entries of one generation of a shard.
	half int
}

const (
	cacheShards = 32
	// DefaultCacheSize is the number of entries of NewCache(0): about 20 MB when
	// full.
	DefaultCacheSize = 1 << 18
)

type cacheKey struct{ hash, rules uint64 }

// cacheValue is a raw count in 12 bytes.
type cacheValue struct {
	text, fixed int32
	rough       bool
}

// raw returns the count.
func (v cacheValue) raw() raw { return raw{int(v.text), int(v.fixed), v.rough} }

// valueOf returns a count as it is cached, or false if it is too large for that.
func valueOf(r raw) (cacheValue, bool) {
	const most = 1<<31 - 1
	return cacheValue{int32(r.text), int32(r.fixed), r.rough}, r.text <= most && r.fixed <= most && r.fixed >= -most
}

type cacheShard struct {
	mu sync.Mutex // guards both maps
	// young receives new entries. When it is full it becomes old, and the previous
	// old is dropped except for entries used in the meantime.
	young, old map[cacheKey]cacheValue
	_          [64]byte // keeps neighbours off one cache line
}

// NewCache returns a cache of about entries entries; 0 means DefaultCacheSize.
func NewCache(entries int) *Cache {
	if entries <= 0 {
		entries = DefaultCacheSize
	}
	c := &Cache{seed: maphash.MakeSeed(), half: max(1, entries/cacheShards/2)}
	for i := range c.shards {
		c.shards[i].young = map[cacheKey]cacheValue{}
	}
	return c
}

// Len returns the number of entries.
func (c *Cache) Len() int {
	n := 0
	for i := range c.shards {
		s := &c.shards[i]
		s.mu.Lock()
		n += len(s.young) + len(s.old)
		s.mu.Unlock()
	}
	return n
}

// rules returns a number that identifies everything in a model on which a raw
// count depends.
func (c *Cache) rules(m Model) uint64 {
	return maphash.Comparable(c.seed, struct {
		encoding  string
		structure Structure
		image     ImageRule
		// Whether text or the length of opaque data decides depends on it.
		multiplier float64
	}{m.Encoding, m.structure, m.image, m.Multiplier})
}

func (c *Cache) key(rules uint64, content []byte, shape uint64) cacheKey {
	return c.keyOf(rules, chat.Sum(content), len(content), shape)
}

// keyOf is the key of a content by its sum and its length.
func (c *Cache) keyOf(rules, sum uint64, length int, shape uint64) cacheKey {
	// The length and the shape go beside the hash, so that a false hit needs
	// all three to agree.
	return cacheKey{sum, rules ^ uint64(length)<<20 ^ shape*0x9e3779b97f4a7c15}
}

func (c *Cache) get(k cacheKey) (raw, bool) {
	s := &c.shards[k.hash%cacheShards]
	s.mu.Lock()
	defer s.mu.Unlock()
	v, ok := s.young[k]
	if !ok {
		if v, ok = s.old[k]; !ok {
			return raw{}, false
		}
		delete(s.old, k)
		s.add(k, v, c.half)
	}
	return v.raw(), true
}

func (c *Cache) put(k cacheKey, r raw) {
	v, ok := valueOf(r)
	if !ok {
		return
	}
	s := &c.shards[k.hash%cacheShards]
	s.mu.Lock()
	defer s.mu.Unlock()
	s.add(k, v, c.half)
}

// add is called with the lock held.
func (s *cacheShard) add(k cacheKey, v cacheValue, half int) {
	if _, ok := s.young[k]; !ok && len(s.young) >= half {
		s.old, s.young = s.young, make(map[cacheKey]cacheValue, half/2)
	}
	s.young[k] = v
}
