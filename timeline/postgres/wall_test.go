package postgres_test

import (
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/oriel-context/oriel/internal/pgtest"
	"github.com/oriel-context/oriel/timeline"
)

// TestTheDatabaseHidesOtherTenants connects as the application's role, which owns the
// tables, and forgets to name the tenant, or names one. SPEC D10
func TestTheDatabaseHidesOtherTenants(t *testing.T) {
	url := pgtest.URL(t)
	s := open(t, url)
	for _, tenant := range []string{"a", "b"} {
		add(t, s, tenant, "c", "one", "two of "+tenant)
		if _, err := s.Apply(ctx, tenant, timeline.Change{Conversation: "c", Stay: true, Now: now, Put: []timeline.Record{{Kind: "k", Key: "1"}}}); err != nil {
			t.Fatal(err)
		}
		if err := s.KeepDerived(ctx, tenant, "vector/x", []timeline.Derived{{Content: timeline.HashOf([]byte("one")), Data: []byte("v")}}); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Claim(ctx, tenant, "vector/x", "o", []timeline.Hash{timeline.HashOf([]byte("one"))}, time.Hour); err != nil {
			t.Fatal(err)
		}
	}
	c, err := pgx.Connect(ctx, url)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(ctx)
	var super bool
	if err := c.QueryRow(ctx, "SELECT rolsuper OR rolbypassrls FROM pg_roles WHERE rolname = current_user").Scan(&super); err != nil {
		t.Fatal(err)
	}
	if super {
		t.Skip("!! SKIPPED: the role of the tests is not held by row-level security")
	}
	count := func(query string) (n int64) {
		t.Helper()
		if err := c.QueryRow(ctx, query).Scan(&n); err != nil {
			t.Fatalf("%s: %v", query, err)
		}
		return n
	}
	var ids []int64
	rows, _ := c.Query(ctx, "SELECT id FROM tenant ORDER BY name")
	if ids, err = pgx.CollectRows(rows, pgx.RowTo[int64]); err != nil || len(ids) != 2 {
		t.Fatal(ids, err)
	}
	rows, _ = c.Query(ctx, "SELECT tablename FROM pg_tables WHERE schemaname = current_schema() AND tablename NOT IN ('tenant', 'token', 'document', 'setting', 'goose_db_version')")
	all, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil || len(all) != len(tables)*9+1 { // and claim
		t.Fatalf("%d tables, %v", len(all), err)
	}
	for _, table := range all {
		if n := count("SELECT count(*) FROM " + table); n != 0 {
			t.Errorf("%d rows of %s are visible to somebody without a tenant", n, table)
		}
	}
	if _, err := c.Exec(ctx, "SELECT set_config('oriel.tenant', $1::bigint::text, false)", ids[0]); err != nil {
		t.Fatal(err)
	}
	for _, table := range append(slices.Clone(tables), "claim") {
		if n := count("SELECT count(*) FROM " + table); n == 0 && table != "variant" {
			t.Errorf("no row of %s is visible to its tenant", table)
		}
		if n := count("SELECT count(*) FROM " + table + " WHERE tenant <> current_setting('oriel.tenant')::bigint"); n != 0 {
			t.Errorf("%d rows of %s are visible to another tenant", n, table)
		}
	}
	if _, err := c.Exec(ctx, "INSERT INTO conversation_trunk (tenant, conversation, trunk, depth) VALUES ($1, 1, 1, 1)", ids[1]); err == nil {
		t.Error("a row of another tenant was written")
	}
	verify(t, s)
}
