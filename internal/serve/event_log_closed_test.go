package serve

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// A queue that was closed before it was empty may write once more. That makes no file and
// renames none.
func TestAClosedFileOfEventsIsLeftAlone(t *testing.T) {
	dir := t.TempDir()
	f := &rotatingFile{path: filepath.Join(dir, "events"), most: 1}
	if err := f.open(); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write([]byte("line\n")); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the file is full, then it is gone
		if _, err := f.Write([]byte("late\n")); !errors.Is(err, fs.ErrClosed) {
			t.Error(err)
		}
		if err := os.Remove(f.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
		f.size = 0
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
		t.Error(entries, err)
	}
}
