package engine

import (
	"github.com/oriel-context/oriel/timeline"
)

// ForTenant implements oriel.Engine.ForTenant.
func (e *Engine) ForTenant(tenant string) *Engine {
	if e.parent != nil {
		return e.parent.ForTenant(tenant)
	}
	if tenant == e.config.Tenant {
		return e
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	t := e.tenants[tenant]
	if t == nil {
		config := e.config
		config.Tenant = tenant
		t = newEngine(config)
		t.given, t.allowed, t.parent = e.given, e.allowed, e
		t.store, t.library, t.calls, t.handle, t.learnt = e.store, e.library, e.calls, e.handle, e.learnt
		t.meanings.model = e.meanings.model
		if e.tenants == nil {
			e.tenants = map[string]*Engine{}
		}
		e.tenants[tenant] = t
	}
	return t
}

// eventTenant returns the tenant as events have it.
func (e *Engine) eventTenant() string {
	if e.config.Tenant == timeline.Local {
		return ""
	}
	return e.config.Tenant
}
