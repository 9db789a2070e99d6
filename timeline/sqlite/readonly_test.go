package sqlite_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/timeline/sqlite"
)

// childRead prints a conversation through a store that only reads.
func childRead(dir string) error {
	s, err := sqlite.Open(ctx, dir, sqlite.Options{ReadOnly: true})
	if err != nil {
		return err
	}
	c, err := s.Conversation(ctx, timeline.Local, "c")
	if err == nil {
		err = s.Messages(ctx, timeline.Local, c.Head, 1, c.Head.Depth, false, func(e *timeline.Entry) error {
			_, err := os.Stdout.Write(e.Raw)
			return err
		})
	}
	if err == nil {
		_, err = s.Changed(ctx)
	}
	if err == nil {
		err = s.Verify(ctx, func(p timeline.Problem) { err = errors.New(p.What) })
	}
	return errors.Join(err, s.Close())
}

func TestWhoReadsMakesNothing(t *testing.T) {
	for _, o := range []sqlite.Options{{ReadOnly: true}, {MustExist: true}} {
		dir := filepath.Join(t.TempDir(), "data")
		if _, err := sqlite.Open(ctx, dir, o); !errors.Is(err, sqlite.ErrNone) ||
			!strings.Contains(err.Error(), "oriel import") {
			t.Errorf("error %v", err)
		}
		if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("the folder was made: %v", err)
		}
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, "oriel.db")
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := sqlite.Open(ctx, dir, o); !errors.Is(err, sqlite.ErrNone) ||
			!strings.Contains(err.Error(), "the file is empty") {
			t.Errorf("error %v", err)
		}
		if files, err := os.ReadDir(dir); err != nil || len(files) != 1 {
			t.Errorf("%v, %v", files, err)
		}
		if info, err := os.Stat(path); err != nil || info.Size() != 0 {
			t.Errorf("the empty file was written to: %v", err)
		}
	}
}

func TestAStoreForReadingOnlyReads(t *testing.T) {
	dir := t.TempDir()
	w := open(t, dir)
	add(t, w, "c", "one")
	s, err := sqlite.Open(ctx, dir, sqlite.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	before, err := s.Changed(ctx)
	if err != nil {
		t.Fatal(err)
	}
	add(t, w, "c", "two")
	if after, err := s.Changed(ctx); err != nil || after == before {
		t.Errorf("changed %d, %v", after, err)
	}
	if got := history(t, s, "c"); got != "one two" {
		t.Errorf("history %q", got)
	}
	verify(t, s)
	if _, err := s.Apply(ctx, timeline.Local, timeline.Change{Conversation: "c", Stay: true,
		Now: time.Now()}); !errors.Is(err, sqlite.ErrReadOnly) {
		t.Error(err)
	}
	if _, err := s.Delete(ctx, timeline.Local, "c", nil); !errors.Is(err, sqlite.ErrReadOnly) {
		t.Error(err)
	}
	if err := s.KeepDerived(ctx, timeline.Local, "v", nil); !errors.Is(err, timeline.ErrReadOnly) {
		t.Error(err)
	}
	if err := s.Backup(ctx, filepath.Join(t.TempDir(), "copy.db")); err != nil {
		t.Error(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if _, err := s.Changed(ctx); !errors.Is(err, timeline.ErrClosed) {
		t.Error(err)
	}
}

func TestAFolderOfItsOwnBecomesPrivate(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no modes on Windows")
	}
	mode := func(path string) fs.FileMode {
		t.Helper()
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		return info.Mode().Perm()
	}
	for _, c := range []struct {
		name string
		more string // another file
		want fs.FileMode
	}{
		{"empty", "", 0o700},
		{"with the backup of a history", "oriel.db.old", 0o700},
		{"with what was learnt", "learnt.json", 0o700},
		{"with the log of a run", "run-20261115-210000-123.log", 0o700},
		{"with something else", "notes.txt", 0o755},
		{"behind a link", "", 0o700},
		{"behind a link with something else", "notes.txt", 0o755},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "data")
			if err := os.Mkdir(dir, 0o755); err != nil {
				t.Fatal(err)
			}
			if strings.Contains(c.name, "link") {
				if err := os.Symlink(dir, dir+"-link"); err != nil {
					t.Fatal(err)
				}
				dir += "-link"
			}
			if c.more != "" {
				if err := os.WriteFile(filepath.Join(dir, c.more), nil, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			s := open(t, dir)
			add(t, s, "c", "hello")
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			if got := mode(dir); got != c.want {
				t.Errorf("the folder has mode %o, want %o", got, c.want)
			}
			// Files that somebody made readable are closed again.
			path := filepath.Join(dir, "oriel.db")
			if err := errors.Join(os.Chmod(path, 0o644), os.Chmod(dir, 0o777)); err != nil {
				t.Fatal(err)
			}
			s = open(t, dir)
			add(t, s, "c", "again")
			for _, suffix := range []string{"", "-wal", "-shm"} {
				if got := mode(path + suffix); got != 0o600 {
					t.Errorf("oriel.db%s has mode %o", suffix, got)
				}
			}
			if got := mode(dir); c.want == 0o700 && got != 0o700 {
				t.Errorf("a folder that was loosened has mode %o", got)
			}
		})
	}
}
