package recall

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/oriel-context/oriel/timeline"
)

const (
	// indexers is the number of goroutines that read and index.
	indexers = 2
	// growBatch is how many messages are indexed in one step. It is small, so
	// that other scopes soon get their turn.
	growBatch = 64
	// asksInTurn is how many queries are answered between two such steps.
	asksInTurn = 16
	// leadIn is how many messages are read again if the reading of a
	// conversation does not continue where it ended: their tool calls name the
	// results that follow.
	leadIn = 32
	// vectorWait is the longest that the first search of a scope waits for its
	// vectors.
	vectorWait = 100 * time.Millisecond
	// standBack is the longest that a step of background work waits for
	// searches to end.
	standBack = 20 * time.Millisecond
	// maxReported is how many failures are remembered as reported.
	maxReported = 64
)

// begin starts the workers. The caller holds mu.
func (l *Library) begin() {
	if l.begun {
		return
	}
	l.begun = true
	for range indexers {
		l.workers.Go(func() { l.work(l.takeIndexing) })
	}
	if l.o.Model != nil {
		l.workers.Go(func() { l.work(l.takeEmbedding) })
	}
}

// work runs the functions that take returns until the library is closed.
func (l *Library) work(take func() (do func())) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for !l.closed {
		do := take()
		if do == nil {
			l.wake.Wait()
			continue
		}
		l.busy++
		l.mu.Unlock()
		if err := recovered(func() error { do(); return nil }); err != nil {
			l.report(err)
		}
		l.mu.Lock()
		l.busy--
		l.tellIdle()
	}
}

// recovered runs do and returns its error, or its panic as one: a panic in the background
// must not end the program.
func recovered(do func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("recall: a panic in %s: %v", panicSite(), p)
		}
	}()
	return do()
}

// panicSite returns the name, file and line of the function that panicked. It
// must be called by the deferred function that recovered.
func panicSite() string {
	callers := make([]uintptr, 32)
	frames := runtime.CallersFrames(callers[:runtime.Callers(0, callers)])
	for panicked := false; ; {
		f, more := frames.Next()
		internal := strings.HasPrefix(f.Function, "runtime.")
		if panicked && !internal || !more {
			return fmt.Sprintf("%s (%s:%d)", path.Base(f.Function), path.Base(f.File), f.Line)
		}
		panicked = panicked || f.Function == "runtime.gopanic"
	}
}

// report passes a failure to Options.Report. It skips errors of normal
// operation, and failures already reported since a model last made vectors.
func (l *Library) report(err error) {
	switch {
	case l.o.Report == nil, l.ctx.Err() != nil, errors.Is(err, context.Canceled):
		return
	case errors.Is(err, timeline.ErrNoConversation), errors.Is(err, timeline.ErrNoPlace): // deleted meanwhile
		return
	}
	l.mu.Lock()
	again := l.reported[err.Error()]
	if len(l.reported) >= maxReported {
		clear(l.reported)
	}
	l.reported[err.Error()] = true
	l.mu.Unlock()
	if !again {
		l.o.Report(err)
	}
}

// tellIdle wakes the callers of Wait if no work is left. The caller holds mu.
func (l *Library) tellIdle() {
	if l.idle != nil && l.nothingToDo() {
		close(l.idle)
		l.idle = nil
	}
}

func (l *Library) nothingToDo() bool {
	return l.busy == 0 && len(l.waiting) == 0 && len(l.preparing) == 0 && len(l.growing) == 0 && len(l.vectors) == 0 &&
		len(l.keeping) == 0 && l.elsewhere == 0 && !l.unswept
}

