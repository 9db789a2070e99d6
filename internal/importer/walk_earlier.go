package importer

import (
	"context"
	"slices"

	"github.com/oriel-context/oriel/timeline"
)

// storedKey identifies a message of a conversation by its id and its bytes, however they
// are parsed. A message without an id may repeat the bytes of one by another author.
type storedKey struct {
	format, ref, role string
	content           timeline.Hash
}

func keyOf(m *timeline.Message, content timeline.Hash) storedKey {
	if m.Ref != "" {
		return storedKey{format: m.Format, ref: m.Ref, content: content}
	}
	return storedKey{format: m.Format, role: m.Role, content: content}
}

// asStored gives a message that is not the next of the way the identity with which another
// version of the program has stored it in the conversation. The store then finds it behind
// the same messages, on any branch, instead of storing it a second time.
func (k *walk) asStored(ctx context.Context, m *timeline.Message) error {
	if !k.known || !k.w.source.kind.format.isParsedAnew() {
		return nil
	}
	if k.stored == nil {
		if err := k.readStored(ctx); err != nil {
			return err
		}
	}
	identities := k.stored[keyOf(m, timeline.HashOf(m.Raw))]
	if len(identities) > 0 && !slices.Contains(identities, m.Identity) {
		m.Identity = identities[0]
	}
	return nil
}

// readStored reads the identities of all messages of the conversation.
func (k *walk) readStored(ctx context.Context) error {
	k.stored = map[storedKey][]timeline.Hash{}
	heads, err := k.w.im.store.Heads(ctx, k.w.im.options.Tenant, k.name)
	if err != nil {
		return err
	}
	for _, head := range heads {
		err := k.w.im.store.Messages(ctx, k.w.im.options.Tenant, head, 1, head.Depth, true,
			func(e *timeline.Entry) error {
				for _, content := range append([]timeline.Hash{e.Content}, e.Variants...) {
					key := keyOf(&e.Message, content)
					if !slices.Contains(k.stored[key], e.Identity) {
						k.stored[key] = append(k.stored[key], e.Identity)
					}
				}
				return nil
			})
		if err != nil {
			return err
		}
	}
	return nil
}
