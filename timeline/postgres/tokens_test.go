package postgres_test

import (
	"errors"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/oriel-context/oriel/internal/test/pgtest"
	"github.com/oriel-context/oriel/timeline"
)

// Whoever changes a token in the database, such as its role or its end, ends it. It can still
// be revoked.
func TestAlteredTokensAreRefused(t *testing.T) {
	url := pgtest.URL(t)
	s := open(t, url)
	c, err := pgx.Connect(ctx, url)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(ctx)
	for _, change := range []string{"role = 'call'", "tenant = 'bob'", "expires = 0", "revoked = 0",
		"seal = '00000000-0000-0000-0000-000000000000'"} {
		token := timeline.AccessToken{Hash: timeline.HashToken(change), Tenant: "ann", Role: timeline.RoleRead, Created: now,
			Expires: now.Add(time.Hour), Revoked: now.Add(time.Minute)}
		if err := s.AddToken(ctx, token); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Token(ctx, token.Hash); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Exec(ctx, "UPDATE token SET "+change+" WHERE hash = $1", token.Hash[:]); err != nil {
			t.Fatal(err)
		}
		if got, err := s.Token(ctx, token.Hash); !errors.Is(err, timeline.ErrNoToken) || got.Tenant != "" {
			t.Errorf("%s: %v, %v", change, got, err)
		}
		if err := s.RevokeToken(ctx, token.Hash, now); err != nil {
			t.Errorf("%s: %v", change, err)
		}
	}
}
