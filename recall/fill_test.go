package recall

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/timeline/memory"
)

// remarks are texts about different things.
func remarks(name string, n int) (texts []string) {
	for i := range n {
		texts = append(texts, fmt.Sprintf("Remark %d of %s about the weather in the mountains.", i, name))
	}
	return texts
}

// tenants returns a function that returns names.
func tenants(names ...string) func(context.Context) ([]string, error) {
	return func(context.Context) ([]string, error) { return names, nil }
}

// filling runs Fill until what the test does has been embedded.
func filling(t *testing.T, store timeline.Store, o FillOptions) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { Fill(ctx, store, o) })
	t.Cleanup(func() {
		cancel()
		running.Wait()
	})
}

// await waits until a condition holds.
func await(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !holds(); {
		if time.Now().After(end) {
			t.Fatalf("in a minute not: %s", what)
		}
		time.Sleep(time.Millisecond)
	}
}

// What a server fills in is what a search needs: nothing is embedded twice.
func TestFillEmbedsWhatSearchesNeed(t *testing.T) {
	store := memory.New()
	defer store.Close()
	say(t, store, "old", remarks("old", 70)...)
	say(t, store, "new", remarks("new", 40)...)
	model := &counting{name: "a"}
	filling(t, store, FillOptions{Model: model, Tenants: tenants(timeline.Local), Every: time.Millisecond, Settle: -1})
	await(t, "all are embedded", func() bool { return model.texts.Load() >= 110 })
	say(t, store, "old", remarks("later", 5)...) // what is added is embedded, and nothing else again
	await(t, "what was added is embedded", func() bool { return model.texts.Load() >= 115 })

	searching := func() (made int64, unembedded int) {
		l := NewLibrary(store, LibraryOptions{Model: &counting{name: "a"}, OnDemand: 1})
		defer l.Close()
		if _, err := l.Recall(t.Context(), Where{Tenant: timeline.Local, Conversation: "new", Reach: ReachUser},
			"mountains", RecallOptions{}); err != nil {
			t.Fatal(err)
		}
		st := l.Stats()
		return st.Made, st.Passages - st.Embedded
	}
	await(t, "a search finds all vectors stored", func() bool {
		made, unembedded := searching()
		return made == 0 && unembedded == 0
	})
	if n := model.texts.Load(); n != 115 {
		t.Errorf("%d texts were embedded, want 115", n)
	}
}

// Conversations of all tenants are embedded, those that changed last first.
func TestFillEmbedsAllTenants(t *testing.T) {
	store := memory.New()
	defer store.Close()
	apply(t, store, "a", timeline.Change{Conversation: "c", Now: monday}, remarks("a", 5)...)
	apply(t, store, "b", timeline.Change{Conversation: "c", Now: monday.Add(time.Hour)}, remarks("b", 5)...)
	model := &noting{counting: counting{name: "a"}}
	f := &filler{store: store, o: FillOptions{Model: model, Tenants: tenants("a", "b"), Settle: -1},
		filled: map[fillKey]filled{}}
	for range 2 { // the second look finds nothing to do
		if err := f.look(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if want := slices.Concat(remarks("b", 5), remarks("a", 5)); !slices.Equal(model.texts, want) {
		t.Errorf("embedded %q, want %q", model.texts, want)
	}
	for _, tenant := range []string{"a", "b"} {
		if st, err := store.Stats(t.Context(), tenant); err != nil || st.Derived != 5 {
			t.Errorf("%s: %d messages have vectors, %v; want 5", tenant, st.Derived, err)
		}
	}
}

// A conversation that is in use is left alone.
func TestFillWaitsUntilAConversationSettles(t *testing.T) {
	store := memory.New()
	defer store.Close()
	say(t, store, "c", remarks("c", 3)...)
	model := &counting{name: "a"}
	f := &filler{store: store, o: FillOptions{Model: model, Tenants: tenants(timeline.Local), Settle: 1<<63 - 1},
		filled: map[fillKey]filled{}}
	if err := f.look(t.Context()); err != nil || model.texts.Load() != 0 {
		t.Errorf("%v, %d texts were embedded, want none", err, model.texts.Load())
	}
	f.o.Settle = -1
	if err := f.look(t.Context()); err != nil || model.texts.Load() != 3 {
		t.Errorf("%v, %d texts were embedded, want 3", err, model.texts.Load())
	}
}

// A failure is reported, and the rest is embedded all the same.
func TestFillGoesOnAfterAFailure(t *testing.T) {
	store := memory.New()
	defer store.Close()
	say(t, store, "bad", "The poisoned remark that the model cannot read.")
	say(t, store, "good", remarks("good", 3)...)
	model := &picky{counting: counting{name: "a"}}
	var mu sync.Mutex
	var reported []string
	filling(t, store, FillOptions{Model: model, Tenants: tenants(timeline.Local), Every: time.Millisecond, Settle: -1,
		Report: func(err error) {
			mu.Lock()
			defer mu.Unlock()
			reported = append(reported, err.Error())
		}})
	await(t, "the good ones are embedded and the bad one is reported", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return model.texts.Load() >= 3 && len(reported) > 0 && strings.Contains(reported[0], "poison")
	})
}

// picky fails for some texts.
type picky struct{ counting }

func (p *picky) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	for _, text := range texts {
		if strings.Contains(text, "poisoned") {
			return nil, fmt.Errorf("this is poison: %q", text)
		}
	}
	return p.counting.Embed(ctx, texts)
}
