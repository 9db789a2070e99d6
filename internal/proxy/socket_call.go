package proxy

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"time"

	"github.com/coder/websocket"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/internal/clip"
	"github.com/oriel-context/oriel/internal/forward"
	"github.com/oriel-context/oriel/internal/proxy/socket"
	"github.com/oriel-context/oriel/wire"
)

// wsCall is one call of a connection.
type wsCall struct {
	lane    *lane
	c       *wsConnection
	frame   *socket.Frame
	turn    *socket.Turn
	memory  *forward.Memory
	id      string
	began   time.Time
	call    forward.Exchange
	current *attempt // the last one
	status  int
	out     int64
}

// answer has the call answered, and the client get the events of that.
func (w *wsCall) answer() {
	x := w.c.x
	x.s.counters.calls.Add(1)
	if f, wait := x.s.overLimit(x.s.routing.Load(), x.tenant, w.id, w.began); f != nil {
		w.refuse(f, wait)
		return
	}
	body := w.turn.Body()
	if !w.memory.Take(int64(len(body))) {
		w.unseen(forward.PassedMemory)
		return
	}
	format := wire.CallFormat(x.route.path)
	in := w.request(body)
	w.call = forward.Exchange{ID: w.id, Tenant: x.tenant, Profile: x.route.profile, Path: x.route.path, In: in,
		Began: w.began, Memory: w.memory}
	if w.frame.Prepares {
		w.call.Counts = format // it is shown as the next call will be, and not recorded
	} else {
		w.call.Format = format
	}
	out := in.Clone(w.c.ctx)
	forward.SetBody(out, body)
	res, err := x.s.forwarder.Do(&w.call, out, w.send)
	if reason := w.call.Passed(); reason != "" {
		x.s.counters.passedFor(reason).Add(1)
		w.c.name("relayed untouched: a WebSocket message: " + reason)
	}
	var header http.Header
	if err == nil {
		header, w.status = res.Header, res.StatusCode
		err = w.relay()
	}
	w.call.End(err)
	w.end(header, err)
}

// request returns the call as a request over HTTP.
func (w *wsCall) request(body []byte) *http.Request {
	x := w.c.x
	r := &http.Request{Method: http.MethodPost, URL: x.r.URL, Header: w.c.header.Clone(), Host: x.r.Host,
		RemoteAddr: x.r.RemoteAddr, ProtoMajor: 1, ProtoMinor: 1}
	for name, value := range w.frame.Header {
		r.Header.Set(name, value)
	}
	forward.SetBody(r, body)
	return r.WithContext(w.c.ctx)
}

// send sends the call's message for a body, and returns what answers it.
func (w *wsCall) send(out *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(out.Body)
	if err != nil {
		return nil, err
	}
	var message []byte
	if w.call.Begun() || w.frame.Prepares {
		message = w.turn.Message(body)
	} else {
		message = w.turn.Own()
	}
	if w.current != nil {
		w.current.Close()
	}
	a := newAttempt(w)
	w.current = a
	c := w.c
	c.mu.Lock()
	gone := c.gone
	if gone == nil {
		c.attempts++
		a.order, w.lane.active = c.attempts, a
	}
	c.mu.Unlock()
	if gone != nil {
		return nil, gone
	}
	if err := c.write(c.up, websocket.MessageText, message); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUpstream, err)
	}
	c.mu.Lock()
	w.lane.isSent()
	c.mu.Unlock()
	return a.answer(out)
}

// relay has the client get the events that were read of the answer. If the engine wants that, it
// has the end of the call before the client has: the next call may go to another server.
func (w *wsCall) relay() error {
	for {
		part, err := w.call.Next()
		if err == io.EOF && w.call.EndWait() > 0 {
			w.call.Settle()
		}
		if bad := w.current.relay(len(part)); bad != nil {
			return bad
		}
		switch {
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		}
	}
}

// answered notes the reply of the call, before the client has its end and continues it.
func (w *wsCall) answered(r *socket.Reply) {
	w.c.mu.Lock()
	defer w.c.mu.Unlock()
	w.turn.Answered(r)
}

// unseen sends the client's message as it came.
func (w *wsCall) unseen(reason string) {
	w.c.x.s.counters.passedFor(reason).Add(1)
	w.c.x.s.engine.Unseen(w.c.x.tenant, w.id, reason)
	w.end(nil, w.c.untouched(websocket.MessageText, w.frame.Raw(), nil, "a WebSocket message: "+reason))
}

// refuse answers the call in the provider's place.
func (w *wsCall) refuse(f *refusal, wait time.Duration) {
	body := wire.CallFormat(w.c.x.route.path).Protocol().Refusal(f.status, f.kind, "oriel: "+f.message)
	event := []byte(`{"type":"error",`)
	if w.frame.Stream != "" {
		event = append(chat.AppendQuote(append(event, `"stream_id":`...), w.frame.Stream), ',')
	}
	event = fmt.Appendf(event, `"status":%d,"headers":{"retry-after":"%d"},`, f.status, seconds(wait))
	event = append(event, bytes.TrimPrefix(body, []byte("{"))...)
	w.status = f.status
	w.c.x.s.counters.refused.Add(1)
	w.log(nil, errors.Join(f, w.c.write(w.c.client, websocket.MessageText, event)))
}

// end counts and logs the call. A client that lost a part of a reply loses the connection, too:
// it would wait for the rest.
func (w *wsCall) end(header http.Header, err error) {
	if w.current != nil {
		w.current.Close()
	}
	counters := &w.c.x.s.counters
	switch {
	case err == nil:
		counters.answered.Add(1)
		if w.status >= http.StatusBadRequest {
			counters.errors.Add(1)
		}
	case errors.Is(err, ErrClientLeft):
		counters.clientLeft.Add(1)
	default:
		counters.broken.Add(1)
	}
	w.log(header, err)
	if err != nil {
		w.c.Close()
	}
}

// log logs one line for the call, as for those over HTTP.
func (w *wsCall) log(header http.Header, err error) {
	x := w.c.x
	level := slog.LevelInfo
	if err != nil && !errors.Is(err, ErrClientLeft) {
		level = slog.LevelWarn
	}
	if !x.s.log.Enabled(context.Background(), level) {
		return
	}
	keys := x.keys()
	attrs := []slog.Attr{
		slog.String("id", w.id), slog.String("method", "WEBSOCKET"),
		slog.String("path", cleaned(keys, x.route.path, clip.Line)), slog.Int("status", w.status),
		slog.Int("in", len(w.frame.Raw())), slog.Int64("out", w.out), slog.Duration("took", x.s.now().Sub(w.began)),
		slog.String("socket", x.id),
	}
	if model := w.call.Model(); model != "" {
		attrs = append(attrs, slog.String("model", cleaned(keys, model, clip.Line)))
	}
	for _, own := range loggedHeaders {
		if v := header.Get(own.header); v != "" {
			attrs = append(attrs, slog.String(own.name, clip.To(v, clip.Line)))
		}
	}
	if passed := w.call.Passed(); passed != "" {
		attrs = append(attrs, slog.String("unseen", passed))
	}
	if err != nil {
		attrs = append(attrs, slog.String("error", cleaned(keys, err.Error(), clip.Text)))
	}
	x.s.log.LogAttrs(context.Background(), level, "call", attrs...)
}
