package limit

import (
	"context"
	"sync"
)

// Running counts running work and can be waited for. The zero value is ready. It is safe for
// concurrent use.
type Running struct {
	mu   sync.Mutex // protects what follows
	n    int
	none chan struct{} // closed when n is 0 again; nil if nobody waits
}

// Add counts one more.
func (r *Running) Add() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.n++
}

// Done counts one less.
func (r *Running) Done() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.n--; r.n == 0 && r.none != nil {
		close(r.none)
		r.none = nil
	}
}

// Wait returns when nothing runs, or with the error of ctx.
func (r *Running) Wait(ctx context.Context) error {
	r.mu.Lock()
	if r.n == 0 {
		r.mu.Unlock()
		return nil
	}
	if r.none == nil {
		r.none = make(chan struct{})
	}
	none := r.none
	r.mu.Unlock()
	select {
	case <-none:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
