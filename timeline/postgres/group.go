package postgres

import (
	"context"
	"sync"
	"time"

	"github.com/oriel-context/oriel/timeline"
)

// Changes that need not read anything are committed in groups: one transaction writes those of
// all conversations of a tenant that have come while the transactions before were under way.
const (
	// maxGroup is the most changes of a group.
	maxGroup = 64
	// nearGroups is how many transactions of groups are under way at a time: one is prepared
	// while another is committed, and the fewer there are, the larger they get. farGroups is
	// that number if the database is farFrom away or more: changes then do not wait for the
	// round trip of others.
	nearGroups = 2
	farGroups  = 8
	farFrom    = 8 * time.Millisecond
	// recentGroups is how often the distance is measured anew.
	recentGroups = 64
)

// groups are the changes that wait for a transaction.
type groups struct {
	mu      sync.Mutex // protects what follows
	waiting []*member
	running int
	// nearest is the shortest time that one of the last transactions took, and next that of the
	// count after them.
	nearest, next time.Duration
	count         int
}

// room reports whether another transaction may begin. The caller holds mu.
func (g *groups) room() bool {
	return g.running < nearGroups || g.running < farGroups && g.nearest >= farFrom
}

// took notes how long a transaction took.
func (g *groups) took(d time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.next == 0 || d < g.next {
		g.next = d
	}
	if g.nearest == 0 || g.next < g.nearest {
		g.nearest = g.next
	}
	if g.count++; g.count == recentGroups {
		g.nearest, g.next, g.count = g.next, 0, 0
	}
}

// member is a change of a group.
type member struct {
	*change
	done chan struct{} // closed when err is set
	err  error
}

// join commits a change together with others. An error that isConflict recognises says that
// nothing was written.
func (s *Store) join(ctx context.Context, w *change) error {
	m := &member{change: w, done: make(chan struct{})}
	s.groups.mu.Lock()
	s.groups.waiting = append(s.groups.waiting, m)
	start := s.groups.room()
	if start {
		s.groups.running++
	}
	s.groups.mu.Unlock()
	if start && !s.start(s.commitGroups) {
		s.leaveGroup(m)
		return timeline.ErrClosed
	}
	select {
	case <-m.done:
	case <-ctx.Done():
		if s.leaveGroup(m) {
			return ctx.Err()
		}
		<-m.done // whether it was committed would be unknown
	}
	if m.err == nil {
		w.keep()
	}
	return m.err
}

// leaveGroup reports whether a member has left before its transaction began.
func (s *Store) leaveGroup(m *member) bool {
	s.groups.mu.Lock()
	defer s.groups.mu.Unlock()
	for i, other := range s.groups.waiting {
		if other == m {
			s.groups.waiting = append(s.groups.waiting[:i:i], s.groups.waiting[i+1:]...)
			return true
		}
	}
	return false
}

// commitGroups commits groups until no change waits.
func (s *Store) commitGroups() {
	for s.moreGroups() {
		ctx, cancel := context.WithTimeout(context.Background(), commitWait)
		c, err := s.pool.Acquire(ctx)
		group := s.nextGroup()
		if err == nil {
			began := time.Now()
			err = s.commitGroup(ctx, &transaction{Conn: c}, group)
			if c.Conn().IsClosed() {
				s.pool.Reset() // the others have probably lost their server, too
			}
			c.Release()
			if len(group) > 0 && err == nil { // another transaction may have taken them
				s.groups.took(time.Since(began))
			}
		}
		cancel()
		for _, m := range group {
			m.err = err
			close(m.done)
		}
	}
}

// moreGroups reports whether changes wait. If not, the caller ends.
func (s *Store) moreGroups() bool {
	s.groups.mu.Lock()
	defer s.groups.mu.Unlock()
	if len(s.groups.waiting) == 0 {
		s.groups.running--
		return false
	}
	return true
}

// nextGroup takes the changes of the tenant that has waited longest.
func (s *Store) nextGroup() (group []*member) {
	s.groups.mu.Lock()
	defer s.groups.mu.Unlock()
	var rest []*member
	for _, m := range s.groups.waiting {
		if len(group) < maxGroup && (len(group) == 0 || m.tenantID == group[0].tenantID) {
			group = append(group, m)
		} else {
			rest = append(rest, m)
		}
	}
	s.groups.waiting = rest
	return group
}

// commitGroup writes a group in one transaction and one round trip.
func (s *Store) commitGroup(ctx context.Context, t *transaction, group []*member) error {
	if len(group) == 0 {
		return nil
	}
	tenant, all := group[0].tenantID, rows{guessed: true}
	notices := make([]string, len(group))
	for i, m := range group {
		all.add(&m.rows)
		notices[i] = s.notice(tenant, m.Conversation)
	}
	p, err := s.findPartition(ctx, t, tenant)
	if err != nil {
		return err
	}
	t.begin(tenant, shared)
	all.queue(&t.batch, tenant, p)
	s.point("before commit")
	err = t.commit(ctx, s.notices.of(notices...))
	s.point("after commit")
	if err != nil {
		return t.end(ctx, err)
	}
	for _, m := range group {
		m.applied.New.Contents = all.countFresh(m.refs)
	}
	return nil
}
