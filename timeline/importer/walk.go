package importer

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/oriel-context/oriel/timeline"
)

// A page of what is known is read at a time, short ones first: a file may have
// very many conversations.
const (
	firstPage = 32
	largePage = 512
)

// walk follows the histories that a file has of one conversation, each from its
// beginning on: as long as its messages are those that the store has, nothing is
// written.
//
// A conversation that begins with the import goes along with every batch. One that
// was there before stays where it is until the file has been read: an import that
// dies takes nothing away. Others may go on with the conversation meanwhile: then it
// is theirs (see settle).
type walk struct {
	w       *writer
	name    string
	project string
	forms   map[timeline.Place]timeline.Hash // of lines
	known   bool                             // the conversation was in the store
	had     string                           // its project

	// head and revision are the conversation's as they were last seen, base is
	// the head that this import found or made: another one is somebody else's.
	head, base timeline.Place
	revision   int64
	moves      bool // the conversation goes along with every batch
	// goal is where the file leads, the zero place if nowhere else.
	goal timeline.Place

	// The history is compared with the way to target: way is the messages after
	// the first skip ones, as far as they were read. Of lines a page is kept, of
	// bodies all, for the next one begins alike.
	target timeline.Place
	way    []timeline.Entry
	skip   int64
	size   int64 // of the next page

	at     timeline.Place // the last message that is stored
	passed int64          // how many messages of the way the history has, too
	// writing says that a message is not stored as it is, left that the history
	// has gone off the way or beyond its end.
	writing, left bool
	batch         []timeline.Message
}

// restart begins the next history of the same conversation.
func (k *walk) restart() {
	if !k.keepsWay() {
		k.way, k.skip = nil, 0
	}
	k.at, k.passed, k.writing, k.left = timeline.Place{}, 0, false, false
}

func (k *walk) keepsWay() bool { return k.w.source.kind.format.isBody() }

// follow goes on to the next message of the way if that is m.
func (k *walk) follow(ctx context.Context, m *timeline.Message) (bool, error) {
	if k.left {
		return false, nil
	}
	next, err := k.next(ctx)
	if err != nil {
		return false, err
	}
	if next == nil || next.Identity != m.Identity {
		k.writing, k.left = true, true
		return false, nil
	}
	k.passed++
	if k.writing || !k.has(next, timeline.HashOf(m.Raw)) {
		k.writing = true
		return false, nil
	}
	k.at = next.Place
	return true, nil
}

// has reports whether the bytes of a known message need no writing: for lines they
// must be those that are written back.
func (k *walk) has(e *timeline.Entry, content timeline.Hash) bool {
	if k.w.source.kind.format.isBody() {
		return e.Content == content || slices.Contains(e.Variants, content)
	}
	if form, ok := k.forms[e.Place]; ok {
		return form == content
	}
	return e.Content == content
}

// next is the message of the way that follows; nil where there is none.
func (k *walk) next(ctx context.Context) (*timeline.Entry, error) {
	if k.passed == k.skip+int64(len(k.way)) && k.passed < k.target.Depth {
		if !k.keepsWay() {
			k.way, k.skip = k.way[:0], k.passed
		}
		page, err := k.entries(ctx, k.target, k.passed+1, min(k.target.Depth, k.passed+k.size))
		if err != nil {
			return nil, err
		}
		k.way = append(k.way, page...)
		k.size = largePage
	}
	if i := k.passed - k.skip; i < int64(len(k.way)) {
		return &k.way[i], nil
	}
	return nil, nil
}

// entries reads the messages of a range, without their bytes.
func (k *walk) entries(ctx context.Context, to timeline.Place, first, last int64) ([]timeline.Entry, error) {
	var out []timeline.Entry
	err := k.w.im.store.Messages(ctx, k.w.im.options.Tenant, to, first, last, true, func(e *timeline.Entry) error {
		one := *e
		one.Variants = slices.Clone(e.Variants)
		out = append(out, one)
		return nil
	})
	return out, err
}

// flush writes the batch.
func (k *walk) flush(ctx context.Context) error {
	if len(k.batch) == 0 {
		return nil
	}
	before := k.at
	a, err := k.write(ctx)
	if err != nil {
		return err
	}
	k.at = a.Places[len(a.Places)-1]
	if k.keepsWay() {
		k.remember(before.Depth, a.Places)
	} else if a.New.Messages < len(k.batch) {
		if err := k.keepForms(ctx, before.Depth); err != nil {
			return err
		}
	}
	if k.left {
		k.goal, k.target = k.at, k.at
	}
	k.w.im.wrote(k, &a)
	clear(k.batch)
	k.batch = k.batch[:0]
	return nil
}

// write appends the batch. The head goes along if it may and nobody else has changed
// the conversation; else it is moved in the end, if at all.
func (k *walk) write(ctx context.Context) (timeline.Applied, error) {
	c := timeline.Change{At: k.at, Messages: k.batch, Stay: !k.moves || !k.left || k.head != k.base}
	a, err := k.apply(ctx, c)
	if errors.Is(err, timeline.ErrChanged) {
		k.moves, c.Stay = false, true
		a, err = k.apply(ctx, c)
	}
	return a, err
}

