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
	size    int // in bytes
}

// mostRemembered is how many bytes of a session recall searches; what comes later is not
// found.
const mostRemembered = 64 << 20

func newHistory() *history {
	store := memory.New()
	return &history{store: store, log: timeline.NewLog(store, timeline.LogOptions{}),
		library: recall.NewLibrary(store, recall.LibraryOptions{})}
}

func (h *history) close() {
	h.library.Close()
	_ = h.store.Close() // it is in memory
}

// remember stores the messages of a call. own are those of the recording, the last ones of the
// request: slices of the request would keep all of it in memory.
func (h *history) remember(ctx context.Context, b *wire.Body, own [][]byte, th *thread.Thread,
	c *recording.Call) error {
	if h == nil || h.size > mostRemembered {
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
	a, err := h.log.Append(ctx, timeline.Local, th.Conversation, all,
		func(i int) timeline.Hash { return th.Identities[i] }, timeline.Change{Now: c.At})
	if err != nil {
		return err
	}
	for _, m := range all[max(0, len(all)-a.New):] {
		h.size += len(m.Raw)
	}
	return h.library.Wait(ctx)
}
