package oriel

import (
	"context"
	"slices"
	"sync"

	"github.com/oriel-context/oriel/internal/thread"
	"github.com/oriel-context/oriel/internal/view"
	"github.com/oriel-context/oriel/timeline"
)

// atHand decides what is sent of a call whose conversation could not be found in time: as
// the last call of its conversation was shown, where that is known and fits; else a view
// that knows nothing of earlier ones; else what came.
func (c *Call) atHand(ctx context.Context) {
	in := c.input()
	in.Thread = &thread.Thread{Tenant: c.request.Tenant}
	shown := c.tuning.again(in, c.calls.lasts.find(c.request.Tenant, func(n int) []timeline.Hash {
		if n > len(c.chain) {
			return nil
		}
		says := make([]timeline.Hash, n)
		for i := range says {
			says[i] = timeline.Identity(&c.chain[i])
		}
		return says
	}))
	if shown == nil {
		shown = c.tuning.fitted(ctx, in)
	}
	c.sends(shown)
}

// fitted is a view that knows nothing of earlier ones; nil where none can be made.
func (t *tuning) fitted(ctx context.Context, in *view.Input) *view.Result {
	shown := t.stateless(ctx, in)
	if shown == nil && in.Budget == 0 && in.Profile != "full" {
		in.Profile = "full" // what the profile allows is too little; the model takes more
		shown = t.stateless(ctx, in)
	}
	return shown
}

// sends has a view sent that is not remembered; what came, where it is nil.
func (c *Call) sends(shown *view.Result) {
	c.open = true
	if shown == nil {
		c.count()
		return
	}
	c.shown = shown
	c.tokens.Total, c.tokens.Local = shown.After, shown.Local
}

// instead decides what is sent of a call whose view failed.
func (c *Call) instead(ctx context.Context) {
	in := c.input()
	shown := c.tuning.applied(in)
	if shown == nil {
		shown = c.tuning.fitted(ctx, in)
	}
	c.sends(shown)
}

// applied is the view by the plan that holds; nil where there is none that fits.
func (t *tuning) applied(in *view.Input) *view.Result {
	return fitting(func() (*view.Result, error) { return t.view.Apply(in) })
}

// again is the view by an earlier plan; nil where there is none that fits.
func (t *tuning) again(in *view.Input, cut *view.Cut) *view.Result {
	if cut == nil {
		return nil
	}
	return fitting(func() (*view.Result, error) { return t.view.Again(in, cut) })
}

// stateless is a view that knows nothing of earlier ones; nil where it cannot be made.
func (t *tuning) stateless(ctx context.Context, in *view.Input) *view.Result {
	return fitting(func() (*view.Result, error) { return t.view.Fit(ctx, in) })
}

// fitting is a view that could be made and is within its budget, else nil.
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

// lasts remembers the plans that were used last, by what the messages say that they
// cover: for when a request's conversation cannot be told.
type lasts struct {
	mu  sync.Mutex
	all []*last // the latest at the end
}

type last struct {
	tenant string
	says   []timeline.Hash
	cut    *view.Cut
}

// maxLasts is how many.
const maxLasts = 64

// keep remembers that a call was shown by a plan.
func (l *lasts) keep(tenant string, t *thread.Thread, cut *view.Cut) {
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
	l.all = append(l.all, &last{tenant, t.Identities[:cut.Covers], cut})
	if len(l.all) > maxLasts {
		l.all = append(l.all[:0], l.all[1:]...)
	}
}

// forget forgets a plan.
func (l *lasts) forget(cut *view.Cut) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = slices.DeleteFunc(l.all, func(k *last) bool { return k.cut == cut })
}

// find is the latest plan that covers a request's beginning, whose first n messages say
// what says tells; nil for none.
func (l *lasts) find(tenant string, says func(n int) []timeline.Hash) *view.Cut {
	l.mu.Lock()
	defer l.mu.Unlock()
	var known []timeline.Hash
	for i := len(l.all) - 1; i >= 0; i-- {
		k := l.all[i]
		n := len(k.says)
		if k.tenant != tenant {
			continue
		}
		if len(known) < n {
			if known = says(n); known == nil {
				continue
			}
		}
		if equal(known[:n], k.says) {
			return k.cut
		}
	}
	return nil
}

func equal(a, b []timeline.Hash) bool {
	for i := len(a) - 1; i >= 0; i-- { // histories differ at their ends
		if a[i] != b[i] {
			return false
		}
	}
	return true
}