// remember makes the messages of the batch, which begin after a depth, part of the
// way.
func (k *walk) remember(before int64, places []timeline.Place) {
	if k.left {
		k.way = k.way[:before]
	}
	for i, p := range places {
		e := timeline.Entry{Place: p, Message: timeline.Message{Identity: k.batch[i].Identity}, Content: timeline.HashOf(k.batch[i].Raw)}
		if n := before + int64(i); n < int64(len(k.way)) {
			if old := &k.way[n]; old.Content != e.Content && !slices.Contains(old.Variants, e.Content) {
				old.Variants = append(old.Variants, e.Content)
			}
		} else {
			k.way = append(k.way, e)
		}
	}
	if k.left {
		k.passed = int64(len(k.way))
	}
}

// keepForms notes which messages of the batch stand in the store with other bytes
// than this conversation has them.
func (k *walk) keepForms(ctx context.Context, before int64) error {
	entries, err := k.entries(ctx, k.at, before+1, k.at.Depth)
	if err != nil {
		return err
	}
	var c timeline.Change
	for i := range entries {
		e, raw := &entries[i], k.batch[i].Raw
		content := timeline.HashOf(raw)
		key := timeline.Key{Kind: formKind, Key: e.Place.String()}
		if _, ok := k.forms[e.Place]; ok && content == e.Content {
			c.Drop = append(c.Drop, key) // it came in the first form again
		} else if content != e.Content {
			c.Contents = append(c.Contents, raw)
			c.Put = append(c.Put, timeline.Record{Kind: key.Kind, Key: key.Key, At: e.Place, Time: k.w.im.options.Now(), Contents: []timeline.Hash{content}})
		}
	}
	if len(c.Put)+len(c.Drop) == 0 {
		return nil
	}
	c.Stay = true
	_, err = k.apply(ctx, c)
	return err
}

// end leads the conversation to where the file ends, once all is written.
func (k *walk) end(ctx context.Context) error {
	if k.goal != (timeline.Place{}) {
		return k.settle(ctx)
	}
	if !k.writing && k.known && k.project != "" && k.project != k.had {
		_, err := k.apply(ctx, timeline.Change{Stay: true})
		return err
	}
	return nil
}

// settle moves the head to the goal. It stays where the goal is a part of its own
// history, such as an older copy of the file; and where somebody else has moved it
// meanwhile to what the file does not have: what others were told is theirs is not
// taken away, and the import is a branch.
func (k *walk) settle(ctx context.Context) error {
	for k.head != k.goal {
		if part, err := k.passes(ctx, k.goal, k.head); part || err != nil {
			return err
		}
		if k.head != k.base {
			part, err := k.passes(ctx, k.head, k.goal)
			if err != nil {
				return err
			}
			if !part {
				k.w.im.branched(k)
				return nil
			}
		}
		_, err := k.apply(ctx, timeline.Change{At: k.goal})
		if errors.Is(err, timeline.ErrChanged) {
			err = k.look(ctx)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// passes reports whether a place is on the way to another.
func (k *walk) passes(ctx context.Context, p, to timeline.Place) (bool, error) {
	if p.Depth >= to.Depth || p.Depth == 0 {
		return p == to || p.Depth == 0, nil
	}
	passed, err := k.entries(ctx, to, p.Depth, p.Depth)
	return len(passed) == 1 && passed[0].Place == p, err
}

// apply makes a change. One that moves the head is made only if that is where it was
// last seen; else it is ErrChanged.
func (k *walk) apply(ctx context.Context, c timeline.Change) (timeline.Applied, error) {
	c.Conversation, c.Project, c.Now = k.name, k.project, k.w.im.options.Now()
	if !c.Stay {
		c.Expect = &k.revision
	}
	a, err := k.w.im.store.Apply(ctx, k.w.im.options.Tenant, c)
	if err != nil {
		return a, err
	}
	k.head, k.revision = a.Head, a.Revision
	if !c.Stay {
		k.base = a.Head
	}
	return a, nil
}

// look sees where the conversation is now.
func (k *walk) look(ctx context.Context) error {
	c, err := k.w.im.store.Conversation(ctx, k.w.im.options.Tenant, k.name)
	if errors.Is(err, timeline.ErrNoConversation) {
		return fmt.Errorf("%w: %q was deleted during the import", timeline.ErrNoConversation, k.name)
	}
	if err != nil {
		return err
	}
	k.head, k.revision = c.Head, c.Revision
	return ctx.Err()
}

// formKind is the kind of records that tell a conversation's own form of a message
// which stands in the store with other bytes.
const formKind = "form"

// OwnForms are the messages of a conversation that it has in another form than
// Entry.Raw, by their places: Store.Content reads it. Another conversation that says
// the same, or an earlier version of the file, came first.
func OwnForms(ctx context.Context, store timeline.Store, tenant, conversation string) (map[timeline.Place]timeline.Hash, error) {
	records, err := store.Records(ctx, tenant, conversation, formKind, "")
	if err != nil || len(records) == 0 {
		return nil, err
	}
	forms := make(map[timeline.Place]timeline.Hash, len(records))
	for i := range records {
		if r := &records[i]; len(r.Contents) == 1 {
			forms[r.At] = r.Contents[0]
		}
	}
	return forms, nil
}
