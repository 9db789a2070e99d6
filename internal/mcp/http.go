package mcp

import (
	"net/http"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/oriel-context/oriel/internal/slots"
)

// Path is where a proxy serves Handler.
const Path = "/oriel/mcp"

// Limits of requests over HTTP.
const (
	maxBody     = 256 << 10
	maxRequests = 8
	maxShare    = 6 // of one tenant
	bodyWait    = 30 * time.Second
)

// Handler serves clients over streamable HTTP. options returns the options of a request. The
// caller has checked who sends it: its token, its host and its origin. There are no
// sessions, so nothing grows with the number of clients.
func Handler(options func(*http.Request) Options) http.Handler {
	served := sdk.NewStreamableHTTPHandler(func(r *http.Request) *sdk.Server { return New(options(r)) },
		&sdk.StreamableHTTPOptions{Stateless: true, JSONResponse: true, DisableLocalhostProtection: true})
	requests := slots.New(maxRequests, maxShare)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		leave, err := requests.Enter(r.Context(), options(r).Tenant)
		if err != nil {
			return
		}
		defer leave()
		control := http.NewResponseController(w)
		control.SetReadDeadline(time.Now().Add(bodyWait))
		control.SetWriteDeadline(time.Now().Add(callWait + bodyWait))
		w.Header().Set("Cache-Control", "no-store")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		r.Body = http.MaxBytesReader(w, r.Body, maxBody)
		served.ServeHTTP(w, r)
	})
}
