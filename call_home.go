package oriel

import (
	"context"
	"slices"

	"github.com/oriel-context/oriel/internal/thread"
	"github.com/oriel-context/oriel/timeline"
)

// rehome finds the conversation of a call that was begun without the store, and makes the call
// one of that conversation.
func (w *callWrite) rehome(ctx context.Context, index *thread.Index) error {
	h := &thread.Homeless{Tenant: w.tenant, Conversation: w.homeless, Record: *w.who, Replies: func(i int) bool { return w.messages[i].Role == "assistant" }}
	for i := range w.asked {
		h.Identities = append(h.Identities, w.identity(i))
	}
	home, err := index.Home(ctx, h)
	if err != nil || home == w.conversation {
		return err
	}
	w.conversation, w.entry.Thread = home, thread.Continued
	w.change.Project, w.change.Continues = "", ""
	w.change.Put = slices.DeleteFunc(slices.Clone(w.change.Put), func(r timeline.Record) bool { return r.Kind == w.who.Kind && r.Key == w.who.Key })
	return nil
}
