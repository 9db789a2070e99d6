package sqlite_test

import (
	"bytes"
	"database/sql"
	"errors"
	"fmt"
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

// alter runs SQL on a database beside any store.
func alter(t *testing.T, path string, statements ...string) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, q := range statements {
		if _, err := db.Exec(q); err != nil {
			t.Fatalf("%s: %v", q, err)
		}
	}
}

// sample is the path of a closed database with some history.
func sample(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	s := open(t, dir)
	for i := range 40 {
		add(t, s, "c", fmt.Sprint("message ", i), prose(i, 3000))
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, "oriel.db")
}

// refuses opens a file that must be refused and left as it is.
func refuses(t *testing.T, path string, want error, words ...string) {
	t.Helper()
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	s, err := sqlite.Open(ctx, filepath.Dir(path), sqlite.Options{})
	if err == nil {
		s.Close()
	}
	if !errors.Is(err, want) {
		t.Fatalf("error %v, want %v", err, want)
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("the error does not say %q: %v", w, err)
		}
	}
	if after, err := os.ReadFile(path); err != nil || !bytes.Equal(before, after) {
		t.Errorf("the file was written to (%v)", err)
	}
	if info, err := os.Stat(path + "-wal"); err == nil && info.Size() > 0 {
		t.Error("a log was written")
	}
}

func TestANewerVersionIsRefusedUntouched(t *testing.T) {
	path := sample(t)
	alter(t, path, "INSERT INTO goose_db_version (version_id, is_applied) VALUES (4, 1)")
	refuses(t, path, timeline.ErrNewer, "use the version of Oriel")
	// Also where what is newer is still in the log, and the journal is another.
	alter(t, path, "PRAGMA journal_mode=DELETE")
	refuses(t, path, timeline.ErrNewer)
	if head, err := os.ReadFile(path); err != nil || head[18] != 1 {
		t.Errorf("the file was made a WAL one (%v)", err)
	}
}

func TestAHistoryOfVersion1IsUpgraded(t *testing.T) {
	path := sample(t)
	alter(t, path, "DROP TRIGGER message_deleted", "DROP TABLE extract", "DROP TABLE token",
		"DELETE FROM goose_db_version WHERE version_id > 1")
	s, err := sqlite.Open(t.Context(), filepath.Dir(path), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	token := timeline.AccessToken{Hash: timeline.HashToken("secret"), Tenant: "a", Role: timeline.RoleCall,
		Created: time.Unix(1, 0).UTC()}
	if err := s.AddToken(t.Context(), token); err != nil {
		t.Error(err)
	}
	if got, err := s.Token(t.Context(), token.Hash); err != nil || got != token {
		t.Errorf("token %v, %v", got, err)
	}
	keepExtract(t, s, "words/1", "of one", 1, 1)
	if err := s.Verify(t.Context(), func(p timeline.Problem) { t.Error(p) }); err != nil {
		t.Error(err)
	}
}

func TestForeignFilesAreRefusedUntouched(t *testing.T) {
	path := filepath.Join(t.TempDir(), "oriel.db")
	alter(t, path, "CREATE TABLE t (x)", "INSERT INTO t VALUES (1)")
	refuses(t, path, timeline.ErrDamaged, "choose another data folder")

	path = filepath.Join(t.TempDir(), "oriel.db")
	if err := os.WriteFile(path, []byte(strings.Repeat("This is no database. ", 500)), 0o600); err != nil {
		t.Fatal(err)
	}
	refuses(t, path, timeline.ErrDamaged)
	if err := os.WriteFile(path, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	refuses(t, path, timeline.ErrDamaged)
}

func TestATruncatedFileIsRefusedUntouched(t *testing.T) {
	path := sample(t)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, size := range []int{10, 99, 100, 512, 1000, 4095, 4096, 5000, 8192, len(whole) / 2, len(whole) - 4096,
		len(whole) - 1} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "oriel.db")
			if err := os.WriteFile(path, whole[:size], 0o600); err != nil {
				t.Fatal(err)
			}
			refuses(t, path, timeline.ErrDamaged)
		})
	}
}

func TestALogWithoutItsFileIsRefused(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"oriel.db", "oriel.db-wal"} {
		if err := os.WriteFile(filepath.Join(dir, name), bytes.Repeat([]byte(name[8:]), 100), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := sqlite.Open(ctx, dir, sqlite.Options{}); !errors.Is(err, timeline.ErrDamaged) {
		t.Error(err)
	}
	if info, err := os.Stat(filepath.Join(dir, "oriel.db-wal")); err != nil || info.Size() != 400 {
		t.Errorf("the log was touched: %v", err)
	}
}

func TestAnEmptyFileBecomesAHistory(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "oriel.db"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s := open(t, dir)
	add(t, s, "c", "hello")
	verify(t, s)
}

func TestOnlyTheOwnerCanReadWhatIsMade(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no modes on Windows")
	}
	dir := filepath.Join(t.TempDir(), "a", "data")
	s := open(t, dir)
	add(t, s, "c", "hello")
	if err := s.Backup(ctx, filepath.Join(dir, "backup.db")); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]fs.FileMode{"": 0o700, "oriel.db": 0o600, "oriel.db-wal": 0o600,
		"oriel.db-shm": 0o600, "backup.db": 0o600} {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v", name, info.Mode(), err)
		}
	}
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(files) != 4 {
		t.Errorf("files %v, %v", files, err)
	}
}

func TestManyCanMakeTheSameHistory(t *testing.T) {
	for range 3 {
		dir := t.TempDir()
		done := make(chan error)
		for i := range 8 {
			go func() {
				if i%2 == 0 {
					out, err := command("open", dir).CombinedOutput()
					if err != nil {
						err = fmt.Errorf("%w: %s", err, out)
					}
					done <- err
					return
				}
				s, err := sqlite.Open(ctx, dir, sqlite.Options{})
				if err == nil {
					err = s.Close()
				}
				done <- err
			}()
		}
		for range 8 {
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
		verify(t, open(t, dir))
	}
}
