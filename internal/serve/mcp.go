package serve

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"

	"github.com/oriel-context/oriel/internal/call"
	"github.com/oriel-context/oriel/internal/mcp"
	"github.com/oriel-context/oriel/internal/proxy"
	"github.com/oriel-context/oriel/timeline"
)

// mcp returns the handler of /oriel/mcp. Each client has the history of its tenant; a token
// that may only read has the tools that only read.
func (g *Gateway) mcp(o *Options) http.Handler {
	return mcp.Handler(func(r *http.Request) mcp.Options {
		a := proxy.AccessOf(r.Context())
		var log *slog.Logger
		if a.Tenant != timeline.Local { // who runs the server is told the causes of failures
			log = o.Proxy.Log
		}
		return mcp.Options{
			Open:     func(context.Context) (*mcp.History, error) { return g.historyOf(a.Tenant), nil },
			Tenant:   a.Tenant,
			Project:  o.Project,
			Memory:   proxy.MemoryOf(r.Context()).Take,
			ReadOnly: a.Role != timeline.RoleCall,
			Version:  o.Proxy.Version,
			Log:      log,
			Asking: func(ctx context.Context, tool string, arguments []byte) (string, bool) {
				conversation, sure := call.Of(g.Engine).ToolCaller(ctx, a.Tenant, tool, arguments)
				if !sure && !o.Alone {
					return "", false // it may be another agent's
				}
				return conversation, sure
			},
		}
	})
}

// historyOf returns the history of a tenant.
func (g *Gateway) historyOf(tenant string) *mcp.History {
	return &mcp.History{Store: g.history, Engine: g.Engine.ForTenant(cmp.Or(tenant, timeline.Local))}
}
