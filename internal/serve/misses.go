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
	// prompts are the sizes of the latest prompts.
	prompts map[prompted]int
}

// prompted is whose cache a prompt fills.
type prompted struct{ tenant, conversation, model string }

// maxPrompted is of how many conversations the meter knows the latest prompt. Beyond it, it
// forgets all of them.
const maxPrompted = 10_000

// startMisses looks at calls until stop is called.
func startMisses(store timeline.Store, m *metrics.Metrics) (q *missMeter, stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	q = &missMeter{store: store, reader: misses.NewReader(store), metrics: m, queue: make(chan oriel.Event, 256),
		stopped: make(chan struct{}), prompts: map[prompted]int{}}
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

// look counts one call. What fails is not counted: the history reports its own failures. The calls
// of the conversation are read only if the sizes say that something was missed, so that most
// calls cost the same however long it is.
func (q *missMeter) look(ctx context.Context, e *oriel.Event) {
	now := &misses.Call{ID: e.Call, Model: e.Model, Read: e.Usage.CacheRead, Could: e.Usage.CacheRead,
		Prompt: e.Usage.Input + e.Usage.CacheRead + e.Usage.CacheWrite + e.Usage.Hour}
	at := prompted{e.Tenant, e.Conversation, e.Model}
	before, known := q.prompts[at]
	if !known && len(q.prompts) >= maxPrompted {
		clear(q.prompts)
	}
	q.prompts[at] = now.Prompt
	rule := q.metrics.Models().Lookup(e.Model).Cache
	if most := min(before, now.Prompt); known && misses.Whole(&rule, most, now.Read) {
		now.Could = max(now.Read, most)
		q.metrics.Cache(now)
		return
	}
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
