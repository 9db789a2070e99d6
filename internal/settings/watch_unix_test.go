//go:build unix

package settings

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// A pipe, as of a shell's <(…), is read once: that it is empty then is no change.
func TestPipesAreReadOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Skip(err)
	}
	wrote := make(chan error, 1)
	go func() { wrote <- os.WriteFile(path, []byte("token = 'secret'"), 0o600) }()
	w := watch(t, Sources{File: path})
	if err := <-wrote; err != nil {
		t.Fatal(err)
	}
	w.quiet(4)
}
