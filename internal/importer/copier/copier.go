/*
Package copier copies a history from one store to another.

Copy may be interrupted and run again: it goes on with the first conversation that is not
complete, and copies a conversation again that has changed since. Compare then reads both
stores and reports every difference: bytes, forms, times and places of messages, records
with their contents, derived data, tokens. Numbers of trunks and revisions are not copied;
they are each store's own. What the target has beside is left alone.
*/
package copier

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/oriel-context/oriel/timeline"
)

// Limits of one change.
const (
	maxMessages = 256
	maxRecords  = 64
	maxBytes    = 4 << 20
)

// Options configures Copy. The zero value is useful.
type Options struct {
	// Progress is called with the bytes that were copied and those that there are.
	Progress func(done, total int64)
}

// Copied counts what Copy found and did.
type Copied struct {
	// Conversations are all of the source, Skipped those that were complete.
	Conversations, Skipped int
	// Messages, Records and Derived were copied or found in the target.
	Messages, Records, Derived, Tokens int
}

// ErrAhead: the target's conversation has changed since it was copied.
var ErrAhead = errors.New("the target's conversation has gone on since")

// ErrOther: the target has a conversation with a name of the source that is another one.
var ErrOther = errors.New("the target has another conversation of this name")

// Copy copies everything from a store to another.
func Copy(ctx context.Context, from timeline.Whole, to timeline.Store, o Options) (Copied, error) {
	c := copier{from: from, to: to, progress: o.Progress}
	err := c.run(ctx)
	return c.done, err
}

type copier struct {
	from     timeline.Whole
	to       timeline.Store
	progress func(done, total int64)

	done          Copied
	bytes, total  int64
	tenant        string
	kinds         []string               // of derived data
	stored        map[timeline.Hash]bool // contents that the target has
	now           timeline.Conversation  // that is copied
	began         bool                   // it exists in the target
	places        map[timeline.Place]timeline.Place
	between       time.Time // the time of changes before the last one
	contentHashes map[timeline.Hash]bool
}

func (c *copier) run(ctx context.Context) error {
	tenants, err := c.from.Tenants(ctx)
	if err != nil {
		return err
	}
	for _, tenant := range tenants {
		st, err := c.from.Stats(ctx, tenant)
		if err != nil {
			return err
		}
		c.total += st.Bytes
	}
	for _, tenant := range tenants {
		if err := c.copyTenant(ctx, tenant); err != nil {
			return err
		}
	}
	tokens, err := c.from.Tokens(ctx)
	if err != nil {
		return err
	}
	for _, t := range tokens {
		if err := c.copyToken(ctx, t); err != nil {
			return err
		}
	}
	return nil
}

func (c *copier) copyToken(ctx context.Context, t timeline.AccessToken) error {
	c.done.Tokens++
	was, err := c.to.Token(ctx, t.Hash)
	switch {
	case errors.Is(err, timeline.ErrNoToken):
		return c.to.AddToken(ctx, t)
	case err != nil || was.Revoked.Equal(t.Revoked) || t.Revoked.IsZero():
		return err
	}
	return c.to.RevokeToken(ctx, t.Hash, t.Revoked)
}

func (c *copier) copyTenant(ctx context.Context, tenant string) (err error) {
	c.tenant, c.stored = tenant, map[timeline.Hash]bool{}
	if c.kinds, err = c.from.DerivedKinds(ctx, tenant); err != nil {
		return err
	}
	all, err := c.from.Conversations(ctx, tenant)
	if err != nil {
		return err
	}
	for _, conversation := range all {
		c.done.Conversations++
		if err := c.copyConversation(ctx, conversation); err != nil {
			return fmt.Errorf("conversation %q of %s: %w", conversation.Name, tenant, err)
		}
	}
	return nil
}

// copyConversation copies a conversation unless the target has it. The last of its changes
// gives it the time of the source's last one, which shows that it is complete.
func (c *copier) copyConversation(ctx context.Context, conversation timeline.Conversation) error {
	was, err := c.to.Conversation(ctx, c.tenant, conversation.Name)
	if err != nil && !errors.Is(err, timeline.ErrNoConversation) {
		return err
	}
	c.now, c.began = conversation, err == nil
	if c.began && !was.Created.Equal(conversation.Created) {
		return ErrOther
	}
	if c.began && was.Updated.Equal(conversation.Updated) && was.Head.Depth == conversation.Head.Depth {
		c.done.Skipped++
		return nil
	}
	if c.began && was.Updated.After(conversation.Updated.Add(time.Microsecond)) {
		return ErrAhead
	}
	c.places, c.between = map[timeline.Place]timeline.Place{{}: {}}, conversation.Updated.Add(time.Microsecond)
	c.contentHashes = map[timeline.Hash]bool{}
	heads, err := c.from.Heads(ctx, c.tenant, conversation.Name)
	if err != nil {
		return err
	}
	for _, head := range heads {
		if err := c.copyWay(ctx, head); err != nil {
			return err
		}
	}
	if err := c.copyRecords(ctx); err != nil {
		return err
	}
	if err := c.copyDerived(ctx); err != nil {
		return err
	}
	_, err = c.apply(ctx, timeline.Change{At: c.places[conversation.Head], Now: conversation.Updated,
		Project: conversation.Project, Continues: conversation.Continues})
	return err
}

// apply applies a change to the conversation in the target.
func (c *copier) apply(ctx context.Context, change timeline.Change) (timeline.Applied, error) {
	change.Conversation = c.now.Name
	if change.Now.IsZero() {
		change.Now = c.between
	}
	if !c.began {
		change.Began = c.now.Created
	}
	a, err := c.to.Apply(ctx, c.tenant, change)
	c.began = c.began || err == nil
	return a, err
}

