package limit

import (
	"context"
	"slices"
	"sync"
)

// Slots limits how many requests are worked on at a time, in all and of one tenant, so that
// no tenant takes all of the work that a server does for people who look. A slot that becomes
// free goes to the tenant that has the fewest, and of its requests to the one that waits
// longest. It is safe for concurrent use.
type Slots struct {
	each int

	mu      sync.Mutex // protects what follows
	free    int
	taken   map[string]int // by tenant
	waiting []*waiter      // the first came first
}

type waiter struct {
	tenant string
	ready  chan struct{} // closed when it has a slot
}

// NewSlots returns all slots, of which a tenant may take each.
func NewSlots(all, each int) *Slots { return &Slots{each: each, free: all, taken: map[string]int{}} }

// Enter waits for a slot. The caller calls leave when it is done, unless there is an error:
// that of the context.
func (s *Slots) Enter(ctx context.Context, tenant string) (leave func(), err error) {
	w := &waiter{tenant, make(chan struct{})}
	s.mu.Lock()
	s.waiting = append(s.waiting, w)
	s.grant()
	s.mu.Unlock()
	leave = func() { s.leave(tenant) }
	select {
	case <-w.ready:
		return leave, nil
	case <-ctx.Done():
	}
	s.mu.Lock()
	i := slices.Index(s.waiting, w)
	if i >= 0 {
		s.waiting = slices.Delete(s.waiting, i, i+1)
	}
	s.mu.Unlock()
	if i < 0 { // it had got one meanwhile
		leave()
	}
	return nil, ctx.Err()
}

func (s *Slots) leave(tenant string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.free++
	if s.taken[tenant]--; s.taken[tenant] == 0 {
		delete(s.taken, tenant)
	}
	s.grant()
}

// grant gives free slots to those who wait. The caller holds mu.
func (s *Slots) grant() {
	for s.free > 0 {
		best := -1
		for i, w := range s.waiting {
			if n := s.taken[w.tenant]; n < s.each && (best < 0 || n < s.taken[s.waiting[best].tenant]) {
				best = i
			}
		}
		if best < 0 {
			return
		}
		w := s.waiting[best]
		s.waiting = slices.Delete(s.waiting, best, best+1)
		s.taken[w.tenant]++
		s.free--
		close(w.ready)
	}
}
