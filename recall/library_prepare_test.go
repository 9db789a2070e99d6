package recall

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/timeline/memory"
	"github.com/oriel-context/oriel/timeline/sqlite"
)

// prepared has a conversation prepared, and waits until it is.
func prepared(t *testing.T, l *Library, name string) {
	t.Helper()
	l.Prepare(Where{Tenant: timeline.Local, Conversation: name})
	if err := l.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func TestTheFirstQuestionFindsByMeaningWhatWasPrepared(t *testing.T) {
	store := memory.New()
	defer store.Close()
	say(t, store, "c", holidayTexts...)
	model := &counting{name: "a", bags: bags{same: map[string]string{"instrument": "cello"}}}
	w := Where{Tenant: timeline.Local, Conversation: "c"}
	ask := func(l *Library) {
		t.Helper()
		prepared(t, l, "c")
		r, err := l.Recall(t.Context(), w, "my instrument", RecallOptions{Floor: -1})
		if err != nil || r.Mode != Hybrid || best(r) != "4" {
			t.Errorf("%+v, %v", r, err)
		}
		if n := l.Stats(); n.Embedded != n.Passages || n.Scopes != 1 {
			t.Errorf("%+v", n)
		}
	}
	l := library(t, store, LibraryOptions{Model: model})
	ask(l)
	say(t, store, "c", "The new bicycle has a basket and a bell.") // preparing again adds what is new
	made := l.Stats().Made
	if ask(l); l.Stats().Made != made+1 {
		t.Errorf("%d vectors were made for one new message", l.Stats().Made-made)
	}
	restarted := library(t, store, LibraryOptions{Model: model})
	if ask(restarted); restarted.Stats().Made != 0 {
		t.Errorf("after a restart %d vectors were made again", restarted.Stats().Made)
	}
}

// slow takes its time for passages, but not for queries.
type slow struct {
	counting
	takes time.Duration
}

func (s *slow) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	if len(texts) > 1 {
		select {
		case <-time.After(s.takes):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return s.counting.Embed(ctx, texts)
}

// The first search of a scope waits a little for its vectors, within its deadline. Later
// ones go by what is there.
func TestTheFirstSearchWaitsForVectors(t *testing.T) {
	for _, test := range []struct {
		takes, waits time.Duration
		mode         Mode
	}{{10 * time.Millisecond, 10 * time.Millisecond, Hybrid}, {time.Hour, 25 * time.Millisecond, Keyword}} {
		synctest.Test(t, func(t *testing.T) {
			store := memory.New()
			say(t, store, "c", holidayTexts[:4]...)
			l := NewLibrary(store, LibraryOptions{Model: &slow{takes: test.takes}})
			defer l.Close()
			search := func(mode Mode, waits time.Duration) {
				t.Helper()
				ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
				defer cancel()
				began := time.Now()
				r, err := l.Recall(ctx, Where{Tenant: timeline.Local, Conversation: "c"}, "my sister", RecallOptions{})
				if err != nil || r.Mode != mode || time.Since(began) != waits {
					t.Errorf("%+v, %v after %v, want %s after %v", r, err, time.Since(began), mode, waits)
				}
			}
			search(test.mode, test.waits)
			search(test.mode, 0)
		})
	}
}

// A search may say that it waits for longer, without a deadline too; it does so once. It
// says how many passages it searched by words alone.
func TestASearchWaitsForVectorsAsLongAsItSays(t *testing.T) {
	for _, test := range []struct {
		takes, waits time.Duration
		mode         Mode
		unembedded   int
	}{{time.Second, time.Second, Hybrid, 0}, {time.Hour, 3 * time.Second, Keyword, 4}} {
		synctest.Test(t, func(t *testing.T) {
			store := memory.New()
			say(t, store, "c", holidayTexts[:4]...)
			l := NewLibrary(store, LibraryOptions{Model: &slow{takes: test.takes}})
			defer l.Close()
			search := func(patience, waits time.Duration, mode Mode, unembedded int) {
				t.Helper()
				began := time.Now()
				r, err := l.Recall(t.Context(), Where{Tenant: timeline.Local, Conversation: "c"}, "my sister",
					RecallOptions{VectorWait: patience})
				if err != nil || r.Mode != mode || time.Since(began) != waits || r.Unembedded != unembedded {
					t.Errorf("%+v, %v after %v, want %s after %v, %d by words", r, err, time.Since(began), mode, waits,
						unembedded)
				}
			}
			search(0, 0, Keyword, 4)
			search(3*time.Second, test.waits, test.mode, test.unembedded)
			search(3*time.Second, 0, test.mode, test.unembedded)
		})
	}
}

// What was prepared and never asked for does not outlive its conversation.
func TestWhatWasPreparedGoesWithItsConversation(t *testing.T) {
	dir := t.TempDir()
	store, other := openSQLite(t, dir, sqlite.Options{}), openSQLite(t, dir, sqlite.Options{})
	say(t, store, "c", holidayTexts[:4]...)
	say(t, store, "d", holidayTexts[:4]...)
	l := library(t, store, LibraryOptions{Model: &counting{name: "a"}})
	prepared(t, l, "c")
	if _, err := other.Delete(t.Context(), timeline.Local, "c", nil); err != nil {
		t.Fatal(err)
	}
	prepared(t, l, "d")
	l.mu.Lock()
	defer l.mu.Unlock()
	if n := l.order.Len(); n != 1 || l.order.Front().Value.(*cachedScope).key.name != "d" {
		t.Errorf("%d scopes", n)
	}
}

func TestPreparingWhatIsNotThereDoesNothing(t *testing.T) {
	store := memory.New()
	defer store.Close()
	l := library(t, store, LibraryOptions{Model: &counting{name: "a"}})
	prepared(t, l, "nobody")
	if n := l.Stats(); n.Scopes != 0 {
		t.Errorf("%+v", n)
	}
	l.Close()
	l.Prepare(Where{Tenant: timeline.Local, Conversation: "nobody"})
	if l.preparing != nil {
		t.Error("a closed library has something to prepare")
	}
}

// Prepare never waits: what waits is bounded, and each place is among it once.
func TestWhatWaitsToBePreparedIsBounded(t *testing.T) {
	store := memory.New()
	defer store.Close()
	l := library(t, store, LibraryOptions{})
	l.mu.Lock()
	l.begun = true // nobody takes anything
	l.mu.Unlock()
	for i := range 2 * maxPreparing {
		for range 2 {
			l.Prepare(Where{Tenant: timeline.Local, Conversation: matters(string(rune('A' + i)))[0]})
		}
		if want := min(i+1, maxPreparing); len(l.preparing) != want {
			t.Fatalf("%d wait, want %d", len(l.preparing), want)
		}
	}
	// Who asks is answered before them.
	l.mu.Lock()
	defer l.mu.Unlock()
	l.waiting = append(l.waiting, &query{})
	if l.takeIndexing(); len(l.waiting) != 0 || len(l.preparing) != maxPreparing {
		t.Errorf("%d queries and %d to prepare are left", len(l.waiting), len(l.preparing))
	}
}

// Scopes that do not fit together are not built in turn with every call.
func TestPreparingDoesNotFightForMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New()
		say(t, store, "c", holidayTexts...)
		say(t, store, "d", holidayTexts...)
		l := NewLibrary(store, LibraryOptions{Memory: 1})
		defer l.Close()
		there := func(want string) {
			t.Helper()
			l.mu.Lock()
			defer l.mu.Unlock()
			if n := l.order.Len(); n != 1 {
				t.Fatalf("%d scopes", n)
			}
			if got := l.order.Front().Value.(*cachedScope).key.name; got != want {
				t.Errorf("the scope of %s is there, want %s", got, want)
			}
		}
		prepared(t, l, "c")
		prepared(t, l, "d")
		there("d")
		prepared(t, l, "c") // it has just been let go of
		there("d")
		prepared(t, l, "d") // what is there is kept up to date
		there("d")
		if _, err := l.Recall(t.Context(), Where{Tenant: timeline.Local, Conversation: "c"}, "sister",
			RecallOptions{}); err != nil {
			t.Fatal(err)
		}
		there("c") // a question is always answered
		time.Sleep(crowdedFor)
		prepared(t, l, "d")
		there("d")
	})
}
