package memory

import (
	"context"
	"fmt"
	"slices"

	"github.com/oriel-context/oriel/timeline"
)

// Delete implements timeline.Store.
func (s *Store) Delete(ctx context.Context, tenant, conversation string, expect *int64) (timeline.Deleted, error) {
	var gone timeline.Deleted
	if err := ctx.Err(); err != nil {
		return gone, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return gone, timeline.ErrClosed
	}
	t := s.tenants[tenant]
	if t == nil {
		t = empty
	}
	c, err := t.conversation(conversation)
	if err != nil {
		return gone, err
	}
	if expect != nil && *expect != c.Revision {
		return gone, fmt.Errorf("%w: %q is at revision %d, not %d", timeline.ErrChanged, conversation, c.Revision,
			*expect)
	}
	release := func(hashes ...timeline.Hash) {
		for _, h := range hashes {
			if last, size := t.unrefer(h); last {
				gone.Contents++
				gone.Bytes += size
			}
		}
	}
	for _, kind := range c.records {
		for _, r := range kind {
			release(r.Contents...)
			gone.Records++
		}
	}
	t.records -= int64(gone.Records)
	for number, depth := range c.used {
		k := t.trunks[number]
		delete(k.users, c)
		keep := k.origin.Depth
		for other := range k.users {
			keep = max(keep, other.used[number])
		}
		if keep >= depth {
			continue
		}
		cut := k.messages[keep-k.origin.Depth:]
		for i := range cut {
			release(cut[i].content)
			release(cut[i].variants...)
			t.variants -= int64(len(cut[i].variants))
		}
		gone.Messages += len(cut)
		if keep == k.origin.Depth {
			delete(t.begins, beginning{k.origin, k.messages[0].identity})
			delete(t.trunks, number)
			continue
		}
		k.messages = slices.Clone(k.messages[:keep-k.origin.Depth])
	}
	t.messages -= int64(gone.Messages)
	delete(t.conversations, conversation)
	s.deletes++
	return gone, nil
}
