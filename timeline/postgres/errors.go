package postgres

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/oriel-context/oriel/timeline"
)

const (
	hintURL      = "write postgres://user:password@host:5432/database, with special characters in the password percent-encoded"
	hintDown     = "check that the server runs and that host and port are right; see what `psql` says with the same URL"
	hintAuth     = "check the user and the password, and that the server lets this user connect to that database"
	hintRights   = "give the user the right to create tables in its schema once (the first start does so), and to read and write them"
	hintNone     = "check the database and search_path of the URL, or start `oriel serve` with it, which makes the tables"
	hintNewer    = "use the version of Oriel that migrated it, or a later one; nothing was written"
	hintDamaged  = "see what is whole with `oriel verify`, or restore a backup"
	hintFull     = "make room on the disk of the database server; what was stored is whole, and writing goes on as soon as there is space"
	hintReadOnly = "the server is a standby or set to read only: give the URL of the primary, or several hosts with target_session_attrs=read-write"
	hintBusy     = "another session holds a lock or all connections are in use: see pg_stat_activity, or raise pool_max_conns and max_connections"
	hintTLS      = "check sslmode and sslrootcert of the URL: the file must hold the authority that signed the server's certificate, and verify-full needs a certificate for the host as the URL has it"
	hintSchema   = "create the schema that search_path names: CREATE SCHEMA …"
	hintBackup   = "use pg_dump with the same URL (docs/postgres.md)"
)

var (
	errUnreachable = errors.New("the database cannot be reached")
	// errUntrusted: the server does not prove to be what the URL asks for.
	errUntrusted = errors.New("the connection to the database cannot be trusted")
)

// isUntrusted reports whether TLS failed: because of the server's certificate, or because
// the server has no TLS.
func isUntrusted(err error) bool {
	var bad *tls.CertificateVerificationError
	return errors.As(err, &bad) || strings.Contains(err.Error(), "server refused TLS connection")
}

// explain turns an error of PostgreSQL into one with a hint for people. Errors of timeline
// and of contexts are returned unchanged.
func (s *Store) explain(op string, err error) error {
	var known *timeline.StoreError
	var pe *pgconn.PgError
	var ce *pgconn.ConnectError
	var ne net.Error
	of := func(kind error, hint string) error {
		if !errors.Is(err, kind) {
			err = fmt.Errorf("%w: %w", kind, err)
		}
		return &timeline.StoreError{Op: op, Path: s.where, Err: err, Hint: hint}
	}
	switch {
	case err == nil, errors.As(err, &known):
		return err
	case errors.As(err, &pe):
		return s.explainCode(pe, of)
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	case isUntrusted(err):
		return of(errUntrusted, hintTLS)
	case errors.As(err, &ce), errors.As(err, &ne), pgconn.SafeToRetry(err), strings.Contains(err.Error(), "closed"):
		return of(errUnreachable, hintDown)
	case errors.Is(err, timeline.ErrDamaged):
		return of(timeline.ErrDamaged, hintDamaged)
	}
	return err
}

var errServer = errors.New("PostgreSQL failed")

// explainCode explains an error that the server reported.
func (s *Store) explainCode(e *pgconn.PgError, of func(kind error, hint string) error) error {
	switch {
	case e.Code == "53100": // disk_full
		return of(timeline.ErrFull, hintFull)
	case e.Code == "25006": // read_only_sql_transaction
		return of(timeline.ErrReadOnly, hintReadOnly)
	case e.Code == "42501": // insufficient_privilege
		return of(timeline.ErrReadOnly, hintRights)
	case e.Code == "3F000": // invalid_schema_name
		return of(timeline.ErrNone, hintSchema)
	case e.Code == "3D000": // invalid_catalog_name
		return of(timeline.ErrNone, hintNone)
	case e.Code == "42P01": // undefined_table
		return of(timeline.ErrNone, hintNone)
	case strings.HasPrefix(e.Code, "28"): // invalid authorization
		return of(errUnreachable, hintAuth)
	case e.Code == "55P03", e.Code == "57014", strings.HasPrefix(e.Code, "53"),
		strings.HasPrefix(e.Code, "40"): // locks, timeouts, resources
		return of(timeline.ErrBusy, hintBusy)
	case strings.HasPrefix(e.Code, "57P"), strings.HasPrefix(e.Code, "08"): // shutdown, connection
		return of(errUnreachable, hintDown)
	case strings.HasPrefix(e.Code, "XX"): // internal error, data corrupted
		return of(timeline.ErrDamaged, hintDamaged)
	}
	return of(errServer, "")
}

// isConflict reports whether a change failed because of another one at the same moment, so
// that it can be tried again.
func isConflict(err error) bool {
	var pe *pgconn.PgError
	if !errors.As(err, &pe) {
		return false
	}
	switch pe.Code {
	case "23505", // unique_violation: both wrote the same
		"22012",          // division_by_zero: a statement met fewer rows than it should; see exactly
		"40001", "40P01": // serialization_failure, deadlock_detected
		return true
	}
	return false
}
