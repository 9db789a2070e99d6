package api

import (
	"cmp"
	"encoding/json"
	"slices"
	"sync"

	"github.com/oriel-context/oriel"
	"github.com/oriel-context/oriel/timeline"
)

// Hub passes events to streams. Publishing never waits: it appends to a ring of the newest
// events and wakes the streams, each of which reads the ring at its own pace. A stream that
// is behind by more than the ring loses events and is sent their number.
//
// It is safe for concurrent use.
type Hub struct {
	mu      sync.Mutex // protects what follows
	ring    [ringSize]published
	next    int64            // the place of the next event in the ring; places begin at 1
	last    map[string]int64 // the id of the newest event by tenant; ids begin at 1
	wake    chan struct{}    // closed when something is published; nil if nobody waits
	dropped int64
	counts  map[string]*failures
	streams map[string][]chan struct{} // by tenant, the oldest first; those without any are not in it
	open    int                        // of all tenants
}

// ringSize is how many events are kept for streams that are behind or come back.
const ringSize = 256

// published is an event in the ring. Tenants count their events apart, so that nobody learns
// from an id how much others do.
type published struct {
	id     int64
	tenant string
	event  oriel.Event
}

// causeLogged replaces, for tenants, the causes of failures, which may name files and
// addresses of the server.
const causeLogged = "the server's log has the cause"

// NewHub returns a hub without events.
func NewHub() *Hub {
	return &Hub{next: 1, last: map[string]int64{}, counts: map[string]*failures{},
		streams: map[string][]chan struct{}{}}
}

// Publish passes an event to the streams of its tenant.
func (h *Hub) Publish(e oriel.Event) { h.PublishTo(tenantOf(&e), e) }

// PublishTo passes an event to the streams of a tenant.
func (h *Hub) PublishTo(tenant string, e oriel.Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if tenant != timeline.Local && e.Error != "" && (e.Kind == oriel.EventOpen || e.Kind == oriel.EventCondensation) {
		e.Error = causeLogged
	}
	h.last[tenant]++
	h.ring[h.next%ringSize] = published{h.last[tenant], tenant, e}
	h.next++
	h.count(tenant, &e)
	if h.wake != nil {
		close(h.wake)
		h.wake = nil
	}
}

// tenantOf returns the tenant whom an event is about.
func tenantOf(e *oriel.Event) string { return cmp.Or(e.Tenant, timeline.Local) }

// lastOf returns the id of a tenant's newest event, 0 if there is none.
func (h *Hub) lastOf(tenant string) int64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.last[tenant]
}

// Dropped returns how many events slow streams have lost.
func (h *Hub) Dropped() int64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.dropped
}

// progress is how far a stream has come: the id of the last event of its tenant, and the place
// up to which it has seen the ring.
type progress struct{ id, place int64 }

// after returns the events that a stream of a tenant has not seen, how many of them are lost,
// and a channel that is closed when there are more. It moves the stream's progress to the end.
func (h *Hub) after(tenant string, c *progress) (found []published, lost int64, more <-chan struct{}) {
	h.mu.Lock()
	defer h.mu.Unlock()
	first := h.last[tenant] + 1
	for n := max(c.place+1, h.next-ringSize, 1); n < h.next; n++ {
		if p := &h.ring[n%ringSize]; p.tenant == tenant && p.id > c.id {
			first = min(first, p.id)
			found = append(found, *p)
		}
	}
	lost = first - c.id - 1
	h.dropped += lost
	*c = progress{h.last[tenant], h.next - 1}
	if h.wake == nil {
		h.wake = make(chan struct{})
	}
	return found, lost, h.wake
}

// enter opens a stream of a tenant; end is closed when it has to end, and leave closes it. If
// too many are open, the one that has been open the longest ends: of the tenant, or of the
// tenant that has the most. So nobody is kept out by streams that others leave open.
func (h *Hub) enter(tenant string) (end chan struct{}, leave func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.streams[tenant]) >= maxStreams {
		h.end(tenant, h.streams[tenant][0])
	} else if h.open >= maxAllStreams {
		most := tenant
		for name, all := range h.streams {
			if n := len(h.streams[most]); len(all) > n || len(all) == n && name < most {
				most = name
			}
		}
		h.end(most, h.streams[most][0])
	}
	end = make(chan struct{})
	h.streams[tenant] = append(h.streams[tenant], end)
	h.open++
	return end, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.end(tenant, end)
	}
}

// end closes a stream, unless it is closed. h.mu is held.
func (h *Hub) end(tenant string, end chan struct{}) {
	all := h.streams[tenant]
	i := slices.Index(all, end)
	if i < 0 {
		return
	}
	close(end)
	h.open--
	if all = slices.Delete(all, i, i+1); len(all) == 0 {
		delete(h.streams, tenant)
	} else {
		h.streams[tenant] = all
	}
}

// encode returns an event as it is streamed. A cost that is not a number is left out.
func (p *published) encode() []byte {
	data, err := json.Marshal(p.event)
	if err != nil {
		data, _ = json.Marshal(oriel.Event{Time: p.event.Time, Kind: p.event.Kind, Call: p.event.Call,
			Error: err.Error()})
	}
	return data
}
