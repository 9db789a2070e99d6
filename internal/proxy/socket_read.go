package proxy

import (
	"bytes"
	"fmt"
	"io"
	"time"

	"github.com/coder/websocket"

	"github.com/oriel-context/oriel/internal/clip"
	"github.com/oriel-context/oriel/internal/forward"
	"github.com/oriel-context/oriel/internal/proxy/socket"
)

// The most calls of a connection that may wait for those before them in their lanes, and the most
// lanes that have calls: each takes goroutines and buffers beside the memory of its message.
const maxWaiting, maxLanes = 64, 64

// readClient reads the client's messages until the connection ends, and returns why it did.
func (c *wsConnection) readClient() error {
	for {
		kind, r, err := c.client.Reader(c.ctx)
		if err != nil {
			return err
		}
		// The message has begun: its bytes must come.
		timer := time.AfterFunc(c.x.s.bodyWait, func() { c.client.CloseNow() })
		err = c.take(kind, pacedReader{r, timer, c.x.s.bodyWait})
		timer.Stop()
		if err != nil {
			return err
		}
	}
}

// pacedReader restarts a timer with each read.
type pacedReader struct {
	io.Reader
	timer *time.Timer
	wait  time.Duration
}

func (r pacedReader) Read(p []byte) (int, error) {
	r.timer.Reset(r.wait)
	return r.Reader.Read(p)
}

// take takes one message of the client.
func (c *wsConnection) take(kind websocket.MessageType, r pacedReader) error {
	if kind != websocket.MessageText {
		return c.untouched(kind, nil, r, "a binary WebSocket message")
	}
	m := c.newMemory()
	raw, passed, err := readMessage(r, nil, m, c.x.s.messageLimit)
	r.timer.Stop()
	switch {
	case err != nil:
		m.LetGo()
		return err
	case passed != "":
		defer m.LetGo()
		c.x.s.counters.calls.Add(1)
		c.x.s.counters.passedFor(passed).Add(1)
		c.x.s.engine.Unseen(c.x.tenant, c.x.id, passed)
		return c.untouched(kind, raw, r, "a WebSocket message: "+passed)
	}
	f := socket.ReadFrame(raw)
	if f.IsCall() && c.enqueue(f, m) {
		return nil
	}
	defer m.LetGo()
	c.awaitSent()
	switch {
	case f.IsCall():
		return c.untouched(kind, raw, nil, "a call over WebSocket: too many wait or run")
	case !f.Harmless():
		what := f.Kind
		if what == "" {
			what = "that is not JSON with one type"
		}
		return c.untouched(kind, raw, nil, fmt.Sprintf("WebSocket message %s", clip.To(what, clip.Name/4)))
	}
	return c.write(c.up, kind, raw)
}

func (c *wsConnection) newMemory() *forward.Memory {
	m := c.x.s.budget.NewMemory(nil)
	m.Tenant, m.Shared = c.x.memory.Tenant, c.x.memory.Shared
	return m
}

// untouched sends a message that is not read: what was read of it, and the rest. What the
// provider holds is not known after that.
func (c *wsConnection) untouched(kind websocket.MessageType, read []byte, rest io.Reader, why string) error {
	c.mu.Lock()
	c.history.Forget()
	c.mu.Unlock()
	c.name("relayed untouched: " + why)
	if rest == nil {
		return c.write(c.up, kind, read)
	}
	return c.relay(c.up, kind, read, rest)
}

// enqueue has a call run after those before it in its lane. It returns false if too many wait or run.
func (c *wsConnection) enqueue(f *socket.Frame, m *forward.Memory) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.gone != nil {
		m.LetGo()
		return true
	}
	if c.waiting >= maxWaiting {
		return false
	}
	l := c.lanes[f.Stream]
	if l == nil && len(c.lanes) >= maxLanes {
		return false
	}
	if l == nil {
		l = &lane{c: c, name: f.Stream, sent: make(chan struct{})}
		c.lanes[f.Stream] = l
		c.calls.Add(1)
		go l.run()
	}
	c.waiting++
	l.queue = append(l.queue, queued{f, m})
	return true
}

// awaitSent waits until the calls that came before a message are sent, so that it reaches the
// provider after them. Calls that wait for another one of their lane are not sent before the
// messages that follow them.
func (c *wsConnection) awaitSent() {
	c.mu.Lock()
	var all []chan struct{}
	for _, l := range c.lanes {
		if l.sent != nil {
			all = append(all, l.sent)
		}
	}
	c.mu.Unlock()
	for _, sent := range all {
		select {
		case <-sent:
		case <-c.ctx.Done():
		}
	}
}

