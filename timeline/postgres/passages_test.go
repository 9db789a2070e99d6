package postgres_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/oriel-context/oriel/internal/test/pgtest"
	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/timeline/postgres"
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
		s := open(t, pgtest.With(pgtest.Patient(server.URL()), "search_path", path))
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
	if err := c.QueryRow(ctx,
		"SELECT count(*) FROM information_schema.columns WHERE table_schema = 'plain' AND table_name = 'passage' AND column_name = 'vector'").Scan(&vectors); err != nil || vectors != 1 {
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
		if err := s.KeepPassages(ctx, timeline.Local, kind,
			[]timeline.Passage{{Place: at, Words: []string{"lighthouse"}}}, []timeline.Place{at}); err != nil {
			t.Fatal(err)
		}
	}
	for _, kind := range kinds {
		to, _, err := s.PassagesTo(ctx, timeline.Local, kind)
		if err != nil || to[at.Trunk] != at.Depth {
			t.Fatalf("%s: kept to %v, %v", kind, to, err)
		}
		found := 0
		q := timeline.PassageQuery{Spans: []timeline.Span{{Trunk: at.Trunk, First: 1, Last: at.Depth}},
			Words: []string{"lighthouse"}, Messages: 9}
		if err := s.FindPassages(ctx, timeline.Local, kind, q,
			func(*timeline.Entry) error { found++; return nil }); err != nil || found != 1 {
			t.Errorf("%s: found %d messages, %v; want 1", kind, found, err)
		}
	}
}

// A pgvector before 0.8 cannot be used: messages are found by their words, and the log says so
// once.
func TestAnOldPgvectorLeavesTheWords(t *testing.T) {
	server := pgtest.StartWith(t, "vector")
	admin, err := pgx.Connect(ctx, pgtest.In(server.Admin(), "oriel"))
	if err != nil {
		t.Fatal(err)
	}
	defer admin.Close(ctx)
	for _, version := range []string{"0.6.2", "0.7.4"} {
		if _, err := admin.Exec(ctx, "UPDATE pg_extension SET extversion = $1 WHERE extname = 'vector'",
			version); err != nil {
			t.Fatal(err)
		}
		var log bytes.Buffer
		s, err := postgres.Open(ctx, pgtest.Patient(server.URL()),
			postgres.Options{Log: slog.New(slog.NewTextHandler(&log, nil))})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		at := add(t, s, timeline.Local, version, "The lighthouse stands at the harbour.").Head
		for range 2 {
			if err := s.WantPassages(ctx, timeline.Local); err != nil {
				t.Fatal(err)
			}
		}
		if n := strings.Count(log.String(), "version="+version); n != 1 {
			t.Errorf("%d lines of the log name %s: %s", n, version, &log)
		}
		vector := make([]float32, 384)
		vector[0] = 1
		if err := s.KeepPassages(ctx, timeline.Local, "vector/x",
			[]timeline.Passage{{Place: at, Words: []string{"lighthouse"}, Vector: vector}},
			[]timeline.Place{at}); err != nil {
			t.Fatal(err)
		}
		q := timeline.PassageQuery{Spans: []timeline.Span{{Trunk: at.Trunk, First: 1, Last: at.Depth}},
			Words: []string{"lighthouse"}, Vector: vector, Messages: 9}
		if found := find(t, s, q); len(found) != 1 {
			t.Errorf("%s: found %v", version, found)
		}
	}
}

// find returns the places that a query finds in passages of the kind vector/x.
func find(t *testing.T, s *postgres.Store, q timeline.PassageQuery) (found []timeline.Place) {
	t.Helper()
	err := s.FindPassages(ctx, timeline.Local, "vector/x", q, func(e *timeline.Entry) error {
		found = append(found, e.Place)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// keep adds a conversation of one message and keeps its passage with some words.
func keep(t *testing.T, s *postgres.Store, conversation string, words ...string) timeline.Place {
	t.Helper()
	at := add(t, s, timeline.Local, conversation, "in "+conversation).Head
	if err := s.KeepPassages(ctx, timeline.Local, "vector/x", []timeline.Passage{{Place: at, Words: words}},
		[]timeline.Place{at}); err != nil {
		t.Fatal(err)
	}
	return at
}

// The best passages of a scope are found, however many conversations it has, and however many
// better ones there are outside of it.
func TestALargeScopeIsSearchedWithinItself(t *testing.T) {
	s := open(t, pgtest.URL(t))
	if err := s.WantPassages(ctx, timeline.Local); err != nil {
		t.Fatal(err)
	}
	for i := range 8 {
		keep(t, s, fmt.Sprint("outside", i), "lighthouse", "harbour")
	}
	at := keep(t, s, "inside", "lighthouse", "many", "other", "words")
	q := timeline.PassageQuery{Words: []string{"lighthouse", "harbour"}, Messages: 2}
	for i := range int64(10_001) { // of conversations without passages
		q.Spans = append(q.Spans, timeline.Span{Trunk: 1_000_000 + i, First: 1, Last: 1})
	}
	q.Spans = append(q.Spans, timeline.Span{Trunk: at.Trunk, First: 1, Last: at.Depth})
	if found := find(t, s, q); len(found) != 1 || found[0] != at {
		t.Errorf("found %v instead of %v", found, at)
	}
}

// A deletion leaves the passages of what other conversations have, and that they are kept.
func TestADeletionLeavesThePassagesOfOthers(t *testing.T) {
	s := open(t, pgtest.URL(t))
	if err := s.WantPassages(ctx, timeline.Local); err != nil {
		t.Fatal(err)
	}
	first := add(t, s, timeline.Local, "short", "one", "two").Head
	last := add(t, s, timeline.Local, "long", "one", "two", "three").Head
	if first.Trunk != last.Trunk {
		t.Fatalf("%v and %v are on different trunks", first, last)
	}
	passages := []timeline.Passage{{Place: first, Words: []string{"two"}}, {Place: last, Words: []string{"three"}}}
	if err := s.KeepPassages(ctx, timeline.Local, "vector/x", passages, []timeline.Place{last}); err != nil {
		t.Fatal(err)
	}
	other := keep(t, s, "other", "four")
	if _, err := s.Delete(ctx, timeline.Local, "long", nil); err != nil {
		t.Fatal(err)
	}
	to, _, err := s.PassagesTo(ctx, timeline.Local, "vector/x")
	if err != nil || to[first.Trunk] != first.Depth || to[other.Trunk] != other.Depth {
		t.Errorf("kept to %v, %v", to, err)
	}
	q := timeline.PassageQuery{Spans: []timeline.Span{{Trunk: first.Trunk, First: 1, Last: 9}},
		Words: []string{"two", "three"}, Messages: 9}
	if found := find(t, s, q); len(found) != 1 || found[0] != first {
		t.Errorf("found %v instead of %v", found, first)
	}
	if _, err := s.Delete(ctx, timeline.Local, "short", nil); err != nil {
		t.Fatal(err)
	}
	if to, _, err := s.PassagesTo(ctx, timeline.Local, "vector/x"); err != nil || len(to) != 1 ||
		to[other.Trunk] != other.Depth {
		t.Errorf("kept to %v, %v", to, err)
	}
}
