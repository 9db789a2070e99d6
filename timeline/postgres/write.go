package postgres

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Limits of the retries of a change that conflicted with another one.
const (
	maxTries    = 50
	maxTryDelay = 50 * time.Millisecond
)

// commitWait limits the last batch of a transaction, which the end of a caller's context
// must not interrupt: whether it was committed would be unknown.
const commitWait = 30 * time.Second

// write runs the statements of one batch in a transaction of a tenant.
func (s *Store) write(ctx context.Context, tenant string, queue func(b *pgx.Batch, id int64)) error {
	id, err := s.makeTenant(ctx, tenant)
	if err != nil {
		return s.explain("write", err)
	}
	return s.explain("write", s.again(ctx, func() error {
		return s.transaction(ctx, func(t *transaction) error {
			t.begin(id, shared)
			queue(&t.batch, id)
			return t.commit(ctx)
		})
	}))
}

// again runs a transaction until it no longer meets another one.
func (s *Store) again(ctx context.Context, run func() error) error {
	for try := 1; ; try++ {
		err := run()
		if err == nil || try == maxTries || !isConflict(err) {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(rand.N(min(time.Duration(try)*time.Millisecond, maxTryDelay))):
		}
	}
}

// transaction is a transaction whose statements are sent in few batches.
type transaction struct {
	*pgxpool.Conn
	batch     pgx.Batch // statements to send
	open      bool      // at the server
	committed bool
}

// transaction runs work on a connection, and rolls back what it has not committed.
func (s *Store) transaction(ctx context.Context, work func(*transaction) error) error {
	c, err := s.pool.Acquire(ctx)
	if err != nil {
		return err
	}
	defer c.Release()
	t := &transaction{Conn: c}
	return t.end(ctx, work(t))
}

// end rolls back what is not committed, and returns err.
func (t *transaction) end(ctx context.Context, err error) error {
	if t.open && !t.Conn.Conn().IsClosed() {
		ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), commitWait)
		defer cancel()
		if _, end := t.Exec(ending, "rollback"); end != nil {
			return errors.Join(err, end)
		}
	}
	return err
}

// access is the lock of a tenant. Whoever deletes excludes whoever writes, because what is
// written may build on what is deleted.
type access string

const (
	shared    access = "pg_advisory_xact_lock_shared"
	exclusive access = "pg_advisory_xact_lock"
)

// begin queues the beginning of a transaction of a tenant.
func (t *transaction) begin(tenant int64, a access) {
	t.batch.Queue("begin isolation level read committed")
	t.batch.Queue("SELECT set_config('oriel.tenant', ($1::bigint)::text, true), "+string(a)+"($1)", tenant)
}

// send sends the queued statements.
func (t *transaction) send(ctx context.Context) error {
	t.open = true
	b := t.batch
	t.batch = pgx.Batch{}
	return t.SendBatch(ctx, &b).Close()
}

// commit sends the queued statements and commits. after are queued behind the commit;
// their failure does not matter.
func (t *transaction) commit(ctx context.Context, after ...func(*pgx.Batch)) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), commitWait)
	defer cancel()
	t.batch.Queue("commit").Exec(func(tag pgconn.CommandTag) error {
		if tag.String() != "COMMIT" {
			return fmt.Errorf("the server answered the commit with %s", tag)
		}
		t.committed = true
		return nil
	})
	for _, f := range after {
		f(&t.batch)
	}
	err := t.send(ctx)
	if t.committed {
		t.open = false
		return nil
	}
	return err
}

// exactly makes a statement that returns rows fail (see isConflict) unless it returns as
// many as an argument says. A later statement of the batch would otherwise run although
// another transaction has taken the rows away.
func exactly(statement, argument string) string {
	return "WITH met AS (" + statement + ") SELECT 1 / (CASE WHEN count(*) = " + argument +
		" THEN 1 ELSE 0 END) FROM met"
}
