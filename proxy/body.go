package proxy

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// clientBody is a request's body as it comes, with a limit on how long the client may
// take for its next bytes. The whole may take as long as it likes unless it is held in
// memory: then it has to come at a least rate.
type clientBody struct {
	body io.Reader
	// trailer is the request's, which is filled at the body's end.
	trailer *http.Header
	// leave is called before each read; nil where the client does not wait for leave.
	leave func()
	rc    *http.ResponseController
	limit time.Duration
	read  atomic.Int64

	mu      sync.Mutex // protects what follows, and that no deadline is set after Close
	paced   time.Time  // when it began to be held in memory; zero: it is not
	expired bool       // it came too slowly
	closed  bool
	ended   bool  // all of it was read
	err     error // what ended it before that
}

// A body that is held in memory has the limit for its next bytes, and for the whole this
// time and rate: the limit and leastRate as a rule, hurriedTime and hurriedRate while
// memory is short.
const (
	leastRate   = 8 << 10 // bytes a second
	hurriedTime = 10 * time.Second
	hurriedRate = 1 << 20
)

var errBodyClosed = errors.New("the request is over")

func (b *clientBody) Read(p []byte) (int, error) {
	b.mu.Lock()
	if b.closed {
		b.mu.Unlock()
		return 0, errBodyClosed
	}
	b.nextDeadline()
	b.mu.Unlock()
	if b.leave != nil {
		b.leave()
	}
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

// nextDeadline sets the deadline for the next bytes.
func (b *clientBody) nextDeadline() {
	switch {
	case b.expired:
		b.deadline(-1)
	case b.paced.IsZero():
		b.deadline(b.limit)
	default:
		left := b.limit + time.Duration(b.read.Load())*time.Second/leastRate - time.Since(b.paced)
		if left <= 0 {
			left = -1
		}
		b.deadline(min(b.limit, left))
	}
}

// pace has the body come at a least rate from now on, or no longer.
func (b *clientBody) pace(on bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.paced = (time.Time{}); on {
		b.paced = time.Now()
	}
}

// dueBy is when a paced body is late that may take so long, and a second for so many
// bytes.
func (b *clientBody) dueBy(first time.Duration, rate int64) time.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.paced.Add(first + time.Duration(b.read.Load())*time.Second/time.Duration(rate))
}

// expire ends a body that came too slowly.
func (b *clientBody) expire() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.closed && !b.ended {
		b.expired = true
		b.deadline(-1)
	}
}

// late says why a body ended by its deadline, and what to do.
func (b *clientBody) late() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.expired {
		return "the request's body came too slowly while the proxy was short of memory: send it again"
	}
	return fmt.Sprintf("no byte of the request's body came for %v, or fewer than %d a second after that time: send it again", b.limit, leastRate)
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
	passedMemory   = "no memory for it"
	passedEncoding = "unreadable content encoding"
)

// buffer reads a call's whole body. Where that would be more than the limits, whole is
// false and passed says why; raw is then what was read, and the rest is still to come.
func (x *exchange) buffer() (raw []byte, whole bool, passed string, err error) {
	length := x.r.ContentLength
	if length > x.s.bodyLimit {
		return nil, false, passedSize, nil
	}
	x.body.pace(true)
	x.memory.arriving(true)
	raw, passed, err = x.memory.read(&x.body, length, x.s.bodyLimit)
	x.memory.arriving(false)
	x.body.pace(false)
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
