package proxy

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/oriel-context/oriel/internal/forward"
)

// clientBody is a request's body with a limit on the time between two reads. The whole
// body may take any time unless it is held in memory: then it must arrive at a minimum
// rate.
type clientBody struct {
	body io.Reader
	// trailer is the request's trailer, filled at the end of the body.
	trailer *http.Header
	// leave is called before each read; nil where the client does not wait for leave.
	leave func()
	rc    *http.ResponseController
	limit time.Duration
	until time.Time // when the whole body must be there; zero for any time
	read  atomic.Int64

	mu      sync.Mutex // protects what follows; no deadline may be set after Close
	paced   time.Time  // when it began to be held in memory; zero if it is not
	expired bool       // it arrived too slowly
	closed  bool
	ended   bool          // it was read to the end
	err     error         // the error that ended it early
	reading chan struct{} // closed when the read that runs has returned; nil if none runs
}

// leastRate is the minimum rate in bytes a second of a body held in memory, after the limit for
// the next bytes. While memory is short, forward.Budget wants more.
const leastRate = 8 << 10

var _ forward.Arrival = (*clientBody)(nil)

var errBodyClosed = errors.New("the request is over")

func (b *clientBody) Read(p []byte) (int, error) {
	b.mu.Lock()
	if b.closed {
		b.mu.Unlock()
		return 0, errBodyClosed
	}
	b.nextDeadline()
	read := make(chan struct{})
	b.reading = read
	b.mu.Unlock()
	if b.leave != nil {
		b.leave()
	}
	n, err := b.body.Read(p)
	b.read.Add(int64(n))
	b.mu.Lock()
	defer b.mu.Unlock()
	b.reading = nil
	close(read)
	if err == nil {
		return n, nil
	}
	if err == io.EOF {
		forward.DropOwn(*b.trailer)
		b.ended = true
		if !b.closed {
			b.deadline(0) // the server keeps reading to notice when the client leaves
		}
	} else {
		b.err = err
	}
	return n, err
}

// nextDeadline sets the deadline for the next bytes.
func (b *clientBody) nextDeadline() {
	if b.expired {
		b.deadline(-1)
		return
	}
	left := b.limit
	if !b.paced.IsZero() {
		left = min(left, b.limit+time.Duration(b.read.Load())*time.Second/leastRate-time.Since(b.paced))
	}
	if !b.until.IsZero() {
		left = min(left, time.Until(b.until))
	}
	if left <= 0 {
		left = -1 // 0 is no deadline
	}
	b.deadline(left)
}

// Pace starts or stops requiring a minimum rate.
func (b *clientBody) Pace(on bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.paced = (time.Time{}); on {
		b.paced = time.Now()
	}
}

// DueBy returns when a paced body becomes late if it may take first plus a second per
// rate bytes.
func (b *clientBody) DueBy(first time.Duration, rate int64) time.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.paced.Add(first + time.Duration(b.read.Load())*time.Second/time.Duration(rate))
}

// Expire ends a body that arrived too slowly.
func (b *clientBody) Expire() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.closed && !b.ended {
		b.expired = true
		b.deadline(-1)
	}
}

// late returns the message for a body that missed its deadline.
func (b *clientBody) late() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.expired {
		return "the request's body came too slowly while the proxy was short of memory: send it again"
	}
	return fmt.Sprintf(
		"no byte of the request's body came for %v, or fewer than %d a second after that time: send it again", b.limit,
		leastRate)
}

// deadline sets the time that the client may take; 0 means no limit. ResponseWriters
// that do not support deadlines have no limit.
func (b *clientBody) deadline(d time.Duration) {
	if d == 0 {
		b.rc.SetReadDeadline(time.Time{})
		return
	}
	b.rc.SetReadDeadline(time.Now().Add(d))
}

// Close ends reading but not the client's connection: the transport closes the body as
// soon as it has an answer, and may still read briefly after the handler has returned.
// The server discards the rest of the body within the limit.
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
		b.deadline(-1) // nothing more will be read
	default:
		b.deadline(b.limit)
	}
	return nil
}

// release is Close at the end of the request. It ends a read that still runs: the server
// would do that itself, remove the deadline, and then read the rest without one.
func (b *clientBody) release() {
	b.Close()
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.reading == nil {
		return
	}
	b.deadline(-1)
	read := b.reading
	b.mu.Unlock()
	<-read
	b.mu.Lock()
	if b.ended {
		b.deadline(0)
	} else {
		b.deadline(b.limit)
	}
}

// failure returns the error that ended the body early, or nil.
func (b *clientBody) failure() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.err
}
