//go:build !fuzz

package importer_test

import (
	"context"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/oriel-context/oriel/internal/importer"
)

// copying is a context that calls do each time an import asks whether it was cancelled
// while a copy of a database is there.
type copying struct {
	context.Context
	do func(copied string)
	mu *sync.Mutex // database/sql asks, too, in goroutines of its own
}

func newCopying(ctx context.Context, do func(copied string)) copying {
	return copying{ctx, do, new(sync.Mutex)}
}

func (c copying) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if all, _ := filepath.Glob(filepath.Join(os.TempDir(), "oriel-import-*", "copy.db")); len(all) > 0 {
		c.do(all[0])
	}
	return c.Context.Err()
}

// A database that opencode writes to is copied again until nobody wrote meanwhile. One that
// does not come to rest is reported, and all other files are imported.
func TestADatabaseThatIsWrittenToIsCopiedAgain(t *testing.T) {
	// A change of the file's counter alone, as within one tick of the clock.
	count := func(path string, n int) error {
		info, err := os.Stat(path)
		if err != nil {
			return err
		}
		f, err := os.OpenFile(path, os.O_RDWR, 0)
		if err != nil {
			return err
		}
		_, err = f.WriteAt(binary.BigEndian.AppendUint32(nil, uint32(1000+n)), 24)
		return errors.Join(err, f.Close(), os.Chtimes(path, time.Time{}, info.ModTime()))
	}
	touch := func(path string, n int) error { return os.Chtimes(path, time.Time{}, time.Unix(int64(n), 0)) }
	for name, test := range map[string]struct {
		write   func(string, int) error
		withLog bool
		copies  int // copies during which the database is written to
	}{
		"touched twice":        {touch, true, 2},
		"touched without end":  {touch, true, 1000},
		"no log, changed once": {count, false, 1},
		"no log, without end":  {count, false, 1000},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("TMPDIR", t.TempDir())
			synctest.Test(t, func(t *testing.T) {
				h := newHistory(t)
				path := h.database("opencode.db", test.withLog, openCodeSQL(t), "PRAGMA wal_checkpoint(TRUNCATE)",
					"CREATE TABLE more (id)")
				n, began, seen := 0, time.Now(), time.Time{}
				ctx := newCopying(t.Context(), func(string) {
					if now := time.Now(); now != seen { // a pause has passed
						n, seen = n+1, now
					}
					if n <= test.copies {
						if err := test.write(path, n); err != nil {
							t.Error(err)
						}
					}
				})
				r, err := importer.Import(ctx, h.store, []string{path, h.file("c.jsonl", lines(3))}, importer.Options{})
				if err != nil {
					t.Fatal(err)
				}
				pauses, want := time.Since(began)/(50*time.Millisecond), []string{"c", openCodeID}
				if test.copies > 10 {
					want = want[:1]
					if pauses != 9 || r.Broken != 1 ||
						!strings.Contains(r.Problems[0].String(),
							"opencode.db: cannot read the database further: it is written to all the time") {
						t.Errorf("%d pauses: %+v", pauses, r)
					}
				} else if int(pauses) != test.copies || r.Broken != 0 {
					t.Errorf("%d pauses: %+v", pauses, r)
				}
				h.same(want, h.names())
			})
			if left, _ := os.ReadDir(os.TempDir()); len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}

// opencode may move its log into the database and remove it between two copies.
func TestALogMayVanishDuringTheCopy(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	synctest.Test(t, func(t *testing.T) {
		h := newHistory(t)
		path := h.database("opencode.db", true, openCodeSQL(t))
		whole, err := os.ReadFile(h.database("whole.db", false, openCodeSQL(t)))
		if err != nil {
			t.Fatal(err)
		}
		r, err := importer.Import(newCopying(t.Context(), func(string) {
			if os.Remove(path+"-wal") == nil {
				if err := os.WriteFile(path, whole, 0o644); err != nil {
					t.Error(err)
				}
			}
		}), h.store, []string{path}, importer.Options{})
		if err != nil || r.Broken > 0 || len(h.names()) != 1 {
			t.Errorf("%+v, %v", r, err)
		}
	})
}

// An import that is cancelled stops copying within a block, and leaves nothing behind.
func TestACancelledCopyEnds(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	h := newHistory(t)
	path := h.database("opencode.db", true, openCodeSQL(t), "PRAGMA wal_checkpoint(TRUNCATE)", "CREATE TABLE more (id)")
	if err := os.Truncate(path, 64<<20); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	copied := int64(0)
	_, err := importer.Import(newCopying(ctx, func(path string) {
		if info, err := os.Stat(path); err == nil && info.Size() > 0 {
			copied = info.Size()
			cancel()
		}
	}), h.store, []string{path}, importer.Options{})
	if !errors.Is(err, context.Canceled) || errors.Is(err, importer.ErrInput) || copied != 4<<20 {
		t.Errorf("%d bytes copied: %v", copied, err)
	}
	if left, _ := os.ReadDir(os.TempDir()); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// The rows of a log are read from a copy in any folder, also one whose name has characters
// that mean something in the address of a database.
func TestACopyMayBeInAnyFolder(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("names of files cannot have a question mark")
	}
	temporary := filepath.Join(t.TempDir(), "a?b#c%20d")
	if err := os.Mkdir(temporary, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", temporary)
	h := newHistory(t)
	path := h.database("opencode.db", true, openCodeSQL(t), "PRAGMA wal_checkpoint(TRUNCATE)",
		`INSERT INTO message VALUES ('msg_new', '`+openCodeID+
			`', 1794860000000, 0, '{"role":"user","time":{"created":1794860000000}}')`,
		`INSERT INTO part VALUES ('prt_new', 'msg_new', '`+openCodeID+
			`', 0, 0, '{"type":"text","text":"And low water?"}')`)
	h.importing(importer.Options{}, path)
	said := h.words(openCodeID)
	h.same("user 2026-11-16T20:13:20 And low water?", said[len(said)-1])
}

// Copies that killed imports left behind are removed after a day, and nothing else is.
func TestOldCopiesAreRemoved(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("files have no owner")
	}
	t.Setenv("TMPDIR", t.TempDir())
	h := newHistory(t)
	other := h.file("other/copy.db", "another program's")
	for _, name := range []string{"oriel-import-1/copy.db", "oriel-import-1/copy.db-wal", "oriel-import-2/copy.db",
		"oriel-import-3/notes", "another/copy.db"} {
		path := filepath.Join(os.TempDir(), name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, nil, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(filepath.Dir(other), filepath.Join(os.TempDir(), "oriel-import-4")); err != nil {
		t.Fatal(err)
	}
	old := time.Now().Add(-25 * time.Hour)
	for _, dir := range []string{filepath.Dir(other), filepath.Join(os.TempDir(), "oriel-import-1"),
		filepath.Join(os.TempDir(), "oriel-import-3"), filepath.Join(os.TempDir(), "another")} {
		if err := os.Chtimes(dir, old, old); err != nil {
			t.Fatal(err)
		}
	}
	h.importing(importer.Options{}, h.database("opencode.db", true, openCodeSQL(t)))
	left, _ := filepath.Glob(filepath.Join(os.TempDir(), "*", "*"))
	for i := range left {
		left[i] = strings.TrimPrefix(left[i], os.TempDir()+"/")
	}
	h.same([]string{"another/copy.db", "oriel-import-2/copy.db", "oriel-import-3/notes", "oriel-import-4/copy.db"},
		left)
	if _, err := os.Stat(filepath.Join(os.TempDir(), "oriel-import-1")); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}
