package replay

import (
	"context"

	"github.com/oriel-context/oriel/internal/report/replay/recording"
	"github.com/oriel-context/oriel/internal/thread"
	"github.com/oriel-context/oriel/recall"
	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/timeline/memory"
	"github.com/oriel-context/oriel/wire"
)

// history is what recall searches: one for all policies of a session.
type history struct {
	store   *memory.Store
	log     *timeline.Log
	library *recall.Library
}

// mostRemembered is how many bytes of a session's histories are kept for recall, with the
// plans for them. Beyond that the next history begins with nothing behind it.
const mostRemembered = 16 << 20

func newHistory() *history {
	store := memory.New()
	return &history{store: store, log: timeline.NewLog(store, timeline.LogOptions{}),
		library: recall.NewLibrary(store, recall.LibraryOptions{})}
}

func (h *history) close() {
	if h == nil {
		return
	}
	h.library.Close()
	_ = h.store.Close() // it is in memory
}

// remember stores the messages of a call. own are those of the recording, the last ones of the
// request: slices of the request would keep all of it in memory.
func (h *history) remember(ctx context.Context, b *wire.Body, own [][]byte, th *thread.Thread,
	c *recording.Call) error {
	if h == nil {
		return nil
	}
	_, chain := thread.Chain(b.Messages)
	all := make([]timeline.Resent, len(chain))
	for i := range chain {
		all[i] = timeline.Resent{Raw: chain[i].Raw, Sum: chain[i].Sum, Format: b.Format.String(),
			Role: string(chain[i].Role), Time: c.At}
		if k := len(own) - len(chain) + i; k >= 0 {
			all[i].Raw = own[k]
		}
	}
	if _, err := h.log.Append(ctx, timeline.Local, th.Conversation, all,
		func(i int) timeline.Hash { return th.Identities[i] }, timeline.Change{Now: c.At}); err != nil {
		return err
	}
	return h.library.Wait(ctx)
}

// begin gives the policies of a session an empty memory.
func (s *replayed) begin() {
	s.history.close()
	s.history, s.remembered = nil, 0
	var library *recall.Library
	if !s.o.NoRecall && len(s.o.policies) > 1 {
		s.history = newHistory()
		library = s.history.library
	}
	for _, r := range s.runs {
		r.begin(s, library)
	}
}
