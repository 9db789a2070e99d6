package sqlite

import (
	"context"
	"fmt"
	"time"

	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/timeline/internal/seal"
)

const tokenColumns = "SELECT hash, tenant, role, created, expires, revoked, seal FROM token "

func scanToken(r *rows) timeline.AccessToken {
	t := timeline.AccessToken{Tenant: r.text(1), Role: r.text(2), Created: moment(r.integer(3)),
		Expires: moment(r.integer(4)), Revoked: moment(r.integer(5))}
	copy(t.Hash[:], r.bytes(0))
	return t
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
	return s.changeTokens(ctx, func(w *writer) error {
		_, found, err := w.number("SELECT 1 FROM token WHERE hash = ?", t.Hash[:])
		if err != nil {
			return err
		}
		if found {
			return fmt.Errorf("%w: token %s exists", timeline.ErrInvalid, t.Hash.ID())
		}
		if t.Role == timeline.RoleConsole {
			if _, err := w.exec(
				"DELETE FROM token WHERE role = ? AND (expires BETWEEN 1 AND ? OR revoked BETWEEN 1 AND ?)", t.Role,
				micros(t.Created), micros(t.Created)); err != nil {
				return dirtyError{err}
			}
		}
		return w.putToken(t)
	})
}

// RevokeToken implements timeline.Store.
func (s *Store) RevokeToken(ctx context.Context, hash timeline.TokenHash, at time.Time) error {
	return s.changeTokens(ctx, func(w *writer) error {
		t, _, err := w.token(hash)
		if err != nil || !t.Revoked.IsZero() {
			return err
		}
		t.Revoked = at
		return w.putToken(t)
	})
}

func (s *Store) changeTokens(ctx context.Context, change func(*writer) error) error {
	if s.readOnly {
		return s.refuse("write")
	}
	w := &s.write
	return explain("write", s.path, w.perform(&task{ctx: ctx, do: func() error { return change(w) }}))
}

func (w *writer) putToken(t timeline.AccessToken) error {
	hash := seal.Token(&t)
	if _, err := w.exec(`INSERT INTO token (hash, tenant, role, created, expires, revoked, seal) VALUES (?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT DO UPDATE SET revoked = excluded.revoked, seal = excluded.seal`,
		t.Hash[:], t.Tenant, t.Role, micros(t.Created), micros(t.Expires), micros(t.Revoked), hash[:]); err != nil {
		return dirtyError{err}
	}
	return nil
}

// Token implements timeline.Store.
func (s *Store) Token(ctx context.Context, hash timeline.TokenHash) (found timeline.AccessToken, err error) {
	err = s.view(ctx, func(c *conn) (err error) {
		var sealed timeline.Hash
		found, sealed, err = c.token(hash)
		if err == nil && sealed != seal.Token(&found) {
			found, err = timeline.AccessToken{}, fmt.Errorf("%w: %s is not what was stored: run oriel verify",
				timeline.ErrNoToken, hash.ID())
		}
		return err
	})
	return found, err
}

// token returns a token and the hash over its row.
func (c *conn) token(hash timeline.TokenHash) (t timeline.AccessToken, sealed timeline.Hash, err error) {
	found, err := c.one(tokenColumns+"WHERE hash = ?", func(r *rows) { t, sealed = scanToken(r), loose(r, 6) }, hash[:])
	if err == nil && !found {
		err = fmt.Errorf("%w: %s", timeline.ErrNoToken, hash.ID())
	}
	return t, sealed, err
}

// Tokens implements timeline.Store.
func (s *Store) Tokens(ctx context.Context) (all []timeline.AccessToken, err error) {
	err = s.view(ctx, func(c *conn) error {
		return c.each(tokenColumns+"ORDER BY created, hash", func(r *rows) { all = append(all, scanToken(r)) })
	})
	return all, err
}
