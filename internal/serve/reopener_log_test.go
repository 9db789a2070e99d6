//go:build unix

package serve

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/timeline/sqlite"
)

const toldLog = "the log of the history, oriel.db-wal or oriel.db-shm, was deleted or replaced while it was in use"

// left is a copy of the folder: what kill -9 would leave now. Another process makes it, as
// a process that closes one of SQLite's files loses its locks on that file.
func left(t *testing.T, dir string) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), "left")
	if out, err := exec.Command("cp", "-R", dir, to).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return to
}

func removeLog(t *testing.T, dir string, suffixes []string) {
	t.Helper()
	for _, suffix := range suffixes {
		if err := os.Remove(filepath.Join(dir, "oriel.db"+suffix)); err != nil {
			t.Fatal(err)
		}
	}
}

var logSuffixes = [][]string{{"-wal"}, {"-shm"}, {"-wal", "-shm"}}

// watched opens a history that looks after its files with a call, and when ticks says so.
func watched(t *testing.T, dir string, log *syncedBuffer, ticks <-chan time.Time) *reopener {
	t.Helper()
	r := newReopener(t.Context(), filepath.Join(dir, "oriel.db"), func(ctx context.Context) (timeline.Store, error) {
		return sqlite.Open(ctx, dir, sqlite.Options{})
	}, slog.New(slog.NewTextHandler(log, nil)), ticks)
	t.Cleanup(func() { r.Close() })
	return r
}

func say(ctx context.Context, s timeline.Store, name string) error {
	_, err := s.Apply(ctx, timeline.Local, timeline.Change{Conversation: name, Now: time.Now(),
		Messages: []timeline.Message{
			{Raw: []byte(name), Identity: timeline.HashOf([]byte(name)), Role: "user", Format: "text",
				Time: time.Now()},
		}})
	return err
}

func conversationsOf(t *testing.T, s timeline.Store) string {
	t.Helper()
	all, err := s.Conversations(t.Context(), timeline.Local)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, c := range all {
		names = append(names, c.Name)
	}
	return strings.Join(names, " ")
}

// conversationsLeft are those in a copy of the folder.
func conversationsLeft(t *testing.T, dir string) string {
	t.Helper()
	s, err := sqlite.Open(t.Context(), left(t, dir), sqlite.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	return conversationsOf(t, s)
}

// A call that is acknowledged after the log was deleted is in the file by then, with all
// before it. Calls at the same time are not lost by that.
func TestACallAfterItsLogWasDeletedIsSaved(t *testing.T) {
	var log syncedBuffer
	dir := t.TempDir()
	r := watched(t, dir, &log, nil)
	if err := say(t.Context(), r, "one"); err != nil {
		t.Fatal(err)
	}
	removeLog(t, dir, []string{"-wal"})
	if err := r.health(t.Context()); err == nil || !strings.Contains(err.Error(), "log of the history") {
		t.Errorf("health %v", err)
	}
	if err := say(t.Context(), r, "two"); err != nil {
		t.Error(err)
	}
	if got := conversationsLeft(t, dir); got != "one two" {
		t.Errorf("a kill leaves %s", got)
	}
	if err := r.health(t.Context()); err != nil {
		t.Errorf("no new log was begun: %v", err)
	}
	for n, suffixes := range logSuffixes {
		removeLog(t, dir, suffixes)
		var group sync.WaitGroup
		for i := range 16 {
			group.Go(func() {
				name := fmt.Sprintf("%d-%d", n, i)
				if err := say(t.Context(), r, name); err != nil {
					t.Error(err)
				}
				if _, err := r.Conversation(t.Context(), timeline.Local, name); err != nil {
					t.Error(err)
				}
			})
		}
		group.Wait()
	}
	if got, want := len(strings.Fields(conversationsLeft(t, dir))), 2+3*16; got != want {
		t.Errorf("a kill leaves %d conversations, want %d", got, want)
	}
	if n := strings.Count(log.String(), toldLog); n != 4 {
		t.Errorf("reported %d times, not once a deletion: %s", n, &log)
	}
}

// While another program has the history open with the deleted log, the server has saved
// what it had, reports that calls wait on disk, and records again when the program ends.
func TestADeletedLogThatOthersUseIsReported(t *testing.T) {
	var log syncedBuffer
	dir := t.TempDir()
	ticks := make(chan time.Time)
	var used atomic.Bool
	r := newReopener(t.Context(), filepath.Join(dir, "oriel.db"), func(ctx context.Context) (timeline.Store, error) {
		if used.Load() { // nothing is worth waiting for
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(ctx, time.Millisecond)
			defer cancel()
		}
		return sqlite.Open(ctx, dir, sqlite.Options{})
	}, slog.New(slog.NewTextHandler(&log, nil)), ticks)
	defer r.Close()
	if err := say(t.Context(), r, "one"); err != nil {
		t.Fatal(err)
	}
	other, err := sqlite.Open(t.Context(), dir, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	removeLog(t, dir, []string{"-wal"})
	used.Store(true)
	if err := say(t.Context(), r, "two"); err != nil {
		t.Errorf("a change that was saved failed: %v", err)
	}
	if got := conversationsLeft(t, dir); got != "one two" {
		t.Errorf("a kill leaves %s", got)
	}
	if err := r.health(t.Context()); !errors.Is(err, sqlite.ErrBusy) {
		t.Errorf("health %v", err)
	}
	if err := say(t.Context(), r, "three"); err == nil {
		t.Error("a change was acknowledged that nobody has")
	}
	if !strings.Contains(log.String(), "calls wait on disk until it can") {
		t.Errorf("not reported: %s", &log)
	}
	if err := other.CloseSaved(t.Context()); err != nil {
		t.Fatal(err)
	}
	used.Store(false)
	ticks <- time.Time{}
	ticks <- time.Time{} // the first was looked at
	if err := say(t.Context(), r, "four"); err != nil {
		t.Error(err)
	}
	if got := conversationsLeft(t, dir); got != "four one two" {
		t.Errorf("a kill leaves %s", got)
	}
}

// A folder in whose place somebody puts a file is gone.
func TestAFolderReplacedByAFileIsGone(t *testing.T) {
	var log syncedBuffer
	dir := filepath.Join(t.TempDir(), "data")
	ticks := make(chan time.Time)
	r := watched(t, dir, &log, ticks)
	if err := say(t.Context(), r, "one"); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Rename(dir, dir+".away"), os.WriteFile(dir, []byte("x"), 0o600)); err != nil {
		t.Fatal(err)
	}
	if err := r.health(t.Context()); err == nil {
		t.Error("health is good")
	}
	if err := say(t.Context(), r, "two"); err == nil {
		t.Error("a call went into a file that is gone")
	}
	if !strings.Contains(log.String(), "the history cannot be opened again") {
		t.Errorf("not reported: %s", &log)
	}
	if err := os.Remove(dir); err != nil {
		t.Fatal(err)
	}
	ticks <- time.Time{}
	ticks <- time.Time{}
	if err := say(t.Context(), r, "three"); err != nil {
		t.Error(err)
	}
	if got := conversationsOf(t, r); got != "three" {
		t.Error(got)
	}
	if got := conversationsLeft(t, dir+".away"); got != "one two" && got != "one" {
		t.Errorf("what was moved away has %s", got)
	}
}

// syncedBuffer is a buffer that goroutines write to.
type syncedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *syncedBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *syncedBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}
