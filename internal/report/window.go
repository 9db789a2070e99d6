package report

import (
	"context"
	"fmt"
	"slices"

	"github.com/oriel-context/oriel/internal/plan"
	"github.com/oriel-context/oriel/timeline"
)

// Window is what the newest call of a conversation showed the model.
type Window struct {
	call *Call
	// hidden are the messages that were not sent as they came.
	hidden map[int64]bool
}

// NewestWindow returns the window of the newest call of a conversation that was answered. It
// returns nil if there is none, if it is not known what was sent or what of it the provider
// has cleared, or if the call is one of another agent in the conversation, or of another
// branch: then it is not known who asks.
func NewestWindow(ctx context.Context, s timeline.Store, tenant string, c *timeline.Conversation) (*Window, error) {
	calls, err := Calls(ctx, s, tenant, c)
	if err != nil {
		return nil, err
	}
	for i := range slices.Backward(calls) {
		call := &calls[i]
		if call.Status/100 != 2 || call.Error != "" {
			continue
		}
		here, err := timeline.Passes(ctx, s, tenant, c.Head, call.At())
		if err != nil {
			return nil, err
		}
		if !here || call.side || call.managed ||
			call.Plan == "" && call.TokensAfter != call.TokensBefore { // fitted by a plan that was not stored
			return nil, nil
		}
		w := &Window{call: call, hidden: map[int64]bool{}}
		if call.Plan == "" {
			return w, nil
		}
		return w.hide(ctx, s, tenant, c.Name)
	}
	return nil, nil
}

// hide adds what the plan of the call left out. It returns nil if the plan was deleted.
func (w *Window) hide(ctx context.Context, s timeline.Store, tenant, conversation string) (*Window, error) {
	plans, err := plan.List(ctx, timeline.Notes{Store: s, Tenant: tenant, Conversation: conversation}, nil)
	if err != nil {
		return nil, err
	}
	for i := range plans {
		if !plans[i].Is(w.call.Plan) {
			continue
		}
		var p Plan
		if err := p.read(plans[i].Data); err != nil {
			return nil, fmt.Errorf("%w: plan %s of %q: %w", timeline.ErrDamaged, plans[i].Name(), conversation, err)
		}
		for k := range p.Blocks {
			w.hidden[p.Blocks[k].ID] = true
		}
		return w, nil
	}
	return nil, nil
}

// Shows reports whether the model has a message whole: it was sent with the call, or it came
// after it. A nil window shows nothing.
func (w *Window) Shows(id int64) bool {
	return w != nil && !w.hidden[id] && (id > w.call.before || id <= w.call.head)
}
