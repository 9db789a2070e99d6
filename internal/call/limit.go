package call

import (
	"context"
	"sync"
	"time"
)

// storedSizes remembers how much tenants have stored. The store counts that by reading
// much of a history, so that it is asked in the background and seldom.
type storedSizes struct {
	mu      sync.Mutex // protects what follows
	tenants map[string]*storedSize
}

type storedSize struct {
	bytes    int64
	measured time.Time // zero: never
	took     time.Duration
	busy     bool
}

const (
	// measureEvery is how old a size may be, measureShare how many times longer than a
	// measurement takes it is used at least.
	measureEvery, measureShare = time.Minute, 20
	// maxMeasured bounds the tenants that are remembered.
	maxMeasured = 10000
)

// overLimit reports whether a tenant has stored as much as it may, as far as is known.
func (r *Engine) overLimit(tenant string) bool {
	limits := r.tuning.Load().o.StoredBytes
	limit, ok := limits[tenant]
	if !ok {
		limit = limits["*"]
	}
	if limit <= 0 {
		return false
	}
	s := &r.sizes
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.tenants[tenant]
	if t == nil {
		if s.tenants == nil || len(s.tenants) >= maxMeasured {
			s.tenants = map[string]*storedSize{}
		}
		t = &storedSize{}
		s.tenants[tenant] = t
	}
	if !t.busy && r.o.Now().Sub(t.measured) >= max(measureEvery, measureShare*t.took) {
		t.busy = true
		r.queue.goBeside(func() { r.measure(tenant, t) })
	}
	return t.bytes >= limit
}

// measure asks the store for the size of a tenant's history. A size that cannot be had
// stays what it was.
func (r *Engine) measure(tenant string, t *storedSize) {
	ctx, cancel := context.WithTimeout(context.Background(), measureWait)
	defer cancel()
	began := r.o.Now()
	found, err := r.o.Store.Stats(ctx, tenant)
	r.sizes.mu.Lock()
	defer r.sizes.mu.Unlock()
	t.busy, t.measured = false, r.o.Now()
	if err == nil {
		t.bytes, t.took = found.Stored, t.measured.Sub(began)
	}
}