// copyWay copies the messages on the way to a place.
func (c *copier) copyWay(ctx context.Context, to timeline.Place) error {
	var batch []timeline.Entry
	var size int
	var at timeline.Place // in the target
	flush := func() (err error) {
		at, err = c.copyMessages(ctx, at, batch)
		batch, size = batch[:0], 0
		return err
	}
	err := c.from.Messages(ctx, c.tenant, to, 1, math.MaxInt64, false, func(e *timeline.Entry) error {
		if known, ok := c.places[e.Place]; ok && len(batch) == 0 {
			at = known // an earlier branch had it
			return nil
		}
		kept := *e
		kept.Raw, kept.Variants = slices.Clone(e.Raw), slices.Clone(e.Variants)
		batch = append(batch, kept)
		if size += len(e.Raw); len(batch) < maxMessages && size < maxBytes {
			return nil
		}
		return flush()
	})
	if err == nil && len(batch) > 0 {
		err = flush()
	}
	return err
}

// copyMessages appends messages after a place of the target, with all of their forms, and
// returns the place of the last.
func (c *copier) copyMessages(ctx context.Context, at timeline.Place,
	entries []timeline.Entry) (timeline.Place, error) {
	messages := make([]timeline.Message, len(entries))
	for i := range entries {
		messages[i] = entries[i].Message
		c.bytes += int64(len(entries[i].Raw))
	}
	a, err := c.apply(ctx, timeline.Change{Stay: true, At: at, Messages: messages})
	if err != nil {
		return at, err
	}
	before := at
	for i, p := range a.Places {
		e := &entries[i]
		c.places[e.Place] = p
		c.stored[e.Content], c.contentHashes[e.Content] = true, true
		for _, h := range e.Variants {
			form := e.Message
			if form.Raw, err = c.from.Content(ctx, c.tenant, h); err != nil {
				return at, err
			}
			if _, err := c.apply(ctx, timeline.Change{Stay: true, At: before,
				Messages: []timeline.Message{form}}); err != nil {
				return at, err
			}
			c.stored[h], c.contentHashes[h] = true, true
		}
		before = p
	}
	c.done.Messages += len(entries)
	c.tell()
	return before, nil
}

func (c *copier) tell() {
	if c.progress != nil {
		c.progress(min(c.bytes, c.total), c.total)
	}
}

// copyRecords copies the records, and drops those that the source no longer has.
func (c *copier) copyRecords(ctx context.Context) error {
	all, err := c.from.AllRecords(ctx, c.tenant, c.now.Name)
	if err != nil {
		return err
	}
	if err := c.dropRecords(ctx, all); err != nil {
		return err
	}
	for len(all) > 0 {
		var change timeline.Change
		size, n := 0, 0
		for n < len(all) && n < maxRecords && size < maxBytes {
			r := all[n]
			there, ok := c.places[r.At]
			if !ok {
				return fmt.Errorf("%w: %v, of record %s %q", timeline.ErrNoPlace, r.At, r.Kind, r.Key)
			}
			r.At = there
			for _, h := range r.Contents {
				c.contentHashes[h] = true
				if c.stored[h] {
					continue
				}
				raw, err := c.from.Content(ctx, c.tenant, h)
				if err != nil {
					return err
				}
				change.Contents = append(change.Contents, raw)
				c.stored[h] = true
				size += len(raw)
				c.bytes += int64(len(raw))
			}
			change.Put = append(change.Put, r)
			size += len(r.Data)
			n++
		}
		change.Stay = true
		if _, err := c.apply(ctx, change); err != nil {
			return err
		}
		c.done.Records += n
		all = all[n:]
		c.tell()
	}
	return nil
}

// dropRecords drops what an earlier copy has and the source does not, or not in that order.
func (c *copier) dropRecords(ctx context.Context, all []timeline.Record) error {
	target, ok := c.to.(timeline.Whole)
	if !ok {
		return nil
	}
	there, err := target.AllRecords(ctx, c.tenant, c.now.Name)
	if errors.Is(err, timeline.ErrNoConversation) || err == nil && len(there) == 0 {
		return nil
	}
	if err != nil {
		return err
	}
	same := 0
	for same < min(len(all), len(there)) && all[same].Kind == there[same].Kind && all[same].Key == there[same].Key {
		same++
	}
	var drop []timeline.Key
	for _, r := range there[same:] {
		drop = append(drop, timeline.Key{Kind: r.Kind, Key: r.Key})
	}
	if len(drop) == 0 {
		return nil
	}
	clear(c.stored) // what they referred to may be gone
	_, err = c.apply(ctx, timeline.Change{Stay: true, Drop: drop})
	return err
}

// copyDerived copies what was derived from the conversation's contents.
func (c *copier) copyDerived(ctx context.Context) error {
	hashes := make([]timeline.Hash, 0, len(c.contentHashes))
	for h := range c.contentHashes {
		hashes = append(hashes, h)
	}
	for _, kind := range c.kinds {
		for part := range slices.Chunk(hashes, maxMessages) {
			var data []timeline.Derived
			if err := c.from.Derived(ctx, c.tenant, kind, part, func(h timeline.Hash, d []byte) error {
				data = append(data, timeline.Derived{Content: h, Data: slices.Clone(d)})
				return nil
			}); err != nil {
				return err
			}
			if len(data) == 0 {
				continue
			}
			if err := c.to.KeepDerived(ctx, c.tenant, kind, data); err != nil {
				return err
			}
			c.done.Derived += len(data)
		}
	}
	return nil
}
