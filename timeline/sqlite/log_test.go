//go:build unix

package sqlite_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/timeline/sqlite"
)

// logs are the files of a log that somebody may delete.
var logs = [][]string{{"-wal"}, {"-shm"}, {"-wal", "-shm"}}

func removeLog(t *testing.T, dir string, suffixes []string) {
	t.Helper()
	for _, suffix := range suffixes {
		if err := os.Remove(filepath.Join(dir, "oriel.db"+suffix)); err != nil {
			t.Fatal(err)
		}
	}
}

// What a log had that was deleted while it was open is in the file once it is saved, with
// what was written since.
func TestADeletedLogCanBeSaved(t *testing.T) {
	for _, suffixes := range logs {
		t.Run(strings.Join(suffixes, ""), func(t *testing.T) {
			dir := t.TempDir()
			s, other := open(t, dir), open(t, dir)
			add(t, s, "c", "one")
			history(t, other, "c") // it has a connection to read with
			if s.LogGone() || s.FileGone() {
				t.Error("a file is gone from the beginning")
			}
			removeLog(t, dir, suffixes)
			if !s.LogGone() || s.FileGone() {
				t.Errorf("log gone %v, file gone %v", s.LogGone(), s.FileGone())
			}
			add(t, other, "c", "two")
			if err := s.CloseSaved(ctx); err != nil {
				t.Fatal(err)
			}
			if _, err := s.Conversation(ctx, timeline.Local, "c"); !errors.Is(err, timeline.ErrClosed) {
				t.Errorf("it is not closed: %v", err)
			}
			// The file alone has all, though the other store is still open.
			killed := t.TempDir()
			if err := command("copy", filepath.Join(dir, "oriel.db"),
				filepath.Join(killed, "oriel.db")).Run(); err != nil {
				t.Fatal(err)
			}
			if got := history(t, open(t, killed), "c"); got != "one two" {
				t.Errorf("a kill leaves %q", got)
			}
			add(t, other, "c", "three")
			if err := errors.Join(other.CloseSaved(ctx), other.CloseSaved(ctx), other.Close()); err != nil {
				t.Error(err)
			}
			s = open(t, dir)
			if got := history(t, s, "c"); got != "one two three" {
				t.Errorf("history %q", got)
			}
			verify(t, s)
		})
	}
}

// No process begins a log while another one has the history open with a log that was
// deleted: pages of two logs would be mixed.
func TestNoSecondLogIsBegun(t *testing.T) {
	for _, suffixes := range logs {
		t.Run(strings.Join(suffixes, ""), func(t *testing.T) {
			dir := t.TempDir()
			s := open(t, dir)
			add(t, s, "c", "one")
			end := hold(t, dir, "")
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			removeLog(t, dir, suffixes)
			soon, cancel := context.WithTimeout(ctx, 20*time.Millisecond)
			defer cancel()
			for _, o := range []sqlite.Options{{}, {MustExist: true}, {ReadOnly: true}} {
				if _, err := sqlite.Open(soon, dir, o); !errors.Is(err, sqlite.ErrBusy) ||
					!strings.Contains(err.Error(), "its log was deleted") {
					t.Errorf("%+v: %v", o, err)
				}
			}
			if _, err := sqlite.Probe(dir, 20*time.Millisecond); !errors.Is(err, sqlite.ErrBusy) {
				t.Error(err)
			}
			for _, suffix := range suffixes {
				if _, err := os.Stat(filepath.Join(dir, "oriel.db"+suffix)); !errors.Is(err, fs.ErrNotExist) {
					t.Errorf("oriel.db%s was made: %v", suffix, err)
				}
			}
			end()
			s = open(t, dir)
			if got := history(t, s, "c"); got != "one" {
				t.Errorf("history %q", got)
			}
			verify(t, s)
		})
	}
}

// A history that a link leads to has its log beside it, and several processes share that.
func TestALinkedHistoryIsShared(t *testing.T) {
	dir, linked := t.TempDir(), t.TempDir()
	s := open(t, dir)
	add(t, s, "c", "one")
	if err := os.Symlink(filepath.Join(dir, "oriel.db"), filepath.Join(linked, "oriel.db")); err != nil {
		t.Fatal(err)
	}
	hold(t, dir, "")
	other := open(t, linked)
	if got := history(t, other, "c"); got != "one" || other.LogGone() {
		t.Errorf("history %q, log gone %v", got, other.LogGone())
	}
	removeLog(t, dir, []string{"-wal"})
	if !other.LogGone() || other.FileGone() {
		t.Errorf("log gone %v, file gone %v", other.LogGone(), other.FileGone())
	}
}

// A store whose log was deleted reads with the connections that it has, and makes none.
func TestReadersBeginNoSecondLog(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	head := add(t, s, "c", "one").Head
	if got := history(t, s, "c"); got != "one" {
		t.Fatalf("history %q", got)
	}
	setClock(s)
	removeLog(t, dir, []string{"-wal"})
	err := s.Messages(ctx, timeline.Local, head, 1, 1, false, func(*timeline.Entry) error {
		if _, err := s.Conversation(ctx, timeline.Local, "c"); !errors.Is(err, sqlite.ErrLogGone) {
			t.Errorf("a second reader: %v", err)
		}
		// Who reads an older state keeps the log from being saved, and the store open.
		if _, err := s.Apply(ctx, timeline.Local, timeline.Change{Conversation: "c", At: head, Messages: texts("two"),
			Now: time.Now()}); err != nil {
			t.Error(err)
		}
		if err := s.CloseSaved(ctx); !errors.Is(err, sqlite.ErrBusy) {
			t.Errorf("saved while somebody reads: %v", err)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "oriel.db-wal")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a second log was made: %v", err)
	}
	if err := s.CloseSaved(ctx); err != nil {
		t.Error(err)
	}
	if got := history(t, open(t, dir), "c"); got != "one two" {
		t.Errorf("history %q", got)
	}
}

// A folder that was moved away, or replaced by a file, is gone.
func TestAMovedFileIsGone(t *testing.T) {
	parent := t.TempDir()
	dir, away := filepath.Join(parent, "data"), filepath.Join(parent, "away")
	s := open(t, dir)
	add(t, s, "c", "one")
	if err := os.Rename(dir, away); err != nil {
		t.Fatal(err)
	}
	if !s.FileGone() {
		t.Error("a folder that was moved away is not gone")
	}
	if err := os.WriteFile(dir, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if !s.FileGone() {
		t.Error("a folder that was replaced by a file is not gone")
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if got := history(t, open(t, away), "c"); got != "one" {
		t.Errorf("what was moved away has %q", got)
	}
}
