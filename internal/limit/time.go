// Package limit limits what a server does: the time of work that a call can do without
// (recall, embedding, summaries, the store) and the number of requests that are worked on at
// a time. The plan of a call is not such work and has no deadline.
package limit

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"
)

// Work is one kind of work. The zero value is ready. It is safe for concurrent use.
type Work struct{ abandoned atomic.Int64 }

// MaxAbandoned is how many abandoned functions of one Work may still run. Do refuses
// further ones at once.
const MaxAbandoned = 64

// Do returns the result of do. When ctx ends first, Do returns its error and abandons do,
// which may ignore its context: it goes on in its own goroutine, and its result is dropped. The
// goroutine is one of the context's Crew, if it has one.
// A panic of do is an error.
//
// do must not use anything that the caller changes afterwards.
func Do[T any](ctx context.Context, w *Work, do func(context.Context) (T, error)) (T, error) {
	var none T
	if err := ctx.Err(); err != nil {
		return none, err
	}
	if w.abandoned.Load() >= MaxAbandoned {
		return none, fmt.Errorf("%d earlier ones have not come to an end: %w", MaxAbandoned, context.DeadlineExceeded)
	}
	type result struct {
		value T
		err   error
	}
	done := make(chan result, 1)
	var over atomic.Bool // set by whichever ends first
	CrewOf(ctx).Go(func() (then func()) {
		var r result
		then = func() {
			done <- r
			if over.Swap(true) {
				w.abandoned.Add(-1)
			}
		}
		defer func() {
			if p := recover(); p != nil {
				r = result{err: fmt.Errorf("a panic: %v", p)}
			}
		}()
		r.value, r.err = do(ctx)
		return then
	})
	select {
	case r := <-done:
		return r.value, r.err
	case <-ctx.Done():
	}
	w.abandoned.Add(1)
	if over.Swap(true) { // both ended at once
		w.abandoned.Add(-1)
		r := <-done
		return r.value, r.err
	}
	return none, ctx.Err()
}

// Time is how long all work of one kind may take for one call. The zero value
// allows none. It is for one goroutine.
type Time struct{ Left time.Duration }

// Spend is Do within the time that is left.
func Spend[T any](ctx context.Context, w *Work, t *Time, do func(context.Context) (T, error)) (T, error) {
	began := time.Now()
	ctx, cancel := context.WithTimeout(ctx, t.Left)
	defer cancel()
	v, err := Do(ctx, w, do)
	t.Left -= time.Since(began)
	return v, err
}
