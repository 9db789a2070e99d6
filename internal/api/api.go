package api

import (
	"context"
	_ "embed"
	"log/slog"
	"net/http"
	"time"

	"github.com/oriel-context/oriel"
	"github.com/oriel-context/oriel/internal/call"
	"github.com/oriel-context/oriel/internal/limit"
	"github.com/oriel-context/oriel/internal/report"
	"github.com/oriel-context/oriel/internal/report/misses"
	"github.com/oriel-context/oriel/internal/report/usage"
	"github.com/oriel-context/oriel/internal/settings"
	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/token"
)

// Prefix begins the path of every route.
const Prefix = "/oriel/api/"

//go:embed openapi.json
var openAPI []byte

// Options configures a handler. Engine, Store and Hub are required.
type Options struct {
	// Engine applies pins, undos and recalls, so that the next call honours them.
	Engine *oriel.Engine
	// Store holds the histories.
	Store timeline.Store
	// Hub holds the events.
	Hub *Hub
	// Tenant returns the tenant of a request. Default: timeline.Local.
	Tenant func(context.Context) string
	// Memory returns the memory of a request, which is held until it ends. Default: without
	// a limit.
	Memory func(context.Context) call.Memory
	// Settings returns the settings in effect; nil if they are not known.
	Settings func() *settings.Loaded
	// Held returns why changed settings are not in use, or "". Default: none.
	Held func() string
	// Learnt returns what was learnt about providers; nil if nothing was.
	Learnt func() (*token.Learnt, error)
	// Unread returns the requests of a tenant that were not read. Default: none.
	Unread func(tenant string) []Unread
	// Health returns why the history cannot be written, or nil. Default: nil.
	Health func(context.Context) error
	// Version is that of the program.
	Version string
	// Log receives the causes of internal errors. Default: nobody.
	Log *slog.Logger
	// Now is the clock. Default: time.Now.
	Now func() time.Time
}

// Handler serves the API.
type Handler struct {
	Options
	mux     *http.ServeMux
	slots   *limit.Slots
	started time.Time
	ledger  *usage.Reader
	misses  *misses.Reader
	titles  cache[string]
	abouts  cache[report.About] // of conversations without recorded calls
	calls   cache[[]report.Call]
	plans   cache[[]report.Plan]
	made    cache[[]decision]
	strips  cache[*report.Outline]
	follows histories // by streams of events
}

// maxWork limits the requests that are handled at a time, maxShare those of one tenant.
const maxWork, maxShare = 4, 3

// New returns a handler for the paths under Prefix.
func New(o Options) *Handler {
	if o.Tenant == nil {
		o.Tenant = func(context.Context) string { return timeline.Local }
	}
	if o.Memory == nil {
		o.Memory = func(context.Context) call.Memory { return unlimited{} }
	}
	if o.Settings == nil {
		o.Settings = func() *settings.Loaded { return nil }
	}
	if o.Unread == nil {
		o.Unread = func(string) []Unread { return nil }
	}
	if o.Held == nil {
		o.Held = func() string { return "" }
	}
	if o.Learnt == nil {
		o.Learnt = func() (*token.Learnt, error) { return nil, nil }
	}
	if o.Health == nil {
		o.Health = func(context.Context) error { return nil }
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	h := &Handler{Options: o, mux: http.NewServeMux(), slots: limit.NewSlots(maxWork, maxShare), started: o.Now(),
		ledger: usage.NewReader(o.Store), misses: misses.NewReader(o.Store)}
	h.remember()
	for i := range routes {
		h.mount(&routes[i])
	}
	return h
}

// remember sets the sizes of the caches. Titles take about 1 KB each, calls 200 bytes, verdicts
// on messages and blocks of plans 50 bytes, and messages of a strip 5 bytes.
func (h *Handler) remember() {
	h.titles.most = 4096
	h.abouts.most = 4096
	h.calls.most, h.calls.weigh = 20_000, func(calls []report.Call) int { return len(calls) }
	h.made.most, h.made.weigh = 200_000, func(plans []decision) int {
		n := len(plans)
		if n > 0 {
			for _, done := range plans[n-1].done {
				n += len(done.verdicts) + len(done.recalled)
			}
		}
		return n
	}
	h.strips.most, h.strips.weigh = 2_000_000, func(o *report.Outline) int { return len(o.Kinds) }
	h.plans.most, h.plans.weigh = 200_000, func(plans []report.Plan) (n int) {
		for i := range plans {
			n += 10 + len(plans[i].Blocks)
		}
		return n
	}
}

// SecurityHeaders sets the headers that keep a browser from running, framing, guessing or
// storing what is served. The console's pages need no more.
func SecurityHeaders(h http.Header) {
	h.Set("Content-Security-Policy",
		"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; font-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
}

// models returns the model table in effect.
func (h *Handler) models() *token.Models {
	if l := h.Settings(); l != nil && l.Table != nil {
		return l.Table
	}
	return token.Builtin()
}