// readProvider reads the provider's messages until the connection ends, and returns why it did.
func (c *wsConnection) readProvider() error {
	var events socket.EventReader
	head := make([]byte, firstMessage)
	for {
		kind, r, err := c.up.Reader(c.ctx)
		if err != nil {
			return err
		}
		m := c.newMemory()
		raw, passed, err := readMessage(r, head, m, c.x.s.messageLimit)
		if err != nil {
			m.LetGo()
			return err
		}
		if passed != "" || kind != websocket.MessageText {
			err = c.pass(kind, raw, r)
		} else {
			e := events.Read(raw)
			err = c.dispatch(raw, &e)
		}
		m.LetGo()
		if err != nil {
			return err
		}
	}
}

// readMessage reads a message of at most limit bytes into memory of its own. If there is too little,
// passed is the reason and raw is what was read. head is a buffer for small messages.
func readMessage(r io.Reader, head []byte, m *forward.Memory, limit int64) (raw []byte, passed string, err error) {
	if len(head) == 0 {
		head = make([]byte, firstMessage)
	}
	n, err := io.ReadFull(r, head)
	raw = head[:n]
	for size := int64(n); err == nil; {
		switch grown := min(4*size, limit+1); {
		case size > limit:
			return bytes.Clone(raw), forward.PassedSize, nil
		case !m.Take(grown):
			return bytes.Clone(raw), forward.PassedMemory, nil
		default:
			raw = append(make([]byte, 0, grown), raw...)
			n, err = io.ReadFull(r, raw[size:grown])
			raw = raw[:size+int64(n)]
			m.Give(size)
			size = grown
		}
	}
	if err != io.EOF && err != io.ErrUnexpectedEOF {
		return nil, "", err
	}
	if int64(len(raw)) > limit {
		return bytes.Clone(raw), forward.PassedSize, nil
	}
	if len(raw) > len(head) {
		return raw, "", nil
	}
	if !m.Take(int64(len(raw))) {
		return bytes.Clone(raw), forward.PassedMemory, nil
	}
	return bytes.Clone(raw), "", nil
}

// firstMessage is the size of the buffer into which messages are read first: most are smaller.
const firstMessage = 16 << 10

// pass relays a message of the provider that is not read. Nobody knows whose it is.
func (c *wsConnection) pass(kind websocket.MessageType, read []byte, rest io.Reader) error {
	c.mu.Lock()
	c.history.Forget()
	c.mu.Unlock()
	return c.relay(c.client, kind, read, rest)
}

// relay writes a message to a peer: what was read of it, and the rest. Each part must come and be
// taken within the time for a message; otherwise the connection ends.
func (c *wsConnection) relay(to *websocket.Conn, kind websocket.MessageType, read []byte, rest io.Reader) error {
	w, err := to.Writer(c.ctx, kind)
	if err != nil {
		return err
	}
	timer := time.AfterFunc(c.x.s.write, func() {
		c.client.CloseNow()
		c.up.CloseNow()
	})
	defer timer.Stop()
	if _, err := w.Write(read); err != nil {
		return err
	}
	if _, err := io.Copy(w, pacedReader{rest, timer, c.x.s.write}); err != nil {
		return err
	}
	return w.Close()
}

// attemptOf returns what an event answers; nil if nothing. A provider that knows no lanes names none,
// and answers, or refuses, what it was sent first. The caller holds mu.
func (c *wsConnection) attemptOf(e *socket.Event) (first *attempt) {
	if l := c.lanes[e.Stream]; l != nil && l.active != nil {
		return l.active
	}
	if e.Stream != "" || !e.Reply {
		return nil
	}
	for _, l := range c.lanes {
		if a := l.active; a != nil && (first == nil || a.order < first.order) {
			first = a
		}
	}
	return first
}

// dispatch gives an event to the call that it belongs to, or to the client.
func (c *wsConnection) dispatch(raw []byte, e *socket.Event) error {
	c.mu.Lock()
	a := c.attemptOf(e)
	if a != nil && e.Last {
		a.call.lane.active = nil
	}
	c.mu.Unlock()
	if a == nil || !a.push(raw, e) {
		return c.write(c.client, websocket.MessageText, raw)
	}
	return nil
}
