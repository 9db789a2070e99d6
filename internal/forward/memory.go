package forward

import (
	"sync"
	"sync/atomic"
	"time"
)

// Budget bounds the memory of all bodies and all copies of answers together: those of calls,
// and those of Oriel's own paths.
//
// A body takes memory only as it arrives. On loopback all clients have the same address
// and no token, so a client is a connection or, with tokens, a tenant. These rules keep
// one client from starving the others:
//
//   - the last eighth is for calls that hold at most smallCall, so that large ones never
//     keep them out;
//   - of several tenants none holds more than half;
//   - Oriel's own paths hold at most half, of several tenants each a quarter, so that people
//     who look keep no call out;
//   - while more than half of the memory is held, a body that is still coming has to come at
//     hurriedRate.
type Budget struct {
	limit int64

	mu      sync.Mutex // protects what follows
	held    int64
	own     int64                // bytes held by Oriel's own paths
	tenants map[share]int64      // bytes held by each tenant, if there are several
	coming  map[*Memory]struct{} // calls whose bodies are still arriving
	swept   time.Time            // when slow bodies were last searched for
	refused time.Time            // when memory was last refused
}

// share is what a tenant holds: with own, only that of Oriel's own paths.
type share struct {
	tenant string
	own    bool
}

const (
	smallCall = 1 << 20
	// shortFor is how long health reports a memory shortage after the last one.
	shortFor = time.Minute
)

// NewBudget returns a Budget of so many bytes.
func NewBudget(limit int64) *Budget {
	return &Budget{limit: limit, tenants: map[share]int64{}, coming: map[*Memory]struct{}{}}
}

// Arrival is a body that is held in memory while it arrives.
type Arrival interface {
	// Pace is called when the body begins to be held in memory, and when it is there.
	Pace(on bool)
	// DueBy returns when the body is late if it may take first, and a second more per rate
	// bytes that have come.
	DueBy(first time.Duration, rate int64) time.Time
	// Expire ends a body that arrives too slowly.
	Expire()
}

// Memory is what one request holds of a Budget: its body, that body decoded, and
// what is copied of its answer. Each goroutine that uses the memory holds it; when
// the last one lets go, everything is given back. All methods are safe for concurrent
// use; a nil *Memory has no limit.
type Memory struct {
	budget *Budget
	body   Arrival
	// Tenant is whose request it is, Shared reports that there are several tenants, and Own
	// that it is a request of one of Oriel's own paths. They are set before the first Take.
	Tenant      string
	Shared, Own bool

	holders atomic.Int64
	taken   int64 // protected by budget.mu
}

// NewMemory returns the memory of a request, which its caller holds. body is nil if nothing can
// end it.
func (b *Budget) NewMemory(body Arrival) *Memory {
	m := &Memory{budget: b, body: body}
	m.Hold()
	return m
}

// Hold keeps what is taken until the matching LetGo.
func (m *Memory) Hold() {
	if m != nil {
		m.holders.Add(1)
	}
}

// LetGo ends a Hold. The last one returns everything.
func (m *Memory) LetGo() {
	if m != nil && m.holders.Add(-1) == 0 {
		b := m.budget
		b.mu.Lock()
		defer b.mu.Unlock()
		b.give(m, m.taken)
	}
}

// Take reserves n bytes and reports whether they may be used.
func (m *Memory) Take(n int64) bool {
	if m == nil {
		return true
	}
	b := m.budget
	b.mu.Lock()
	defer b.mu.Unlock()
	most := b.limit
	if m.taken+n > smallCall {
		most -= b.limit / 8
	}
	if b.held+n > b.limit/2 || m.Own && b.own+n > b.limit/4 {
		b.hurry(time.Now())
	}
	switch {
	case m.Own && (b.own+n > b.limit/2 || m.Shared && b.tenants[share{m.Tenant, true}]+n > b.limit/4):
		return false // no call suffers
	case b.held+n > most, m.Shared && b.tenants[share{m.Tenant, false}]+n > b.limit/2:
		b.refused = time.Now()
		return false
	}
	b.give(m, -n)
	return true
}

// Give returns n bytes that were taken.
func (m *Memory) Give(n int64) {
	if m != nil {
		m.budget.mu.Lock()
		defer m.budget.mu.Unlock()
		m.budget.give(m, n)
	}
}

func (b *Budget) give(m *Memory, n int64) {
	m.taken -= n
	b.held -= n
	if m.Own {
		b.own -= n
		b.giveShare(m, share{m.Tenant, true}, n)
	}
	b.giveShare(m, share{m.Tenant, false}, n)
}

func (b *Budget) giveShare(m *Memory, of share, n int64) {
	if !m.Shared {
		return
	}
	if b.tenants[of] -= n; b.tenants[of] == 0 {
		delete(b.tenants, of)
	}
}

// Arriving notes whether the body of m is still arriving.
func (m *Memory) Arriving(is bool) {
	if m == nil || m.body == nil {
		return
	}
	m.body.Pace(is)
	m.budget.mu.Lock()
	defer m.budget.mu.Unlock()
	if is {
		m.budget.coming[m] = struct{}{}
	} else {
		delete(m.budget.coming, m)
	}
}

// While memory is short, a body must arrive at hurriedRate bytes a second after hurriedTime.
const (
	hurriedTime = 10 * time.Second
	hurriedRate = 1 << 20
)

// hurry ends bodies that arrive too slowly while memory is short. It checks at most once
// a second.
func (b *Budget) hurry(now time.Time) {
	if now.Sub(b.swept) < time.Second {
		return
	}
	b.swept = now
	for m := range b.coming {
		if now.After(m.body.DueBy(hurriedTime, hurriedRate)) {
			m.body.Expire()
		}
	}
}

// Held returns the bytes held now.
func (b *Budget) Held() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.held
}

// Short reports whether memory was refused within the last minute.
func (b *Budget) Short() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return !b.refused.IsZero() && time.Since(b.refused) < shortFor
}
