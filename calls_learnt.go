package oriel

import (
	"context"
	"errors"
	"time"

	"github.com/oriel-context/oriel/internal/bound"
)

// keepLearnt stores what this call taught, in the background.
func (c *Call) keepLearnt() {
	if c.calls.o.Learnt == nil {
		return
	}
	c.calls.queue.goBeside(func() {
		if err := c.calls.o.Learnt(); err != nil {
			c.calls.report(OpenLearnt, c.request, c.thread.Conversation, err)
		}
	})
}

// keepWait is how long something learnt may stay in memory only.
const keepWait = time.Minute

// keepSoon stores what was learnt after keepWait, together with what is learnt until
// then.
func (r *calls) keepSoon() {
	if r.o.Learnt == nil {
		return
	}
	r.changing.Lock()
	defer r.changing.Unlock()
	if r.keeping == nil && !r.closed {
		r.keeping = time.AfterFunc(keepWait, r.keep)
	}
}

func (r *calls) keep() {
	r.changing.Lock()
	r.keeping = nil
	r.changing.Unlock()
	if err := r.o.Learnt(); err != nil {
		r.report(OpenLearnt, nil, "", err)
	}
}

// refresh reads what other processes have learnt or forgotten, at most once a second.
func (r *calls) refresh() {
	if r.o.Refresh == nil {
		return
	}
	now, last := r.o.Now().Unix(), r.refreshed.Load()
	if now == last || !r.refreshed.CompareAndSwap(last, now) {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), r.o.Waits.Brief)
	defer cancel()
	_, err := bound.Do(ctx, &r.reads, func(context.Context) (struct{}, error) { return struct{}{}, r.o.Refresh() })
	if err != nil && !errors.Is(err, context.DeadlineExceeded) { // what takes longer is there for a later call
		r.report(OpenLearnt, nil, "", err)
	}
}
