package recall

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/timeline/memory"
)

// noting is a model that remembers what it was given.
type noting struct {
	counting
	texts []string
}

func (n *noting) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	n.texts = append(n.texts, texts...)
	return n.counting.Embed(ctx, texts)
}

// A search on demand makes the vectors of what its words match first, and at least a few
// of them even if there is no time; every later one goes on from there.
func TestSearchOnDemandEmbedsWhatItNeedsMost(t *testing.T) {
	store := memory.New()
	defer store.Close()
	for i := range 300 {
		text := fmt.Sprintf("Remark number %d about the weather in the mountains.", i)
		if i%100 == 50 {
			text = fmt.Sprintf("The bicycle of neighbour %d has a basket and a bell.", i)
		}
		say(t, store, "c", text)
	}
	w := Where{Tenant: timeline.Local, Conversation: "c"}
	made := 0
	for round := range 3 {
		model := &noting{counting: counting{name: "a"}}
		l := NewLibrary(store, LibraryOptions{Model: model, OnDemand: 1}) // no time at all
		r, err := l.Recall(t.Context(), w, "Which bicycle has a bell?", RecallOptions{})
		if err != nil {
			t.Fatal(err)
		}
		st := l.Stats()
		l.Close()
		if got := len(model.texts) - 1; got != firstBatch || int(st.Made) != firstBatch { // and the query
			t.Errorf("round %d: %d passages were embedded, want %d", round, got, firstBatch)
		}
		if n := len(slices.DeleteFunc(slices.Clone(model.texts),
			func(s string) bool { return !strings.Contains(s, "bicycle of") })); round == 0 && n != firstBatch {
			t.Errorf("the first round embedded %d that match, want %d: %q", n, firstBatch, model.texts)
		}
		if made += firstBatch; st.Embedded != made || st.Passages != 300 {
			t.Errorf("round %d: %+v, want %d embedded", round, st, made)
		}
		if len(r.Passages) == 0 || !strings.Contains(r.Text, "basket") {
			t.Errorf("round %d found %q", round, r.Text)
		}
	}
	// With time, the search makes all of them, and nothing twice.
	l := NewLibrary(store, LibraryOptions{Model: &counting{name: "a"}, OnDemand: time.Hour})
	defer l.Close()
	if _, err := l.Recall(t.Context(), w, "Which bicycle has a bell?", RecallOptions{}); err != nil {
		t.Fatal(err)
	}
	if st := l.Stats(); st.Embedded != 300 || int(st.Made) != 300-made {
		t.Errorf("%+v, want %d made", st, 300-made)
	}
	// A library that embeds in the background finds all of it stored.
	after := library(t, store, LibraryOptions{Model: &counting{name: "a"}})
	if settled(t, after, w, "bicycle"); after.Stats().Made != 0 {
		t.Errorf("%d passages were embedded again", after.Stats().Made)
	}
	if err := store.Verify(t.Context(), func(p timeline.Problem) { t.Errorf("%+v", p) }); err != nil {
		t.Error(err)
	}
}

// busy is a model on a machine that is busy: each text but a query takes long.
type busy struct {
	counting
	each time.Duration
}

