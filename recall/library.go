package recall

import (
	"container/list"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/oriel-context/oriel/embed"
	"github.com/oriel-context/oriel/timeline"
)

// DefaultMemory is the default limit on the memory of a library's scopes, in
// bytes.
const DefaultMemory = 256 << 20

// ErrClosed is returned by a library that has been closed.
var ErrClosed = errors.New("the library is closed")

// LibraryOptions configures a library. The zero value is useful.
type LibraryOptions struct {
	// Model makes the vectors. If it is nil, searches go by words alone.
	Model embed.Model
	// Memory is the most bytes that all scopes may take together. 0 means
	// DefaultMemory. A scope that would take more alone is searched in the store, if
	// that can search and has its passages (timeline.Passages), which Fill keeps;
	// otherwise one scope is kept however large it is.
	Memory int64
	// OnDemand, if it is not 0, has no vectors made in the background. Each search makes
	// those that it needs most until this long after it began, or one or two if the words
	// took longer, and stores them: of the messages whose words match the query best, and
	// then of others. It suits a program that ends after one search.
	OnDemand time.Duration
	// Count counts the tokens of a text, as Options.Count does.
	Count func(string) int
	// Report, if not nil, is called with failures of background work: a model
	// that fails, a store that cannot be read, a panic. A failed step is tried
	// again when the scope is next searched or prepared. The same failure is
	// reported once until vectors are made again. Several goroutines may call
	// Report at the same time.
	Report func(error)
}

// A Library keeps the scopes of a store. It builds them on first use, brings
// them up to date as histories grow, and discards the least recently used ones
// when they take too much memory. It is safe for concurrent use.
//
// A few goroutines of the library read and index, and one embeds; they pause
// while searches run. Vectors are stored with the contents that they belong
// to, so that rebuilding a scope embeds nothing. Each call checks the store,
// so it notices what other processes have added or deleted, unless its
// deadline passes before the store answers.
type Library struct {
	store   timeline.Store
	o       LibraryOptions
	queries embed.Model // caches vectors, because a call asks the same more than once; nil without a model

	ctx     context.Context // cancelled by Close
	end     context.CancelFunc
	workers sync.WaitGroup
	room    chan struct{} // limits the queries that no worker has looked at yet

	searching atomic.Int32
	made      atomic.Int64 // number of vectors that the model made

	mu         sync.Mutex // protects the fields below and all cached scopes
	wake       *sync.Cond // signals that there is work, or that the library closes
	begun      bool
	closed     bool
	cached     map[scopeKey][]*cachedScope
	order      list.List // of *cachedScope, most recently used first
	bytes      int64     // of all cached scopes
	waiting    []*query
	preparing  []Where
	answered   int            // how many of those two kinds were answered in a row
	growing    []*cachedScope // scopes to bring up to date
	growers    int            // how many scopes are being brought up to date
	vectors    []*cachedScope // scopes to embed
	keeping    []extracted    // extracts to store
	storing    bool           // a worker stores some
	unstored   int            // bytes of all extracts that are not stored yet
	keepsNone  bool           // the store keeps no extracts
	elsewhere  int            // scopes whose vectors another process makes
	busy       int            // number of busy workers
	idle       chan struct{}
	dimensions int   // of the model's vectors, if vectors of another size were stored under its name
	changed    int64 // value of Store.Changed at the last search for deleted conversations
	unswept    bool  // deleted conversations must be searched for again
	// crowded records when scopes were last discarded for lack of memory.
	crowded map[scopeKey]time.Time
	// coverage holds which scopes that are too large for memory the store can search.
	coverage map[scopeKey]coverage
	// privacy holds which conversations are private.
	privacy map[lifeKey]privacy
	// reported holds the failures that Report was called with.
	reported map[string]bool
}

// Reach is how far a search extends.
type Reach string

// The reaches.
const (
	// ReachConversation covers the conversation and what it continues.
	ReachConversation Reach = "conversation"
	// ReachProject also covers all conversations of the same project that are not
	// private.
	ReachProject Reach = "project"
	// ReachUser covers all conversations of the tenant that are not private.
	ReachUser Reach = "user"
)

// Where names the part of the history that a search covers.
type Where struct {
	// Conversation is where a search begins. ReachProject and ReachUser need none; then
	// all private conversations are left out.
	Tenant, Conversation string
	// Project is the project that ReachProject covers if Conversation is empty, as for a
	// conversation that is not stored yet.
	Project string
	// At is the place up to which the conversation is searched. The zero value
	// means its head.
	At timeline.Place
	// Reach is how far the search extends beyond the conversation. Empty means
	// ReachConversation.
	Reach Reach
}

