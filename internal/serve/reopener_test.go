//go:build unix

package serve

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/timeline/sqlite"
)

// A file that cannot be opened again is told, and tried again.
func TestADeletedHistoryThatCannotBeMadeAgainIsRefused(t *testing.T) {
	var log syncedBuffer
	dir := t.TempDir()
	var full atomic.Bool
	ticks := make(chan time.Time)
	r := newReopener(t.Context(), filepath.Join(dir, "oriel.db"), func(ctx context.Context) (timeline.Store, error) {
		if full.Load() {
			return nil, fmt.Errorf("make it: %w", syscall.ENOSPC)
		}
		return sqlite.Open(ctx, dir, sqlite.Options{})
	}, slog.New(slog.NewTextHandler(&log, nil)), ticks)
	defer r.Close()
	say := func(text string) error {
		_, err := r.Apply(t.Context(), timeline.Local, timeline.Change{Conversation: text, Now: time.Now(),
			Messages: []timeline.Message{
				{Raw: []byte(text), Identity: timeline.HashOf([]byte(text)), Role: "user", Format: "text",
					Time: time.Now()},
			}})
		return err
	}
	if err := say("one"); err != nil {
		t.Fatal(err)
	}
	before, err := r.Changed(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{"oriel.db", "oriel.db-wal", "oriel.db-shm"} {
		if err := os.Remove(filepath.Join(dir, file)); err != nil {
			t.Fatal(err)
		}
	}
	full.Store(true)
	if err := say("two"); !errors.Is(err, syscall.ENOSPC) || !errors.Is(r.health(t.Context()), syscall.ENOSPC) {
		t.Errorf("%v, health %v", err, r.health(t.Context()))
	}
	ticks <- time.Time{}
	ticks <- time.Time{} // the first was looked at
	full.Store(false)
	ticks <- time.Time{}
	ticks <- time.Time{}
	if err := say("three"); err != nil {
		t.Error(err)
	}
	if all, err := r.Conversations(t.Context(), timeline.Local); err != nil || len(all) != 1 || all[0].Name != "three" {
		t.Errorf("%v %v", all, err)
	}
	if after, err := r.Changed(t.Context()); err != nil || after == before {
		t.Errorf("another file, and the number is %d as before: %v", after, err)
	}
	for _, once := range []string{"deleted or replaced while",
		"cannot be opened again: calls wait on disk until it can", "can be opened now"} {
		if strings.Count(log.String(), once) != 1 {
			t.Errorf("%q is not told once: %s", once, &log)
		}
	}
}

// lookedAt are files that count how often they are looked at.
type lookedAt struct {
	written time.Time
	gone    bool
	looks   int
}

func (w *lookedAt) FileGone() bool                   { w.looks++; return w.gone }
func (w *lookedAt) LogGone() bool                    { return false }
func (w *lookedAt) CloseSaved(context.Context) error { return nil }
func (w *lookedAt) Written() time.Time               { return w.written }

// Changes that were written together share one look at the files, which follows them.
func TestTheFilesAreLookedAtOnceAfterAChange(t *testing.T) {
	w := &lookedAt{written: time.Now().Add(-time.Minute)}
	o := &opened{file: w}
	for range 8 {
		if o.stateAfterWrite() != whole {
			t.Error("it is not whole")
		}
	}
	if w.looks != 1 {
		t.Errorf("%d looks after changes that were written together", w.looks)
	}
	w.gone = true
	w.written = o.looked // the next change, by a clock that has not moved
	for range 2 {
		if o.stateAfterWrite() != fileGone {
			t.Error("a change was written to a deleted file, and nobody noticed")
		}
	}
}
