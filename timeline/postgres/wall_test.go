package postgres_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/oriel-context/oriel/internal/test/pgtest"
	"github.com/oriel-context/oriel/timeline"
)

// TestTheDatabaseHidesOtherTenants connects as the application's role, which owns the
// tables, and forgets to name the tenant, or names one. SPEC D10
func TestTheDatabaseHidesOtherTenants(t *testing.T) {
	url := pgtest.URL(t)
	s := open(t, url)
	var heads []timeline.Place
	for _, tenant := range []string{"a", "b"} {
		add(t, s, tenant, "c", "one", "two of "+tenant)
		if _, err := s.Apply(ctx, tenant, timeline.Change{Conversation: "c", Stay: true, Now: now,
			Put: []timeline.Record{{Kind: "k", Key: "1"}}}); err != nil {
			t.Fatal(err)
		}
		if err := s.KeepDerived(ctx, tenant, "vector/x",
			[]timeline.Derived{{Content: timeline.HashOf([]byte("one")), Data: []byte("v")}}); err != nil {
			t.Fatal(err)
		}
		if err := s.WantPassages(ctx, tenant); err != nil {
			t.Fatal(err)
		}
		at := timeline.Place{}
		for _, c := range conversations(t, s, tenant) {
			at = c.Head
		}
		if err := s.KeepPassages(ctx, tenant, "vector/x", []timeline.Passage{{Place: at, Words: []string{"two"}}},
			[]timeline.Place{at}); err != nil {
			t.Fatal(err)
		}
		heads = append(heads, at)
		if _, err := s.Claim(ctx, tenant, "vector/x", "o", []timeline.Hash{timeline.HashOf([]byte("one"))},
			time.Hour); err != nil {
			t.Fatal(err)
		}
	}
	c, err := pgx.Connect(ctx, url)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(ctx)
	var super bool
	if err := c.QueryRow(ctx,
		"SELECT rolsuper OR rolbypassrls FROM pg_roles WHERE rolname = current_user").Scan(&super); err != nil {
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
	rows, _ = c.Query(ctx,
		"SELECT tablename FROM pg_tables WHERE schemaname = current_schema() AND tablename NOT IN ('tenant', 'token', 'document', 'setting', 'goose_db_version')")
	all, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil || len(all) != (len(tables)+1)*9+2 { // and passage, passage_to and claim
		t.Fatalf("%d tables, %v", len(all), err)
	}
	for _, table := range all {
		if passages := table == "passage" || strings.HasPrefix(table, "passage_p"); passages {
			// The owner may see it, or the index of words would be of no use.
			if n := count("SELECT count(*) FROM pg_class c JOIN pg_policy p ON p.polrelid = c.oid WHERE c.oid = '" +
				table + "'::regclass AND c.relrowsecurity"); n != 1 {
				t.Errorf("%s has %d policies", table, n)
			}
			continue
		}
		if n := count("SELECT count(*) FROM " + table); n != 0 {
			t.Errorf("%d rows of %s are visible to somebody without a tenant", n, table)
		}
	}
	if _, err := c.Exec(ctx, "SELECT set_config('oriel.tenant', $1::bigint::text, false)", ids[0]); err != nil {
		t.Fatal(err)
	}
	for _, table := range append(slices.Clone(tables), "claim", "passage_to") {
		if n := count("SELECT count(*) FROM " + table); n == 0 && table != "variant" {
			t.Errorf("no row of %s is visible to its tenant", table)
		}
		if n := count("SELECT count(*) FROM " + table +
			" WHERE tenant <> current_setting('oriel.tenant')::bigint"); n != 0 {
			t.Errorf("%d rows of %s are visible to another tenant", n, table)
		}
	}
	if _, err := c.Exec(ctx, "INSERT INTO conversation_trunk (tenant, conversation, trunk, depth) VALUES ($1, 1, 1, 1)",
		ids[1]); err == nil {
		t.Error("a row of another tenant was written")
	}
	q := timeline.PassageQuery{Spans: []timeline.Span{{Trunk: heads[0].Trunk, First: 1, Last: heads[0].Depth}},
		Words: []string{"two"}, Messages: 9}
	for i, tenant := range []string{"a", "b"} { // the second asks for the messages of the first
		found := 0
		if err := s.FindPassages(ctx, tenant, "vector/x", q,
			func(*timeline.Entry) error { found++; return nil }); err != nil || found != 1-i {
			t.Errorf("tenant %s finds %d messages, %v", tenant, found, err)
		}
	}
	verify(t, s)
}

func conversations(t *testing.T, s timeline.Store, tenant string) []timeline.Conversation {
	t.Helper()
	all, err := s.Conversations(ctx, tenant)
	if err != nil {
		t.Fatal(err)
	}
	return all
}
