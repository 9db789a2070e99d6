package main

import (
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A search finds the same if what was made for it beforehand cannot be read or written.
func TestRecallNeedsNoExtracts(t *testing.T) {
	dir := t.TempDir()
	var lines strings.Builder
	for i := range 8 {
		fmt.Fprintf(&lines, "{\"conversation\":\"c\",\"text\":\"The hive number %d stands in the orchard.\"}\n", i)
	}
	db := importTalk(t, dir, lines.String())
	if _, err := db.Exec("DROP TABLE extract"); err != nil {
		t.Fatal(err)
	}
	if code, out, errOut := command(t, "recall", "--data", dir, "--mode", "keyword", "hive number 3"); code != 0 || !strings.Contains(out, "number 3 stands") {
		t.Errorf("exit %d: %s%s", code, out, errOut)
	}
}

// The first search of a history without extracts stores all of them, however little it has
// to do itself.
func TestRecallStoresTheWordsThatItReads(t *testing.T) {
	dir := t.TempDir()
	const talks = 320
	var lines strings.Builder
	for i := range talks * 4 {
		fmt.Fprintf(&lines, "{\"conversation\":\"c%d\",\"text\":\"The hive number %d stands in the orchard.\"}\n", i/4, i)
	}
	db := importTalk(t, dir, lines.String())
	n := 0
	for range 3 { // on a busy machine one may not be in time
		if _, err := db.Exec("DELETE FROM extract"); err != nil {
			t.Fatal(err)
		}
		if code, _, errOut := command(t, "recall", "--data", dir, "--all", "--mode", "keyword", "nothing of this"); code != 0 {
			t.Fatal(errOut)
		}
		if err := db.QueryRow("SELECT count(*) FROM extract").Scan(&n); err != nil {
			t.Fatal(err)
		}
		if n == talks {
			return
		}
	}
	t.Errorf("%d extracts are stored", n)
}

// importTalk imports lines into a new history and opens its file.
func importTalk(t *testing.T, dir, lines string) *sql.DB {
	t.Helper()
	file := filepath.Join(t.TempDir(), "talk.jsonl")
	if err := os.WriteFile(file, []byte(lines), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, _, errOut := command(t, "import", "--data", dir, file); code != 0 {
		t.Fatal(errOut)
	}
	db, err := sql.Open("sqlite", filepath.Join(dir, "oriel.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}
