package recall

import (
	"context"
	"crypto/rand"
	"errors"
	"slices"
	"time"

	"github.com/oriel-context/oriel/embed"
	"github.com/oriel-context/oriel/timeline"
)

// FillOptions configures Fill.
type FillOptions struct {
	// Model makes the vectors.
	Model embed.Model
	// Tenants returns whose conversations are embedded.
	Tenants func(context.Context) ([]string, error)
	// Every is how often Fill looks for conversations that have changed. 0 means
	// 30 seconds.
	Every time.Duration
	// Settle is how long a conversation must not have changed: one that is in use gets its
	// vectors when calls need them. 0 means a minute, a negative value no time.
	Settle time.Duration
	// Report, if not nil, is called with failures, once with the same one in a row. Fill
	// goes on with the next conversation, and tries this one again when it next looks.
	Report func(error)
}

const (
	// fillMessages is how many messages Fill reads at once, fillPassages how many
	// passages it embeds at once.
	fillMessages = 32
	fillPassages = 8
	// fillRest is how many times as long as it has worked Fill rests.
	fillRest = 3
	// listRest is how many times as long as it takes to list all conversations Fill waits
	// before it lists them again.
	listRest = 100
)

// Fill makes and stores the vectors that the conversations of tenants lack, so that
// searches by meaning find what was imported. It embeds one conversation at a time, the one
// that changed last first, holds a few messages of it in memory, and rests three quarters of
// the time. It leaves messages to other processes that embed them already. It returns when
// ctx ends.
func Fill(ctx context.Context, store timeline.Store, o FillOptions) {
	f := &filler{store: store, o: o, owner: rand.Text(), filled: map[fillKey]filled{}}
	if o.Every == 0 {
		f.o.Every = 30 * time.Second
	}
	if o.Settle == 0 {
		f.o.Settle = time.Minute
	}
	reported := ""
	for rest(ctx, max(f.o.Every, listRest*f.listing)) == nil {
		err := recovered(func() error { return f.look(ctx) })
		switch {
		case err == nil:
			reported = ""
		case ctx.Err() == nil && o.Report != nil && err.Error() != reported:
			reported = err.Error()
			o.Report(err)
		}
	}
}

// filler is the state of Fill.
type filler struct {
	store  timeline.Store
	o      FillOptions
	owner  string // of claims
	filled map[fillKey]filled
	// tenant → trunk → depth up to which the store has passages; no tenant whose are not wanted
	kept    map[string]map[int64]int64
	listing time.Duration // how long listing the conversations took
}

// fillKey names a conversation.
type fillKey struct{ tenant, name string }

// conversation is a conversation with its tenant.
type conversation struct {
	tenant string
	timeline.Conversation
}

func (c *conversation) key() fillKey { return fillKey{c.tenant, c.Name} }

// filled is how far a conversation has its vectors.
type filled struct {
	created time.Time
	to      timeline.Place
}

// look embeds what has changed since the last look. It returns all failures.
func (f *filler) look(ctx context.Context) error {
	all, err := f.list(ctx)
	if err != nil {
		return err
	}
	var failed error
	for i := range all {
		c := &all[i]
		if f.filled[c.key()].to == c.Head && f.keeps(c.tenant, c.Head) || time.Since(c.Updated) < f.o.Settle {
			continue
		}
		err := f.fill(ctx, c)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if !errors.Is(err, errElsewhere) && !errors.Is(err, timeline.ErrNoConversation) &&
			!errors.Is(err, timeline.ErrNoPlace) { // deleted meanwhile
			failed = errors.Join(failed, err)
		}
	}
	return failed
}

// list returns all conversations, the one that changed last first, and forgets those that
// were deleted.
func (f *filler) list(ctx context.Context) (all []conversation, err error) {
	began := time.Now()
	tenants, err := f.o.Tenants(ctx)
	if err != nil {
		return nil, err
	}
	known := map[fillKey]filled{}
	f.kept = map[string]map[int64]int64{}
	for _, tenant := range tenants {
		if err := f.lookForPassages(ctx, tenant); err != nil {
			return nil, err
		}
		some, err := f.store.Conversations(ctx, tenant)
		if err != nil {
			return nil, err
		}
		for i := range some {
			c := conversation{tenant, some[i]}
			if had, ok := f.filled[c.key()]; ok && had.created.Equal(c.Created) {
				known[c.key()] = had
			}
			all = append(all, c)
		}
	}
	f.filled, f.listing = known, time.Since(began)
	slices.SortStableFunc(all, func(a, b conversation) int { return b.Updated.Compare(a.Updated) })
	return all, nil
}

