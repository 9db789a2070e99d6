package api

import (
	"sync"
	"time"

	"github.com/oriel-context/oriel/timeline"
)

// cache holds a value for each conversation, valid until the conversation changes. It is
// safe for concurrent use.
type cache[T any] struct {
	// most is the number of conversations at which the cache is emptied.
	most int

	mu    sync.Mutex // protects what follows
	known map[[2]string]cached[T]
}

type cached[T any] struct {
	created  time.Time
	revision int64
	value    T
}

// get returns what is remembered of a conversation, or makes it if the conversation has
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
	if c.known == nil || len(c.known) >= c.most {
		c.known = map[[2]string]cached[T]{}
	}
	c.known[at] = cached[T]{of.Created, of.Revision, value}
	return value, nil
}

// last returns what is remembered of a conversation, however old it is.
func (c *cache[T]) last(tenant, conversation string) T {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.known[[2]string{tenant, conversation}].value
}
