package sqlite_test

import (
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/timeline/sqlite"
)

func TestProbe(t *testing.T) {
	dir := t.TempDir()
	if _, err := sqlite.Probe(dir, time.Minute); !errors.Is(err, sqlite.ErrNone) {
		t.Errorf("no history: %v", err)
	}
	if files, err := os.ReadDir(dir); err != nil || len(files) > 0 {
		t.Errorf("it has made %v %v", files, err)
	}
	s := open(t, dir)
	add(t, s, "talk", "one")
	// Beside a store that is in use, which goes on.
	if format, err := sqlite.Probe(dir, time.Minute); err != nil || format != 3 {
		t.Errorf("format %d: %v", format, err)
	}
	add(t, s, "talk", "two")
	t.Chdir(filepath.Dir(dir))
	if _, err := sqlite.Probe(filepath.Base(dir), time.Minute); err != nil {
		t.Errorf("a relative path: %v", err)
	}

	// Somebody holds the lock.
	db, err := sql.Open("sqlite", filepath.Join(dir, "oriel.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	if _, err := db.Exec("BEGIN IMMEDIATE"); err != nil {
		t.Fatal(err)
	}
	if _, err := sqlite.Probe(dir, time.Millisecond); !errors.Is(err, sqlite.ErrBusy) {
		t.Errorf("locked: %v", err)
	}
	if _, err := db.Exec("ROLLBACK"); err != nil {
		t.Fatal(err)
	}
	if _, err := sqlite.Probe(dir, time.Minute); err != nil {
		t.Error(err)
	}

	other := t.TempDir()
	if err := os.WriteFile(filepath.Join(other, "oriel.db"), make([]byte, 8192), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := sqlite.Probe(other, time.Minute); !errors.Is(err, timeline.ErrDamaged) {
		t.Errorf("no database: %v", err)
	}
}
