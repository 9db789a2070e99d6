package recall

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/oriel-context/oriel/internal/test/pgtest"
	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/timeline/postgres"
)

// fitting is a model whose vectors can be searched in a database.
type fitting struct{ bags }

func (m *fitting) Name() string { return "fitting" }

func (m *fitting) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	vectors, err := m.bags.Embed(ctx, texts)
	for i, v := range vectors {
		short := make([]float32, 384)
		for k, x := range v {
			short[k%384] += x
		}
		vectors[i] = short
	}
	return vectors, err
}

// A scope that is too large for memory is searched in the database, by words, and finds
// what a search in memory finds.
func TestALargeScopeIsSearchedInTheDatabase(t *testing.T) {
	searchStored(t, pgtest.URL(t))
}

// With pgvector it is also searched by meaning.
func TestALargeScopeIsSearchedByMeaningInTheDatabase(t *testing.T) {
	server := pgtest.StartWith(t, "vector")
	searchStored(t, pgtest.Patient(server.URL()), "Tell me about the tune on the fiddle")
}

func searchStored(t *testing.T, url string, byMeaning ...string) {
	store := openPostgres(t, url)
	model := &fitting{bags{same: map[string]string{"fiddle": "cello", "tune": "minuet"}}}
	for c := range 4 {
		var texts []string
		for i := range 40 {
			texts = append(texts, fmt.Sprintf("Remark %d of conversation %d is about the weather in region %d.", i, c,
				i*7+c))
		}
		texts[20] = []string{"The retry policy of the uploader is exponential backoff.",
			"Anna practises the cello, a minuet by Bach.",
			"From now on, always answer in French.", "The kitchen was painted in yellow."}[c]
		apply(t, store, timeline.Local, timeline.Change{Conversation: fmt.Sprint("c", c), Project: "p"}, texts...)
	}
	apply(t, store, "other", timeline.Change{Conversation: "c0", Project: "p"},
		"The retry policy of another uploader is exponential, too.")
	where := Where{Tenant: timeline.Local, Conversation: "c3", Reach: ReachProject}
	small := LibraryOptions{Model: model, Memory: 1}
	memory, first := library(t, store, LibraryOptions{Model: model}), library(t, store, small)
	ask := func(l *Library, query string) *Result {
		t.Helper()
		r, err := l.Recall(t.Context(), where, query, RecallOptions{Floor: -1, Top: 5})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	ask(memory, "uploader")
	if err := memory.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	ask(first, "uploader") // has no choice but memory, and asks for passages
	if st := first.Stats(); st.Passages != 160 {
		t.Errorf("%d passages in memory, want 160", st.Passages)
	}
	filling(t, store, FillOptions{Model: model, Tenants: store.Tenants, Every: time.Millisecond, Settle: -1})
	await(t, "the store has the passages", func() bool {
		to, wanted, err := store.PassagesTo(t.Context(), timeline.Local, "vector/fitting")
		n := int64(0)
		for _, depth := range to {
			n += depth
		}
		return err == nil && wanted && n == 160
	})
	l := library(t, store, small)
	for _, query := range append(byMeaning, "Which retry policy has the uploader?", "Who painted the kitchen?",
		"What does Anna practise?", "weather in region 150") {
		want, got := ask(memory, query), ask(l, query)
		if best(got) != best(want) || len(got.Passages) != len(want.Passages) {
			t.Errorf("%s: found %s, want %s", query, blocks(got), blocks(want))
		}
	}
	if d, _, err := l.Directives(t.Context(), where); err != nil || len(d) != 1 || d[0].Block != "c2#21" ||
		!strings.Contains(d[0].Text, "French") {
		t.Errorf("directives %+v, %v", d, err)
	}
	if st := l.Stats(); st.Scopes != 0 {
		t.Errorf("%+v: something is in memory", st)
	}
	deletedIsNotFound(t, store, l, where)
}

func deletedIsNotFound(t *testing.T, store *postgres.Store, l *Library, where Where) {
	t.Helper()
	if _, err := store.Delete(t.Context(), timeline.Local, "c0", nil); err != nil {
		t.Fatal(err)
	}
	r, err := l.Recall(t.Context(), where, "Which retry policy has the uploader?", RecallOptions{Floor: -1})
	if err != nil || strings.Contains(r.Text, "backoff") {
		t.Errorf("found %q, %v", r.Text, err)
	}
	if to, _, err := store.PassagesTo(t.Context(), timeline.Local, "vector/fitting"); err != nil || len(to) != 3 {
		t.Errorf("passages of %d trunks, %v; want 3", len(to), err)
	}
}
