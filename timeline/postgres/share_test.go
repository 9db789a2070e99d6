package postgres_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/oriel-context/oriel/internal/test/pgtest"
	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/timeline/postgres"
)

var now = time.Date(2025, 3, 14, 12, 0, 0, 0, time.UTC)

// await waits for something that another goroutine or process does.
func await(t *testing.T, what string, done func() bool) {
	t.Helper()
	for start := time.Now(); !done(); time.Sleep(time.Millisecond) {
		if time.Since(start) > time.Minute {
			t.Fatalf("%s did not happen", what)
		}
	}
}

func changed(t *testing.T, s *postgres.Store) int64 {
	t.Helper()
	n, err := s.Changed(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestAStoreHearsOfChangesOfOthersOnly(t *testing.T) {
	url := pgtest.URL(t)
	a, b := open(t, url), open(t, url)
	await(t, "listening", func() bool { return !a.Deaf() && !b.Deaf() })
	add(t, a, timeline.Local, "c", "1")
	before := changed(t, b)
	await(t, "the notification", func() bool { return changed(t, b) != before || before > 1 })
	own := changed(t, a)
	for i := range 5 {
		add(t, a, timeline.Local, "c", fmt.Sprint(i))
	}
	seen := changed(t, b)
	add(t, b, timeline.Local, "d", "x")
	await(t, "the notification of b", func() bool { return changed(t, a) == own+1 })
	await(t, "the notifications of a", func() bool { return changed(t, b) >= seen })
}

func TestAStoreListensAgainAfterItsConnectionEnds(t *testing.T) {
	server := pgtest.Start(t)
	url := pgtest.Patient(server.URL())
	a, b := open(t, url), open(t, url)
	await(t, "listening", func() bool { return !a.Deaf() && !b.Deaf() })
	server.Kill()
	await(t, "the loss", func() bool { return a.Deaf() })
	// Whoever cannot hear must read again each time.
	first := changed(t, a)
	if changed(t, a) == first {
		t.Error("a store that hears nothing says that nothing changed")
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	await(t, "listening again", func() bool { return !a.Deaf() && !b.Deaf() })
	before := changed(t, a)
	await(t, "a change", func() bool {
		_, err := b.Apply(ctx, timeline.Local, timeline.Change{Conversation: "c", Messages: texts("1"), Now: now})
		return err == nil
	})
	await(t, "the notification", func() bool { return changed(t, a) != before })
}

// TestStoresShareConversations lets several stores append to the same conversations, each
// from its own pool, as servers do.
func TestStoresShareConversations(t *testing.T) {
	url := pgtest.URL(t)
	var group sync.WaitGroup
	const stores, turns = 3, 10
	for i := range stores {
		s := open(t, url)
		for w := range 2 {
			group.Go(func() {
				for turn := range turns {
					for {
						c, err := s.Conversation(ctx, timeline.Local, "c")
						if err != nil && !errors.Is(err, timeline.ErrNoConversation) {
							t.Error(err)
							return
						}
						_, err = s.Apply(ctx, timeline.Local, timeline.Change{Conversation: "c", Expect: &c.Revision,
							At: c.Head, Now: now,
							Messages: texts(fmt.Sprint("m ", i, w, turn)), Contents: [][]byte{[]byte("shared")},
							Put: []timeline.Record{{Kind: "call", Key: fmt.Sprint(i, w, turn),
								Contents: []timeline.Hash{timeline.HashOf([]byte("shared"))}}}})
						if errors.Is(err, timeline.ErrChanged) {
							continue
						}
						if err != nil {
							t.Error(err)
						}
						break
					}
				}
			})
		}
	}
	group.Wait()
	s := open(t, url)
	c, err := s.Conversation(ctx, timeline.Local, "c")
	if err != nil || c.Head.Depth != stores*2*turns || c.Revision != stores*2*turns {
		t.Errorf("%+v, %v", c, err)
	}
	verify(t, s)
}

// TestServersThatStartAtOnceMakeOneHistory: the tables are created once.
func TestServersThatStartAtOnceMakeOneHistory(t *testing.T) {
	url := pgtest.URL(t)
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			s, err := postgres.Open(ctx, url, postgres.Options{})
			if err != nil {
				t.Error(err)
				return
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
}

// TestWritersThatCreateATenantAtOnceAllWrite: a new tenant's first changes may come together.
func TestWritersThatCreateATenantAtOnceAllWrite(t *testing.T) {
	url := pgtest.URL(t)
	stores := []*postgres.Store{open(t, url), open(t, url)}
	for round := range 10 {
		var group sync.WaitGroup
		for i := range 16 {
			group.Go(func() {
				if _, err := stores[i%2].Apply(ctx, fmt.Sprint("tenant ", round),
					timeline.Change{Conversation: fmt.Sprint(i), Messages: texts("1"), Now: now}); err != nil {
					t.Error(err)
				}
			})
		}
		group.Wait()
	}
}

func TestDocumentsAreReplacedByCompareAndSet(t *testing.T) {
	url := pgtest.URL(t)
	a, b := open(t, url), open(t, url)
	await(t, "listening", func() bool { return !a.Deaf() && !b.Deaf() })
	if data, err := a.Document(ctx, "learnt"); data != nil || err != nil {
		t.Fatal(data, err)
	}
	own, seen := a.DocumentsChanged(), b.DocumentsChanged()
	for _, c := range []struct {
		was, data string
		done      bool
	}{{"", "one", true}, {"", "two", false}, {"two", "three", false}, {"one", "four", true}} {
		var was []byte
		if c.was != "" {
			was = []byte(c.was)
		}
		if done, err := a.ReplaceDocument(ctx, "learnt", was, []byte(c.data)); done != c.done || err != nil {
			t.Errorf("%+v: %v, %v", c, done, err)
		}
	}
	await(t, "the notifications", func() bool { return b.DocumentsChanged() == seen+2 })
	if data, err := b.Document(ctx, "learnt"); string(data) != "four" || err != nil {
		t.Errorf("%q, %v", data, err)
	}
	if n := a.DocumentsChanged(); n != own {
		t.Errorf("%d own changes were counted", n-own)
	}
}
