package sqlite_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/oriel-context/oriel/timeline"
)

// bytesIn counts a text in a file. It must not be called for the database itself
// while a store has it open: closing the file would take SQLite's locks away.
func bytesIn(t *testing.T, path, needle string) int {
	t.Helper()
	raw, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return 0
	}
	if err != nil {
		t.Fatal(err)
	}
	return strings.Count(string(raw), needle)
}

func TestDeletedBytesAreGoneFromTheFiles(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	const secret = "xK9#qW2$-not-to-be-found" // short: stored as it is
	add(t, s, "stays", "hello", "world")
	add(t, s, "goes", secret+"1", prose(1, 5000), prose(2, 500))
	h := timeline.HashOf([]byte(prose(1, 5000)))
	if _, err := s.Apply(ctx, timeline.Local, timeline.Change{Conversation: "goes", Stay: true, Now: time.Now(),
		Project: secret + "2",
		Put: []timeline.Record{{Kind: "note", Key: "k", Data: []byte(secret + "3"),
			Contents: []timeline.Hash{h, timeline.HashOf([]byte(secret + "4"))}}},
		Contents: [][]byte{[]byte(secret + "4")}}); err != nil {
		t.Fatal(err)
	}
	for i := range 30 {
		add(t, s, "goes", fmt.Sprint(secret, " again ", i))
	}
	// What was made of contents, also what was kept before, and goes with other kinds.
	for _, kind := range []string{"vector/old", "vector/new"} {
		if err := s.KeepDerived(ctx, timeline.Local, kind, []timeline.Derived{
			{Content: h, Data: []byte(kind + secret + "5")},
			{Content: timeline.HashOf([]byte(secret + "1")), Data: []byte(strings.Repeat(kind+secret, 1000))},
		}); err != nil {
			t.Fatal(err)
		}
	}
	log := filepath.Join(dir, "oriel.db-wal")
	if bytesIn(t, log, secret) == 0 {
		t.Fatal("the text is not in the log: the test finds nothing")
	}
	d, err := s.Delete(ctx, timeline.Local, "goes", nil)
	if err != nil || d.Pending || d.Messages != 33 || d.Contents != 34 || d.Records != 1 {
		t.Fatalf("%+v, %v", d, err)
	}
	if n := bytesIn(t, log, secret); n != 0 {
		t.Errorf("the log still has the text %d times", n)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for _, needle := range []string{secret, string(h[:]), "vector/"} {
		if n := bytesIn(t, filepath.Join(dir, "oriel.db"), needle); n != 0 {
			t.Errorf("the file still has %q %d times", needle, n)
		}
	}
	s = open(t, dir)
	if got := history(t, s, "stays"); got != "hello world" {
		t.Errorf("history %q", got)
	}
	verify(t, s)
}

// A reader that keeps the log from being emptied only delays that.
func TestDeletedBytesGoWhenTheLastReaderHasGone(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	clock := setClock(s)
	const secret = "zz9-plural-z-alpha"
	head := add(t, s, "goes", secret).Head
	err := s.Messages(ctx, timeline.Local, head, 1, 1, false, func(*timeline.Entry) error {
		gone, err := s.Delete(ctx, timeline.Local, "goes", nil)
		if !gone.Pending {
			t.Error("the bytes are said to be gone")
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	clock.time = clock.time.Add(1100 * time.Millisecond)
	if st, err := s.Stats(ctx, timeline.Local); err != nil || !st.Pending {
		t.Errorf("%+v, %v", st, err)
	}
	add(t, s, "other", "hello")
	if n := bytesIn(t, filepath.Join(dir, "oriel.db-wal"), secret); n != 0 {
		t.Errorf("the log still has the text %d times", n)
	}
	if st, err := s.Stats(ctx, timeline.Local); err != nil || st.Pending {
		t.Errorf("%+v, %v", st, err)
	}
	verify(t, s)
}
