package serve

import (
	"cmp"
	"context"
	"slices"
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
	// latest are the latest calls of each conversation, in the order in which they ended.
	latest map[conversation][]metered
}

// conversation names a conversation of a tenant.
type conversation struct{ tenant, name string }

// metered is what the meter knows of a call.
type metered struct {
	id, model string
	prompt    int
	// cached reports that the provider reported something of a cache.
	cached bool
}

// lookBack is with how many of the calls before a call is compared: as many as the report compares
// it with, and some of other models and beside the conversation among them.
const lookBack = 2 * misses.Candidates

// maxMetered is of how many conversations the meter knows the latest calls. Beyond it, it forgets
// all of them.
const maxMetered = 10_000

// startMisses looks at calls until stop is called.
func startMisses(store timeline.Store, m *metrics.Metrics) (q *missMeter, stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	q = &missMeter{store: store, reader: misses.NewReader(store), metrics: m, queue: make(chan oriel.Event, 256),
		stopped: make(chan struct{}), latest: map[conversation][]metered{}}
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

// look counts one call. What fails is not counted: the history reports its own failures. Records
// are read only if the sizes say that something was missed, and only those of the latest calls, so
// that a call costs the same however long its conversation is. All of them are read for the first
// call of a conversation that the meter meets, which may be an old one.
func (q *missMeter) look(ctx context.Context, e *oriel.Event) {
	now := &misses.Call{ID: e.Call, Model: e.Model, Read: e.Usage.CacheRead, Could: e.Usage.CacheRead,
		Prompt: e.Usage.Input + e.Usage.CacheRead + e.Usage.CacheWrite + e.Usage.Hour}
	at := conversation{cmp.Or(e.Tenant, timeline.Local), e.Conversation}
	before, known := q.latest[at]
	if !known && len(q.latest) >= maxMetered {
		clear(q.latest)
	}
	all := append(before, metered{e.Call, e.Model, now.Prompt, now.Prompt > e.Usage.Input})
	if len(all) > lookBack+1 {
		all = slices.Delete(all, 0, 1)
	}
	q.latest[at] = all
	most, cached := -1, false
	for i, c := range all {
		if c.model == e.Model {
			cached = cached || c.cached
			if i < len(all)-1 {
				most = max(most, min(c.prompt, now.Prompt))
			}
		}
	}
	model := q.metrics.Models().Lookup(e.Model)
	if !cached && misses.Silent(&model) {
		return
	}
	if most >= 0 && misses.Whole(&model.Cache, most, now.Read) {
		now.Could = max(now.Read, most)
		q.metrics.Cache(now)
		return
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	defer func() { recover() }() // nothing of it ends the server
	if found := q.find(ctx, at, all, known); found != nil {
		q.metrics.Cache(found)
	}
}

// find looks the last of some calls up in the history; nil if it cannot be found.
func (q *missMeter) find(ctx context.Context, at conversation, latest []metered, known bool) *misses.Call {
	if known {
		ids := make([]string, len(latest))
		for i := range latest {
			ids[i] = latest[i].id
		}
		found, err := q.reader.Latest(ctx, at.tenant, at.name, ids, q.metrics.Models())
		if err != nil {
			return nil
		}
		return found
	}
	c, err := q.store.Conversation(ctx, at.tenant, at.name)
	if err != nil {
		return nil
	}
	calls, err := q.reader.Calls(ctx, at.tenant, &c, q.metrics.Models())
	for i := len(calls) - 1; err == nil && i >= 0; i-- {
		if calls[i].ID == latest[len(latest)-1].id {
			return &calls[i]
		}
	}
	return nil
}
