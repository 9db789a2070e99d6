package proxy

import (
	"bytes"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/oriel-context/oriel"
	"github.com/oriel-context/oriel/wire"
)

// budget bounds the memory of all bodies and of all copies of answers together.
//
// Nobody reserves what has not come: a body takes memory as it arrives. On loopback all
// clients have the same address and no token, so a client is a connection or, where
// there are tokens, a tenant; these rules keep one from starving the others:
//
//   - the last eighth is for calls that hold at most smallCall, so that large ones never
//     keep them out;
//   - of several tenants none holds more than half;
//   - a body that is still coming has to come at leastRate, and while more than half of
//     the memory is held at hurriedRate: see clientBody.
type budget struct {
	limit int64

	mu      sync.Mutex // protects what follows
	held    int64
	tenants map[string]int64     // what each holds, where there are several
	coming  map[*Memory]struct{} // those whose bodies are still coming
	swept   time.Time            // when slow bodies were last looked for
	refused time.Time            // when memory was last refused
}

const (
	smallCall = 1 << 20
	// shortFor is how long health reports a shortage of memory after it was last met.
	shortFor = time.Minute
)

func newBudget(limit int64) *budget {
	return &budget{limit: limit, tenants: map[string]int64{}, coming: map[*Memory]struct{}{}}
}

// Memory is what one call holds of Options.BufferLimit: its body, that body decoded, and
// what a Recorder copies of its answer. Each goroutine that uses the memory holds it; when
// the last one lets go, everything is given back. All methods are safe for concurrent
// use; a nil *Memory has no limit.
type Memory struct {
	budget  *budget
	body    *clientBody
	tenant  string
	shared  bool // there are several tenants
	holders atomic.Int64
	taken   int64 // protected by budget.mu
}

func (b *budget) newMemory(body *clientBody) *Memory {
	m := &Memory{budget: b, body: body}
	m.Hold()
	return m
}

// Hold keeps what is taken until LetGo is called once more.
func (m *Memory) Hold() {
	if m != nil {
		m.holders.Add(1)
	}
}

// LetGo ends a Hold. The last one gives everything back.
func (m *Memory) LetGo() {
	if m != nil && m.holders.Add(-1) == 0 {
		b := m.budget
		b.mu.Lock()
		defer b.mu.Unlock()
		b.give(m, m.taken)
	}
}

// Take reserves n bytes before they are used. It reports whether they may be.
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
	if b.held+n > b.limit/2 {
		b.hurry(time.Now())
	}
	if b.held+n > most || m.shared && b.tenants[m.tenant]+n > b.limit/2 {
		b.refused = time.Now()
		return false
	}
	b.held += n
	m.taken += n
	if m.shared {
		b.tenants[m.tenant] += n
	}
	return true
}

// Give gives back n bytes that were taken.
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
	if m.shared {
		if b.tenants[m.tenant] -= n; b.tenants[m.tenant] == 0 {
			delete(b.tenants, m.tenant)
		}
	}
}

// arriving notes that the body of m is coming, or that it no longer is.
func (m *Memory) arriving(is bool) {
	m.budget.mu.Lock()
	defer m.budget.mu.Unlock()
	if is {
		m.budget.coming[m] = struct{}{}
	} else {
		delete(m.budget.coming, m)
	}
}

// hurry ends the bodies that come too slowly for a time in which memory is short. It
// looks at them once a second at most.
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

// bytes is what is held now.
func (b *budget) bytes() int64 {
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

// firstRead is what is reserved of a body before any of it came, and growth how much more
// is reserved each time that it is full.
const (
	firstRead = 16 << 10
	growth    = 4
)

// stages are buffers of firstRead, growth times that, and so on, which bodies pass through
// while they grow.
var stages [4]sync.Pool

// stage is an empty buffer of n bytes.
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

// leaveStage gives back a buffer that nobody uses any more.
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

// read reads to the end, or to the length where that is not negative. It reserves at most
// four times what came, and no more than the length. passed says why it stopped early; p is
// then what was read.
func (m *Memory) read(r io.Reader, length, limit int64) (p []byte, passed string, err error) {
	most := limit + 1 // more than that is not needed to see that it is too much
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

// prepare has a call's body decoded and memory for what a Recorder makes of it; passed
// says why it has not.
func (m *Memory) prepare(c *oriel.Request, limit int64) (passed string) {
	if passed = m.decode(c, limit); passed != "" {
		return passed
	}
	// A view, or what is read out of the body, is about as large again, and larger where
	// there are many small parts: each has a brace.
	n := int64(len(c.Body))
	parts := wire.PartBytes * int64(min(bytes.Count(c.Body, []byte("{")), wire.MaxParts))
	if (n > smallCall || parts > n) && !m.Take(max(n, parts)) {
		return passedMemory
	}
	return ""
}

// decode undoes the Content-Encoding of a call's body, for looking at it; passed says
// why it does not.
func (m *Memory) decode(c *oriel.Request, limit int64) (passed string) {
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