// keptQueries is the number of queries whose vectors are cached.
const keptQueries = 256

// maxQueries is how many calls may wait for a worker to look at them; further
// calls wait for a place.
const maxQueries = 256

// NewLibrary returns a library over a store. The caller closes the store,
// after the library.
func NewLibrary(store timeline.Store, o LibraryOptions) *Library {
	if o.Memory == 0 {
		o.Memory = DefaultMemory
	}
	l := &Library{store: store, o: o, room: make(chan struct{}, maxQueries), cached: map[scopeKey][]*cachedScope{},
		crowded: map[scopeKey]time.Time{}, coverage: map[scopeKey]coverage{}, privacy: map[lifeKey]privacy{},
		reported: map[string]bool{}}
	if o.Model != nil {
		l.queries = embed.NewCache(o.Model, keptQueries)
	}
	l.ctx, l.end = context.WithCancel(context.Background())
	l.wake = sync.NewCond(&l.mu)
	return l
}

// Recall searches like Scope.Recall. Blocks are public ids; those of other
// conversations are prefixed with the conversation: "support#17".
//
// Recall waits until the words of the scope are indexed, as long as the
// context's deadline leaves time to search, and then searches what is there.
// The first search of a scope also waits for its vectors, for half of the time
// that is left and at most 100 ms or RecallOptions.VectorWait. Recall searches by words alone if vectors
// are missing or the model fails.
func (l *Library) Recall(ctx context.Context, w Where, query string, o RecallOptions) (*Result, error) {
	began := time.Now()
	a, err := l.ready(ctx, w)
	if err != nil {
		return nil, err
	}
	defer l.finish(a)
	var scope *Scope
	switch {
	case a.stored:
		if scope, err = l.searchStore(ctx, w.Tenant, a.view, query, o.Mode); err != nil {
			return nil, err
		}
	case a.holds == nil:
		return &Result{Query: query, Mode: Keyword, Passages: []Passage{}}, nil
	default:
		scope = a.holds.scope
		if o.Mode != Keyword && l.o.OnDemand == 0 {
			l.awaitVectors(ctx, a.holds, o.VectorWait)
		}
	}
	v, exclude, had, dismissed := a.view, o.Exclude, o.Had, o.Dismissed
	o.Exclude = func(block string) bool {
		p := placeOf(block)
		// The scope may contain more than this view.
		return !v.has(p) || exclude != nil && exclude(v.block(p))
	}
	if shown := o.Shown; shown != nil {
		o.Shown = func(block string) bool {
			p := placeOf(block)
			return v.has(p) && shown(v.block(p))
		}
	}
	if had != nil {
		o.Had = func(block string, part int) bool {
			p := placeOf(block)
			return v.has(p) && had(v.block(p), part)
		}
	}
	if dismissed != nil {
		o.Dismissed = func(block string) bool {
			p := placeOf(block)
			return v.has(p) && dismissed(v.block(p))
		}
	}
	l.searching.Add(1)
	defer l.searching.Add(-1)
	if o.Mode != Keyword && l.o.OnDemand > 0 && l.o.Model != nil && !a.stored {
		if err := l.embedFor(ctx, a.holds, query, &o, began.Add(l.o.OnDemand)); err != nil && ctx.Err() == nil {
			l.report(err)
		}
	}
	passages, embedded := scope.Len()
	unembedded := passages - embedded
	found, err := scope.Recall(ctx, query, o)
	if err != nil && ctx.Err() == nil {
		if a.stored || !l.remake(a.holds, err) {
			l.report(err)
		}
		o.Mode = Keyword
		found, err = scope.Recall(ctx, query, o)
	}
	if err != nil {
		return nil, err
	}
	for i := range found.Passages {
		p := &found.Passages[i]
		p.Block = v.block(placeOf(p.Block))
	}
	if l.o.Model != nil && l.o.OnDemand == 0 && o.Mode != Keyword && !a.stored {
		found.Unembedded = unembedded
	}
	found.TookMS = float64(time.Since(began).Microseconds()) / 1000
	return found, nil
}

// LibraryStats describes a library in numbers.
type LibraryStats struct {
	Scopes int
	// Bytes is the approximate memory of the scopes.
	Bytes int64
	// Passages is the number of passages in all scopes, and Embedded how many
	// of them have a vector or need none.
	Passages, Embedded int
	// Made is how many vectors the model has made for passages since the
	// library was created, without those that were read from the store.
	Made int64
}

