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
	body  io.Reader
	rc    *http.ResponseController
	limit time.Duration
	read  atomic.Int64

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
	s, length := x.s, x.r.ContentLength
	if length > s.bodyLimit {
		return nil, false, passedSize, nil
	}
	size := int64(64 << 10)
	if length >= 0 {
		size = min(length, firstRead)
	}
	if !x.reserve(size) {
		return nil, false, passedMemory, nil
	}
	raw = make([]byte, 0, size)
	for int64(len(raw)) != length {
		if len(raw) == cap(raw) {
			if int64(len(raw)) > s.bodyLimit {
				return raw, false, passedSize, nil
			}
			grown := min(2*int64(cap(raw)), s.bodyLimit+1)
			if length >= 0 {
				grown = length
			}
			if !x.reserve(grown - int64(cap(raw))) {
				return raw, false, passedMemory, nil
			}
			raw = append(make([]byte, 0, grown), raw...)
		}
		n, err := x.body.Read(raw[len(raw):cap(raw)])
		raw = raw[:len(raw)+n]
		if err == io.EOF {
			return raw, true, "", nil
		}
		if err != nil {
			return raw, false, "", err
		}
	}
	// The end itself: trailers come with it, and the server begins to watch for the
	// client's leaving.
	var end [1]byte
	if n, err := x.body.Read(end[:]); n > 0 || err != io.EOF {
		return raw, false, "", fmt.Errorf("the body does not end where its length says: %w", errors.Join(err, io.ErrUnexpectedEOF))
	}
	return raw, true, "", nil
}

// reserve takes n bytes of the memory for bodies, which the exchange's end gives back.
func (x *exchange) reserve(n int64) bool {
	if !x.s.reserve(n) {
		return false
	}
	x.reserved += n
	return true
}

func (s *Server) reserve(n int64) bool {
	if s.buffered.Add(n) > s.bufferLimit {
		s.buffered.Add(-n)
		return false
	}
	return true
}

// decode undoes the Content-Encoding of a call's body, for looking at it; passed says
// why it does not.
func (s *Server) decode(c *Call) (passed string) {
	encoding := strings.Join(c.Header["Content-Encoding"], ",")
	if encoding == "" {
		return ""
	}
	r, err := wire.Decode(encoding, bytes.NewReader(c.Body))
	if err != nil {
		return passedEncoding
	}
	var body bytes.Buffer
	n, err := io.Copy(&body, io.LimitReader(r, s.bodyLimit+1))
	switch {
	case err != nil:
		return passedEncoding
	case n > s.bodyLimit:
		return passedSize
	}
	c.Body = body.Bytes()
	return ""
}
