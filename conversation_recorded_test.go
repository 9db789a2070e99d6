package oriel_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/oriel-context/oriel"
	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/timeline/memory"
)

// callReads is a store that notes which records of calls are read.
type callReads struct {
	timeline.Store
	mu   sync.Mutex // protects keys
	keys []string
}

// read returns the keys of the records that were read since the last time.
func (s *callReads) read() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer func() { s.keys = nil }()
	return s.keys
}

func (s *callReads) Records(ctx context.Context, tenant, conversation, kind, key string) ([]timeline.Record, error) {
	if kind == "call" {
		s.mu.Lock()
		s.keys = append(s.keys, key)
		s.mu.Unlock()
	}
	return s.Store.Records(ctx, tenant, conversation, kind, key)
}

// conversationOf opens a conversation of a store by an engine of its own.
func conversationOf(t *testing.T, store timeline.Store, name string) *oriel.Conversation {
	t.Helper()
	e, err := oriel.Open(ctx, oriel.Config{Store: store, NoEmbed: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	c, err := e.Conversation(ctx, name)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// A conversation that came by calls is known by their keys: none of their records is read.
func TestOpeningAConversationReadsNoCall(t *testing.T) {
	store := &callReads{Store: memory.New()}
	put := func(keys ...string) {
		t.Helper()
		c := timeline.Change{Conversation: "c", Stay: true, Now: time.Now()}
		for _, k := range keys {
			c.Put = append(c.Put, timeline.Record{Kind: "call", Key: k, Data: []byte("{}")})
		}
		if _, err := store.Apply(ctx, timeline.Local, c); err != nil {
			t.Fatal(err)
		}
	}
	put("import 1", "import 2", "call-1", "import 3")
	if err := conversationOf(t, store, "c").Unpin(ctx, 7); !errors.Is(err, oriel.ErrNoItem) {
		t.Errorf("%v", err)
	}
	if keys := store.read(); len(keys) > 0 {
		t.Errorf("records were read: %q", keys)
	}
}

// Whether a message fits beside others depends on the latest call, and no other is read.
func TestUndoReadsTheLatestCallAlone(t *testing.T) {
	store := &callReads{Store: memory.New()}
	k := newTalker(start(t, store, replying, thrifty), "X-Oriel-Budget", "3000")
	k.untilCut()
	k.settle(k.calls)
	calls, err := store.RecordKeys(ctx, timeline.Local, "talk", "call")
	if err != nil || len(calls) < 3 {
		t.Fatal(calls, err)
	}
	store.read()
	if u, err := conversationOf(t, store, "talk").WouldUndo(ctx, ""); err != nil || u.Plan == "" {
		t.Errorf("%+v, %v", u, err)
	}
	if keys := store.read(); !slices.Equal(keys, calls[len(calls)-1:]) {
		t.Errorf("records read: %q of %q", keys, calls)
	}
}
