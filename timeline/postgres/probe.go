package postgres

import (
	"context"
	"crypto/tls"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/oriel-context/oriel/timeline/internal/migrate"
)

// Probed is what a person wants to know of a database.
type Probed struct {
	Server string // its version
	Format int64  // of the tables
	// Writable reports that changes can be made now, Bypasses that row-level security does
	// not hold this user, Encrypted that others cannot read the connection: it uses TLS or
	// stays on this machine.
	Writable, Bypasses, Encrypted bool
	RoundTrip                     time.Duration // the shortest of three
}

// Probe asks the database about itself. It changes nothing.
func (s *Store) Probe(ctx context.Context) (p Probed, err error) {
	if err := s.begin(ctx); err != nil {
		return p, err
	}
	c, err := s.pool.Acquire(ctx)
	if err != nil {
		return p, s.explain("open", err)
	}
	defer c.Release()
	p.Format, err = migrate.Version(ctx, migration{c.Conn()}, dialect)
	if err != nil {
		return p, s.explain("read", err)
	}
	var readOnly string
	err = c.QueryRow(ctx, `SELECT current_setting('server_version'), current_setting('transaction_read_only'),
		(SELECT rolsuper OR rolbypassrls FROM pg_roles WHERE rolname = current_user)`).Scan(&p.Server, &readOnly,
		&p.Bypasses)
	if err != nil {
		return p, s.explain("read", err)
	}
	p.Server, _, _ = strings.Cut(p.Server, " ")
	p.Writable = readOnly == "off" && !s.readOnly
	p.Encrypted = encrypted(c.Conn())
	for range 3 {
		start := time.Now()
		if err := c.Ping(ctx); err != nil {
			return p, s.explain("read", err)
		}
		if took := time.Since(start); p.RoundTrip == 0 || took < p.RoundTrip {
			p.RoundTrip = took
		}
	}
	return p, nil
}

func encrypted(c *pgx.Conn) bool {
	_, tls := c.PgConn().Conn().(*tls.Conn)
	return tls || isLocal(c.Config().Host)
}

// isLocal reports whether a host is this machine: a folder of sockets or a loopback address.
func isLocal(host string) bool {
	return strings.HasPrefix(host, "/") || strings.HasPrefix(host, "@") || host == "localhost" || host == "::1" ||
		strings.HasPrefix(host, "127.")
}

// Same reports whether two stores are the same history: the same schema of the same database
// of the same server.
func (s *Store) Same(ctx context.Context, other *Store) (bool, error) {
	var names [2]string
	for i, one := range []*Store{s, other} {
		if err := one.begin(ctx); err != nil {
			return false, err
		}
		err := one.pool.QueryRow(ctx,
			`SELECT extract(epoch FROM pg_postmaster_start_time())::text || ' ' || d.oid::text || ' ' || n.oid::text
			FROM pg_catalog.pg_database d, pg_catalog.pg_namespace n WHERE d.datname = current_database() AND n.nspname = current_schema()`).Scan(&names[i])
		if err != nil {
			return false, one.explain("read", err)
		}
	}
	return names[0] == names[1], nil
}
