package call

import (
	"context"
	"errors"
	"time"

	"github.com/oriel-context/oriel/internal/bound"
	"github.com/oriel-context/oriel/internal/event"
)

// keepLearnt stores what this call taught, in the background.
func (c *Call) keepLearnt() {
	if c.engine.o.Learnt == nil {
		return
	}
	if c.engine.o.Shared {
		c.taught.Store(true) // and it is stored before the call ends
		return
	}
	c.engine.queue.goBeside(func() {
		if err := c.engine.o.Learnt(); err != nil {
			c.engine.report(event.OpenLearnt, c.request, c.thread.Conversation, err)
		}
	})
}

// keepShared stores what this call taught, for the process that has the next one.
func (c *Call) keepShared() {
	if !c.engine.o.Shared || c.engine.o.Learnt == nil || !c.taught.Load() {
		return
	}
	if s := c.engine.Spool(); s.Calls > s.Newer {
		c.engine.keepSoon() // a store that accepts no calls would hold up those behind this one
		return
	}
	if err := c.engine.o.Learnt(); err != nil {
		c.engine.report(event.OpenLearnt, c.request, c.thread.Conversation, err)
	}
}

// keepWait is how long something learnt may stay in memory only.
const keepWait = time.Minute

// keepSoon stores what was learnt after keepWait, together with what is learnt until
// then.
func (r *Engine) keepSoon() {
	if r.o.Learnt == nil {
		return
	}
	r.changing.Lock()
	defer r.changing.Unlock()
	if r.keeping == nil && !r.closed {
		r.keeping = time.AfterFunc(keepWait, r.keep)
	}
}

func (r *Engine) keep() {
	r.changing.Lock()
	r.keeping = nil
	r.changing.Unlock()
	if err := r.o.Learnt(); err != nil {
		r.report(event.OpenLearnt, nil, "", err)
	}
}

// refresh reads what other processes have learnt or forgotten, at most once a second unless
// Config.Shared is set.
func (r *Engine) refresh() {
	if r.o.Refresh == nil {
		return
	}
	now, last := r.o.Now().Unix(), r.refreshed.Load()
	if !r.o.Shared && now == last || now != last && !r.refreshed.CompareAndSwap(last, now) {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), r.o.Waits.Brief)
	defer cancel()
	r.readLearnt(ctx, r.o.Refresh)
}

// reread reads what other processes have learnt by the calls that a request continues from.
// The notification of it may come later than the request.
func (r *Engine) reread(ctx context.Context) {
	if r.o.Reread == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, r.storeWait())
	defer cancel()
	r.readLearnt(ctx, r.o.Reread)
}

func (r *Engine) readLearnt(ctx context.Context, read func() error) {
	_, err := bound.Do(ctx, &r.reads, func(context.Context) (struct{}, error) { return struct{}{}, read() })
	if err != nil && !errors.Is(err, context.DeadlineExceeded) { // what takes longer is there for a later call
		r.report(event.OpenLearnt, nil, "", err)
	}
}
