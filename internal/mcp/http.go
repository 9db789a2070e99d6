package mcp

import (
	"bytes"
	"io"
	"net/http"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/oriel-context/oriel/internal/limit"
)

// Path is where a proxy serves Handler.
const Path = "/oriel/mcp"

// Limits of requests over HTTP.
const (
	maxBody     = 256 << 10
	maxRequests = 8
	maxShare    = 6 // of one tenant
	bodyWait    = 10 * time.Second
)

// Handler serves clients over streamable HTTP. options returns the options of a request. The
// caller has checked who sends it: its token, its host and its origin. There are no
// sessions, so nothing grows with the number of clients.
func Handler(options func(*http.Request) Options) http.Handler {
	served := sdk.NewStreamableHTTPHandler(func(r *http.Request) *sdk.Server { return New(options(r)) },
		&sdk.StreamableHTTPOptions{Stateless: true, JSONResponse: true, DisableLocalhostProtection: true})
	requests := limit.NewSlots(maxRequests, maxShare)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		o := options(r)
		if o.Memory == nil {
			o.Memory = func(int64) bool { return true }
		}
		control := http.NewResponseController(w)
		control.SetReadDeadline(time.Now().Add(bodyWait))
		length := r.ContentLength
		if length < 0 || length > maxBody {
			length = maxBody
		}
		if !o.Memory(length) {
			tooMuch(w)
			return
		}
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
		if err != nil {
			http.Error(w, "the body could not be read, or has more than 256 KiB", http.StatusBadRequest)
			return
		}
		// Nobody keeps a slot by not sending a body, nor by not reading an answer.
		r.Body = io.NopCloser(bytes.NewReader(body))
		leave, err := requests.Enter(r.Context(), o.Tenant)
		if err != nil {
			return
		}
		answer := &kept{header: w.Header(), status: http.StatusOK}
		serve(served, answer, r, leave)
		if !o.Memory(int64(len(answer.body))) {
			tooMuch(w)
			return
		}
		control.SetWriteDeadline(time.Now().Add(bodyWait))
		w.Header().Set("Cache-Control", "no-store")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.WriteHeader(answer.status)
		w.Write(answer.body)
	})
}

// tooMuch refuses a request for which there is no memory.
func tooMuch(w http.ResponseWriter) {
	http.Error(w, "there is no memory for this now: try again in some seconds", http.StatusServiceUnavailable)
}

// serve serves a request in its slot.
func serve(h http.Handler, w http.ResponseWriter, r *http.Request, leave func()) {
	defer leave()
	h.ServeHTTP(w, r)
}

// kept is an answer that is written after its slot is free; tools' answers are small.
type kept struct {
	header http.Header
	status int
	body   []byte
}

func (k *kept) Header() http.Header    { return k.header }
func (k *kept) WriteHeader(status int) { k.status = status }

func (k *kept) Write(p []byte) (int, error) {
	k.body = append(k.body, p...)
	return len(p), nil
}
