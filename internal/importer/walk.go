package importer

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/oriel-context/oriel/timeline"
)

// Known messages are read in pages. The first page is short, because a file may have
// very many conversations.
const (
	firstPage = 32
	largePage = 512
)

// walk follows the histories of one conversation in a file, each from its beginning.
// As long as the messages match those in the store, nothing is written.
//
// The head of a conversation that this import creates moves with every batch. The
// head of an existing conversation stays until the whole file has been read, so that
// a failed import takes nothing away. If others continue the conversation in the
// meantime, the head stays theirs (see settle).
type walk struct {
	w       *writer
	name    string
	project string
	title   string                           // that the file gives it
	forms   map[timeline.Place]timeline.Hash // of lines
	known   bool                             // the conversation was in the store
	// recorded reports that Oriel recorded the conversation: its head stays.
	recorded bool
	had      string                        // its project
	stored   map[storedKey][]timeline.Hash // see asStored

	// head and revision are the conversation's as last seen. base is the head that
	// this import found or set; a different head is another writer's.
	head, base timeline.Place
	revision   int64
	moves      bool // the head moves with every batch
	// goal is the place where the file ends; zero if that is not new.
	goal timeline.Place

	// The history is compared with the messages on the way to target. way holds
	// those read so far, without the first skip ones: one page for lines, all for
	// bodies, because the next body begins alike.
	target timeline.Place
	way    []timeline.Entry
	skip   int64
	size   int64 // of the next page

	at     timeline.Place // the last stored message
	passed int64          // how many messages of the way the history shares
	// writing reports that a message is not stored in this form, left that the
	// history has left the way or passed its end.
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

// follow advances to the next message of the way if it equals m.
func (k *walk) follow(ctx context.Context, m *timeline.Message) (bool, error) {
	if k.left {
		return false, k.asStored(ctx, m)
	}
	next, err := k.next(ctx)
	if err == nil && (next == nil || next.Identity != m.Identity) {
		err = k.asStored(ctx, m)
	}
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

// has reports whether a known message need not be written. For lines, the stored
// form must be the one that an export returns.
func (k *walk) has(e *timeline.Entry, content timeline.Hash) bool {
	if k.w.source.kind.format.isBody() {
		return e.Content == content || slices.Contains(e.Variants, content)
	}
	if form, ok := k.forms[e.Place]; ok {
		return form == content
	}
	return e.Content == content
}

// next returns the next message of the way, or nil.
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

// entries returns the messages of a range without their bytes.
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

// write appends the batch. It moves the head if it may and nobody else has changed
// the conversation; otherwise settle moves it in the end, if at all.
func (k *walk) write(ctx context.Context) (timeline.Applied, error) {
	c := timeline.Change{At: k.at, Messages: k.batch, Stay: !k.moves || !k.left || k.head != k.base}
	c.Began = k.w.im.options.Now()
	for i := range k.batch {
		if t := k.batch[i].Time; t.Before(c.Began) {
			c.Began = t
		}
	}
	a, err := k.apply(ctx, c)
	if errors.Is(err, timeline.ErrChanged) {
		k.moves, c.Stay = false, true
		a, err = k.apply(ctx, c)
	}
	return a, err
}

// remember adds the messages of the batch, which begin after depth before, to the
// way.
func (k *walk) remember(before int64, places []timeline.Place) {
	if k.left {
		k.way = k.way[:before]
	}
	for i, p := range places {
		e := timeline.Entry{Place: p, Message: timeline.Message{Identity: k.batch[i].Identity},
			Content: timeline.HashOf(k.batch[i].Raw)}
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

// keepForms records which messages of the batch are stored with other bytes than
// this conversation's.
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
			c.Drop = append(c.Drop, key) // it has the first form again
		} else if content != e.Content {
			c.Contents = append(c.Contents, raw)
			c.Put = append(c.Put, timeline.Record{Kind: key.Kind, Key: key.Key, At: e.Place, Time: k.w.im.options.Now(),
				Contents: []timeline.Hash{content}})
		}
	}
	if len(c.Put)+len(c.Drop) == 0 {
		return nil
	}
	c.Stay = true
	_, err = k.apply(ctx, c)
	return err
}

// end moves the conversation to the end of the file after everything is written, and keeps
// its title.
func (k *walk) end(ctx context.Context) error {
	if err := k.arrive(ctx); err != nil || k.title == "" || k.head.Depth == 0 {
		return err
	}
	notes := timeline.Notes{Store: k.w.im.store, Tenant: k.w.im.options.Tenant, Conversation: k.name}
	if had, err := notes.Title(ctx); err != nil || had == k.title {
		return err
	}
	r, err := timeline.TitleRecord(k.title)
	if err == nil {
		_, err = k.apply(ctx, timeline.Change{Stay: true, Put: []timeline.Record{r}})
	}
	return err
}

func (k *walk) arrive(ctx context.Context) error {
	if k.recorded {
		k.w.im.recordedBefore(k)
	}
	if k.goal != (timeline.Place{}) {
		return k.settle(ctx)
	}
	if !k.writing && k.known && k.project != "" && k.project != k.had {
		_, err := k.apply(ctx, timeline.Change{Stay: true})
		return err
	}
	return nil
}

// settle moves the head to the goal. The head stays if its history already contains
// the goal, as for an older copy of the file. It also stays if another writer has
// moved it to a place that the file does not contain, or if Oriel recorded the
// conversation: the import is then a branch, so that nobody else's messages, plans
// and numbers disappear.
func (k *walk) settle(ctx context.Context) error {
	for k.head != k.goal {
		if part, err := k.passes(ctx, k.goal, k.head); part || err != nil {
			return err
		}
		if k.recorded || k.head != k.base {
			part, err := k.passes(ctx, k.head, k.goal)
			if err != nil {
				return err
			}
			if !part {
				if !k.recorded {
					k.w.im.branched(k)
				}
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

// passes reports whether place p is on the way to another.
func (k *walk) passes(ctx context.Context, p, to timeline.Place) (bool, error) {
	return timeline.Passes(ctx, k.w.im.store, k.w.im.options.Tenant, to, p)
}

// apply applies a change. A change that moves the head fails with ErrChanged if the
// head is not where it was last seen.
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

// look reads the conversation's current head and revision.
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

// formKind is the kind of the records that hold a conversation's own form of a
// message stored with other bytes.
const formKind = "form"

// OwnForms returns, by place, the hashes of a conversation's messages whose form
// differs from Entry.Raw; Store.Content returns the bytes. They differ if another
// conversation with the same message, or an earlier version of the file, was stored
// first.
func OwnForms(ctx context.Context, store timeline.Store, tenant,
	conversation string) (map[timeline.Place]timeline.Hash, error) {
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