// Stats returns the current numbers.
func (l *Library) Stats() LibraryStats {
	l.mu.Lock()
	st := LibraryStats{Scopes: l.order.Len(), Bytes: l.bytes, Made: l.made.Load()}
	var scopes []*Scope
	for e := l.order.Front(); e != nil; e = e.Next() {
		scopes = append(scopes, e.Value.(*cachedScope).scope)
	}
	l.mu.Unlock()
	for _, s := range scopes {
		passages, embedded := s.Len()
		if l.o.OnDemand > 0 { // not in their order
			embedded = passages - s.unembedded()
		}
		st.Passages, st.Embedded = st.Passages+passages, st.Embedded+embedded
	}
	return st
}

// Wait waits until everything that was asked for is built and embedded. It
// returns the context's error, or the reason why vectors could not be made or
// stored.
func (l *Library) Wait(ctx context.Context) error {
	for {
		l.mu.Lock()
		if l.closed {
			l.mu.Unlock()
			return ErrClosed
		}
		if l.nothingToDo() {
			var err error
			for e := l.order.Front(); e != nil && err == nil; e = e.Next() {
				err = e.Value.(*cachedScope).failed
			}
			l.mu.Unlock()
			return err
		}
		if l.idle == nil {
			l.idle = make(chan struct{})
		}
		idle := l.idle
		l.mu.Unlock()
		select {
		case <-idle:
		case <-l.ctx.Done():
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Forget drops all scopes that contain a deleted conversation.
func (l *Library) Forget(tenant, conversation string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.forget(tenant, conversation)
	l.tellIdle()
}

// Close ends all work and frees everything. Waiting calls fail with ErrClosed.
func (l *Library) Close() error {
	l.mu.Lock()
	l.closed = true
	l.cached, l.waiting, l.preparing, l.growing, l.vectors, l.keeping, l.bytes = map[scopeKey][]*cachedScope{}, nil,
		nil, nil, nil, nil, 0
	l.unswept = false
	l.order.Init()
	l.end()
	l.wake.Broadcast()
	l.mu.Unlock()
	l.workers.Wait()
	return nil
}

// ready returns a query that holds the cached scope of w and the view of it,
// once the words are indexed or no time is left to wait. If nothing is indexed
// by then, the query holds no scope. The caller finishes the query.
func (l *Library) ready(ctx context.Context, w Where) (*query, error) {
	switch w.Reach {
	case "":
		w.Reach = ReachConversation
	case ReachConversation, ReachProject, ReachUser:
	default:
		return nil, fmt.Errorf("recall: %q is not a reach: use %s, %s or %s", w.Reach, ReachConversation, ReachProject,
			ReachUser)
	}
	waiting := ctx
	if deadline, ok := ctx.Deadline(); ok {
		var cancel context.CancelFunc
		waiting, cancel = context.WithDeadline(ctx, deadline.Add(-time.Until(deadline)/4))
		defer cancel()
	}
	for tries := 0; ; tries++ {
		a := &query{where: w, done: make(chan struct{})}
		err := l.wait(waiting, a)
		switch {
		case l.ctx.Err() != nil:
			err = ErrClosed
		case ctx.Err() != nil:
			err = ctx.Err()
		case err == nil:
			return a, nil
		case waiting.Err() != nil:
			l.partial(a)
			return a, nil
		}
		l.finish(a)
		if errors.Is(err, errDropped) && tries < 100 || errors.Is(err, timeline.ErrNoPlace) && tries < 2 {
			continue // something was deleted meanwhile
		}
		return nil, err
	}
}

// errDropped answers queries that wait for a cached scope when that is dropped. What they
// ask for may be there still.
var errDropped = fmt.Errorf("%w: it was dropped", timeline.ErrNoPlace)

// wait queues a query and waits for its answer.
func (l *Library) wait(ctx context.Context, a *query) error {
	select {
	case l.room <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	case <-l.ctx.Done():
		return ErrClosed
	}
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		return ErrClosed
	}
	l.begin()
	l.waiting = append(l.waiting, a)
	l.wake.Broadcast()
	l.mu.Unlock()
	select {
	case <-a.done:
		return a.err
	case <-ctx.Done():
		l.leave(a)
		return ctx.Err()
	case <-l.ctx.Done():
		return ErrClosed
	}
}
