package sqlite_test

import (
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/timeline/sqlite"
)

// contentsOf returns the contents of messages of trunk 1.
func contentsOf(t *testing.T, s timeline.Store, first, last int64) (all []timeline.Hash) {
	t.Helper()
	if err := s.Messages(ctx, timeline.Local, timeline.Place{Trunk: 1, Depth: last}, first, last, true,
		func(e *timeline.Entry) error {
			all = append(all, e.Content)
			return nil
		}); err != nil {
		t.Fatal(err)
	}
	return all
}

// keepExtract keeps an extract of messages of trunk 1.
func keepExtract(t *testing.T, s *sqlite.Store, kind, data string, first, last int64) {
	t.Helper()
	x := timeline.Extract{Span: timeline.Span{Trunk: 1, First: first, Last: last},
		Contents: contentsOf(t, s, first, last), Data: []byte(data)}
	if err := s.KeepExtracts(ctx, timeline.Local, kind, []timeline.Extract{x}); err != nil {
		t.Fatal(err)
	}
}

// extracts fails unless the extract of a message of trunk 1 is the given one; "" means none.
func extracts(t *testing.T, s *sqlite.Store, tenant, kind string, depth int64, want string) {
	t.Helper()
	x, found, err := s.Extract(ctx, tenant, kind, timeline.Place{Trunk: 1, Depth: depth})
	if err != nil {
		t.Fatal(err)
	}
	if found != (want != "") || found && string(x.Data) != want {
		t.Errorf("%s of message %d: %q, %v; want %q", kind, depth, x.Data, found, want)
	}
	if found && (x.Span.Trunk != 1 || depth < x.Span.First || depth > x.Span.Last) {
		t.Errorf("the extract of message %d is of %+v", depth, x.Span)
	}
}

func TestExtractsAreFoundByTheirMessages(t *testing.T) {
	s := open(t, t.TempDir())
	add(t, s, "c", "one", "two", "three", "four", "five", "six")
	keepExtract(t, s, "words/1", "1-2", 1, 2)
	keepExtract(t, s, "words/1", "3-4", 3, 4)
	for depth, want := range map[int64]string{1: "1-2", 2: "1-2", 3: "3-4", 4: "3-4", 5: "", 99: ""} {
		extracts(t, s, timeline.Local, "words/1", depth, want)
	}
	extracts(t, s, timeline.Local, "words/2", 1, "")
	extracts(t, s, "another", "words/1", 1, "")
	// One takes the place of those that it overlaps.
	keepExtract(t, s, "words/1", "4-6", 4, 6)
	for depth, want := range map[int64]string{1: "1-2", 3: "", 4: "4-6", 6: "4-6"} {
		extracts(t, s, timeline.Local, "words/1", depth, want)
	}
	// A trunk has extracts of one kind.
	keepExtract(t, s, "words/2", "5-5", 5, 5)
	extracts(t, s, timeline.Local, "words/1", 1, "")
	extracts(t, s, timeline.Local, "words/2", 5, "5-5")
	if st, err := s.Stats(ctx, timeline.Local); err != nil || st.ExtractBytes != 3 || st.Derived != 0 {
		t.Errorf("%+v, %v", st, err)
	}
	verify(t, s)
}

