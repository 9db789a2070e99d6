package thread

import (
	"context"
	"errors"
	"slices"

	"github.com/oriel-context/oriel/timeline"
)

// Homeless is a call of a conversation that was begun because the store could not be asked,
// and that its client does not name.
type Homeless struct {
	Tenant, Conversation string
	// Record is what Thread.Record returns.
	Record timeline.Record
	// Identities are those of the request's messages. Replies reports which of them are
	// replies.
	Identities []timeline.Hash
	Replies    func(i int) bool
}

// Home returns the conversation that a call belongs to now that the store answers: one that
// ends on the way that the request has in the store, if they have a reply in common and the
// same system prompt, as Find requires it. Otherwise, and if the call's own conversation
// is stored, it returns that.
func (b *Index) Home(ctx context.Context, h *Homeless) (string, error) {
	_, err := b.store.Conversation(ctx, h.Tenant, h.Conversation)
	if err == nil || !errors.Is(err, timeline.ErrNoConversation) {
		return h.Conversation, err
	}
	r := &Request{Tenant: h.Tenant, identities: h.Identities[:min(len(h.Identities), maxWalk)]}
	way, ending, err := b.way(ctx, r)
	if err != nil {
		return "", err
	}
	answered := false
	for i := range way {
		answered = answered || h.Replies(i)
	}
	if !answered {
		return h.Conversation, nil
	}
	if ending == nil {
		if ending, err = b.ending(ctx, h.Tenant, way[len(way)-1]); err != nil {
			return "", err
		}
	}
	var own storedConversation
	if own.recognise(h.Record.Data) != nil {
		return h.Conversation, nil // no other one is known to be the same
	}
	for i := range ending {
		c := &ending[i]
		records, err := b.store.Records(ctx, h.Tenant, c.Name, recordKind, recordKey)
		if err != nil {
			return "", err
		}
		var s storedConversation
		if len(records) == 1 && s.recognise(records[0].Data) == nil && s.space == own.space && !s.sketch.Differs(&own.sketch) {
			return c.Name, nil
		}
	}
	return h.Conversation, nil
}

// ending returns the conversations that end on the trunk of a place, the latest first.
func (b *Index) ending(ctx context.Context, tenant string, at timeline.Place) ([]timeline.Conversation, error) {
	all, err := b.store.Conversations(ctx, tenant)
	if err != nil {
		return nil, err
	}
	all = slices.DeleteFunc(all, func(c timeline.Conversation) bool { return near(&c, at) == 0 })
	slices.SortStableFunc(all, func(a, c timeline.Conversation) int { return c.Updated.Compare(a.Updated) })
	return all[:min(len(all), timeline.MaxEnding)], nil
}

// Settle notes that a call of a homeless conversation is stored in its home. If that is
// another conversation, the homeless one gets its name. If both are in memory, the homeless one
// is forgotten as soon as no call uses it.
func (b *Index) Settle(tenant, conversation, home string) {
	t := b.tenant(tenant)
	t.mu.Lock()
	defer t.mu.Unlock()
	k := t.conversations[conversation]
	if k == nil {
		return
	}
	switch {
	case home == conversation:
		k.assumed = false
	case t.conversations[home] == nil:
		delete(t.conversations, conversation)
		t.conversations[home] = k
		k.name, k.assumed, k.stored = home, false, true
	default:
		k.moved = true
		t.leave(k)
	}
}

// leave forgets a conversation that has become part of another if no call uses it.
func (t *tenant) leave(k *conversation) {
	if k.moved && k.idle != nil {
		t.drop(k)
	}
}