// lookForPassages reads which passages of a tenant the store has.
func (f *filler) lookForPassages(ctx context.Context, tenant string) error {
	store, ok := f.store.(timeline.Passages)
	if !ok {
		return nil
	}
	to, wanted, err := store.PassagesTo(ctx, tenant, vectorFamily+f.o.Model.Name())
	if errors.Is(err, errors.ErrUnsupported) {
		return nil
	}
	if wanted {
		f.kept[tenant] = to
	}
	return err
}

// keeps reports whether the store has the passages of a message, or nobody wants them.
func (f *filler) keeps(tenant string, p timeline.Place) bool {
	to, wanted := f.kept[tenant]
	return !wanted || to[p.Trunk] >= p.Depth
}

// keepPassages has the store keep the passages of a scope, of messages that it lacks.
func (f *filler) keepPassages(ctx context.Context, tenant string, scope *Scope, seen []timeline.Place) error {
	to, wanted := f.kept[tenant]
	if !wanted {
		return nil
	}
	lacking := slices.DeleteFunc(scope.passages(), func(p timeline.Passage) bool { return f.keeps(tenant, p.Place) })
	ends := slices.DeleteFunc(seen, func(p timeline.Place) bool { return f.keeps(tenant, p) })
	if len(ends) == 0 {
		return nil
	}
	if err := f.store.(timeline.Passages).KeepPassages(ctx, tenant, vectorFamily+f.o.Model.Name(), lacking,
		ends); err != nil {
		return err
	}
	for _, p := range ends {
		to[p.Trunk] = max(to[p.Trunk], p.Depth)
	}
	return nil
}

// fill embeds what a conversation has had since it was last filled, and keeps its passages
// if they are wanted.
func (f *filler) fill(ctx context.Context, c *conversation) error {
	first := int64(1)
	if had := f.filled[c.key()].to; had != (timeline.Place{}) {
		at, ok, err := timeline.PlaceOf(ctx, f.store, c.tenant, c.Head, had.Depth)
		if err != nil {
			return err
		}
		if ok && at == had && f.keeps(c.tenant, had) {
			first = had.Depth + 1
		}
	}
	if to := f.kept[c.tenant][c.Head.Trunk]; to > 0 { // a path is kept from its beginning on
		first = max(first, to+1)
	}
	reader := Reader{Conversation: c.Name}
	for from := max(1, first-leadIn); from <= c.Head.Depth; from += fillMessages {
		last := timeline.Place{}
		var seen []timeline.Place // the last message of each trunk
		scope := NewScope(Options{Model: f.o.Model, Count: func(string) int { return 0 }})
		err := f.store.Messages(ctx, c.tenant, c.Head, from, min(from+fillMessages-1, c.Head.Depth), false,
			func(e *timeline.Entry) error {
				said, ok := reader.Read(e)
				if n := len(seen) - 1; n >= 0 && seen[n].Trunk == e.Place.Trunk {
					seen[n] = e.Place
				} else {
					seen = append(seen, e.Place)
				}
				if last = e.Place; !ok || last.Depth < first {
					return nil
				}
				said.Block, said.Content = blockAt(e.Place.Trunk, e.Place.Depth), e.Content
				return scope.Add(ctx, []Message{said})
			})
		if err != nil {
			return err
		}
		if err := f.embed(ctx, c.tenant, scope); err != nil {
			return err
		}
		if err := f.keepPassages(ctx, c.tenant, scope, seen); err != nil {
			return err
		}
		f.filled[c.key()] = filled{c.Created, last}
	}
	return nil
}

// embed embeds the passages of a scope and stores the vectors of a tenant.
func (f *filler) embed(ctx context.Context, tenant string, scope *Scope) error {
	vectors := &vectorStore{store: f.store, tenant: tenant, kind: vectorFamily + f.o.Model.Name(), owner: f.owner}
	for {
		began := time.Now()
		batch := scope.pending(fillPassages)
		if len(batch) == 0 {
			return nil
		}
		if _, _, err := scope.embedThese(ctx, batch, vectors, true); err != nil {
			return err
		}
		if err := rest(ctx, fillRest*time.Since(began)); err != nil {
			return err
		}
	}
}

// rest waits for a time. It returns the context's error if that ends before.
func rest(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
