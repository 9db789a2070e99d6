package postgres

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// A store notifies others of every change after it is committed. Notifying within the
// transaction would be simpler, but PostgreSQL commits such transactions one by one.

// noTenant stands for the tenant in notifications of documents.
const noTenant = 0

// notify queues the notification of a change to a conversation.
func (s *Store) notify(b *pgx.Batch, tenant int64, conversation string) {
	b.Queue("SELECT pg_notify($1, $2)", s.channel, s.notice(tenant, conversation))
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
