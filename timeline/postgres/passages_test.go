package postgres_test

import (
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/oriel-context/oriel/internal/pgtest"
	"github.com/oriel-context/oriel/timeline"
)

// Vectors are searched as soon as pgvector is there, also if passages were kept before.
func TestPassagesGetVectorsWhenPgvectorComes(t *testing.T) {
	server := pgtest.StartWith(t, "vector")
	c, err := pgx.Connect(ctx, server.URL())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(ctx)
	if _, err := c.Exec(ctx, "CREATE SCHEMA plain"); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"plain", "plain,public"} { // which has the extension
		s := open(t, pgtest.With(server.URL(), "search_path", path))
		if _, wanted, err := s.PassagesTo(ctx, timeline.Local, "vector/x"); wanted || err != nil {
			t.Fatalf("%s: wanted: %v, %v", path, wanted, err)
		}
		for range 2 {
			if err := s.WantPassages(ctx, timeline.Local); err != nil {
				t.Fatal(err)
			}
		}
		if _, wanted, err := s.PassagesTo(ctx, timeline.Local, "vector/x"); !wanted || err != nil {
			t.Errorf("%s: wanted: %v, %v", path, wanted, err)
		}
	}
	var vectors int
	if err := c.QueryRow(ctx, "SELECT count(*) FROM information_schema.columns WHERE table_schema = 'plain' AND table_name = 'passage' AND column_name = 'vector'").Scan(&vectors); err != nil || vectors != 1 {
		t.Errorf("%d columns, %v", vectors, err)
	}
}

// Servers with different models, or one whose model was changed and changed back, find what
// each has kept: passages of one kind do not replace those of another.
func TestPassagesOfTwoKindsAreKeptSideBySide(t *testing.T) {
	s := open(t, pgtest.URL(t))
	at := add(t, s, timeline.Local, "c", "The lighthouse stands at the harbour.").Head
	if err := s.WantPassages(ctx, timeline.Local); err != nil {
		t.Fatal(err)
	}
	kinds := []string{"vector/x", "vector/y"}
	for _, kind := range kinds {
		if err := s.KeepPassages(ctx, timeline.Local, kind, []timeline.Passage{{Place: at, Words: []string{"lighthouse"}}}, []timeline.Place{at}); err != nil {
			t.Fatal(err)
		}
	}
	for _, kind := range kinds {
		to, _, err := s.PassagesTo(ctx, timeline.Local, kind)
		if err != nil || to[at.Trunk] != at.Depth {
			t.Fatalf("%s: kept to %v, %v", kind, to, err)
		}
		found := 0
		q := timeline.PassageQuery{Spans: []timeline.Span{{Trunk: at.Trunk, First: 1, Last: at.Depth}}, Words: []string{"lighthouse"}, Messages: 9}
		if err := s.FindPassages(ctx, timeline.Local, kind, q, func(*timeline.Entry) error { found++; return nil }); err != nil || found != 1 {
			t.Errorf("%s: found %d messages, %v; want 1", kind, found, err)
		}
	}
}
