//go:build !fuzz

package importer

import (
	"os"
	"path/filepath"
	"testing"
)

// SQLite itself refuses to make texts that are longer than a message may be.
func TestNothingLongIsComputedByADatabase(t *testing.T) {
	SetMaxLine(t, 1<<16)
	path := filepath.Join(t.TempDir(), "empty.db")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	db, err := openDatabase(t.Context(), path, 2)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, c := range db.conns {
		for _, text := range []string{`zeroblob(1000000)`, `printf('%.*c', 1000000, 'x')`, `hex(zeroblob(100000))`} {
			n := 0
			if err := c.QueryRowContext(t.Context(), `SELECT length(`+text+`)`).Scan(&n); err == nil {
				t.Errorf("%s has %d bytes", text, n)
			}
		}
	}
}
