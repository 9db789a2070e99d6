package api

import (
	"sync"
	"time"

	"github.com/oriel-context/oriel/timeline"
)

// cache holds a value for each conversation, valid until the conversation changes. It is
// safe for concurrent use.
type cache[T any] struct {
	// most is the weight of all values at which the cache is emptied. weigh returns the
	// weight of a value; by default it is 1.
	most  int
	weigh func(T) int

	mu     sync.Mutex // protects what follows
	known  map[[2]string]cached[T]
	weight int
}

type cached[T any] struct {
	created  time.Time
	revision int64
	value    T
}

// get returns what is remembered of a conversation, or computes it if the conversation has
// changed since.
func (c *cache[T]) get(tenant string, of *timeline.Conversation, compute func() (T, error)) (T, error) {
	at := [2]string{tenant, of.Name}
	c.mu.Lock()
	found, ok := c.known[at]
	c.mu.Unlock()
	if ok && found.created.Equal(of.Created) && found.revision == of.Revision {
		return found.value, nil
	}
	value, err := compute()
	if err != nil {
		return value, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if old, ok := c.known[at]; ok {
		c.weight -= c.of(old.value)
		delete(c.known, at)
	}
	n := c.of(value)
	if n > c.most {
		return value, nil
	}
	if c.known == nil || c.weight+n > c.most {
		c.known, c.weight = map[[2]string]cached[T]{}, 0
	}
	c.known[at] = cached[T]{of.Created, of.Revision, value}
	c.weight += n
	return value, nil
}

// of returns the weight of a value.
func (c *cache[T]) of(value T) int {
	if c.weigh == nil {
		return 1
	}
	return 1 + c.weigh(value)
}

// last returns what is remembered of a conversation, however old it is.
func (c *cache[T]) last(tenant, conversation string) T {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.known[[2]string{tenant, conversation}].value
}
