package recall

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
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
		if got := len(model.texts) - 1; got != lateBatch || int(st.Made) != lateBatch { // and the query
			t.Errorf("round %d: %d passages were embedded, want %d", round, got, lateBatch)
		}
		if n := len(slices.DeleteFunc(slices.Clone(model.texts), func(s string) bool { return !strings.Contains(s, "bicycle of") })); round == 0 && n != lateBatch {
			t.Errorf("the first round embedded %d that match, want %d: %q", n, lateBatch, model.texts)
		}
		if made += lateBatch; st.Embedded != made || st.Passages != 300 {
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

// A model that fails leaves the search to words, and is reported.
func TestSearchOnDemandGoesByWordsIfTheModelFails(t *testing.T) {
	store := memory.New()
	defer store.Close()
	say(t, store, "c", "The new bicycle has a basket and a bell.")
	var reported []error
	l := NewLibrary(store, LibraryOptions{Model: &failing{}, OnDemand: time.Hour, Report: func(err error) { reported = append(reported, err) }})
	defer l.Close()
	r, err := l.Recall(t.Context(), Where{Tenant: timeline.Local, Conversation: "c"}, "bicycle with a bell", RecallOptions{})
	if err != nil || len(r.Passages) != 1 || r.Mode != Keyword || len(reported) == 0 {
		t.Errorf("%+v, %v, reported %v", r, err, reported)
	}
}
