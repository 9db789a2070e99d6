package thread

import (
	"context"
	"errors"
	"math"
	"slices"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/timeline"
)

// Homeless is a call of a conversation that was begun because the store could not be asked,
// and that its client does not name.
type Homeless struct {
	Tenant, Conversation string
	// Record is what Thread.Record returns.
	Record timeline.Record
	// Identities are those of the request's messages.
	Identities []timeline.Hash
	// Written is the record that the store has if the call was written before. The zero
	// value means that it was not.
	Written timeline.Key
}

// FindHome returns the conversation that a call belongs to now that the store answers: one that
// has the call, or else ends on the way that the request has in the store, if they have a
// model's reply in common and the same system prompt, as Find requires it. Otherwise, and if
// the call's own conversation is stored, it returns that. All calls of a conversation get the
// same answer as long as that is stored: a write that failed may yet arrive there.
func (b *Index) FindHome(ctx context.Context, h *Homeless) (string, error) {
	t := b.tenant(h.Tenant)
	t.mu.Lock()
	home := t.homes[h.Conversation]
	t.mu.Unlock()
	if home == h.Conversation {
		return home, nil
	}
	if home != "" {
		if _, err := b.store.Conversation(ctx, h.Tenant, home); !errors.Is(err, timeline.ErrNoConversation) {
			return home, err
		}
	}
	home, err := b.home(ctx, h)
	if err != nil {
		return "", err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.homes) >= maxHomes || t.homes == nil {
		t.homes = map[string]string{}
	}
	t.homes[h.Conversation] = home
	return home, nil
}

// maxHomes is how many homes of a tenant are remembered; when there are more, all are
// forgotten.
const maxHomes = 4096

// Home returns the name by which a conversation is stored, which differs from its own if it was
// homeless. It returns false if it is not known yet where a homeless one belongs.
func (b *Index) Home(tenant, conversation string) (name string, known bool) {
	t := b.tenant(tenant)
	t.mu.Lock()
	defer t.mu.Unlock()
	if home := t.homes[conversation]; home != "" {
		return home, true
	}
	k := t.conversations[conversation]
	return conversation, k == nil || !k.assumed || !k.homeless
}

// home is FindHome for a call whose home is not remembered.
func (b *Index) home(ctx context.Context, h *Homeless) (string, error) {
	way, ending, err := b.way(ctx, &Request{Tenant: h.Tenant, identities: h.Identities})
	if err != nil {
		return "", err
	}
	if h.Written != (timeline.Key{}) && len(way) > 0 && len(way) == len(h.Identities) {
		if name, err := b.holding(ctx, h, way[len(way)-1]); name != "" || err != nil {
			return name, err
		}
	}
	c, err := b.store.Conversation(ctx, h.Tenant, h.Conversation)
	if err == nil && c.Head.Depth > 0 {
		return h.Conversation, nil
	}
	if err != nil && !errors.Is(err, timeline.ErrNoConversation) {
		return "", err
	}
	answered, err := b.answered(ctx, h.Tenant, way)
	if err != nil {
		return "", err
	}
	var own storedConversation
	if !answered || own.recognise(h.Record.Data) != nil {
		return h.Conversation, nil // no other one is known to be the same
	}
	if ending == nil {
		if ending, err = b.ending(ctx, h.Tenant, way[len(way)-1]); err != nil {
			return "", err
		}
	}
	for i := range ending {
		c := &ending[i]
		records, err := b.store.Records(ctx, h.Tenant, c.Name, recordKind, recordKey)
		if unusable(err) {
			continue
		}
		if err != nil {
			return "", err
		}
		var s storedConversation
		if len(records) == 1 && s.recognise(records[0].Data) == nil && s.space == own.space &&
			!s.sketch.Differs(&own.sketch) {
			return c.Name, nil
		}
	}
	return h.Conversation, nil
}

// unusable reports whether a conversation cannot be read, now or later. Others may be.
func unusable(err error) bool {
	return errors.Is(err, timeline.ErrNoConversation) || errors.Is(err, timeline.ErrDamaged)
}

// holding returns a conversation that has the record of a call whose request ends at a place,
// or "".
func (b *Index) holding(ctx context.Context, h *Homeless, at timeline.Place) (string, error) {
	if d, ok := b.store.(timeline.Distant); ok {
		names, err := d.Holding(ctx, h.Tenant, at, h.Written)
		if err == nil && len(names) > 0 {
			return names[0], nil
		}
		if !errors.Is(err, errors.ErrUnsupported) {
			return "", err
		}
	}
	all, err := b.store.Conversations(ctx, h.Tenant)
	if err != nil {
		return "", err
	}
	for i := range all {
		found, err := b.store.Records(ctx, h.Tenant, all[i].Name, h.Written.Kind, h.Written.Key)
		if err != nil && !unusable(err) {
			return "", err
		}
		if len(found) > 0 {
			return all[i].Name, nil
		}
	}
	return "", nil
}

// answered reports whether a model's reply is on a way. Replies that clients invent are not.
func (b *Index) answered(ctx context.Context, tenant string, way []timeline.Place) (answered bool, err error) {
	if len(way) == 0 {
		return false, nil
	}
	err = b.store.Messages(ctx, tenant, way[len(way)-1], 1, math.MaxInt64, true, func(e *timeline.Entry) error {
		answered = answered || e.Role == string(chat.Assistant) && e.Ref != ""
		return nil
	})
	if errors.Is(err, timeline.ErrDamaged) {
		return false, nil
	}
	return answered, err
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
// another conversation, the homeless one gets its name. If both are in memory, or the homeless
// one has become a session, it is forgotten as soon as no call uses it.
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
	case t.conversations[home] == nil && k.session == "":
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
