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
	file := filepath.Join(dir, "talk.jsonl")
	var lines strings.Builder
	for i := range 8 {
		fmt.Fprintf(&lines, "{\"conversation\":\"c\",\"text\":\"The hive number %d stands in the orchard.\"}\n", i)
	}
	if err := os.WriteFile(file, []byte(lines.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, _, errOut := command(t, "import", "--data", dir, file); code != 0 {
		t.Fatal(errOut)
	}
	db, err := sql.Open("sqlite", filepath.Join(dir, "oriel.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec("DROP TABLE extract"); err != nil {
		t.Fatal(err)
	}
	if code, out, errOut := command(t, "recall", "--data", dir, "--mode", "keyword", "hive number 3"); code != 0 || !strings.Contains(out, "number 3 stands") {
		t.Errorf("exit %d: %s%s", code, out, errOut)
	}
}
