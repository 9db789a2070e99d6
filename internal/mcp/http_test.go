package mcp

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// Nobody keeps a slot by a body that does not come.
func TestUnfinishedBodiesTakeNoSlot(t *testing.T) {
	h := Handler(func(*http.Request) Options { return Options{Tenant: "ann"} })
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for range maxRequests {
		r, w := io.Pipe()
		done := make(chan struct{})
		go func() {
			defer close(done)
			h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(ctx, "POST", Path, r))
		}()
		defer func() { w.Close(); <-done }()
		go w.Write([]byte("{"))
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequestWithContext(ctx, "POST", Path, strings.NewReader("{}")))
	if ctx.Err() != nil || w.Body.Len() == 0 {
		t.Errorf("%d %s, %v", w.Code, w.Body, ctx.Err())
	}
}

// A request takes memory for its body and its answer.
func TestRequestsTakeMemory(t *testing.T) {
	for _, tc := range []struct{ have, want int64 }{{0, http.StatusServiceUnavailable},
		{2, http.StatusServiceUnavailable}, {1 << 20, http.StatusUnsupportedMediaType}} {
		have := tc.have
		h := Handler(func(*http.Request) Options {
			return Options{Memory: func(n int64) bool { have -= n; return have >= 0 }}
		})
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest("POST", Path, strings.NewReader("{}")))
		if int64(w.Code) != tc.want {
			t.Errorf("with %d bytes: %d %s", tc.have, w.Code, w.Body)
		}
	}
}
