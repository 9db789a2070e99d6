package proxy

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/oriel-context/oriel/wire"
)

// clientBody is a request's body as it comes, with a limit on how long the client may
// take for its next bytes, however long the whole takes.
type clientBody struct {
	body io.Reader
	// trailer is the request's, which is filled at the body's end.
	trailer *http.Header
	rc      *http.ResponseController
	limit   time.Duration
	read    atomic.Int64

	mu     sync.Mutex // protects what follows, and that no deadline is set after Close
	closed bool
	ended  bool  // all of it was read
	err    error // what ended it before that
}

var errBodyClosed = errors.New("the request is over")

func (b *clientBody) Read(p []byte) (int, error) {
	b.mu.Lock()
	if b.closed {
		b.mu.Unlock()
		return 0, errBodyClosed
	}
	b.deadline(b.limit)
	b.mu.Unlock()
	n, err := b.body.Read(p)
	b.read.Add(int64(n))
	if err == nil {
		return n, nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if err == io.EOF {
		dropOwn(*b.trailer)
		b.ended = true
		if !b.closed {
			b.deadline(0) // the server reads on, to see the client leave
		}
	} else {
		b.err = err
	}
	return n, err
}

// deadline sets how long the client may take; 0: as long as it likes. Not every
// ResponseWriter can; then there is no limit.
func (b *clientBody) deadline(d time.Duration) {
	if d == 0 {
		b.rc.SetReadDeadline(time.Time{})
		return
	}
	b.rc.SetReadDeadline(time.Now().Add(d))
}

// Close ends reading, not the client's connection: the transport closes the body as
// soon as it has an answer, and may try to read on for a moment after the handler has
// returned. What is left of the body, the server reads away within the limit.
func (b *clientBody) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return nil
	}
	b.closed = true
	switch {
	case b.ended:
		b.deadline(0)
	case b.err != nil:
		b.deadline(-1) // nothing more will come
	default:
		b.deadline(b.limit)
	}
	return nil
}

// failure is what ended the body before its end, nil if nothing did.
func (b *clientBody) failure() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.err
}

// Why a call is not looked at.
const (
	passedBypass   = "bypass asked for"
	passedSize     = "body over the limit"
	passedMemory   = "too many bodies at once"
	passedEncoding = "unreadable content encoding"
)

// firstRead bounds what is set aside on the word of a Content-Length.
const firstRead = 1 << 20

// buffer reads a call's whole body. Where that would be more than the limits, whole is
// false and passed says why; raw is then what was read, and the rest is still to come.
func (x *exchange) buffer() (raw []byte, whole bool, passed string, err error) {
	length := x.r.ContentLength
	if length > x.s.bodyLimit {
		return nil, false, passedSize, nil
	}
	raw, passed, err = x.memory.read(&x.body, length)
	if err != nil || passed != "" {
		return raw, false, passed, err
	}
	if int64(len(raw)) == length {
		// The end itself: trailers come with it, and the server begins to watch for
		// the client's leaving.
		var end [1]byte
		if n, err := x.body.Read(end[:]); n > 0 || err != io.EOF {
			return raw, false, "", fmt.Errorf("the body does not end where its length says: %w", errors.Join(err, io.ErrUnexpectedEOF))
		}
	}
	return raw, true, "", nil
}

// memory is what a request has of the memory for bodies. The exchange holds it, and so
// does every goroutine that has its body, as such a one may be left behind; the last to
// let go gives it back.
type memory struct {
	s       *Server
	taken   atomic.Int64
	holders atomic.Int64
}

func (s *Server) newMemory() *memory {
	m := &memory{s: s}
	m.hold()
	return m
}

func (m *memory) hold() { m.holders.Add(1) }

func (m *memory) letGo() {
	if m.holders.Add(-1) == 0 {
		m.give(m.taken.Load())
	}
}

func (m *memory) take(n int64) bool {
	if m.s.buffered.Add(n) > m.s.bufferLimit {
		m.s.buffered.Add(-n)
		return false
	}
	m.taken.Add(n)
	return true
}

func (m *memory) give(n int64) {
	m.taken.Add(-n)
	m.s.buffered.Add(-n)
}

// read reads to the end, or to the length where that is not negative. Memory is taken
// before it is filled. passed says why it stopped before; p is then what was read.
func (m *memory) read(r io.Reader, length int64) (p []byte, passed string, err error) {
	most := m.s.bodyLimit + 1 // more than that is not needed to see that it is too much
	size := min(64<<10, most)
	if length >= 0 {
		size = min(length, firstRead)
	}
	if !m.take(size) {
		return nil, passedMemory, nil
	}
	p = make([]byte, 0, size)
	for int64(len(p)) != length {
		if len(p) == cap(p) {
			size = min(2*int64(cap(p)), most)
			if length >= 0 {
				size = length
			}
			if !m.take(size) {
				return p, passedMemory, nil
			}
			before := int64(cap(p))
			p = append(make([]byte, 0, size), p...)
			m.give(before)
		}
		n, err := r.Read(p[len(p):cap(p)])
		p = p[:len(p)+n]
		switch {
		case int64(len(p)) == most:
			return p, passedSize, nil
		case err == io.EOF:
			return p, "", nil
		case err != nil:
			return p, "", err
		}
	}
	return p, "", nil
}

// decode undoes the Content-Encoding of a call's body, for looking at it; passed says
// why it does not.
func (m *memory) decode(c *Call) (passed string) {
	encoding := strings.Join(c.Header["Content-Encoding"], ",")
	if encoding == "" {
		return ""
	}
	r, err := wire.Decode(encoding, bytes.NewReader(c.Body))
	if err != nil {
		return passedEncoding
	}
	body, passed, err := m.read(r, -1)
	if err != nil {
		passed = passedEncoding
	}
	if passed != "" {
		m.give(int64(cap(body)))
		return passed
	}
	c.Body = body
	return ""
}
