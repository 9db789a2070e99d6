package sqlite

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/oriel-context/oriel/timeline"
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

// startPatient starts n patient changes that are due in an hour, and returns when all of
// them wait, with the channel of their errors.
func startPatient(t *testing.T, w *writer, n int) <-chan error {
	w.mu.Lock()
	w.due = time.Now().Add(time.Hour)
	w.mu.Unlock()
	done := make(chan error, n)
	for range n {
		go func() { done <- w.perform(&task{ctx: t.Context(), patient: true, do: func() error { return nil }}) }()
	}
	for queued := 0; queued < n; runtime.Gosched() {
		w.mu.Lock()
		queued = len(w.queue)
		w.mu.Unlock()
	}
	return done
}

func TestPatientChangesAreCommittedWithTheNextOne(t *testing.T) {
	s, err := Open(context.Background(), t.TempDir(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	commits := 0
	s.write.fail = func(point string) {
		if point == "after commit" {
			commits++
		}
	}
	done := startPatient(t, &s.write, 5)
	if _, err := s.Changed(t.Context()); err != nil || len(done) > 0 {
		t.Fatalf("a look for changes made %d of them: %v", len(done), err)
	}
	if err := s.write.perform(&task{ctx: t.Context(), do: func() error { return nil }}); err != nil {
		t.Fatal(err)
	}
	for range 5 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	if commits != 1 {
		t.Errorf("%d transactions for 6 changes", commits)
	}
}

func TestPatientChangesAreMadeBeforeTheStoreCloses(t *testing.T) {
	s, err := Open(context.Background(), t.TempDir(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	done := startPatient(t, &s.write, 3)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

func TestPatientChangesWaitForNobodyForLong(t *testing.T) {
	s, err := Open(context.Background(), t.TempDir(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for range 3 { // each is due after the one before it
		if err := s.write.perform(&task{ctx: t.Context(), patient: true, do: func() error { return nil }}); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	s.write.mu.Lock()
	s.write.due = time.Now().Add(time.Hour)
	s.write.mu.Unlock()
	time.AfterFunc(time.Millisecond, cancel)
	if err := s.write.perform(&task{ctx: ctx, patient: true, do: func() error { return nil }}); !errors.Is(err,
		context.Canceled) {
		t.Errorf("a change whose caller has gone: %v", err)
	}
}

// A change or other work that panics fails, and takes neither the connection nor the
// changes of others with it.
func TestAPanicLeavesTheWriterFree(t *testing.T) {
	s, err := Open(context.Background(), t.TempDir(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	w := &s.write
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	perform := func(k *task) (err error) {
		defer func() {
			if p := recover(); p != nil {
				err = fmt.Errorf("a panic that was not caught: %v", p)
			}
		}()
		k.ctx = ctx
		return w.perform(k)
	}
	for _, k := range []*task{{do: func() error { panic("oh") }}, {alone: func() error { panic("oh") }}} {
		if err := perform(k); !errors.Is(err, timeline.ErrInvalid) {
			t.Fatal(err)
		}
	}
	bad, made := make(chan error, 1), 0
	if err := perform(&task{do: func() error {
		if made++; made > 1 {
			return nil
		}
		go func() { bad <- perform(&task{do: func() error { panic("oh") }}) }()
		for queued := false; !queued; runtime.Gosched() {
			w.mu.Lock()
			queued = len(w.queue) > 0
			w.mu.Unlock()
		}
		return nil
	}}); err != nil {
		t.Error("the change of another:", err)
	}
	if err := <-bad; !errors.Is(err, timeline.ErrInvalid) {
		t.Error(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}
