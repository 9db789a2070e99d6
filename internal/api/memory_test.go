package api_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/oriel-context/oriel/internal/api"
	"github.com/oriel-context/oriel/internal/call"
	"github.com/oriel-context/oriel/timeline"
)

// counted is memory with a limit.
type counted struct{ limit, held, most atomic.Int64 }

func (c *counted) Take(n int64) bool {
	if c.held.Add(n) > c.limit.Load() {
		c.held.Add(-n)
		return false
	}
	c.most.Store(max(c.most.Load(), c.held.Load()))
	return true
}
func (c *counted) Give(n int64) { c.held.Add(-n) }
func (c *counted) Hold()        {}
func (c *counted) LetGo()       {}

// Bodies and answers of every kind take memory of the request, and are refused if there is
// none.
func TestBodiesAndAnswersTakeMemory(t *testing.T) {
	w := newWorld(t, nil)
	w.talk(timeline.Local, "c", 3, nil)
	m := &counted{}
	w.handler = api.New(api.Options{Engine: w.engine, Store: w.store, Hub: w.hub,
		Memory: func(context.Context) call.Memory { return m }})
	fit := `{"budget":100000,"body":{"model":"gpt-5","messages":[{"role":"user","content":"` +
		strings.Repeat("word ", 200_000) + `"}]}}`
	for _, r := range []struct{ method, path, body string }{
		{"GET", "conversations/c/export", ""},
		{"GET", "conversations/c/calls/last/sent", ""},
		{"GET", "conversations/c/messages/1", ""},
		{"GET", "conversations/c/messages", ""},
		{"GET", "overview", ""},
		{"POST", "fit", fit},
	} {
		m.limit.Store(0)
		m.held.Store(0)
		m.most.Store(0)
		if a := w.do(r.method, r.path, r.body); a.status != http.StatusServiceUnavailable ||
			!strings.Contains(string(a.body), "memory") {
			t.Errorf("%s %s without memory: %d %.200s", r.method, r.path, a.status, a.body)
		}
		m.limit.Store(64 << 20)
		a := w.do(r.method, r.path, r.body)
		if least := int64(len(r.body) + len(a.body)); a.status != http.StatusOK || m.most.Load() < least {
			t.Errorf("%s %s: %d, took %d bytes, want %d: %.200s", r.method, r.path, a.status, m.most.Load(), least,
				a.body)
		}
	}
}

// A body that never comes takes no memory for its length.
func TestAnAnnouncedBodyTakesNothing(t *testing.T) {
	w := newWorld(t, nil)
	m := &counted{}
	m.limit.Store(64 << 10)
	handler := api.New(api.Options{Engine: w.engine, Store: w.store, Hub: w.hub,
		Memory: func(context.Context) call.Memory { return m }})
	r := httptest.NewRequest("POST", api.Prefix+"fit", strings.NewReader("{"))
	r.ContentLength = 60 << 20
	r.Header.Set("Content-Type", "application/json")
	handler.ServeHTTP(httptest.NewRecorder(), r)
	if m.most.Load() > 64<<10 {
		t.Errorf("%d bytes", m.most.Load())
	}
}
