package token

import (
	"math/bits"
	"sync"

	"github.com/oriel-context/oriel/chat"
)

// run is the history of a request, for which the cache has the counts of a beginning. An
// agent resends its whole history with a little more at its end, so looking up the whole
// takes the place of a thousand lookups of messages.
type run struct {
	cache *Cache
	// sums[i] identifies the first i+1 messages, as the keys of messages identify one.
	// It is nil where nothing can be cached.
	sums []cacheKey
}

const (
	// minRun is the number of messages from which on a history is cached as a whole.
	minRun = 16
	// runTail is how many messages may be new since the earlier request.
	runTail = 32
	// maxRuns is the number of histories that are cached, maxRunMessages that of the
	// messages in all of them: about 3 MB.
	maxRuns        = 256
	maxRunMessages = 1 << 18
)

// newRun returns the run of a request's messages.
func (c *Counter) newRun(messages []chat.Message) run {
	if c.cache == nil || len(messages) < minRun {
		return run{}
	}
	sums := make([]cacheKey, len(messages))
	last := cacheKey{}
	for i := range messages {
		m := &messages[i]
		if len(m.Raw) == 0 {
			return run{}
		}
		k := c.cache.keyOf(c.rules, m.Summed(), len(m.Raw), shape(m.Parts))
		last = cacheKey{mix(last.hash^k.hash, 0x9e3779b97f4a7c15), mix(last.rules^k.rules, 0xd6e8feb86659fd93)}
		sums[i] = last
	}
	return run{c.cache, sums}
}

// mix mixes the bits of a number.
func mix(n, by uint64) uint64 {
	high, low := bits.Mul64(n^by, by)
	return high ^ low
}

// find returns the counts of the longest beginning that is cached.
func (r run) find() []cacheValue {
	if len(r.sums) == 0 {
		return nil
	}
	return r.cache.runs.find(r.sums)
}

// keep caches the counts of all messages, of which the first are known, in place of those.
func (r run) keep(known []cacheValue, sizes []Size) {
	if len(r.sums) == 0 {
		return
	}
	values := make([]cacheValue, len(sizes))
	for i := copy(values, known); i < len(sizes); i++ {
		v, ok := valueOf(sizes[i].content)
		if !ok {
			return
		}
		values[i] = v
	}
	var before cacheKey
	if len(known) > 0 {
		before = r.sums[len(known)-1]
	}
	r.cache.runs.keep(r.sums[len(r.sums)-1], values, before)
}

// runs are the counts of whole histories, of which those used least lately leave first.
type runs struct {
	mu       sync.Mutex // protects what follows
	known    map[cacheKey]*knownRun
	messages int
	clock    int64
}

type knownRun struct {
	values []cacheValue // never changed
	used   int64
}

func (r *runs) find(sums []cacheKey) []cacheValue {
	r.mu.Lock()
	defer r.mu.Unlock()
	for n := len(sums); n >= minRun && n >= len(sums)-runTail; n-- {
		if k := r.known[sums[n-1]]; k != nil && len(k.values) == n {
			r.clock++
			k.used = r.clock
			return k.values
		}
	}
	return nil
}

func (r *runs) keep(sum cacheKey, values []cacheValue, instead cacheKey) {
	if len(values) > maxRunMessages/4 {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.known == nil {
		r.known = map[cacheKey]*knownRun{}
	}
	r.drop(instead)
	r.drop(sum)
	r.clock++
	r.known[sum] = &knownRun{values, r.clock}
	r.messages += len(values)
	for len(r.known) > maxRuns || r.messages > maxRunMessages {
		r.dropOldest()
	}
}

func (r *runs) dropOldest() {
	var oldest cacheKey
	least := r.clock + 1
	for sum, k := range r.known {
		if k.used < least {
			oldest, least = sum, k.used
		}
	}
	r.drop(oldest)
}

func (r *runs) drop(sum cacheKey) {
	if k := r.known[sum]; k != nil {
		r.messages -= len(k.values)
		delete(r.known, sum)
	}
}
