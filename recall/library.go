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

// DefaultMemory is the most that the scopes of a library take, in bytes, unless told
// otherwise.
const DefaultMemory = 256 << 20

// ErrClosed: the library has been closed.
var ErrClosed = errors.New("the library is closed")

// LibraryOptions are what a library is made with; the zero value is good.
type LibraryOptions struct {
	// Model makes the vectors; nil means words alone.
	Model embed.Model
	// Memory is the most bytes of all scopes together. 0 means DefaultMemory. One
	// scope is kept whatever it takes.
	Memory int64
	// Count counts the tokens of a text, as Options.Count does.
	Count func(string) int
	// Report, if it is not nil, is called with failures of work that no caller waits for:
	// a model that fails, a store that cannot be read, a panic. A failed step is tried
	// again when the scope is next asked for or prepared. The same failure is reported
	// once until vectors are made again. Report is called by the workers and by Recall,
	// also at the same time.
	Report func(error)
}

// Library keeps the scopes of a store: built when they are first asked for, brought up
// to date as histories grow, and let go of, the least recently used first, when they
// take too much memory. It is safe for concurrent use.
//
// A few goroutines of its own read and index, one embeds; they stand back while
// searches run. Vectors are kept in the store, with the contents that they are of, so
// that a scope that is built again embeds nothing. All that is asked is checked against
// the store: what another process adds or deletes is noticed by the next call, unless
// its time is over before the store has answered.
type Library struct {
	store   timeline.Store
	o       LibraryOptions
	queries embed.Model // a cache: a view asks the same more than once; nil without a model

	ctx     context.Context // ends with Close
	end     context.CancelFunc
	workers sync.WaitGroup
	room    chan struct{} // for asks that nobody has looked at yet

	searching atomic.Int32
	made      atomic.Int64 // vectors by the model

	mu         sync.Mutex // protects what follows, and shelves
	wake       *sync.Cond // there is work, or the end
	begun      bool
	closed     bool
	cached     map[scopeKey][]*cachedScope
	order      list.List // of *shelf, the latest used in front
	bytes      int64     // of all shelves
	waiting    []*query
	preparing  []Where
	answered   int            // of those two, in a row
	growing    []*cachedScope // to be brought up to date
	growers    int            // of those, how many are at work
	vectors    []*cachedScope // to be embedded
	busy       int            // workers at work
	idle       chan struct{}
	dimensions int   // of the model's vectors, where others were kept under its name
	changed    int64 // Store.Changed when it was last looked for what was deleted
	unswept    bool  // that is to be looked for again
	// crowded is when shelves were last let go of for want of memory.
	crowded map[scopeKey]time.Time
	// reported are failures that Report was called with.
	reported map[string]bool
}

// Reach is how far a search goes.
type Reach string

// The reaches.
const (
	// ReachConversation is the conversation and what it continues.
	ReachConversation Reach = "conversation"
	// ReachProject is all conversations of the same project besides.
	ReachProject Reach = "project"
	// ReachUser is all conversations of the tenant.
	ReachUser Reach = "user"
)

// Where says in what a search looks.
type Where struct {
	Tenant, Conversation string
	// At is the place of the conversation up to which it is looked at; zero means
	// its head.
	At timeline.Place
	// Reach is how far the search goes beyond the conversation. Empty means
	// ReachConversation.
	Reach Reach
}

// keptQueries is of how many queries the vectors are kept.
const keptQueries = 256

// maxQueries is how many calls may wait to be looked at; more wait for those.
const maxQueries = 256

// NewLibrary makes a library over a store, which stays the caller's to close, after
// the library.
func NewLibrary(store timeline.Store, o LibraryOptions) *Library {
	if o.Memory == 0 {
		o.Memory = DefaultMemory
	}
	l := &Library{store: store, o: o, room: make(chan struct{}, maxQueries), cached: map[scopeKey][]*cachedScope{}, crowded: map[scopeKey]time.Time{}, reported: map[string]bool{}}
	if o.Model != nil {
		l.queries = embed.NewCache(o.Model, keptQueries)
	}
	l.ctx, l.end = context.WithCancel(context.Background())
	l.wake = sync.NewCond(&l.mu)
	return l
}

