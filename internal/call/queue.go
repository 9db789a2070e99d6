package call

import (
	"context"
	"errors"
	"sync"

	"github.com/oriel-context/oriel/internal/engine/fault"
	"github.com/oriel-context/oriel/internal/limit"
)

// queue runs jobs in the background: jobs of the same key one after the other in their
// order, others concurrently. The bytes of waiting jobs are bounded.
type queue struct {
	limit int64
	// failed is called with the panic of a job.
	failed func(any)

	mu      sync.Mutex // protects what follows
	waiting map[string][]job
	bytes   int64
	free    int // workers that may still be started
	ready   []string
	closed  bool
	busy    int           // workers
	idle    chan struct{} // closed while there are none
	beside  int           // runs of goBeside and runBeside
	alone   chan struct{} // closed while there are none
}

type job struct {
	bytes int64
	run   func()
}

var errBacklog = errors.New("too much is waiting to be stored")

func newQueue(workers int, limit int64, failed func(any)) *queue {
	return &queue{limit: limit, failed: failed, waiting: map[string][]job{}, free: workers, idle: closedChannel(),
		alone: closedChannel()}
}

// add queues a job that holds so many bytes, or refuses it. An empty queue accepts any
// job. A worker that it needs is one of a crew.
func (q *queue) add(by *limit.Crew, key string, bytes int64, run func()) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case q.closed:
		return fault.ErrClosed
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
		if q.busy++; q.busy == 1 {
			q.idle = make(chan struct{})
		}
		by.Go(q.work)
	}
	return nil
}

// work runs jobs until none is ready.
func (q *queue) work() (none func()) {
	ReserveStack()
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
	if q.busy--; q.busy == 0 {
		close(q.idle)
	}
	return nil
}

func (q *queue) do(j job) {
	defer func() {
		if p := recover(); p != nil {
			q.failed(p)
		}
	}()
	j.run()
}

// goBeside runs, in a goroutine of its own, what may have to wait before it can add its
// job.
func (q *queue) goBeside(run func()) {
	q.enterBeside()
	go func() {
		defer q.leaveBeside()
		q.do(job{run: run})
	}()
}

// runBeside is goBeside in the goroutine of the caller.
func (q *queue) runBeside(run func()) {
	q.enterBeside()
	defer q.leaveBeside()
	run()
}

func (q *queue) enterBeside() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.beside++; q.beside == 1 {
		q.alone = make(chan struct{})
	}
}

func (q *queue) leaveBeside() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.beside--; q.beside == 0 {
		close(q.alone)
	}
}

// depth returns how many jobs have not ended, and the bytes that they hold.
func (q *queue) depth() (jobs int, bytes int64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, waiting := range q.waiting {
		jobs += len(waiting)
	}
	return jobs, q.bytes
}

// crowded reports whether the jobs hold more than half of what they may.
func (q *queue) crowded() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.bytes > q.limit/2
}

// noneWaits reports whether no other job waits for the running job of a key, or for a worker.
func (q *queue) noneWaits(key string) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.ready) == 0 && len(q.waiting[key]) <= 1
}

// drain waits until all jobs have ended, and accepts no more.
func (q *queue) drain(ctx context.Context) error {
	err := q.waitBeside(ctx)
	q.mu.Lock()
	q.closed = true
	q.mu.Unlock()
	return errors.Join(err, q.wait(ctx))
}

// wait waits until all jobs have ended.
func (q *queue) wait(ctx context.Context) error {
	if err := q.waitBeside(ctx); err != nil {
		return err
	}
	q.mu.Lock()
	idle := q.idle
	q.mu.Unlock()
	return waitFor(ctx, idle)
}

func (q *queue) waitBeside(ctx context.Context) error {
	q.mu.Lock()
	alone := q.alone
	q.mu.Unlock()
	return waitFor(ctx, alone)
}

// waitKey waits until the jobs of a key that are in the queue now have ended.
func (q *queue) waitKey(ctx context.Context, key string) error {
	q.mu.Lock()
	_, any := q.waiting[key]
	q.mu.Unlock()
	if !any {
		return nil
	}
	done := make(chan struct{})
	if err := q.add(nil, key, 0, func() { close(done) }); err != nil {
		return err
	}
	return waitFor(ctx, done)
}

func waitFor(ctx context.Context, done <-chan struct{}) error {
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func closedChannel() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}
