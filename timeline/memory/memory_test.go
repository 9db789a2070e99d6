package memory_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/oriel-context/oriel/internal/test/storetest"
	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/timeline/memory"
)

func TestStore(t *testing.T) {
	storetest.Run(t, func(*testing.T) timeline.Store { return memory.New() })
}

// The numbers of trunks may be any: others have written before.
func TestStoreThatOthersUse(t *testing.T) {
	storetest.Run(t, func(t *testing.T) timeline.Store {
		s := memory.New()
		for i := range 7 {
			_, err := s.Apply(context.Background(), "earlier", timeline.Change{Conversation: "c", Now: time.Unix(1, 0),
				Messages: []timeline.Message{{Identity: timeline.Hash{byte(i)}, Format: "item"}}})
			if err != nil {
				t.Fatal(err)
			}
		}
		return s
	})
}

func TestBackupIsUnsupported(t *testing.T) {
	if err := memory.New().Backup(context.Background(), t.TempDir()+"/copy"); !errors.Is(err, errors.ErrUnsupported) {
		t.Error(err)
	}
}

// SPEC D8: the hundred-thousandth message costs what the first one did.
func TestAppendsAreConstant(t *testing.T) {
	if testing.Short() {
		t.Skip("computes for long, and nothing beside it")
	}
	s, ctx := memory.New(), context.Background()
	now := time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC)
	var head timeline.Place
	// some appends ten thousand messages, and counts what that allocates: whatever
	// grew with the history would allocate or copy it.
	some := func() (mallocs, bytes uint64) {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for range 10_000 {
			raw := []byte(fmt.Sprintf("message %d", head.Depth))
			a, err := s.Apply(ctx, timeline.Local, timeline.Change{Conversation: "c", At: head, Now: now,
				Messages: []timeline.Message{{Identity: timeline.HashOf(raw), Raw: raw, Format: "item"}}})
			if err != nil {
				t.Fatal(err)
			}
			head = a.Head
		}
		runtime.ReadMemStats(&after)
		return after.Mallocs - before.Mallocs, after.TotalAlloc - before.TotalAlloc
	}
	first, firstBytes := some()
	var mallocs, bytes uint64
	for range 9 {
		n, size := some()
		mallocs, bytes = mallocs+n, bytes+size
	}
	// Lists and maps that grow by doubling are copied now and then.
	if head.Depth != 100_000 || mallocs > 9*first*5/4 || bytes > 9*firstBytes*2 {
		t.Errorf("at depth %d, 90,000 messages allocate %d times, %d bytes; the first 10,000 %d times, %d bytes",
			head.Depth, mallocs, bytes, first, firstBytes)
	}
}
