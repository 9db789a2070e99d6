package serve

import (
	"cmp"
	"context"
	"time"

	"github.com/oriel-context/oriel"
	"github.com/oriel-context/oriel/internal/metrics"
	"github.com/oriel-context/oriel/internal/report/quality"
	"github.com/oriel-context/oriel/timeline"
)

// qualityMeter measures calls that were cut, in the background and one after another. It
// measures a sample where calls come faster than that: events that find its queue full are
// left out.
type qualityMeter struct {
	store   timeline.Store
	metrics *metrics.Metrics
	queue   chan oriel.Event
	stopped chan struct{}
}

// qualityEvery is the shortest time between two measurements, which bounds what they cost.
var qualityEvery = time.Second

// startQuality measures calls until stop is called.
func startQuality(store timeline.Store, m *metrics.Metrics) (q *qualityMeter, stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	q = &qualityMeter{store: store, metrics: m, queue: make(chan oriel.Event, 16), stopped: make(chan struct{})}
	go q.run(ctx)
	return q, func() {
		cancel()
		<-q.stopped
	}
}

// event queues a call that was cut. It never waits.
func (q *qualityMeter) event(e oriel.Event) {
	if e.Kind != oriel.EventCall || e.Plan == "" || e.Error != "" {
		return
	}
	select {
	case q.queue <- e:
	default:
	}
}

func (q *qualityMeter) run(ctx context.Context) {
	defer close(q.stopped)
	for {
		select {
		case e := <-q.queue:
			q.measure(ctx, &e)
		case <-ctx.Done():
			return
		}
		select {
		case <-time.After(qualityEvery):
		case <-ctx.Done():
			return
		}
	}
}

// measure measures one call. What fails is not counted: the history reports its own
// failures.
func (q *qualityMeter) measure(ctx context.Context, e *oriel.Event) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	defer func() { recover() }() // nothing of a measurement ends the server
	if m, err := quality.Call(ctx, q.store, cmp.Or(e.Tenant, timeline.Local), e.Conversation, e.Call,
		quality.Options{}); err == nil && m != nil {
		q.metrics.Quality(m)
	}
}
