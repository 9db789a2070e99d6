package sqlite_test

import (
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/oriel-context/oriel/timeline"
)

// Whoever changes a token in the file, such as its role or its end, ends it. It can still be
// revoked.
func TestAlteredTokensAreRefused(t *testing.T) {
	for _, change := range []string{"role = 'call'", "tenant = 'bob'", "expires = 0", "revoked = 0", "seal = x'00'"} {
		dir := t.TempDir()
		s := open(t, dir)
		token := timeline.AccessToken{Hash: timeline.HashToken("secret"), Tenant: "ann", Role: timeline.RoleRead,
			Created: time.Now(),
			Expires: time.Now().Add(time.Hour), Revoked: time.Now().Add(time.Minute)}
		if err := s.AddToken(ctx, token); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Token(ctx, token.Hash); err != nil {
			t.Fatal(err)
		}
		alter(t, filepath.Join(dir, "oriel.db"), "UPDATE token SET "+change)
		if got, err := s.Token(ctx, token.Hash); !errors.Is(err, timeline.ErrNoToken) || got.Tenant != "" {
			t.Errorf("%s: %v, %v", change, got, err)
		}
		if err := s.RevokeToken(ctx, token.Hash, time.Now()); err != nil {
			t.Errorf("%s: %v", change, err)
		}
	}
}
