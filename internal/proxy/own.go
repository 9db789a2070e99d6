package proxy

import (
	"context"
	"encoding/json"
	"net/http"
	"path"
	"strings"
	"time"

	"github.com/oriel-context/oriel/internal/forward"
	"github.com/oriel-context/oriel/timeline"
)

const healthPath = "/oriel/healthz"

// Limits of time for the body of a request to Oriel's own paths: for its next bytes, and for
// the whole.
const (
	ownWait  = 10 * time.Second
	ownWhole = time.Minute
)

// serveOwn serves Oriel's own paths.
func (s *Server) serveOwn(w http.ResponseWriter, r *http.Request, t *route) {
	s.counters.own.Add(1)
	body := s.ownBody(w, r)
	defer body.Close()
	r.Body = body
	f := s.checkHost(r)
	if f == nil {
		f = checkOrigin(r)
	}
	if f == nil && t.path == sessionPath {
		s.serveSession(w, r, t)
		return
	}
	page := isPage(r.Method, t.path)
	if f == nil && page && r.URL.Query().Has(loginParameter) {
		redirectLogin(w, r)
		return
	}
	known, a := true, Access{}
	if f == nil && !page {
		allow := s.authorise
		if t.path == healthPath {
			allow = s.identify
		}
		a, f = allow(s.routing.Load(), r, t)
		known = f == nil
	}
	if f == nil {
		f = a.checkOwn(r.Method, t.path)
	}
	if t.path == healthPath && (f == nil || !known) {
		s.serveHealth(w, r, known && a.Tenant == timeline.Local)
		return
	}
	shared := s.severalTenants(s.routing.Load())
	if clean := path.Clean(t.path); f == nil && (s.console == nil || clean != t.path && clean+"/" != t.path) {
		f = &refusal{http.StatusNotFound, "not_found",
			"there is nothing here: /oriel/healthz reports the proxy's state"}
	}
	if f == nil && !page {
		f = s.connections.admit(r.Context(), a.Tenant, shared)
	}
	if f != nil {
		closeUnread(w, r)
		if strings.HasPrefix(t.path, "/oriel/api/") {
			refuseProblem(w, f)
		} else {
			refuse(w, vendors[openAI].form, f)
		}
		return
	}
	// The console sees its own paths without the prefixes of the base URL. Its streams end
	// when the server shuts down, and with the token of their reader.
	ctx, cancel := context.WithCancel(context.WithValue(r.Context(), accessKey{}, a))
	defer cancel()
	memory := s.budget.NewMemory(body)
	memory.Tenant, memory.Own, memory.Shared = a.Tenant, true, shared
	defer memory.LetGo()
	memory.Arriving(true)
	defer memory.Arriving(false)
	ctx = context.WithValue(ctx, memoryKey{}, memory)
	defer context.AfterFunc(s.ending, cancel)()
	go s.watchAccess(ctx, cancel, r, t, a)
	inner := r.Clone(ctx)
	setPath(inner.URL, t.path)
	inner.URL.Opaque = ""
	s.console.ServeHTTP(w, inner)
}

// ownBody returns the body of a request to one of Oriel's own paths, with its limits of time.
func (s *Server) ownBody(w http.ResponseWriter, r *http.Request) *clientBody {
	b := &clientBody{
		body: r.Body, trailer: &r.Trailer, rc: http.NewResponseController(w), ended: r.ContentLength == 0,
		limit: min(ownWait, s.bodyWait), until: time.Now().Add(ownWhole),
	}
	// An earlier request on this connection may have left a deadline.
	b.rc.SetWriteDeadline(time.Time{})
	if !b.ended {
		b.deadline(b.limit) // the server itself reads what the handler leaves
	}
	return b
}

// closeUnread ends the connection after a refused request that has a body, which nobody waits
// for.
func closeUnread(w http.ResponseWriter, r *http.Request) {
	if r.ContentLength != 0 {
		w.Header().Set("Connection", "close")
	}
}

type memoryKey struct{}

// MemoryOf returns the memory of a request that Options.Console serves. It is held until the
// request ends. For any other request it is nil, which has no limit.
func MemoryOf(ctx context.Context) *forward.Memory {
	m, _ := ctx.Value(memoryKey{}).(*forward.Memory)
	return m
}

// refuseProblem writes a refusal as RFC 9457 describes it, with what to do as the hint.
func refuseProblem(w http.ResponseWriter, f *refusal) {
	detail, hint, _ := strings.Cut(f.message, ": ")
	if f.status == http.StatusTooManyRequests && w.Header().Get("Retry-After") == "" {
		w.Header().Set("Retry-After", "1")
	}
	body, _ := json.Marshal(struct {
		Title  string `json:"title"`
		Status int    `json:"status"`
		Detail string `json:"detail"`
		Hint   string `json:"hint"`
	}{http.StatusText(f.status), f.status, detail, hint})
	h := w.Header()
	h.Set("Content-Type", "application/problem+json")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store")
	w.WriteHeader(f.status)
	w.Write(append(body, '\n'))
}
