package call

import (
	"context"
	"slices"
	"sync"

	"github.com/oriel-context/oriel/internal/plan"
	"github.com/oriel-context/oriel/internal/thread"
	"github.com/oriel-context/oriel/internal/view"
	"github.com/oriel-context/oriel/timeline"
)

// fallbackUnknown chooses the body of a call whose conversation was not found in time: the
// view by a recent plan that covers the request, if it fits; otherwise a view without
// earlier plans; otherwise the client's own body.
func (c *Call) fallbackUnknown(ctx context.Context) {
	in := c.input(&thread.Thread{Tenant: c.request.Tenant})
	shown := c.tuning.byLastPlan(in, c.engine.lastUsed.find(c.request.Tenant, func(n int) []timeline.Hash {
		if n > len(c.chain) {
			return nil
		}
		identities := make([]timeline.Hash, n)
		for i := range identities {
			identities[i] = timeline.Identity(&c.chain[i])
		}
		return identities
	}))
	if shown == nil {
		shown = c.tuning.fitted(ctx, in)
	}
	c.sendUnremembered(shown)
}

// fitted returns a view without earlier plans, if need be with the profile "full"; nil if
// none can be made.
func (t *tuning) fitted(ctx context.Context, in *view.Input) *view.Result {
	ctx = context.WithoutCancel(ctx) // whoever gave up, what is sent has to fit
	shown := t.stateless(ctx, in)
	if shown == nil && in.Budget == 0 && in.Profile != "full" {
		in.Profile = "full" // what the profile allows is too little; the model takes more
		shown = t.stateless(ctx, in)
	}
	return shown
}

// sendUnremembered sends a view that is not remembered, or the client's own body if shown
// is nil.
func (c *Call) sendUnremembered(shown *view.Result) {
	c.fellBack = true
	if shown == nil {
		c.count()
		return
	}
	c.shown = shown
	c.tokens.Total, c.tokens.Local = shown.After, shown.Local
}

// fallback chooses the body of a call whose view failed.
func (c *Call) fallback(ctx context.Context) {
	in := c.input(c.thread)
	shown := c.tuning.byCurrentPlan(in)
	if shown == nil {
		shown = c.tuning.fitted(ctx, in)
	}
	c.sendUnremembered(shown)
}

// byCurrentPlan returns the view by the current plan; nil if there is none that fits.
func (t *tuning) byCurrentPlan(in *view.Input) *view.Result {
	return fitting(func() (*view.Result, error) { return t.view.Apply(in) })
}

// byLastPlan returns the view by an earlier plan; nil if cut is nil or does not fit.
func (t *tuning) byLastPlan(in *view.Input, cut *plan.Plan) *view.Result {
	if cut == nil {
		return nil
	}
	return fitting(func() (*view.Result, error) { return t.view.Again(in, cut) })
}

// stateless returns a view without earlier plans; nil if it cannot be made.
func (t *tuning) stateless(ctx context.Context, in *view.Input) *view.Result {
	return fitting(func() (*view.Result, error) { return t.view.Fit(ctx, in) })
}

// fitting returns the result of show if it is within its budget; nil if it is not, or if
// show fails or panics.
func fitting(show func() (*view.Result, error)) (shown *view.Result) {
	defer func() {
		if recover() != nil {
			shown = nil
		}
	}()
	shown, err := show()
	if err != nil || shown.After > shown.Budget {
		return nil
	}
	return shown
}

// lastUsed remembers the plans that were used last by the identities of the messages
// that they cover. A call whose conversation cannot be found uses them.
type lastUsed struct {
	mu  sync.Mutex
	all []*use // the latest at the end
}

// use is the use of a plan by a call.
type use struct {
	tenant     string
	identities []timeline.Hash
	cut        *plan.Plan
}

// maxUses bounds lastUsed.
const maxUses = 64

// keep remembers that a call used a plan.
func (l *lastUsed) keep(tenant string, t *thread.Thread, cut *plan.Plan) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := len(l.all) - 1; i >= 0; i-- {
		if l.all[i].cut == cut {
			found := l.all[i]
			copy(l.all[i:], l.all[i+1:])
			l.all[len(l.all)-1] = found
			return
		}
	}
	if t.From > 0 || cut.Covers > len(t.Identities) {
		return // the client has left something out
	}
	l.all = append(l.all, &use{tenant, t.Identities[:cut.Covers], cut})
	if len(l.all) > maxUses {
		l.all = append(l.all[:0], l.all[1:]...)
	}
}

// forget forgets a plan.
func (l *lastUsed) forget(cut *plan.Plan) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = slices.DeleteFunc(l.all, func(k *use) bool { return k.cut == cut })
}

// find returns the latest plan that covers the beginning of a request; nil for none.
// identities returns those of the first n messages, nil if the request has fewer.
func (l *lastUsed) find(tenant string, identities func(n int) []timeline.Hash) *plan.Plan {
	l.mu.Lock()
	defer l.mu.Unlock()
	var known []timeline.Hash
	for i := len(l.all) - 1; i >= 0; i-- {
		k := l.all[i]
		n := len(k.identities)
		if k.tenant != tenant {
			continue
		}
		if len(known) < n {
			if known = identities(n); known == nil {
				continue
			}
		}
		if sameIdentities(known[:n], k.identities) {
			return k.cut
		}
	}
	return nil
}

func sameIdentities(a, b []timeline.Hash) bool {
	for i := len(a) - 1; i >= 0; i-- { // histories differ at their ends
		if a[i] != b[i] {
			return false
		}
	}
	return true
}
