package recall

import (
	"context"
	"errors"

	"github.com/oriel-context/oriel/timeline"
)

// KeepWords stores the words of a conversation, so that its first search does not read the
// messages. With a store that keeps no extracts it does nothing.
func KeepWords(ctx context.Context, store timeline.Store, tenant, conversation string) error {
	kept, ok := store.(timeline.Extracts)
	if !ok {
		return nil
	}
	err := keepWords(ctx, store, kept, tenant, conversation)
	if keepsNone(err) || errors.Is(err, timeline.ErrNoConversation) || errors.Is(err, timeline.ErrNoPlace) {
		return nil // none are kept, or it was deleted meanwhile
	}
	return err
}

func keepWords(ctx context.Context, store timeline.Store, kept timeline.Extracts, tenant, conversation string) error {
	c, err := store.Conversation(ctx, tenant, conversation)
	if err != nil {
		return err
	}
	m := member{name: c.Name, to: c.Head}
	if m.way, err = findWay(ctx, store, tenant, m.to); err != nil {
		return err
	}
	var r reading
	var some []timeline.Extract
	bytes := 0
	keep := func() error {
		err := kept.KeepExtracts(ctx, tenant, extractKind, some)
		some, bytes = nil, 0
		return err
	}
	for _, part := range m.way {
		for next := part; next.first <= part.last; {
			next.last = min(part.last, next.first+growBatch-1)
			known, found, err := kept.Extract(ctx, tenant, extractKind,
				timeline.Place{Trunk: part.trunk, Depth: next.first})
			if err != nil {
				return err
			}
			if found {
				next.first = known.Span.Last + 1
				continue
			}
			if x := newExtract(next); x != nil {
				if err := r.read(ctx, store, tenant, &m, next, x.add); err != nil {
					return err
				}
				if x.made() {
					some = append(some, x.Extract)
					bytes += len(x.Data)
				}
			}
			if len(some) >= keepBatch || bytes >= maxUnstored {
				if err := keep(); err != nil {
					return err
				}
			}
			next.first = next.last + 1
		}
	}
	if len(some) == 0 {
		return nil
	}
	return keep()
}
