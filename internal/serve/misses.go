package serve

import (
	"cmp"
	"context"
	"time"

	"github.com/oriel-context/oriel"
	"github.com/oriel-context/oriel/internal/metrics"
	"github.com/oriel-context/oriel/internal/report/misses"
	"github.com/oriel-context/oriel/timeline"
)

// missMeter counts the tokens that providers did not read from their caches, in the background and
// one call after another. Calls that come while its queue is full are left out.
type missMeter struct {
	store   timeline.Store
	reader  *misses.Reader
	metrics *metrics.Metrics
	queue   chan oriel.Event
	stopped chan struct{}
}

// startMisses looks at calls until stop is called.
func startMisses(store timeline.Store, m *metrics.Metrics) (q *missMeter, stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	q = &missMeter{store: store, reader: misses.NewReader(store), metrics: m, queue: make(chan oriel.Event, 256),
		stopped: make(chan struct{})}
	go q.run(ctx)
	return q, func() {
		cancel()
		<-q.stopped
	}
}

// event queues a call of which the provider reported what it used. It never waits.
func (q *missMeter) event(e oriel.Event) {
	if e.Kind != oriel.EventCall || e.Usage == nil {
		return
	}
	select {
	case q.queue <- e:
	default:
	}
}

func (q *missMeter) run(ctx context.Context) {
	defer close(q.stopped)
	for {
		select {
		case e := <-q.queue:
			q.look(ctx, &e)
		case <-ctx.Done():
			return
		}
	}
}

// look counts one call. What fails is not counted: the history reports its own failures.
func (q *missMeter) look(ctx context.Context, e *oriel.Event) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	defer func() { recover() }() // nothing of it ends the server
	tenant := cmp.Or(e.Tenant, timeline.Local)
	c, err := q.store.Conversation(ctx, tenant, e.Conversation)
	if err != nil {
		return
	}
	calls, err := q.reader.Calls(ctx, tenant, &c, q.metrics.Models())
	if err != nil {
		return
	}
	for i := len(calls) - 1; i >= 0; i-- {
		if calls[i].ID == e.Call {
			q.metrics.Cache(&calls[i])
			return
		}
	}
}
