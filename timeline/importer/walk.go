package importer

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/oriel-context/oriel/timeline"
)

// A batch is written when it has this many messages or bytes.
const (
	batchMessages = 500
	batchBytes    = 4 << 20
)

// flushers is how many conversations are written at the same time: a store commits
// them together.
const flushers = 16

// A page of what is known is read at a time, short ones first: a file may have
// very many conversations.
const (
	firstPage = 32
	largePage = 512
)

// walk follows one history of a conversation from its beginning on: as long as its
// messages are those that the store has, nothing is written.
type walk struct {
	w       *writer
	name    string
	project string
	forms   map[timeline.Place]timeline.Hash
	// stored is the conversation's head before the walk; zero if there is none.
	stored timeline.Place
	known  bool // the conversation is in the store
	had    string
	at     timeline.Place
	// writing says that the history has left what was known.
	writing bool
	page    []timeline.Entry // what follows at, on the way to stored
	size    int64            // of the next page
	batch   []timeline.Message
}

// writer writes the messages of one file.
type writer struct {
	im     *importing
	source *source
	walks  map[string]*walk
	// waiting are the walks with a batch, messages and bytes what these hold.
	waiting         []*walk
	messages, bytes int
}

func (w *writer) broken(line int, what string) {
	w.im.problem(Problem{File: w.source.path, Line: line, What: what})
}

func (w *writer) named(conversation string) string {
	if w.im.options.Conversation != "" {
		return w.im.options.Conversation
	}
	return conversation
}

func (w *writer) begin(ctx context.Context, conversation, project string) error {
	name := w.named(conversation)
	if old := w.walks[name]; old != nil {
		if err := old.end(ctx); err != nil {
			return err
		}
	}
	if w.im.options.Project != "" {
		project = w.im.options.Project
	}
	if !fits(project, timeline.MaxName) {
		project = ""
	}
	k := &walk{w: w, name: name, project: project, size: firstPage}
	c, err := w.im.store.Conversation(ctx, w.im.options.Tenant, name)
	switch {
	case errors.Is(err, timeline.ErrNoConversation):
	case err != nil:
		return err
	default:
		k.stored, k.known, k.had = c.Head, true, c.Project
		if k.forms, err = OwnForms(ctx, w.im.store, w.im.options.Tenant, name); err != nil {
			return err
		}
	}
	w.walks[name] = k
	return nil
}

func (w *writer) take(ctx context.Context, conversation string, m timeline.Message) error {
	k := w.walks[w.named(conversation)]
	if k == nil {
		if err := w.begin(ctx, conversation, ""); err != nil {
			return err
		}
		k = w.walks[w.named(conversation)]
	}
	w.im.report.Messages++
	w.im.conversation(k.name, k.project, w.source.kind.format).Messages++
	if known, err := k.follow(ctx, &m); known || err != nil {
		return err
	}
	if len(k.batch) == 0 {
		w.waiting = append(w.waiting, k)
	}
	k.batch = append(k.batch, m)
	w.messages++
	w.bytes += len(m.Raw)
	if w.messages >= batchMessages || w.bytes >= batchBytes {
		return w.flush(ctx)
	}
	return nil
}

// flush writes all batches.
func (w *writer) flush(ctx context.Context) error {
	errs := make([]error, min(flushers, len(w.waiting)))
	var all sync.WaitGroup
	for i := range errs {
		all.Go(func() {
			for j := i; j < len(w.waiting) && errs[i] == nil; j += len(errs) {
				errs[i] = w.waiting[j].flush(ctx)
			}
		})
	}
	all.Wait()
	w.waiting, w.messages, w.bytes = w.waiting[:0], 0, 0
	return errors.Join(errs...)
}

func (w *writer) call(ctx context.Context, conversation string, c call) error {
	k := w.walks[w.named(conversation)]
	if k == nil {
		return nil
	}
	if err := w.flush(ctx); err != nil {
		return err
	}
	if k.at.Depth == 0 {
		return nil // a request without messages
	}
	r, err := c.record(k.at)
	if err != nil {
		return err
	}
	old, err := w.im.store.Records(ctx, w.im.options.Tenant, k.name, r.Kind, r.Key)
	if err != nil || len(old) > 0 {
		return err
	}
	now := w.im.options.Now()
	r.Time = now
	_, err = k.apply(ctx, timeline.Change{Stay: true, Contents: c.contents, Put: []timeline.Record{r}})
	return err
}

// close writes what is left.
func (w *writer) close(ctx context.Context) error {
	for _, k := range w.walks {
		if err := k.end(ctx); err != nil {
			return err
		}
	}
	return nil
}

// follow goes on to the next known message if that is m.
func (k *walk) follow(ctx context.Context, m *timeline.Message) (bool, error) {
	if k.writing {
		return false, nil
	}
	next, err := k.next(ctx)
	if err != nil {
		return false, err
	}
	if next == nil || next.Says != m.Says || !k.has(next, timeline.HashOf(m.Raw)) {
		k.writing = true
		return false, nil
	}
	k.at = next.Place
	k.page = k.page[1:]
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

// next is the known message after at; nil where there is none.
func (k *walk) next(ctx context.Context) (*timeline.Entry, error) {
	if len(k.page) == 0 && k.at.Depth < k.stored.Depth {
		page, err := k.entries(ctx, k.stored, k.at.Depth+1, min(k.stored.Depth, k.at.Depth+k.size))
		if err != nil {
			return nil, err
		}
		k.page = page
		k.size = largePage
	}
	if len(k.page) == 0 {
		return nil, nil
	}
	return &k.page[0], nil
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
	a, err := k.apply(ctx, timeline.Change{At: k.at, Messages: k.batch})
	if err != nil {
		return err
	}
	k.at = a.Head
	if a.New.Messages < len(k.batch) && !k.w.source.kind.format.isBody() {
		if err := k.keepForms(ctx, before.Depth); err != nil {
			return err
		}
	}
	k.w.im.wrote(k, &a)
	clear(k.batch)
	k.batch = k.batch[:0]
	return nil
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

// end writes the rest. A history that turns out to be the beginning of the one that
// was there leaves the head where it was.
func (k *walk) end(ctx context.Context) error {
	if err := k.w.flush(ctx); err != nil {
		return err
	}
	if k.writing && k.at.Depth < k.stored.Depth {
		passed, err := k.entries(ctx, k.stored, k.at.Depth, k.at.Depth)
		if err != nil {
			return err
		}
		if len(passed) == 1 && passed[0].Place == k.at {
			_, err = k.apply(ctx, timeline.Change{At: k.stored})
			return err
		}
	}
	if !k.writing && k.known && k.project != "" && k.project != k.had {
		_, err := k.apply(ctx, timeline.Change{Stay: true})
		return err
	}
	return nil
}

func (k *walk) apply(ctx context.Context, c timeline.Change) (timeline.Applied, error) {
	c.Conversation, c.Project, c.Now = k.name, k.project, k.w.im.options.Now()
	return k.w.im.store.Apply(ctx, k.w.im.options.Tenant, c)
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
