package call_test

import (
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/oriel-context/oriel"
	"github.com/oriel-context/oriel/internal/call"
	"github.com/oriel-context/oriel/internal/event"
	"github.com/oriel-context/oriel/timeline/memory"
)

// A tenant that has stored as much as it may goes on making calls, which are not recorded;
// others are. When there is room again, calls are recorded within a minute.
func TestStoredBytes(t *testing.T) {
	var mu sync.Mutex
	now := time.Date(2026, 11, 16, 12, 0, 0, 0, time.UTC)
	var limited []oriel.Event
	store := memory.New()
	a := newAgents(t, store, t.TempDir())
	must(a.engine.Close())
	var err error
	a.engine, err = oriel.Open(ctx, oriel.Config{
		Store: store, NoEmbed: true, Calls: call.Options{StoredBytes: map[string]int64{"team": 2000, "*": 1}},
		Now: func() time.Time {
			mu.Lock()
			defer mu.Unlock()
			return now
		},
		Events: func(e oriel.Event) {
			mu.Lock()
			defer mu.Unlock()
			if e.Kind == oriel.EventLimit {
				limited = append(limited, e)
			}
		},
	})
	must(err)
	t.Cleanup(func() { a.engine.Close() })
	for range 10 {
		a.call("ann")
	}
	c := call.Of(a.engine).Counters()
	if n := c.Written.Load(); n != 10 {
		t.Fatalf("%d are written while the size is not measured again", n)
	}
	minute := func() {
		mu.Lock()
		now = now.Add(time.Minute)
		mu.Unlock()
	}
	minute()
	for c.Limited.Load() == 0 && c.Written.Load() < 50 {
		a.call("ann")
	}
	before := c.Written.Load()
	a.call("ann")
	if c.Limited.Load() < 2 || c.Written.Load() != before || call.Of(a.engine).Err() != nil {
		t.Errorf("%d limited, %d written, %v", c.Limited.Load(), c.Written.Load(), call.Of(a.engine).Err())
	}
	if len(limited) < 2 || limited[0].Reason != event.LimitBytes || limited[0].Tenant != "team" ||
		!strings.HasPrefix(limited[0].Call, "call-") {
		t.Errorf("%+v", limited)
	}
	all, err := store.Conversations(ctx, "team")
	must(err)
	for _, conversation := range all {
		if _, err := store.Delete(ctx, "team", conversation.Name, nil); err != nil {
			t.Fatal(err)
		}
	}
	minute()
	for c.Written.Load() == before && c.Limited.Load() < 50 {
		a.call("ann")
	}
	if c.Written.Load() == before {
		t.Error("nothing is written although there is room")
	}
}
