package proxy

import (
	"context"
	"fmt"
	"net/http"
	"runtime/debug"
	"strings"
	"sync/atomic"

	"github.com/oriel-context/oriel/internal/call"
	"github.com/oriel-context/oriel/internal/send"
)

// lookAtCount replaces the body of a counting request with the body that would be sent.
// It returns false if that ended the request.
func (x *exchange) lookAtCount(out *http.Request) bool {
	if v := x.r.Header.Get("X-Oriel-Bypass"); x.s.engine == nil || v == "1" || strings.EqualFold(v, "true") {
		return true
	}
	raw, _, ok := x.take(out)
	if raw == nil {
		return ok
	}
	if body := x.s.count(x.request(x.route.counts, raw), x.memory); body != nil {
		send.ReplaceBody(out, body)
	}
	return true
}

// count asks the engine for the body to count. It returns nil if the engine panics or is too
// slow.
func (s *Server) count(r *call.Request, m *Memory) []byte {
	if s.behind.Load() >= maxBehind {
		s.counters.engineSlow.Add(1)
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), s.engine.BeginWait())
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
				s.counters.enginePanics.Add(1)
				s.log.Error("the engine panicked; the request continues without it", "id", r.ID, "method", "Count",
					"panic", fmt.Sprint(p), "stack", string(debug.Stack()))
				body = nil
			}
			done <- body
			if left.Swap(true) {
				s.behind.Add(-1)
			}
		}()
		if m.prepare(r, s.bodyLimit) == "" {
			body = s.engine.Count(ctx, r)
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
	s.counters.engineSlow.Add(1)
	return nil
}
