package importer

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"

	"github.com/oriel-context/oriel/timeline"
)

// A batch is written when it has this many messages or bytes.
const (
	batchMessages = 500
	batchBytes    = 4 << 20
)

// flushers is the number of conversations written at the same time: a store
// commits them together.
const flushers = 16

// writer writes the messages of one file.
type writer struct {
	im     *importing
	source *source
	walks  map[string]*walk
	homes  map[string]string // the recorded conversations of sessions; see importing.homes
	// waiting lists the walks with a batch; messages and bytes count what these
	// hold.
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
	if home := w.homes[conversation]; home != "" {
		return home
	}
	return conversation
}

func (w *writer) begin(ctx context.Context, conversation, project string) error {
	name := w.named(conversation)
	if k := w.walks[name]; k != nil {
		if err := w.flush(ctx); err != nil {
			return err
		}
		k.restart()
		return nil
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
		k.moves = true
	case err != nil:
		return err
	default:
		k.known, k.had = true, c.Project
		k.head, k.revision = c.Head, c.Revision
		if k.recorded, err = w.im.wasRecorded(ctx, name); err != nil {
			return err
		}
		if !w.source.kind.format.isBody() {
			if k.forms, err = OwnForms(ctx, w.im.store, w.im.options.Tenant, name); err != nil {
				return err
			}
		}
	}
	k.base, k.target = k.head, k.head
	if base, ok := w.im.heads[name]; ok {
		k.base = base
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

func (w *writer) title(conversation, title string) {
	if k := w.walks[w.named(conversation)]; k != nil {
		k.title = timeline.CleanTitle(title)
	}
}

// flush writes all batches.
func (w *writer) flush(ctx context.Context) error {
	err := together(w.waiting, func(k *walk) error { return k.flush(ctx) })
	w.waiting, w.messages, w.bytes = w.waiting[:0], 0, 0
	return err
}

// together calls do for many walks, some at a time.
func together(walks []*walk, do func(*walk) error) error {
	errs := make([]error, min(flushers, len(walks)))
	var all sync.WaitGroup
	for i := range errs {
		all.Go(func() {
			for j := i; j < len(walks) && errs[i] == nil; j += len(errs) {
				errs[i] = do(walks[j])
			}
		})
	}
	all.Wait()
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
	r.Time = w.im.options.Now()
	_, err = k.apply(ctx, timeline.Change{Stay: true, Contents: c.contents, Put: []timeline.Record{r}})
	return err
}

// finish writes the remaining batches and moves the conversations to the end of
// the file.
func (w *writer) finish(ctx context.Context) error {
	if err := w.flush(ctx); err != nil {
		return err
	}
	err := together(slices.Collect(maps.Values(w.walks)), func(k *walk) error { return k.end(ctx) })
	for name, k := range w.walks {
		w.im.heads[name] = k.base
	}
	for name, home := range w.homes {
		if err == nil {
			err = w.im.forget(ctx, name, home)
		}
	}
	return err
}