func TestExtractsOfOtherMessagesAreNotKept(t *testing.T) {
	s := open(t, t.TempDir())
	add(t, s, "c", "one", "two", "three")
	contents := contentsOf(t, s, 1, 3)
	other := timeline.HashOf([]byte("other"))
	for what, c := range map[string]struct {
		tenant string
		x      timeline.Extract
	}{
		"another tenant": {"another", timeline.Extract{Span: timeline.Span{Trunk: 1, First: 1, Last: 1},
			Contents: contents[:1]}},
		"another content": {timeline.Local, timeline.Extract{Span: timeline.Span{Trunk: 1, First: 1, Last: 2},
			Contents: []timeline.Hash{contents[0], other}}},
		"another trunk": {timeline.Local, timeline.Extract{Span: timeline.Span{Trunk: 9, First: 1, Last: 1},
			Contents: contents[:1]}},
		"too deep": {timeline.Local, timeline.Extract{Span: timeline.Span{Trunk: 1, First: 3, Last: 4},
			Contents: []timeline.Hash{contents[2], other}}},
	} {
		if err := s.KeepExtracts(ctx, c.tenant, "words/1", []timeline.Extract{c.x}); err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	for depth := range int64(5) {
		extracts(t, s, timeline.Local, "words/1", depth, "")
	}
	for what, x := range map[string]timeline.Extract{
		"no messages":       {Span: timeline.Span{Trunk: 1, First: 1}},
		"too few contents":  {Span: timeline.Span{Trunk: 1, First: 1, Last: 2}, Contents: contents[:1]},
		"before the first":  {Span: timeline.Span{Trunk: 1}, Contents: contents[:1]},
		"too many contents": {Span: timeline.Span{Trunk: 1, First: 1, Last: 1}, Contents: contents},
	} {
		if err := s.KeepExtracts(ctx, timeline.Local, "words/1", []timeline.Extract{x}); !errors.Is(err,
			timeline.ErrInvalid) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// Deleted words are gone from the file, also those of a trunk of which a part stays.
func TestExtractsGoWithTheirMessages(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	head := add(t, s, "goes", "one", "two", "three", "four").Head
	if _, err := s.Apply(ctx, timeline.Local, timeline.Change{Conversation: "stays",
		At: timeline.Place{Trunk: head.Trunk, Depth: 2}, Messages: texts("another"), Now: time.Now()}); err != nil {
		t.Fatal(err)
	}
	keepExtract(t, s, "words/1", "kept words", 1, 2)
	keepExtract(t, s, "words/1", hidden, 3, 4)
	if bytesIn(t, filepath.Join(dir, "oriel.db"), hidden)+bytesIn(t, filepath.Join(dir, "oriel.db-wal"), hidden) == 0 {
		t.Fatal("the words are not found: the test finds nothing")
	}
	if _, err := s.Delete(ctx, timeline.Local, "goes", nil); err != nil {
		t.Fatal(err)
	}
	extracts(t, s, timeline.Local, "words/1", 2, "kept words")
	extracts(t, s, timeline.Local, "words/1", 3, "")
	if n := found(t, dir); n != 0 {
		t.Errorf("the words are there %d times", n)
	}
	verify(t, s)
	if _, err := s.Delete(ctx, timeline.Local, "stays", nil); err != nil {
		t.Fatal(err)
	}
	extracts(t, s, timeline.Local, "words/1", 2, "")
	verify(t, s)
}

// A program of version 2 that has the file open deletes messages without knowing of extracts.
func TestExtractsGoWithMessagesThatAnOlderProgramDeletes(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	add(t, s, "c", "one", "two", "three", "four", "five", "six")
	keepExtract(t, s, "words/1", "1-2", 1, 2)
	keepExtract(t, s, "words/1", "3-4", 3, 4)
	keepExtract(t, s, "words/1", "5-6", 5, 6)
	alter(t, filepath.Join(dir, "oriel.db"), "DELETE FROM message WHERE trunk = 1 AND depth > 3")
	for depth, want := range map[int64]string{1: "1-2", 2: "1-2", 3: "", 4: "", 5: "", 6: ""} {
		extracts(t, s, timeline.Local, "words/1", depth, want)
	}
}

func TestADamagedExtractIsPassedOver(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	add(t, s, "c", "one", "two")
	keepExtract(t, s, "words/1", "1-2", 1, 2)
	alter(t, filepath.Join(dir, "oriel.db"), "UPDATE extract SET data = CAST('1-X' AS BLOB)")
	extracts(t, s, timeline.Local, "words/1", 1, "")
	keepExtract(t, s, "words/1", "again", 1, 2)
	extracts(t, s, timeline.Local, "words/1", 1, "again")
}

func TestAReadOnlyHistoryKeepsNoExtracts(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	add(t, s, "c", "one")
	r, err := sqlite.Open(ctx, dir, sqlite.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	x := timeline.Extract{Span: timeline.Span{Trunk: 1, First: 1, Last: 1}, Contents: contentsOf(t, s, 1, 1)}
	if err := r.KeepExtracts(ctx, timeline.Local, "words/1", []timeline.Extract{x}); !errors.Is(err,
		timeline.ErrReadOnly) {
		t.Errorf("error %v", err)
	}
}
