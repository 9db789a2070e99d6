package oriel

import (
	"context"
	"errors"
	"sync"
)

// queue does jobs in the background: those of one key one after the other in the order
// in which they came, others beside them. What waits is bounded by its bytes.
type queue struct {
	limit int64
	// failed is told of what a job panicked.
	failed func(any)

	mu      sync.Mutex // protects what follows
	waiting map[string][]job
	bytes   int64
	free    int // workers that may still be started
	ready   []string
	closed  bool
	idle    chan struct{} // closed when the queue is closed and empty
	busy    int
}

type job struct {
	bytes int64
	run   func()
}

var errBacklog = errors.New("too much is waiting to be stored")

func newQueue(workers int, limit int64, failed func(any)) *queue {
	return &queue{limit: limit, failed: failed, waiting: map[string][]job{}, free: workers, idle: make(chan struct{})}
}

// add queues a job that holds so many bytes, or refuses it. One job is always taken.
func (q *queue) add(key string, bytes int64, run func()) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case q.closed:
		return errors.New("Call has ended")
	case q.bytes > 0 && q.bytes+bytes > q.limit:
		return errBacklog
	}
	q.bytes += bytes
	jobs, running := q.waiting[key]
	q.waiting[key] = append(jobs, job{bytes, run})
	if running {
		return nil // who has the key goes on with it
	}
	q.ready = append(q.ready, key)
	if q.free > 0 {
		q.free--
		q.busy++
		go q.work()
	}
	return nil
}

// work does what is ready until nothing is.
func (q *queue) work() {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.ready) > 0 {
		key := q.ready[0]
		q.ready = q.ready[1:]
		j := q.waiting[key][0]
		q.mu.Unlock()
		q.do(j)
		q.mu.Lock()
		q.bytes -= j.bytes
		if rest := q.waiting[key][1:]; len(rest) > 0 {
			q.waiting[key] = rest
			q.ready = append(q.ready, key)
		} else {
			delete(q.waiting, key)
		}
	}
	q.free++
	if q.busy--; q.busy == 0 && q.closed {
		close(q.idle)
	}
}

func (q *queue) do(j job) {
	defer func() {
		if p := recover(); p != nil {
			q.failed(p)
		}
	}()
	j.run()
}

// close takes no more jobs, and waits for those that there are.
func (q *queue) close(ctx context.Context) error {
	q.mu.Lock()
	if !q.closed {
		if q.closed = true; q.busy == 0 {
			close(q.idle)
		}
	}
	q.mu.Unlock()
	select {
	case <-q.idle:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