// takeIndexing returns the next work: a query, else a place to prepare, else a
// scope to bring up to date. Scopes get a turn even if queries never end.
// While scopes take too much memory, only one at a time is built.
func (l *Library) takeIndexing() func() {
	grows := len(l.growing) > 0 && (l.growers == 0 || l.bytes <= l.o.Memory)
	if !grows || l.answered < asksInTurn {
		l.answered++
		if len(l.waiting) > 0 {
			a := l.waiting[0]
			l.waiting = l.waiting[1:]
			return func() { l.answer(a) }
		}
		if len(l.preparing) > 0 {
			w := l.preparing[0]
			l.preparing = l.preparing[1:]
			return func() { l.prepare(w) }
		}
	}
	l.answered = 0
	if grows {
		s := l.growing[0]
		l.growing = l.growing[1:]
		l.growers++
		return func() { l.grow(s) }
	}
	if l.unswept {
		l.unswept = false
		return l.sweep
	}
	if len(l.keeping) > 0 && !l.storing { // one at a time: the store may wait for another process
		k := l.keeping[0]
		l.keeping, l.storing = l.keeping[1:], true
		return func() { l.keepExtracts(k) }
	}
	return nil
}

func (l *Library) takeEmbedding() func() {
	if len(l.vectors) == 0 {
		return nil
	}
	s := l.vectors[0]
	l.vectors = l.vectors[1:]
	return func() { l.embed(s) }
}

// yield waits for running searches, at most standBack.
func (l *Library) yield() {
	for end := time.Now().Add(standBack); l.searching.Load() > 0 && time.Now().Before(end); {
		select {
		case <-time.After(time.Millisecond):
		case <-l.ctx.Done():
			return
		}
	}
}

// answer resolves a query and gives it a cached scope.
func (l *Library) answer(a *query) {
	key, v, err := l.resolve(a.where)
	stored := err == nil && l.inStore(key, v)
	<-l.room
	l.mu.Lock()
	defer l.mu.Unlock()
	l.unswept = true
	if err == nil && l.closed {
		err = ErrClosed
	}
	if err != nil {
		if errors.Is(err, timeline.ErrNoConversation) {
			l.forget(a.where.Tenant, a.where.Conversation)
		}
		a.err = err
		close(a.done)
		return
	}
	if stored {
		if l.dropIdle(key); !a.left {
			a.view, a.stored = v, true
			close(a.done)
		}
		return
	}
	s := l.place(key, v)
	if !a.left { // otherwise the work goes on, but the query has been answered
		a.cached, a.view = s, v
		a.hold(s)
		if s.caught {
			close(a.done)
		} else {
			s.waiters = append(s.waiters, a)
		}
	}
	l.start(s)
}

// start queues a cached scope to be brought up to date, or to be embedded if
// it is. The caller holds mu.
func (l *Library) start(s *cachedScope) {
	if s.caught {
		l.embedLater(s)
		return
	}
	if !s.toGrow {
		s.toGrow = true
		l.growing = append(l.growing, s)
	}
	l.wake.Broadcast()
}

