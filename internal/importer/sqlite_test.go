//go:build !fuzz

// SQLite takes minutes to build for fuzzing, which needs it for nothing.

package importer_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/oriel-context/oriel/internal/importer"
	"github.com/oriel-context/oriel/timeline/sqlite"
)

// Many at once, as it happens in life: every id that was acknowledged reads what was
// added.
func TestAcknowledgedIdsReadWhatWasAdded(t *testing.T) {
	h := newHistory(t)
	store, err := sqlite.Open(t.Context(), t.TempDir(), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	h.store = store
	path := h.file("c.jsonl", lines(4000))
	done := make(chan struct{})
	told := map[int64]string{}
	var both sync.WaitGroup
	both.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-done:
				if i > 10 {
					return
				}
			default:
			}
			text := fmt.Sprint("added ", i)
			told[h.add(text)] = text
		}
	})
	h.importing(importer.Options{}, path)
	close(done)
	both.Wait()
	entries := h.entries("c")
	for id, text := range told {
		if id > int64(len(entries)) || string(entries[id-1].Raw) != text {
			t.Fatalf("%d of %d was %q when it was acknowledged", id, len(entries), text)
		}
	}
}
