package call

import (
	"context"
	"slices"

	"github.com/oriel-context/oriel/internal/thread"
	"github.com/oriel-context/oriel/timeline"
)

// atHome returns a call that was begun without the store as one of the conversation that it
// belongs to. The call itself stays as it is: the next try may find another one.
func (w *write) atHome(ctx context.Context, index *thread.Index) (*write, error) {
	h := &thread.Homeless{Tenant: w.tenant, Conversation: w.conversation, Record: *w.who}
	for i := range w.asked {
		h.Identities = append(h.Identities, w.identity(i))
	}
	if w.again {
		h.Written = timeline.Key{Kind: "call", Key: w.id}
	}
	home, err := index.FindHome(ctx, h)
	if err != nil {
		return nil, err
	}
	own := *w
	own.change.Put = slices.DeleteFunc(slices.Clone(w.change.Put), func(r timeline.Record) bool { return r.Kind == w.who.Kind && r.Key == w.who.Key })
	if home == w.conversation {
		own.change.Put = append(own.change.Put, *w.who)
		return &own, nil
	}
	own.conversation, own.entry.Thread, own.stored = home, thread.Continued, nil
	own.change.Project, own.change.Continues = "", ""
	return &own, nil
}