// sweep drops the cached scopes that contain deleted or restarted
// conversations, if something may have been deleted since the last sweep. A
// search notices deletions in its own scope; the other scopes would keep what
// was deleted until they are searched.
func (l *Library) sweep() {
	changed, err := l.store.Changed(l.ctx)
	if err != nil {
		return // the next query reports it
	}
	l.mu.Lock()
	tenants := map[string]map[string]time.Time{} // tenant → conversation → when it was created
	if changed != l.changed {
		for key := range l.cached {
			tenants[key.tenant] = map[string]time.Time{}
		}
	}
	l.mu.Unlock()
	for tenant, created := range tenants {
		all, err := l.store.Conversations(l.ctx, tenant)
		if err != nil {
			return
		}
		for i := range all {
			created[all[i].Name] = all[i].Created
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.changed = changed
	for e := l.order.Front(); e != nil; {
		s := e.Value.(*cachedScope)
		e = e.Next()
		created, looked := tenants[s.key.tenant]
		if looked && slices.ContainsFunc(s.view.members, func(m member) bool {
			when, there := created[m.name]
			return m.name != "" && (!there || !when.Equal(m.created))
		}) {
			l.drop(s)
			l.release(s, errDropped)
		}
	}
}

// resolve reads from the store which conversations and places a query covers. It returns
// a panic of the store as an error.
func (l *Library) resolve(w Where) (key scopeKey, v *view, err error) {
	err = recovered(func() (err error) {
		key, v, err = l.readWhere(w)
		return err
	})
	return key, v, err
}

func (l *Library) readWhere(w Where) (key scopeKey, v *view, err error) {
	key = scopeKey{tenant: w.Tenant, reach: w.Reach}
	own := timeline.Conversation{Project: w.Project} // has no messages
	if w.Conversation != "" || w.Reach == ReachConversation || w.Reach == ReachProject && w.Project == "" {
		if own, err = l.store.Conversation(l.ctx, w.Tenant, w.Conversation); err != nil {
			return key, nil, err
		}
	}
	all := []timeline.Conversation{own}
	if w.At != (timeline.Place{}) {
		all[0].Head = w.At
	}
	taken := map[string]bool{own.Name: true}
	for name := own.Continues; name != "" && !taken[name]; {
		before, err := l.store.Conversation(l.ctx, w.Tenant, name)
		if errors.Is(err, timeline.ErrNoConversation) {
			break
		} else if err != nil {
			return key, nil, err
		}
		taken[name] = true
		all = append(all, before)
		name = before.Continues
	}
	switch {
	case w.Reach == ReachProject && own.Project != "":
		key.name = own.Project
	case w.Reach == ReachUser:
	default: // a conversation without a project stands alone
		key.reach, key.name = ReachConversation, own.Name
	}
	if key.reach != ReachConversation {
		others, err := l.store.Conversations(l.ctx, w.Tenant)
		if err != nil {
			return key, nil, err
		}
		for _, c := range others {
			if taken[c.Name] || w.Reach == ReachProject && c.Project != own.Project {
				continue
			}
			private, err := l.private(w.Tenant, &c)
			if err != nil {
				return key, nil, err
			}
			if !private {
				all = append(all, c)
			}
		}
	}
	members, err := l.members(key, all)
	if err != nil {
		return key, nil, err
	}
	return key, newView(members), nil
}

// private reports whether a conversation is private. It reads the store once for each
// revision of a conversation.
func (l *Library) private(tenant string, c *timeline.Conversation) (bool, error) {
	k := lifeKey{tenant, c.Name, c.Created.UnixNano()}
	l.mu.Lock()
	known, ok := l.privacy[k]
	l.mu.Unlock()
	if ok && known.revision == c.Revision {
		return known.private, nil
	}
	private, err := timeline.Notes{Store: l.store, Tenant: tenant, Conversation: c.Name}.Private(l.ctx)
	if err != nil {
		return false, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.privacy) >= maxPrivacy {
		clear(l.privacy)
	}
	l.privacy[k] = privacy{c.Revision, private}
	return private, nil
}

// lifeKey identifies a conversation until it is deleted.
type lifeKey struct {
	tenant, name string
	created      int64
}

// privacy is whether a conversation was private at a revision.
type privacy struct {
	revision int64
	private  bool
}

// maxPrivacy is of how many conversations a library remembers whether they are private.
const maxPrivacy = 1 << 16

// members returns the paths of conversations, using those that cached scopes
// know already.
func (l *Library) members(key scopeKey, all []timeline.Conversation) ([]member, error) {
	l.mu.Lock()
	var known []*view
	for _, s := range l.cached[key] {
		known = append(known, s.view)
	}
	l.mu.Unlock()
	members := make([]member, len(all))
	for i := range all {
		c := &all[i]
		m := member{name: c.Name, created: c.Created, revision: c.Revision, to: c.Head}
		found := false
		for _, v := range known {
			if k, ok := v.byName[c.Name]; ok && !found && m.sameLife(v.members[k].created, v.members[k].revision) {
				m.way, found = cutWay(v.members[k].way, m.to)
			}
		}
		if !found {
			var err error
			if m.way, err = findWay(l.ctx, l.store, key.tenant, m.to); err != nil {
				return nil, err
			}
		}
		members[i] = m
	}
	return members, nil
}

// grow indexes the next messages that a cached scope lacks of its view.
func (l *Library) grow(s *cachedScope) {
	l.yield()
	var m *member
	var part stretch
	var more bool
	err := recovered(func() (err error) {
		var gone []string
		var dropped bool
		if gone, m, part, more, dropped = l.nextPart(s); dropped {
			return nil
		}
		for some := range slices.Chunk(gone, growBatch) { // in small steps, to let searches run between them
			s.scope.Remove(some...)
		}
		if more {
			part.last, err = l.index(s, m, part)
		}
		return err
	})
	if err != nil {
		l.report(err)
	}
	bytes := s.scope.Bytes()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.growers--
	s.toGrow = false
	defer l.wake.Broadcast()
	switch {
	case s.element == nil: // discarded; waiting queries have been answered
		l.release(s, errDropped)
		return
	case err != nil:
		l.drop(s) // its contents are unknown now
		l.release(s, err)
		return
	case more:
		s.took(m, part)
	}
	l.account(s, bytes)
	if _, _, more := s.missing(); more || s.moved {
		s.toGrow = true
		if l.bytes > l.o.Memory {
			l.growing = append([]*cachedScope{s}, l.growing...)
		} else {
			l.growing = append(l.growing, s)
		}
		return
	}
	s.caught = true
	l.release(s, nil)
	l.keepLater(s)
	l.embedLater(s)
}

// nextPart returns the blocks that a cached scope must remove, and the next
// messages that it reads, if any.
func (l *Library) nextPart(s *cachedScope) (gone []string, m *member, part stretch, more, dropped bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if s.moved {
		gone = s.shed()
	}
	m, part, more = s.missing()
	return gone, m, part, more, s.element == nil
}

// index adds the beginning of a part of a member's history to the scope, and returns the
// last message of it.
func (l *Library) index(s *cachedScope, m *member, part stretch) (last int64, err error) {
	if last, found := l.indexExtract(s, m, part); found {
		return last, nil
	}
	part.last = min(part.last, part.first+growBatch-1)
	return part.last, l.indexMessages(s, m, part)
}

// fewMessages are indexed by the goroutine that reads them.
const fewMessages = 16

// indexMessages reads a part of a member's history and adds it to the scope.
func (l *Library) indexMessages(s *cachedScope, m *member, part stretch) (err error) {
	r := s.readers[m.name]
	if r == nil {
		r = &reading{}
		s.readers[m.name] = r
	}
	// One goroutine reads and another adds: each is about half of the work. Of a few messages,
	// as one call adds them, this goroutine does both.
	batch := make(chan Message, part.last-part.first+1)
	added := make(chan error, 1)
	x := l.newExtract(s, part)
	add := func() {
		added <- recovered(func() error {
			for m := range batch {
				if err := s.scope.Add(l.ctx, []Message{m}); err != nil {
					return err
				}
			}
			return nil
		})
	}
	few := cap(batch) <= fewMessages
	if !few {
		go add()
	}
	defer func() { // also if the store panics
		if close(batch); few {
			add()
		}
		if failed := <-added; err == nil {
			err = failed
		}
		if err == nil {
			l.takeExtract(s, x)
		}
	}()
	return r.read(l.ctx, l.store, s.key.tenant, m, part, func(said *Message, says bool) {
		x.add(said, says)
		if says {
			batch <- *said // it has room for all
		}
	})
}

// read reads a part of a member's history. If that does not continue what was read before,
// it begins some messages earlier.
func (r *reading) read(ctx context.Context, store timeline.Store, tenant string, m *member, part stretch,
	visit func(said *Message, says bool)) error {
	first := part.first
	if before := (timeline.Place{Trunk: part.trunk, Depth: part.first - 1}); r.at != before &&
		!m.follows(r.at, part.first) {
		*r = reading{Reader: Reader{Conversation: m.name}}
		first = max(1, part.first-leadIn)
	}
	return store.Messages(ctx, tenant, timeline.Place{Trunk: part.trunk, Depth: part.last}, first, part.last, false,
		func(e *timeline.Entry) error {
			said, says := r.Read(e)
			if e.Place.Depth >= part.first {
				said.Block, said.Content = blockAt(e.Place.Trunk, e.Place.Depth), e.Content
				visit(&said, says)
			}
			r.at = e.Place
			return nil
		})
}

// follows reports whether p is the place just before the given depth on the
// member's path.
func (m *member) follows(p timeline.Place, depth int64) bool { return p.Depth == depth-1 && m.has(p) }

// embedLater queues a cached scope to have its missing vectors made. The
// caller holds mu.
func (l *Library) embedLater(s *cachedScope) {
	if l.o.Model == nil || l.o.OnDemand > 0 || s.toEmbed {
		return
	}
	if passages, embedded := s.scope.Len(); embedded < passages {
		s.toEmbed = true
		l.vectors = append(l.vectors, s)
		l.wake.Broadcast()
	}
}

// embed makes the next vectors of a cached scope.
func (l *Library) embed(s *cachedScope) {
	l.yield()
	l.mu.Lock()
	dropped, dimensions := s.element == nil, l.dimensions
	l.mu.Unlock()
	var made int
	var more bool
	var err error
	if !dropped {
		err = recovered(func() (err error) {
			made, more, err = s.scope.embedSome(l.ctx, l.vectorsOf(s, dimensions))
			return err
		})
		l.made.Add(int64(made))
	}
	if errors.Is(err, errElsewhere) {
		l.embedAfter(s)
		return
	}
	if l.remake(s, err) {
		return
	}
	if err != nil {
		l.report(err)
	}
	bytes := s.scope.Bytes()
	l.mu.Lock()
	defer l.mu.Unlock()
	s.toEmbed = false
	switch {
	case errors.Is(err, context.Canceled):
	case err != nil:
		s.failed, s.unkept = err, s.unkept || more
	case more && !s.unkept:
		s.failed = nil
		clear(l.reported)
	}
	l.account(s, bytes)
	if more && s.element != nil {
		s.toEmbed = true
		l.vectors = append(l.vectors, s)
	} else if s.embedded != nil {
		close(s.embedded)
		s.embedded = nil
	}
}

// embedAfter looks for the vectors of a cached scope again after a while, because another
// process makes them.
func (l *Library) embedAfter(s *cachedScope) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.elsewhere++
	time.AfterFunc(claimWait, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.elsewhere--
		if !l.closed {
			l.vectors = append(l.vectors, s)
			l.wake.Broadcast()
		}
	})
}

