package api

import (
	"cmp"
	"encoding/json"
	"sync"

	"github.com/oriel-context/oriel"
	"github.com/oriel-context/oriel/timeline"
)

// Hub passes events to streams. Publishing never waits: it appends to a ring of the newest
// events and wakes the streams, each of which reads the ring at its own pace. A stream that
// is behind by more than the ring loses events and is told how many.
//
// It is safe for concurrent use.
type Hub struct {
	mu      sync.Mutex // protects what follows
	ring    [ringSize]published
	next    int64         // the id of the next event; ids begin at 1
	wake    chan struct{} // closed when something is published; nil if nobody waits
	dropped int64
	counts  map[string]*failures
	streams map[string]int // by tenant; those without any are not in it
	open    int            // of all tenants
}

// ringSize is how many events are kept for streams that are behind or come back.
const ringSize = 256

// published is an event in the ring.
type published struct {
	id     int64
	tenant string
	event  oriel.Event
}

// NewHub returns a hub without events.
func NewHub() *Hub { return &Hub{next: 1, counts: map[string]*failures{}, streams: map[string]int{}} }

// Publish passes an event to the streams of its tenant.
func (h *Hub) Publish(e oriel.Event) { h.PublishTo(tenantOf(&e), e) }

// PublishTo passes an event to the streams of a tenant.
func (h *Hub) PublishTo(tenant string, e oriel.Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ring[h.next%ringSize] = published{h.next, tenant, e}
	h.next++
	h.count(tenant, &e)
	if h.wake != nil {
		close(h.wake)
		h.wake = nil
	}
}

// tenantOf returns the tenant whom an event is about.
func tenantOf(e *oriel.Event) string { return cmp.Or(e.Tenant, timeline.Local) }

// Last returns the id of the newest event, 0 if there is none.
func (h *Hub) Last() int64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.next - 1
}

// Dropped returns how many events slow streams have lost.
func (h *Hub) Dropped() int64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.dropped
}

// after returns the events of a tenant after an id, the id of the newest event of all, how
// many are lost, and a channel that is closed when there are more.
func (h *Hub) after(tenant string, id int64) (found []published, last, lost int64, more <-chan struct{}) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if oldest := max(1, h.next-ringSize); id+1 < oldest {
		lost = oldest - id - 1
		h.dropped += lost
		id = oldest - 1
	}
	for n := id + 1; n < h.next; n++ {
		if p := &h.ring[n%ringSize]; p.tenant == tenant {
			found = append(found, *p)
		}
	}
	if h.wake == nil {
		h.wake = make(chan struct{})
	}
	return found, h.next - 1, lost, h.wake
}

// enter reports whether a tenant may open one more stream; leave closes it.
func (h *Hub) enter(tenant string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.streams[tenant] >= maxStreams || h.open >= maxAllStreams {
		return false
	}
	h.streams[tenant]++
	h.open++
	return true
}

func (h *Hub) leave(tenant string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.open--
	if h.streams[tenant]--; h.streams[tenant] == 0 {
		delete(h.streams, tenant)
	}
}

// encode returns an event as it is streamed. A cost that is not a number is left out.
func (p *published) encode() []byte {
	data, err := json.Marshal(p.event)
	if err != nil {
		data, _ = json.Marshal(oriel.Event{Time: p.event.Time, Kind: p.event.Kind, Call: p.event.Call, Error: err.Error()})
	}
	return data
}
