//go:build unix && !fuzz

package importer_test

import (
	"syscall"
	"testing"

	"github.com/oriel-context/oriel/internal/importer"
)

// A pipe in the place of a log does not make an import wait.
func TestAPipeIsNoLog(t *testing.T) {
	h := newHistory(t)
	path := h.database("opencode.db", false, openCodeSQL(t))
	if err := syscall.Mkfifo(path+"-wal", 0o600); err != nil {
		t.Fatal(err)
	}
	r := h.importing(importer.Options{}, path)
	h.same([]int{1, 0}, []int{len(r.Conversations), r.Broken})
}
