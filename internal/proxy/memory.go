package proxy

import (
	"bytes"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/oriel-context/oriel/internal/call"
	"github.com/oriel-context/oriel/wire"
)

// budget bounds the memory of all bodies and all copies of answers together: those of calls,
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
//   - a body that is still coming has to come at leastRate, and while more than half of
//     the memory is held at hurriedRate: see clientBody.
type budget struct {
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

func newBudget(limit int64) *budget {
	return &budget{limit: limit, tenants: map[share]int64{}, coming: map[*Memory]struct{}{}}
}

// Memory is what one request holds of Options.BufferLimit: its body, that body decoded, and
// what is copied of its answer. Each goroutine that uses the memory holds it; when
// the last one lets go, everything is given back. All methods are safe for concurrent
// use; a nil *Memory has no limit.
type Memory struct {
	budget  *budget
	body    *clientBody
	tenant  string
	shared  bool // there are several tenants
	own     bool // it is of one of Oriel's own paths
	holders atomic.Int64
	taken   int64 // protected by budget.mu
}

func (b *budget) newMemory(body *clientBody) *Memory {
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
	if b.held+n > b.limit/2 || m.own && b.own+n > b.limit/4 {
		b.hurry(time.Now())
	}
	switch {
	case m.own && (b.own+n > b.limit/2 || m.shared && b.tenants[share{m.tenant, true}]+n > b.limit/4):
		return false // no call suffers
	case b.held+n > most, m.shared && b.tenants[share{m.tenant, false}]+n > b.limit/2:
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

func (b *budget) give(m *Memory, n int64) {
	m.taken -= n
	b.held -= n
	if m.own {
		b.own -= n
		b.giveShare(m, share{m.tenant, true}, n)
	}
	b.giveShare(m, share{m.tenant, false}, n)
}

func (b *budget) giveShare(m *Memory, of share, n int64) {
	if !m.shared {
		return
	}
	if b.tenants[of] -= n; b.tenants[of] == 0 {
		delete(b.tenants, of)
	}
}

// arriving notes whether the body of m is still arriving.
func (m *Memory) arriving(is bool) {
	m.budget.mu.Lock()
	defer m.budget.mu.Unlock()
	if is {
		m.budget.coming[m] = struct{}{}
	} else {
		delete(m.budget.coming, m)
	}
}

// hurry ends bodies that arrive too slowly while memory is short. It checks at most once
// a second.
func (b *budget) hurry(now time.Time) {
	if now.Sub(b.swept) < time.Second {
		return
	}
	b.swept = now
	for m := range b.coming {
		if now.After(m.body.dueBy(hurriedTime, hurriedRate)) {
			m.body.expire()
		}
	}
}

// heldBytes returns the bytes held now.
func (b *budget) heldBytes() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.held
}

// short reports whether memory was refused within the last minute.
func (b *budget) short() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return !b.refused.IsZero() && time.Since(b.refused) < shortFor
}

// firstRead is the number of bytes reserved before a body arrives, growth the factor by
// which a full buffer grows.
const (
	firstRead = 16 << 10
	growth    = 4
)

// stages are pools of buffers for bodies that grow: of firstRead bytes, growth times
// that, and so on.
var stages [4]sync.Pool

// stage returns an empty buffer of n bytes.
func stage(n int64) []byte {
	size := int64(firstRead)
	for i := range stages {
		if size == n {
			if p, ok := stages[i].Get().(*[]byte); ok {
				return (*p)[:0]
			}
		}
		size *= growth
	}
	return make([]byte, 0, n)
}

// leaveStage returns a buffer to its pool.
func leaveStage(p []byte) {
	size := firstRead
	for i := range stages {
		if size == cap(p) {
			p = p[:0]
			stages[i].Put(&p)
		}
		size *= growth
	}
}

// read reads to the end, or up to length if that is not negative. It reserves at most
// four times what arrived, and at most the length. If it stops early, passed is the
// reason and p is what was read.
func (m *Memory) read(r io.Reader, length, limit int64) (p []byte, passed string, err error) {
	most := limit + 1 // one byte more shows that it is too much
	if length >= 0 {
		most = min(most, length)
	}
	size := min(firstRead, most)
	if !m.Take(size) {
		return nil, passedMemory, nil
	}
	p = stage(size)
	for int64(len(p)) != length {
		if len(p) == cap(p) {
			size = min(growth*int64(cap(p)), most)
			if !m.Take(size - int64(cap(p))) {
				return p, passedMemory, nil
			}
			grown := append(stage(size), p...)
			leaveStage(p)
			p = grown
		}
		n, err := r.Read(p[len(p):cap(p)])
		p = p[:len(p)+n]
		switch {
		case int64(len(p)) > limit:
			return p, passedSize, nil
		case err == io.EOF:
			return p, "", nil
		case err != nil:
			return p, "", err
		}
	}
	return p, "", nil
}

// prepare decodes a call's body and reserves memory for the engine's work; passed is
// the reason if it cannot.
func (m *Memory) prepare(c *call.Request, limit int64) (passed string) {
	if passed = m.decode(c, limit); passed != "" {
		return passed
	}
	// A view or the parsed body takes about as much again, and more with many small
	// parts; each part has a brace.
	n := int64(len(c.Body))
	parts := wire.PartBytes * int64(min(bytes.Count(c.Body, []byte("{")), wire.MaxParts))
	if (n > smallCall || parts > n) && !m.Take(max(n, parts)) {
		return passedMemory
	}
	return ""
}

// decode removes the Content-Encoding of a call's body for inspection; passed is the
// reason if it cannot.
func (m *Memory) decode(c *call.Request, limit int64) (passed string) {
	encoding := strings.Join(c.Header["Content-Encoding"], ",")
	if encoding == "" {
		return ""
	}
	r, err := wire.Decode(encoding, bytes.NewReader(c.Body))
	if err != nil {
		return passedEncoding
	}
	body, passed, err := m.read(r, -1, limit)
	if err != nil {
		passed = passedEncoding
	}
	if passed != "" {
		m.Give(int64(cap(body)))
		return passed
	}
	c.Body = body
	return ""
}