func (b *busy) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	for _, text := range texts {
		if strings.HasSuffix(text, "?") {
			continue
		}
		select {
		case <-time.After(b.each):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return b.counting.Embed(ctx, texts)
}

// far is a store that takes long to read the first messages.
type far struct {
	timeline.Store
	wait time.Duration
	once sync.Once
}

func (f *far) Messages(ctx context.Context, tenant string, head timeline.Place, first, last int64, bare bool,
	visit func(*timeline.Entry) error) error {
	f.once.Do(func() { time.Sleep(f.wait) })
	return f.Store.Messages(ctx, tenant, head, first, last, bare, visit)
}

// However slow a vector is made, a search on demand does not wait for it beyond its time, and
// nothing that it has not made in time is an error.
func TestSearchOnDemandEndsInTimeOnABusyMachine(t *testing.T) {
	for _, tc := range []struct {
		each, read time.Duration
		made       int
		took       time.Duration
	}{
		{each: 30 * time.Millisecond, made: 33, took: 990 * time.Millisecond},
		{each: 130 * time.Millisecond, made: 7, took: 910 * time.Millisecond},
		{each: 400 * time.Millisecond, made: 2, took: 800 * time.Millisecond},
		{each: 5 * time.Second, made: 0, took: time.Second},
		{read: 3 * time.Second, each: 50 * time.Millisecond, made: 2, took: 3100 * time.Millisecond},
		{read: 3 * time.Second, each: 5 * time.Second, made: 0, took: 3*time.Second + lateWait},
	} {
		synctest.Test(t, func(t *testing.T) {
			store := memory.New()
			defer store.Close()
			for i := range 50 {
				say(t, store, "c", fmt.Sprintf("The bicycle of neighbour %d has a basket and a bell.", i))
			}
			l := NewLibrary(&far{Store: store, wait: tc.read},
				LibraryOptions{Model: &busy{counting{name: "a"}, tc.each}, OnDemand: time.Second,
					Report: func(err error) { t.Error(err) }})
			defer l.Close()
			began := time.Now()
			r, err := l.Recall(t.Context(), Where{Tenant: timeline.Local, Conversation: "c"},
				"Which bicycle has a bell?", RecallOptions{})
			if err != nil || len(r.Passages) == 0 {
				t.Fatal(err, r)
			}
			if took := time.Since(began); took != tc.took || int(l.Stats().Made) != tc.made {
				t.Errorf("%v a vector, %v to read: it took %v and made %d vectors, want %v and %d", tc.each, tc.read,
					took, l.Stats().Made, tc.took, tc.made)
			}
		})
	}
}

// A message whose vectors take longer than a search may does not keep it from making others.
func TestSearchOnDemandGoesOnBesideALongMessage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New()
		defer store.Close()
		for i := range 20 {
			say(t, store, "c", fmt.Sprintf("The bicycle of neighbour %d has a basket.", i))
		}
		say(t, store, "c",
			strings.Repeat("The bicycle with a bell and another bell stands at the wall of the old house near the river. ", 400))
		search := func(within time.Duration) LibraryStats {
			l := NewLibrary(store, LibraryOptions{Model: &busy{counting{name: "a"}, 40 * time.Millisecond},
				OnDemand: within, Report: func(err error) { t.Error(err) }})
			defer l.Close()
			began := time.Now()
			if _, err := l.Recall(t.Context(), Where{Tenant: timeline.Local, Conversation: "c"},
				"Which bicycle has a bell?", RecallOptions{}); err != nil || time.Since(began) > within {
				t.Fatal(err, time.Since(began))
			}
			return l.Stats()
		}
		if st := search(time.Second); st.Passages < 50 || st.Embedded != 20 {
			t.Errorf("%+v", st)
		}
		if st := search(10 * time.Second); st.Embedded != st.Passages {
			t.Errorf("with time for all: %+v", st)
		}
	})
}

// A model that fails leaves the search to words, and is reported.
func TestSearchOnDemandGoesByWordsIfTheModelFails(t *testing.T) {
	store := memory.New()
	defer store.Close()
	say(t, store, "c", "The new bicycle has a basket and a bell.")
	var reported []error
	l := NewLibrary(store, LibraryOptions{Model: &failing{}, OnDemand: time.Hour,
		Report: func(err error) { reported = append(reported, err) }})
	defer l.Close()
	r, err := l.Recall(t.Context(), Where{Tenant: timeline.Local, Conversation: "c"}, "bicycle with a bell",
		RecallOptions{})
	if err != nil || len(r.Passages) != 1 || r.Mode != Keyword || len(reported) == 0 {
		t.Errorf("%+v, %v, reported %v", r, err, reported)
	}
}