// Recall searches like Scope.Recall. Blocks are the ids that people see; of another
// conversation than the one that asks with its name before them: "support#17".
//
// It waits until the words of the scope are indexed, for as long as the context's
// deadline leaves time to search; what is there by then is searched. The first search of
// a scope also waits for its vectors, for half of the time that is left until the
// deadline and for 100 ms at most. It goes by words where they are missing or the model
// fails.
func (l *Library) Recall(ctx context.Context, w Where, query string, o RecallOptions) (*Result, error) {
	began := time.Now()
	a, err := l.ready(ctx, w)
	if err != nil {
		return nil, err
	}
	defer l.finish(a)
	if a.holds == nil {
		return &Result{Query: query, Mode: Keyword, Passages: []Passage{}}, nil
	}
	if o.Mode != Keyword {
		l.awaitVectors(ctx, a.holds)
	}
	scope, v, exclude, dismissed := a.holds.scope, a.view, o.Exclude, o.Dismissed
	o.Exclude = func(block string) bool {
		p := placeOf(block)
		// The scope may have more than was asked for.
		return !v.has(p) || exclude != nil && exclude(v.block(p))
	}
	if dismissed != nil {
		o.Dismissed = func(block string) bool {
			p := placeOf(block)
			return v.has(p) && dismissed(v.block(p))
		}
	}
	l.searching.Add(1)
	defer l.searching.Add(-1)
	found, err := scope.Recall(ctx, query, o)
	if err != nil && ctx.Err() == nil {
		if !l.remake(a.holds, err) {
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
	found.TookMS = float64(time.Since(began).Microseconds()) / 1000
	return found, nil
}

// Directives lists what users said about how things are to be, like Scope.Directives.
// It waits like Recall.
func (l *Library) Directives(ctx context.Context, w Where) ([]Directive, error) {
	a, err := l.ready(ctx, w)
	if err != nil {
		return nil, err
	}
	defer l.finish(a)
	if a.holds == nil {
		return nil, nil
	}
	l.searching.Add(1)
	defer l.searching.Add(-1)
	var out []Directive
	for _, d := range a.holds.scope.Directives() {
		if p := placeOf(d.Block); a.view.has(p) {
			d.Block = a.view.block(p)
			out = append(out, d)
		}
	}
	return out, nil
}

// LibraryStats are a library in numbers.
type LibraryStats struct {
	Scopes int
	// Bytes is what the scopes take, about.
	Bytes int64
	// Passages of all scopes, and how many of them have a vector or need none.
	Passages, Embedded int
	// Made is how many vectors the model has made for passages since the library
	// was: those that were kept in the store are not among them.
	Made int64
}

// Stats counts.
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
		st.Passages, st.Embedded = st.Passages+passages, st.Embedded+embedded
	}
	return st
}

// Wait waits until nothing is left to build or embed of what was asked for. Its error
// is the context's, or tells why there are vectors that could not be made or kept.
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

// Forget drops all that shows a conversation, which has been deleted.
func (l *Library) Forget(tenant, conversation string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.forget(tenant, conversation)
	l.tellIdle()
}

// Close ends all work, and lets go of everything. Calls that wait fail with ErrClosed.
func (l *Library) Close() error {
	l.mu.Lock()
	l.closed = true
	l.cached, l.waiting, l.preparing, l.growing, l.vectors, l.bytes = map[scopeKey][]*cachedScope{}, nil, nil, nil, nil, 0
	l.unswept = false
	l.order.Init()
	l.end()
	l.wake.Broadcast()
	l.mu.Unlock()
	l.workers.Wait()
	return nil
}

// ready gives an ask that holds the shelf of a place and has what of it may be shown,
// when its words are indexed or no more time is left to wait for that: it holds none
// where there is nothing yet. The caller finishes it.
func (l *Library) ready(ctx context.Context, w Where) (*query, error) {
	switch w.Reach {
	case "":
		w.Reach = ReachConversation
	case ReachConversation, ReachProject, ReachUser:
	default:
		return nil, fmt.Errorf("recall: no reach is called %q: use %s, %s or %s", w.Reach, ReachConversation, ReachProject, ReachUser)
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
		if errors.Is(err, timeline.ErrNoPlace) && tries < 2 {
			continue // something was deleted meanwhile
		}
		return nil, err
	}
}

// wait has an ask answered.
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
