package main

import (
	"net/http"
	"path/filepath"

	"github.com/oriel-context/oriel/internal/api"
	"github.com/oriel-context/oriel/internal/console"
	"github.com/oriel-context/oriel/internal/mcp"
	"github.com/oriel-context/oriel/proxy"
	"github.com/oriel-context/oriel/timeline/postgres"
	"github.com/oriel-context/oriel/token"
)

// console returns the handler of what people and programs see under /oriel/.
func (g *gateway) console(o *gatewayOptions) http.Handler {
	mux := http.NewServeMux()
	mux.Handle(api.Prefix, g.api(o))
	mux.Handle("GET /oriel/metrics", g.metrics.Handler())
	mux.Handle(mcp.Path, g.mcp(o))
	page := console.Handler()
	mux.Handle("/oriel", page)
	mux.Handle("/oriel/", page)
	return mux
}

// api returns the handler of /oriel/api/.
func (g *gateway) api(o *gatewayOptions) *api.Handler {
	dir, _ := o.data.folder() // it was found when the engine was opened
	return api.New(api.Options{
		Engine: g.engine, Store: g.history, Hub: g.hub, Tenant: proxy.TenantOf,
		Settings: o.settings, Held: o.settingsHeld, Version: o.proxy.Version, Log: o.proxy.Log,
		Learnt: func() (*token.Learnt, error) {
			if url, err := o.data.database(); err == nil && url != "" {
				return token.OpenLearntAt(sharedLearnt{postgres.Redact(url), g.history.documents})
			}
			return token.OpenLearnt(filepath.Join(dir, learntFile))
		},
		Health: o.proxy.Store,
	})
}
