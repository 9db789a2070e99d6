package postgres

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/timeline/internal/cache"
	"github.com/oriel-context/oriel/timeline/internal/codec"
)

// Options configures a store. The zero value is useful.
type Options struct {
	// MustExist makes Open fail with timeline.ErrNone if the database has no history
	// yet, instead of creating its tables.
	MustExist bool
	// ReadOnly implies MustExist, and makes all changes fail with
	// timeline.ErrReadOnly.
	ReadOnly bool
	// Log receives what the store does without. Default: none.
	Log *slog.Logger
}

// Store is a timeline.Store in a PostgreSQL database.
type Store struct {
	pool       *pgxpool.Pool
	where      string // the URL without its password
	readOnly   bool
	log        *slog.Logger
	codec      *codec.Codecs
	tenants    *cache.Cache[string, int64]
	tips       *cache.Cache[tipKey, tip]
	contents   *cache.Cache[contentKey, struct{}] // that were stored
	groups     groups
	notices    notices
	partitions *cache.Cache[int64, partition]

	// name identifies this store in notifications.
	name    string
	channel string // of notifications
	// changes is what Changed returns. deaf is set while nobody listens.
	changes atomic.Int64
	deaf    atomic.Bool
	// documents counts the changes of documents by others.
	documents atomic.Int64
	passages  atomic.Pointer[passageState]
	warned    atomic.Bool // of an old pgvector
	stop      context.CancelFunc
	stopped   sync.WaitGroup

	mu     sync.Mutex // protects closed
	closed bool

	// fail is called at the points of a transaction where tests end the process.
	fail func(point string)
}

var _ timeline.Store = (*Store)(nil)

// Open connects to a database and creates or migrates its tables. url has the form
// postgres://user:password@host:port/database?parameters; see docs/postgres.md for the
// parameters. The password is in no error.
func Open(ctx context.Context, url string, o Options) (*Store, error) {
	config, err := configure(url, o)
	if err != nil {
		return nil, err
	}
	s := &Store{where: Redact(url), readOnly: o.ReadOnly, log: cmp.Or(o.Log, slog.New(slog.DiscardHandler)),
		codec: codec.New(), tenants: cache.New[string, int64](1 << 12), tips: cache.New[tipKey, tip](maxTips),
		partitions: cache.New[int64, partition](1 << 12), contents: cache.New[contentKey, struct{}](maxContents),
		name: rand.Text()}
	if s.pool, err = pgxpool.NewWithConfig(ctx, config); err != nil {
		return nil, s.explain("open", err)
	}
	if err := s.open(ctx, o); err != nil {
		s.pool.Close()
		return nil, s.explain("open", err)
	}
	return s, nil
}

func (s *Store) open(ctx context.Context, o Options) error {
	c, err := s.pool.Acquire(ctx)
	if err != nil {
		return err
	}
	defer c.Release()
	if err := ready(ctx, c.Conn(), o); err != nil {
		return err
	}
	var schema string
	if err := c.QueryRow(ctx, "SELECT current_schema()").Scan(&schema); err != nil {
		return err
	}
	s.channel = "oriel." + schema
	s.notices.s = s
	listening, stop := context.WithCancel(context.WithoutCancel(ctx))
	s.stop = stop
	s.deaf.Store(true)
	s.stopped.Go(func() { s.listen(listening) })
	return nil
}

// begin returns an error if the store is closed or ctx is done.
func (s *Store) begin(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return timeline.ErrClosed
	}
	return nil
}

// start runs work that Close waits for, and reports false if the store is closed.
func (s *Store) start(work func()) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.stopped.Go(work)
	}
	return !s.closed
}

func (s *Store) point(name string) {
	if s.fail != nil {
		s.fail(name)
	}
}

// refuse returns the error of a change to a read-only store.
func (s *Store) refuse(op string) error {
	return &timeline.StoreError{Op: op, Path: s.where,
		Err: fmt.Errorf("%w: it was opened for reading", timeline.ErrReadOnly)}
}

// tenantID returns the number of a tenant, or 0 for one that was never written to. No row
// has the number 0. Tenants are never deleted, so that the number can be remembered.
func (s *Store) tenantID(ctx context.Context, name string) (int64, error) {
	if id, ok := s.tenants.Get(name); ok {
		return id, nil
	}
	var id int64
	err := s.pool.QueryRow(ctx, "SELECT id FROM tenant WHERE name = $1", name).Scan(&id)
	if errors.Is(err, pgx.ErrNoRows) {
		return 0, nil
	}
	if err == nil {
		s.tenants.Put(name, id)
	}
	return id, err
}

// makeTenant returns the number of a tenant, which it creates if it is new.
func (s *Store) makeTenant(ctx context.Context, name string) (int64, error) {
	id, err := s.tenantID(ctx, name)
	if err != nil || id != 0 {
		return id, err
	}
	// Two that create the tenant at once conflict in spite of the clause.
	err = s.again(ctx, func() error {
		_, err := s.pool.Exec(ctx, "INSERT INTO tenant (name) VALUES ($1) ON CONFLICT DO NOTHING", name)
		return err
	})
	if err != nil {
		return 0, err
	}
	return s.tenantID(ctx, name)
}

// view runs the queries of a batch on one snapshot, in one round trip, as a tenant.
func (s *Store) view(ctx context.Context, tenant string, queue func(b *pgx.Batch, id int64)) error {
	err := s.begin(ctx)
	if err != nil {
		return err
	}
	id, err := s.tenantID(ctx, tenant)
	if err != nil {
		return s.explain("read", err)
	}
	b := &pgx.Batch{}
	b.Queue(asTenant, id)
	queue(b, id)
	return s.explain("read", s.pool.SendBatch(ctx, b).Close())
}

// snapshot runs batches as a tenant, all on one snapshot.
func (s *Store) snapshot(ctx context.Context, tenant string,
	read func(run func(queue func(b *pgx.Batch, id int64)) error) error) error {
	if err := s.begin(ctx); err != nil {
		return err
	}
	id, err := s.tenantID(ctx, tenant)
	if err != nil {
		return s.explain("read", err)
	}
	return s.explain("read",
		pgx.BeginTxFunc(ctx, s.pool, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly},
			func(tx pgx.Tx) error {
				return read(func(queue func(*pgx.Batch, int64)) error {
					b := &pgx.Batch{}
					b.Queue(asTenant, id)
					queue(b, id)
					return tx.SendBatch(ctx, b).Close()
				})
			}))
}

// asTenant lets the transaction see the rows of a tenant. Statements of one batch are one
// transaction.
const asTenant = "SELECT set_config('oriel.tenant', ($1::bigint)::text, true)"

// Close implements timeline.Store. It waits for running changes.
func (s *Store) Close() error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil
	}
	s.closed = true
	s.mu.Unlock()
	s.stop()
	s.stopped.Wait()
	s.notices.send()
	s.pool.Close()
	s.codec.Free()
	return nil
}
