package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/timeline/internal/seal"
)

const tokenColumns = "SELECT hash, tenant, role, created, expires, revoked, seal FROM token "

func scanToken(row pgx.Row) (t timeline.AccessToken, sealed timeline.Hash, err error) {
	var hash []byte
	var created, expires, revoked int64
	err = row.Scan(&hash, &t.Tenant, &t.Role, &created, &expires, &revoked, hash16(&sealed))
	copy(t.Hash[:], hash)
	t.Created, t.Expires, t.Revoked = moment(created), moment(expires), moment(revoked)
	return t, sealed, err
}

// micros and moment convert a time that may be zero.
func micros(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}

func moment(micros int64) time.Time {
	if micros == 0 {
		return time.Time{}
	}
	return time.UnixMicro(micros).UTC()
}

// AddToken implements timeline.Store.
func (s *Store) AddToken(ctx context.Context, t timeline.AccessToken) error {
	if err := t.Check(); err != nil {
		return err
	}
	return s.changeTokens(ctx, func() error {
		return pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
			tag, err := tx.Exec(ctx,
				`INSERT INTO token (hash, tenant, role, created, expires, revoked, seal) VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT DO NOTHING`,
				t.Hash[:], t.Tenant, t.Role, micros(t.Created), micros(t.Expires), micros(t.Revoked),
				[16]byte(seal.Token(&t)))
			switch {
			case err != nil:
				return err
			case tag.RowsAffected() == 0:
				return fmt.Errorf("%w: token %s exists", timeline.ErrInvalid, t.Hash.ID())
			case t.Role == timeline.RoleConsole:
				_, err = tx.Exec(ctx,
					"DELETE FROM token WHERE role = $1 AND hash <> $2 AND (expires BETWEEN 1 AND $3 OR revoked BETWEEN 1 AND $3)", t.Role, t.Hash[:], micros(t.Created))
			}
			return err
		})
	})
}

// RevokeToken implements timeline.Store.
func (s *Store) RevokeToken(ctx context.Context, hash timeline.TokenHash, at time.Time) error {
	return s.changeTokens(ctx, func() error {
		t, _, err := s.token(ctx, hash)
		if err != nil || !t.Revoked.IsZero() {
			return err
		}
		t.Revoked = at
		_, err = s.pool.Exec(ctx, "UPDATE token SET revoked = $2, seal = $3 WHERE hash = $1 AND revoked = 0", hash[:],
			micros(at), [16]byte(seal.Token(&t)))
		return err
	})
}

func (s *Store) changeTokens(ctx context.Context, change func() error) error {
	if err := s.begin(ctx); err != nil {
		return err
	}
	if s.readOnly {
		return s.refuse("write")
	}
	return s.explain("write", s.again(ctx, change))
}

// Token implements timeline.Store.
func (s *Store) Token(ctx context.Context, hash timeline.TokenHash) (timeline.AccessToken, error) {
	if err := s.begin(ctx); err != nil {
		return timeline.AccessToken{}, err
	}
	t, sealed, err := s.token(ctx, hash)
	if err == nil && sealed != seal.Token(&t) {
		t, err = timeline.AccessToken{}, fmt.Errorf("%w: %s is not what was stored: run oriel verify", timeline.ErrNoToken,
			hash.ID())
	}
	return t, s.explain("read", err)
}

// token returns a token and the hash over its row.
func (s *Store) token(ctx context.Context,
	hash timeline.TokenHash) (t timeline.AccessToken, sealed timeline.Hash, err error) {
	t, sealed, err = scanToken(s.pool.QueryRow(ctx, tokenColumns+"WHERE hash = $1", hash[:]))
	if err != nil {
		return timeline.AccessToken{}, sealed, noRows(err, timeline.ErrNoToken, hash.ID())
	}
	return t, sealed, nil
}

// Tokens implements timeline.Store.
func (s *Store) Tokens(ctx context.Context) (all []timeline.AccessToken, err error) {
	if err := s.begin(ctx); err != nil {
		return nil, err
	}
	err = eachToken(ctx, s.pool, func(t timeline.AccessToken, _ timeline.Hash) { all = append(all, t) })
	return all, s.explain("read", err)
}

// eachToken visits all tokens with their hashes over the row.
func eachToken(ctx context.Context, from interface {
	Query(ctx context.Context, query string, args ...any) (pgx.Rows, error)
}, visit func(timeline.AccessToken, timeline.Hash)) error {
	rows, err := from.Query(ctx, tokenColumns+"ORDER BY created, hash")
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		t, sealed, err := scanToken(rows)
		if err != nil {
			return err
		}
		visit(t, sealed)
	}
	return rows.Err()
}
