package postgres_test

import (
	"bytes"
	"slices"
	"testing"
	"time"

	"github.com/oriel-context/oriel/internal/test/pgtest"
	"github.com/oriel-context/oriel/timeline"
)

// A claim excludes other owners of the same tenant and kind until it ends.
func TestClaimsExcludeOthersUntilTheyEnd(t *testing.T) {
	url := pgtest.URL(t)
	a, b := open(t, url), open(t, url)
	byBytes := func(a, b timeline.Hash) int { return bytes.Compare(a[:], b[:]) }
	var hashes []timeline.Hash
	for _, text := range []string{"1", "2", "3"} {
		hashes = append(hashes, timeline.HashOf([]byte(text)))
	}
	slices.SortFunc(hashes, byBytes)
	claim := func(s timeline.Claims, tenant, kind, owner string, lease time.Duration, want, contents []timeline.Hash) {
		t.Helper()
		got, err := s.Claim(ctx, tenant, kind, owner, contents, lease)
		slices.SortFunc(got, byBytes)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s of %s got %v, %v; want %v", owner, tenant, got, err, want)
		}
	}
	claim(a, "t", "vector/x", "a", time.Hour, hashes[:2], []timeline.Hash{hashes[1], hashes[0], hashes[1]})
	claim(b, "t", "vector/x", "b", time.Hour, hashes[2:], hashes)
	claim(b, "t", "vector/y", "b", time.Hour, hashes, hashes)
	claim(b, "u", "vector/x", "b", time.Hour, hashes, hashes)
	claim(a, "t", "vector/x", "a", time.Microsecond, hashes[:2], hashes[:2]) // again, for a shorter time
	claim(b, "t", "vector/x", "b", time.Hour, hashes, hashes)
	if err := a.Unclaim(ctx, "t", "vector/x", "a", hashes); err != nil { // no longer its own
		t.Fatal(err)
	}
	claim(a, "t", "vector/x", "a", time.Hour, nil, hashes)
	if err := b.Unclaim(ctx, "t", "vector/x", "b", hashes[1:]); err != nil {
		t.Fatal(err)
	}
	claim(a, "t", "vector/x", "a", time.Hour, hashes[1:], hashes)
}
