package recall

import (
	"container/list"
	"crypto/rand"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/oriel-context/oriel/timeline"
)

// scopeKey identifies a group of cached scopes. Conversations of a project
// share one.
type scopeKey struct {
	tenant string
	reach  Reach
	name   string // of the conversation or the project; empty for all
}

// cachedScope is a scope in a library, with a record of the history that it
// contains. Library.mu protects it; one worker at a time changes the scope's
// contents.
type cachedScope struct {
	key     scopeKey
	scope   *Scope
	owner   string        // of its claims
	element *list.Element // in Library.order; nil once it is discarded
	bytes   int64         // as last accounted

	view    *view // the messages that it must contain
	asked   *view // the latest view asked for, part of view
	moved   bool  // view has changed since the scope was last trimmed
	next    int   // members before this one are complete
	caught  bool  // all of view is indexed
	held    map[int64]*run
	readers map[string]*reading // by conversation
	waiters []*query
	users   int   // queries that wait for it or search it
	failed  error // why vectors could not be made or stored
	unkept  bool  // some vectors were made but not stored

	live, gone int64 // number of messages in it, and of those removed

	built    bool               // all of view has been indexed once
	extracts []timeline.Extract // of what was read before that
	unstored int                // their bytes

	toGrow, toEmbed bool // it is in that queue, or a worker has it

	awaited  time.Duration // the longest that a search has waited for its vectors
	embedded chan struct{} // closed when toEmbed ends; nil if nobody waits
}

// run is the part of a trunk that a cached scope contains, from the trunk's
// first message on.
type run struct {
	first, last int64
	pieces      []piece
}

// piece is a part of a run, with the conversation that it was read for.
type piece struct {
	last     int64
	owner    string
	created  time.Time
	revision int64
}

// reading is the state of reading a conversation.
type reading struct {
	Reader
	at timeline.Place
}

// query is a call that needs a scope.
type query struct {
	where Where
	done  chan struct{} // closed when err is set, or the scope contains what the view needs

	cached *cachedScope
	holds  *cachedScope // the scope that counts it among its users
	view   *view
	stored bool // the store is searched
	err    error
	left   bool // the caller has stopped waiting
}

// hold pins a cached scope until the query is finished, for the part of the
// query's view that the scope contains. The caller holds mu.
func (a *query) hold(s *cachedScope) {
	if a.holds != nil {
		a.holds.users--
	}
	if a.holds = s; s != nil {
		s.users++
	}
}

// finish releases the scope that a query holds.
func (l *Library) finish(a *query) {
	l.mu.Lock()
	defer l.mu.Unlock()
	a.left = true
	a.hold(nil)
}

// surplus counts the messages of a cached scope that a view does not contain.
func (s *cachedScope) surplus(v *view) (n int64) {
	for trunk, r := range s.held {
		n += r.last - s.keep(v, trunk, r)
	}
	return n
}

// keep returns the last message of a run that stays for a view. Nothing stays
// of conversations that were deleted or begun again.
func (s *cachedScope) keep(v *view, trunk int64, r *run) int64 {
	last := min(r.last, max(v.want[trunk], r.first-1))
	begin := r.first
	for _, p := range r.pieces {
		i, ok := v.byName[p.owner]
		if !ok || !v.members[i].sameLife(p.created, p.revision) {
			return min(last, begin-1)
		}
		begin = p.last + 1
	}
	return last
}

// shed removes what the view does not contain from the records of the cached
// scope, and returns the blocks to remove from the index, last ones first.
func (s *cachedScope) shed() (blocks []string) {
	// A branch has a higher number than the trunk it begins in.
	for _, trunk := range slices.Backward(slices.Sorted(maps.Keys(s.held))) {
		r := s.held[trunk]
		keep := s.keep(s.view, trunk, r)
		for depth := r.last; depth > keep; depth-- {
			blocks = append(blocks, blockAt(trunk, depth))
		}
		s.live, s.gone = s.live-(r.last-keep), s.gone+r.last-keep
		if keep < r.first {
			delete(s.held, trunk)
			continue
		}
		r.last = keep
		for i := range r.pieces {
			if r.pieces[i].last >= keep {
				r.pieces[i].last = keep
				r.pieces = r.pieces[:i+1]
				break
			}
		}
	}
	s.moved = false
	return blocks
}

