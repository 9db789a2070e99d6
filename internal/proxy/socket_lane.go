package proxy

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync"

	"github.com/coder/websocket"

	"github.com/oriel-context/oriel/internal/forward"
	"github.com/oriel-context/oriel/internal/proxy/socket"
)

// lane runs the calls of a connection that come one after another. Its goroutine ends when none
// waits.
type lane struct {
	c    *wsConnection
	name string

	// wsConnection.mu protects these.
	queue []queued
	// active is what gets the provider's events of the lane; nil between calls, and as long as
	// the call is not sent.
	active *attempt
	// sent is closed when the call that runs is sent, or ends unsent; nil if none runs.
	sent chan struct{}
}

// queued is a call that waits, and the memory that holds its message.
type queued struct {
	frame  *socket.Frame
	memory *forward.Memory
}

func (l *lane) run() {
	c := l.c
	defer c.calls.Done()
	for {
		c.mu.Lock()
		if l.sent != nil && c.gone != nil {
			l.isSent()
		}
		if len(l.queue) == 0 || c.gone != nil {
			for _, q := range l.queue {
				q.memory.LetGo()
				c.waiting--
			}
			delete(c.lanes, l.name)
			idle := c.ending && len(c.lanes) == 0 && c.gone == nil
			c.mu.Unlock()
			if idle {
				c.running.Go(c.closeBoth)
			}
			return
		}
		q := l.queue[0]
		l.queue = l.queue[1:]
		c.waiting--
		if l.sent == nil {
			l.sent = make(chan struct{})
		}
		turn := c.history.Turn(q.frame)
		c.mu.Unlock()

		(&wsCall{lane: l, c: c, frame: q.frame, turn: turn, memory: q.memory, id: forward.NewID(),
			began: c.x.s.now()}).answer()

		c.mu.Lock()
		l.active = nil
		l.isSent()
		turn.Answered(nil)
		c.mu.Unlock()
		q.memory.LetGo()
	}
}

// isSent notes that the messages behind the call may follow. The caller holds mu.
func (l *lane) isSent() {
	if l.sent != nil {
		close(l.sent)
		l.sent = nil
	}
}

// attempt is a message that was sent for a call, with the events that answer it.
type attempt struct {
	call   *wsCall
	order  int // among the attempts of the connection
	reply  socket.Reply
	events chan piece    // from the goroutine that reads the provider
	over   chan struct{} // closed when nobody reads events any more
	broken chan struct{} // closed when no event will come
	why    error         // for broken

	closing, failing sync.Once

	pending []byte // of the event that is being read
	ended   bool   // the last event is in pending, or was

	mu       sync.Mutex // protects what follows, and the order of what the client gets
	rendered int64      // bytes that were made of events
	relayed  int64      // bytes that the reader has
	held     []heldEvent
}

// piece is an event on its way to its call. stream is what a stream over HTTP has of it; nil
// for events that are about something else.
type piece struct {
	raw, stream []byte
	last        bool
	status      int
	retryAfter  string
}

// heldEvent is an event that the client gets when the reader has the stream up to end.
type heldEvent struct {
	raw []byte
	end int64
}

func newAttempt(w *wsCall) *attempt {
	return &attempt{call: w, events: make(chan piece), over: make(chan struct{}), broken: make(chan struct{})}
}

// push hands an event over. After the last one it waits until the client has it. It returns
// false if the call reads no more.
func (a *attempt) push(raw []byte, e *socket.Event) bool {
	p := piece{raw: raw, last: e.Last, status: e.Status, retryAfter: e.RetryAfter}
	if e.Reply {
		a.reply.Add(e)
		p.stream = e.AppendSSE(nil)
	}
	select {
	case a.events <- p:
	case <-a.over:
		return false
	case <-a.call.c.ctx.Done():
		return false
	}
	if e.Last {
		select {
		case <-a.over:
		case <-a.call.c.ctx.Done():
		}
	}
	return true
}

// fail ends the stream: no event will come.
func (a *attempt) fail(why error) { a.failing.Do(func() { a.why = why; close(a.broken) }) }

// next waits for the next event of the reply. Others go to the client, behind those before them.
func (a *attempt) next() (piece, error) {
	for {
		select {
		case p := <-a.events:
			if p.stream != nil {
				return p, nil
			}
			if err := a.relayOther(p.raw); err != nil {
				return piece{}, err
			}
		case <-a.broken:
			return piece{}, a.why
		case <-a.over:
			return piece{}, errors.New("the reply was closed")
		}
	}
}

// hold notes an event of which n bytes are to be read before the client gets it.
func (a *attempt) hold(raw []byte, n int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.rendered += int64(n)
	a.held = append(a.held, heldEvent{raw, a.rendered})
}

func (a *attempt) relayOther(raw []byte) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.held) > 0 {
		a.held = append(a.held, heldEvent{raw, a.rendered})
		return nil
	}
	return a.call.c.write(a.call.c.client, websocket.MessageText, raw)
}

// relay sends the client the events of which the reader has all bytes, after n more.
func (a *attempt) relay(n int) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.relayed += int64(n)
	for len(a.held) > 0 && a.held[0].end <= a.relayed {
		if err := a.call.c.write(a.call.c.client, websocket.MessageText, a.held[0].raw); err != nil {
			return fmt.Errorf("%w: %w", ErrClientLeft, err)
		}
		a.call.out += int64(len(a.held[0].raw))
		a.held = a.held[1:]
	}
	return nil
}

// Read implements io.Reader: the events as a stream over HTTP.
func (a *attempt) Read(p []byte) (int, error) {
	for len(a.pending) == 0 {
		if a.ended {
			return 0, io.EOF
		}
		next, err := a.next()
		if err != nil {
			return 0, err
		}
		a.hold(next.raw, len(next.stream))
		a.pending, a.ended = next.stream, next.last
		if next.last {
			a.call.answered(&a.reply)
		}
	}
	n := copy(p, a.pending)
	if a.pending = a.pending[n:]; len(a.pending) == 0 && a.ended {
		return n, io.EOF
	}
	return n, nil
}

// Close implements io.Closer.
func (a *attempt) Close() error {
	a.closing.Do(func() { close(a.over) })
	return nil
}

// answer returns the answer over HTTP that the events mean: a stream, or an error if that is the
// first event.
func (a *attempt) answer(r *http.Request) (*http.Response, error) {
	first, err := a.next()
	if err != nil {
		return nil, err
	}
	res := &http.Response{StatusCode: http.StatusOK, ProtoMajor: 1, ProtoMinor: 1, Header: http.Header{}, Body: a,
		ContentLength: -1, Request: r}
	a.ended = first.last
	if first.status == 0 {
		res.Header.Set("Content-Type", "text/event-stream")
		a.pending = first.stream
		if first.last {
			a.call.answered(&a.reply)
		}
	} else {
		res.StatusCode, res.ContentLength = first.status, int64(len(first.raw))
		res.Header.Set("Content-Type", "application/json")
		res.Header.Set("Content-Length", strconv.Itoa(len(first.raw)))
		if first.retryAfter != "" {
			res.Header.Set("Retry-After", first.retryAfter)
		}
		a.pending = first.raw
	}
	a.hold(first.raw, len(a.pending))
	return res, nil
}

var _ io.ReadCloser = (*attempt)(nil)
