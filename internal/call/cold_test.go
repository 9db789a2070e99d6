package call_test

import (
	"encoding/json"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/oriel-context/oriel/internal/call"
)

// Rule 18: after a pause that is longer than the provider's cache lasts a cut is free, for
// who wants less than the model can take; a restart in between does not matter.
func TestAPauseMakesACutFree(t *testing.T) {
	var hours atomic.Int64
	clock := func(o *call.TestOptions) {
		o.Now = func() time.Time { return time.Date(2026, 1, 2, 10+int(hours.Load()), 0, 0, 0, time.UTC) }
	}
	for _, c := range []struct {
		name    string
		profile func(*call.TestOptions)
		header  []string
		hours   int64
		restart bool
		cut     bool
	}{
		{"a pause", thrifty, []string{"X-Oriel-Budget", "4000"}, 2, false, true},
		{"and a restart", thrifty, []string{"X-Oriel-Budget", "4000"}, 2, true, true},
		{"no pause", thrifty, []string{"X-Oriel-Budget", "4000"}, 0, false, false},
		{"no pause, but a restart", thrifty, []string{"X-Oriel-Budget", "4000"}, 0, true, false},
		{"all that the model can take", func(o *call.TestOptions) { o.Profile = "full" }, nil, 2, false, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			k := newTalker(start(t, openStore(t, dir), replying, c.profile, clock), c.header...)
			for range 12 {
				if k.say(); !k.shows(1) {
					t.Fatal("something was left out before the pause")
				}
			}
			if c.restart {
				k.bench = start(t, openStore(t, dir), replying, c.profile, clock)
				k.calls = 0
			}
			hours.Add(c.hours)
			k.say()
			if k.shows(3) == c.cut {
				t.Errorf("thing 3 is shown: %v", k.shows(3))
			}
		})
	}
}

// A side call to another model makes the main one's cache no older, also after a restart.
func TestASideCallIsNoPause(t *testing.T) {
	dir := t.TempDir()
	k := newTalker(start(t, openStore(t, dir), replying, thrifty), "X-Oriel-Budget", "4000")
	for range 12 {
		k.say()
	}
	k.bench = start(t, openStore(t, dir), replying, thrifty)
	list, err := json.Marshal(append(k.list[:len(k.list):len(k.list)],
		json.RawMessage(`{"role":"user","content":"give this talk a title"}`)))
	if err != nil {
		t.Fatal(err)
	}
	k.send("/v1/chat/completions", fmt.Appendf(nil, `{"model":"gpt-4o-mini","messages":%s}`, list), k.header...)
	k.calls = 1
	if k.say(); !k.shows(3) {
		t.Error("a cut was made for nothing")
	}
}
