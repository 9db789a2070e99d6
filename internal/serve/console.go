package serve

import (
	"context"
	"net/http"
	"path/filepath"

	"github.com/oriel-context/oriel/internal/api"
	"github.com/oriel-context/oriel/internal/api/console"
	"github.com/oriel-context/oriel/internal/call"
	"github.com/oriel-context/oriel/internal/mcp"
	"github.com/oriel-context/oriel/internal/proxy"
	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/timeline/postgres"
	"github.com/oriel-context/oriel/token"
)

// console returns the handler of what people and programs see under /oriel/.
func (g *Gateway) console(o *Options) http.Handler {
	mux := http.NewServeMux()
	mux.Handle(api.Prefix, g.api(o))
	mux.Handle("GET /oriel/metrics", ofServer(g.metrics.Handler()))
	mux.Handle(mcp.Path, g.mcp(o))
	page := console.Handler()
	mux.Handle("/oriel", page)
	mux.Handle("/oriel/", page)
	return mux
}

// api returns the handler of /oriel/api/.
func (g *Gateway) api(o *Options) *api.Handler {
	return api.New(api.Options{
		Engine: g.Engine, Store: g.history, Hub: g.hub, Tenant: proxy.TenantOf,
		Memory:   func(ctx context.Context) call.Memory { return proxy.MemoryOf(ctx) },
		Settings: o.Settings, Held: o.SettingsHeld, Version: o.Proxy.Version, Log: o.Proxy.Log,
		Learnt: func() (*token.Learnt, error) {
			if url := o.Place.URL; url != "" {
				return token.OpenLearntAt(sharedLearnt{postgres.Redact(url), g.history.documents})
			}
			return token.OpenLearnt(filepath.Join(o.Place.Dir, LearntFile))
		},
		Health: o.Proxy.Store,
		Unread: func(tenant string) (all []api.Unread) {
			if g.Server != nil {
				for _, u := range g.Server.Unread(tenant) {
					all = append(all, api.Unread(u))
				}
			}
			return all
		},
	})
}

// ofServer serves only the machine's own user: what h shows is about all tenants.
func ofServer(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Content-Type-Options", "nosniff")
		if proxy.TenantOf(r.Context()) != timeline.Local {
			http.Error(w, "the metrics are those of all tenants: use the token that the server was started with, or one of oriel token add --tenant local --role read", http.StatusForbidden)
			return
		}
		h.ServeHTTP(w, r)
	})
}
