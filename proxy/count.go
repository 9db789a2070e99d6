package proxy

import (
	"context"
	"fmt"
	"net/http"
	"runtime/debug"
	"strings"
	"sync/atomic"

	"github.com/oriel-context/oriel"
)

// Counter is a Recorder that takes part in requests that only count tokens: the client
// should get the size of what is really sent.
type Counter interface {
	Recorder
	// Count returns the body to count instead of the client's, or nil for the client's
	// own. It must not record anything. ctx ends when its time is up.
	Count(ctx context.Context, c *oriel.Request) []byte
}

// lookAtCount replaces the body of a counting request with the body that would be sent.
// It returns false if that ended the request.
func (x *exchange) lookAtCount(out *http.Request) bool {
	counter, ok := x.s.recorder.(Counter)
	if v := x.r.Header.Get("X-Oriel-Bypass"); !ok || v == "1" || strings.EqualFold(v, "true") {
		return true
	}
	raw, _, ok := x.take(out)
	if raw == nil {
		return ok
	}
	if body := x.s.count(counter, x.call(x.route.counts, raw), x.memory); body != nil {
		x.replace(out, body)
	}
	return true
}

// count calls the counter and survives a panic or a slow counter.
func (s *Server) count(counter Counter, c *oriel.Request, m *Memory) []byte {
	if s.behind.Load() >= maxBehind {
		s.counters.recorderSlow.Add(1)
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), s.routing.Load().beginTimeout)
	done := make(chan []byte, 1)
	var left atomic.Bool // set by whichever ends first
	s.active.add()
	m.Hold()
	go func() {
		defer s.active.done()
		defer m.LetGo()
		defer cancel()
		var body []byte
		defer func() {
			if p := recover(); p != nil {
				s.counters.recorderPanics.Add(1)
				s.log.Error("the recorder panicked; the request goes on without it", "id", c.ID, "method", "Count", "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
				body = nil
			}
			done <- body
			if left.Swap(true) {
				s.behind.Add(-1)
			}
		}()
		if m.prepare(c, s.bodyLimit) == "" {
			body = counter.Count(ctx, c)
		}
	}()
	select {
	case body := <-done:
		return body
	case <-ctx.Done():
	}
	s.behind.Add(1)
	if left.Swap(true) { // both ended at once
		s.behind.Add(-1)
		return <-done
	}
	s.counters.recorderSlow.Add(1)
	return nil
}