// missing returns the next part of the view that the cached scope does not
// contain, with its conversation.
func (s *cachedScope) missing() (*member, stretch, bool) {
	for ; s.next < len(s.view.members); s.next++ {
		m := &s.view.members[s.next]
		for _, part := range m.way {
			if r := s.held[part.trunk]; r == nil {
				return m, part, true
			} else if r.last < part.last {
				return m, stretch{part.trunk, r.last + 1, part.last}, true
			}
		}
	}
	return nil, stretch{}, false
}

// took records that a part has been indexed.
func (s *cachedScope) took(m *member, part stretch) {
	r := s.held[part.trunk]
	if r == nil {
		r = &run{first: part.first, last: part.first - 1}
		s.held[part.trunk] = r
	}
	s.live += part.last - r.last
	r.last = part.last
	if n := len(r.pieces); n > 0 && r.pieces[n-1].owner == m.name {
		r.pieces[n-1].last = part.last
	} else {
		r.pieces = append(r.pieces, piece{part.last, m.name, m.created, m.revision})
	}
}

// wornOut reports whether more messages were removed than are left. Removed
// messages still occupy their numbers.
func (s *cachedScope) wornOut() bool { return s.gone > 256 && s.gone > s.live }

// place chooses the cached scope for a view: one that contains most of it, or
// a new one if much would have to be removed or if other queries use what
// would. Messages of the scope beyond the place that is asked for stay;
// searches skip them. Two branches of a conversation that are asked for in
// turn get a scope each. The caller holds mu.
func (l *Library) place(k scopeKey, v *view) *cachedScope {
	var best *cachedScope
	var least int64
	goal := v
	for _, s := range l.cached[k] {
		all := v.with(s.view)
		n := s.surplus(all)
		if s.users > 0 && (n > 0 || !all.covers(s.view)) {
			continue
		}
		if best == nil || n < least {
			best, least, goal = s, n, all
		}
	}
	if best != nil && best.wornOut() && best.users == 0 {
		l.drop(best)
		best = nil
	}
	if best == nil || least > 16 && 4*least > best.live {
		best, goal = l.newCachedScope(k), v
	}
	l.order.MoveToFront(best.element)
	if !goal.same(best.view) {
		best.moved, best.caught = true, false
	}
	best.view, best.asked, best.next = goal, v, 0
	return best
}

// newCachedScope returns an empty cached scope. The caller holds mu.
func (l *Library) newCachedScope(k scopeKey) *cachedScope {
	weights := DefaultWeights()
	if k.reach == ReachConversation {
		weights.Conversation = 0 // it and those that it continues are one
	}
	scope := NewScope(Options{Model: l.o.Model, Count: l.o.Count, Weights: &weights})
	scope.queries = l.queries
	s := &cachedScope{key: k, scope: scope, owner: rand.Text(), held: map[int64]*run{}, readers: map[string]*reading{},
		view: newView(nil)}
	s.element = l.order.PushFront(s)
	l.cached[k] = append(l.cached[k], s)
	return s
}

