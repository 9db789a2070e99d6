package sqlite

import (
	"context"
	"errors"
	"runtime"
	"testing"
)

// A change that fails in the middle of a shared transaction takes no other with it, and
// is tried once more on its own: what failed may have been the others' doing.
func TestAChangeThatFailedInAGroupIsTriedAlone(t *testing.T) {
	s, err := Open(context.Background(), t.TempDir(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	w := &s.write
	first, second := 0, 0
	done := make(chan error, 1)
	err = w.perform(&task{ctx: t.Context(), do: func() error {
		if first++; first > 1 {
			return nil
		}
		go func() {
			done <- w.perform(&task{ctx: t.Context(), do: func() error {
				if second++; second == 1 {
					return dirtyError{errors.New("in the middle of writing")}
				}
				return nil
			}})
		}()
		for queued := false; !queued; runtime.Gosched() {
			w.mu.Lock()
			queued = len(w.queue) > 0
			w.mu.Unlock()
		}
		return nil
	}})
	if err != nil || first != 2 {
		t.Errorf("the first change was made %d times: %v", first, err)
	}
	if err := <-done; err != nil || second != 2 {
		t.Errorf("the second change was made %d times: %v", second, err)
	}
}
