//go:build unix

package importer_test

import (
	"errors"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/oriel-context/oriel/internal/importer"
	"github.com/oriel-context/oriel/timeline/memory"
)

// A named pipe is refused and not waited for; in a folder it is passed over.
func TestAPipeIsNotImported(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe.jsonl")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, given := range []string{path, filepath.Dir(path)} {
		if _, err := importer.Import(t.Context(), memory.New(), []string{given}, importer.Options{}); !errors.Is(err,
			importer.ErrInput) {
			t.Errorf("%s: %v", given, err)
		}
	}
}