// remake replaces a cached scope whose vectors do not fit the model, because
// another model now has its name. It does so once per library. It reports
// whether it did.
func (l *Library) remake(s *cachedScope, err error) bool {
	var other *otherDimensions
	if !errors.As(err, &other) {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if s.element == nil || l.dimensions != 0 && l.dimensions != other.are {
		return false
	}
	l.dimensions = other.are
	l.drop(s)
	n := l.newCachedScope(s.key)
	n.view, n.asked, n.moved, n.waiters, n.toGrow = s.view, s.asked, true, s.waiters, true
	s.waiters = nil
	for _, a := range n.waiters {
		a.cached = n
		if a.holds == s {
			a.hold(n)
		}
	}
	l.growing = append(l.growing, n)
	l.wake.Broadcast()
	return true
}

// drop discards a cached scope. Searches that use it go on. The caller holds
// mu.
func (l *Library) drop(s *cachedScope) {
	if s.element == nil {
		return
	}
	l.order.Remove(s.element)
	s.element = nil
	l.bytes -= s.bytes
	l.unstored -= s.unstored
	s.extracts, s.unstored = nil, 0
	this := func(o *cachedScope) bool { return o == s }
	l.growing, l.vectors = slices.DeleteFunc(l.growing, this), slices.DeleteFunc(l.vectors, this)
	rest := slices.DeleteFunc(l.cached[s.key], this)
	if len(rest) == 0 {
		delete(l.cached, s.key)
	} else {
		l.cached[s.key] = rest
	}
}

// dropIdle discards the cached scopes of a key that nobody uses. The caller holds mu.
func (l *Library) dropIdle(k scopeKey) {
	for _, s := range slices.Clone(l.cached[k]) {
		if s.users == 0 && len(s.waiters) == 0 {
			l.drop(s)
		}
	}
}

// forget drops the cached scopes that contain a conversation. The caller holds
// mu.
func (l *Library) forget(tenant, conversation string) {
	for e := l.order.Front(); e != nil; {
		s := e.Value.(*cachedScope)
		e = e.Next()
		if _, ok := s.view.byName[conversation]; ok && s.key.tenant == tenant {
			l.drop(s)
			l.release(s, errDropped)
		}
	}
}

// release answers all queries that wait for a cached scope. The caller holds
// mu.
func (l *Library) release(s *cachedScope, err error) {
	for _, a := range s.waiters {
		a.err = err
		close(a.done)
	}
	s.waiters = nil
}

// memberBytes approximates the memory of a cached scope's records per
// conversation.
const memberBytes = 512

// account records the memory of a cached scope, and discards the least
// recently used ones while all together take too much. It keeps those that
// somebody waits for, the one that is being built, and the last one. The
// caller holds mu.
func (l *Library) account(s *cachedScope, bytes int64) {
	if s.element == nil {
		return
	}
	bytes += int64(len(s.view.members)) * memberBytes
	l.bytes += bytes - s.bytes
	s.bytes = bytes
	for e := l.order.Back(); e != nil && e != l.order.Front() && l.bytes > l.o.Memory; {
		old := e.Value.(*cachedScope)
		e = e.Prev()
		if len(old.waiters) == 0 && (old != s || s.caught) {
			l.drop(old)
			l.crowd(old.key)
		}
	}
}

// leave marks a query whose caller has stopped waiting. Work that it began
// goes on.
func (l *Library) leave(a *query) {
	l.mu.Lock()
	defer l.mu.Unlock()
	a.left = true
	if a.cached != nil {
		a.cached.waiters = slices.DeleteFunc(a.cached.waiters, func(o *query) bool { return o == a })
	}
}

// partial lets a query whose time is over hold what is indexed so far.
func (l *Library) partial(a *query) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if a.cached != nil {
		a.hold(a.cached)
		return
	}
	// No worker has looked at it: use the view of the last query for the same
	// scope.
	for e := l.order.Front(); e != nil; e = e.Next() {
		s := e.Value.(*cachedScope)
		// A conversation without a project has a scope of its own.
		alone := s.key.reach == ReachConversation && s.key.name == a.where.Conversation && a.where.Reach != ReachUser
		if s.key.tenant != a.where.Tenant ||
			!alone && (s.key.reach != a.where.Reach || s.key.reach == ReachConversation) {
			continue
		}
		known := s.view
		if a.where.At == (timeline.Place{}) {
			known = s.asked
		}
		if v := known.from(a.where.Conversation, a.where.At); v != nil {
			a.view = v
			a.hold(s)
			return
		}
	}
}
