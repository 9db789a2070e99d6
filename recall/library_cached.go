package recall

import (
	"container/list"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/oriel-context/oriel/timeline"
)

// scopeKey is what shelves are found by. Conversations of a project share theirs.
type scopeKey struct {
	tenant string
	reach  Reach
	name   string // of the conversation or the project; empty for all
}

// shelf is a scope in a library, with what it has of the history. Library.mu protects
// it; one worker at a time changes what its scope has.
type cachedScope struct {
	key     scopeKey
	scope   *Scope
	element *list.Element // in Library.order; nil when it has been let go of
	bytes   int64         // as accounted

	view    *view // what it is to have
	asked   *view // what was asked for last: no more than view
	moved   bool  // the view is another than when it was last looked for what must go
	next    int   // members before this one are there
	caught  bool  // all of the view is there
	held    map[int64]*run
	readers map[string]*reading // by conversation
	waiters []*query
	users   int   // asks that wait for it or search it
	failed  error // why vectors are not made or kept
	unkept  bool  // some were made and not kept

	live, gone int64 // messages that it has, and those that were removed

	toGrow, toEmbed bool // it is in that queue, or at work

	awaited  bool          // a search has waited for its vectors
	embedded chan struct{} // closed when toEmbed ends; nil where nobody waits for that
}

// run is what a shelf has of a trunk: from its first message on.
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

// reading is where the reading of a conversation stands.
type reading struct {
	Reader
	at timeline.Place
}

// ask is a call that wants a scope.
type query struct {
	where Where
	done  chan struct{} // closed when err is set, or shelf has what the view needs

	cached *cachedScope
	holds  *cachedScope // counts it among its users
	view   *view
	err    error
	left   bool // nobody waits for it any more
}

// hold has a shelf stay as it is, until the ask is finished, for what it has of the
// ask's view. The caller holds mu.
func (a *query) hold(s *cachedScope) {
	if a.holds != nil {
		a.holds.users--
	}
	if a.holds = s; s != nil {
		s.users++
	}
}

// finish lets go of what an ask holds.
func (l *Library) finish(a *query) {
	l.mu.Lock()
	defer l.mu.Unlock()
	a.left = true
	a.hold(nil)
}

// surplus counts the messages of a shelf that a view has not.
func (s *cachedScope) surplus(v *view) (n int64) {
	for trunk, r := range s.held {
		n += r.last - s.keep(v, trunk, r)
	}
	return n
}

// keep is the last message of a run that stays for a view: of conversations that are
// gone, or not what they were, nothing does.
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

// trim takes what the view has not out of the books, and tells its blocks, the last
// ones first.
func (s *cachedScope) trim() (blocks []string) {
	// A branch has a higher number than what it begins in.
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

// missing is the next part of the view that the shelf has not, with the conversation
// that it is of.
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

// took notes that a part is there now.
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

// wornOut reports whether more has been removed than is there: what is removed leaves
// its number behind.
func (s *cachedScope) wornOut() bool { return s.gone > 256 && s.gone > s.live }

// place puts a view on a shelf: on one that has most of it, or on a new one where much
// would have to go, or where others use what would. What a shelf has beyond the place
// that is asked for stays: searches pass it over. Two branches of a conversation, asked
// for in turn, have a shelf each. The caller holds mu.
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

// newCachedScope makes an empty shelf. The caller holds mu.
func (l *Library) newCachedScope(k scopeKey) *cachedScope {
	scope := NewScope(Options{Model: l.o.Model, Count: l.o.Count})
	scope.queries = l.queries
	s := &cachedScope{key: k, scope: scope, held: map[int64]*run{}, readers: map[string]*reading{}, view: newView(nil)}
	s.element = l.order.PushFront(s)
	l.cached[k] = append(l.cached[k], s)
	return s
}

// remake puts a new shelf in the place of one whose vectors the model makes no more:
// another one has its name now. That is believed once. It reports whether it did.
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

// drop lets go of a shelf. Who searches its scope goes on with it. The caller holds mu.
func (l *Library) drop(s *cachedScope) {
	if s.element == nil {
		return
	}
	l.order.Remove(s.element)
	s.element = nil
	l.bytes -= s.bytes
	this := func(o *cachedScope) bool { return o == s }
	l.growing, l.vectors = slices.DeleteFunc(l.growing, this), slices.DeleteFunc(l.vectors, this)
	rest := slices.DeleteFunc(l.cached[s.key], this)
	if len(rest) == 0 {
		delete(l.cached, s.key)
	} else {
		l.cached[s.key] = rest
	}
}

// forget drops the shelves that have a conversation. The caller holds mu.
func (l *Library) forget(tenant, conversation string) {
	for e := l.order.Front(); e != nil; {
		s := e.Value.(*cachedScope)
		e = e.Next()
		if _, ok := s.view.byName[conversation]; ok && s.key.tenant == tenant {
			l.drop(s)
			l.release(s, timeline.ErrNoPlace)
		}
	}
}

// release answers all who wait for a shelf. The caller holds mu.
func (l *Library) release(s *cachedScope, err error) {
	for _, a := range s.waiters {
		a.err = err
		close(a.done)
	}
	s.waiters = nil
}

// memberBytes is about what the books of a shelf take for each conversation.
const memberBytes = 512

// account notes what a shelf takes, and lets go of the least recently used ones while
// all take too much: but not of those that somebody waits for, nor of the one that is
// being built, nor of the last one. The caller holds mu.
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

// leave has an ask no longer waited for. What it began goes on.
func (l *Library) leave(a *query) {
	l.mu.Lock()
	defer l.mu.Unlock()
	a.left = true
	if a.cached != nil {
		a.cached.waiters = slices.DeleteFunc(a.cached.waiters, func(o *query) bool { return o == a })
	}
}

// partial has an ask whose time is over hold what there is.
func (l *Library) partial(a *query) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if a.cached != nil {
		a.hold(a.cached)
		return
	}
	// Nobody has come to look at it: what it was when it was asked for last.
	for e := l.order.Front(); e != nil; e = e.Next() {
		s := e.Value.(*cachedScope)
		// What has no project is by itself.
		alone := s.key.reach == ReachConversation && s.key.name == a.where.Conversation && a.where.Reach != ReachUser
		if s.key.tenant != a.where.Tenant || !alone && (s.key.reach != a.where.Reach || s.key.reach == ReachConversation) {
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