// vectorsOf returns where the vectors of a cached scope are stored.
func (l *Library) vectorsOf(s *cachedScope, dimensions int) *vectorStore {
	return &vectorStore{l.store, s.key.tenant, vectorFamily + l.o.Model.Name(), dimensions, s.owner}
}

// embedFor makes the vectors that a search needs most; see LibraryOptions.OnDemand.
func (l *Library) embedFor(ctx context.Context, s *cachedScope, query string, o *RecallOptions, until time.Time) error {
	l.mu.Lock()
	dimensions := l.dimensions
	l.mu.Unlock()
	return recovered(func() error {
		made, err := s.scope.onDemand(ctx, query, o, l.vectorsOf(s, dimensions), until)
		l.made.Add(int64(made))
		return err
	})
}

// awaitVectors waits until the vectors of a cached scope are made, once for
// each scope and length of wait: the first search after a restart comes while they are read, and
// can then search by meaning. A search without a deadline does not wait unless it
// says how long (RecallOptions.VectorWait), because nobody knows how long the model takes.
func (l *Library) awaitVectors(ctx context.Context, s *cachedScope, patience time.Duration) {
	wait := cmp.Or(patience, vectorWait)
	deadline, ok := ctx.Deadline()
	if ok {
		wait = min(wait, time.Until(deadline)/2)
	}
	l.mu.Lock()
	if !ok && patience == 0 || s.awaited >= wait || !s.toEmbed {
		l.mu.Unlock()
		return
	}
	s.awaited = wait
	if s.embedded == nil {
		s.embedded = make(chan struct{})
	}
	done := s.embedded
	l.mu.Unlock()
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
	case <-ctx.Done():
	case <-l.ctx.Done():
	}
}
