package postgres

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
)

// A store notifies others of every change after it is committed. Notifying within the
// transaction would be simpler, but PostgreSQL commits such transactions one by one.

// noTenant stands for the tenant in notifications of documents.
const noTenant = 0

// notices are notifications to send. Each statement that notifies wakes all listeners, so under
// load one sends those of some milliseconds.
type notices struct {
	s       *Store
	mu      sync.Mutex // protects what follows
	waiting map[string]bool
	last    time.Time // when the last ones were sent
}

// noticePause is the time between two statements that notify.
const noticePause = 5 * time.Millisecond

// of returns what queues notifications behind a commit. If others have just been sent, these
// wait until noticePause has passed.
func (n *notices) of(texts ...string) func(*pgx.Batch) {
	return func(b *pgx.Batch) {
		n.mu.Lock()
		defer n.mu.Unlock()
		pause := noticePause - time.Since(n.last)
		if pause <= 0 && len(n.waiting) == 0 {
			n.last = time.Now()
			n.queue(b, texts)
			return
		}
		if len(n.waiting) == 0 {
			n.waiting = map[string]bool{}
			time.AfterFunc(pause, func() { n.s.start(n.send) }) // a store that is closed has sent them
		}
		for _, text := range texts {
			n.waiting[text] = true
		}
	}
}

func (n *notices) queue(b *pgx.Batch, texts []string) {
	b.Queue("SELECT pg_notify($1, n) FROM unnest($2::text[]) AS n", n.s.channel, texts)
}

// send sends all that wait. If that fails, others read again when a revision is not what they
// expect.
func (n *notices) send() {
	n.mu.Lock()
	texts := slices.Collect(maps.Keys(n.waiting))
	n.waiting, n.last = nil, time.Now()
	n.mu.Unlock()
	if len(texts) == 0 {
		return
	}
	b := &pgx.Batch{}
	n.queue(b, texts)
	ctx, cancel := context.WithTimeout(context.Background(), commitWait)
	defer cancel()
	_ = n.s.pool.SendBatch(ctx, b).Close()
}

// notice returns the text of a notification.
func (s *Store) notice(tenant int64, what string) string {
	return s.name + " " + strconv.FormatInt(tenant, 10) + " " + what
}

// Limits of the time between two attempts to listen.
const (
	listenAgain    = 50 * time.Millisecond
	listenAgainMax = 5 * time.Second
)

// listen counts the changes of others until ctx is done. While it has no connection it is
// deaf; whatever happened meanwhile counts as a change.
func (s *Store) listen(ctx context.Context) {
	for delay := listenAgain; ctx.Err() == nil; {
		if s.listenOnce(ctx) {
			delay = listenAgain
		}
		s.deaf.Store(true)
		select {
		case <-ctx.Done():
		case <-time.After(delay):
		}
		delay = min(2*delay, listenAgainMax)
	}
}

// listenOnce listens on one connection until it fails. It reports whether it could listen
// at all.
func (s *Store) listenOnce(ctx context.Context) bool {
	config := s.pool.Config().ConnConfig
	c, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return false
	}
	defer func() {
		closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		_ = c.Close(closing)
	}()
	if _, err := c.Exec(ctx, "LISTEN "+pgx.Identifier{s.channel}.Sanitize()); err != nil {
		return false
	}
	s.changes.Add(1)
	s.documents.Add(1)
	s.deaf.Store(false)
	for {
		n, err := c.WaitForNotification(ctx)
		if err != nil {
			return true
		}
		from, rest, _ := strings.Cut(n.Payload, " ")
		tenant, _, _ := strings.Cut(rest, " ")
		switch {
		case from == s.name:
		case tenant == strconv.Itoa(noTenant):
			s.documents.Add(1)
		default:
			s.changes.Add(1)
		}
	}
}

// Changed implements timeline.Store. It asks nobody: the number rises when a notification
// comes, and with every call while none can come.
func (s *Store) Changed(ctx context.Context) (int64, error) {
	if err := s.begin(ctx); err != nil {
		return 0, err
	}
	if s.deaf.Load() {
		return s.changes.Add(1), nil
	}
	return s.changes.Load(), nil
}
