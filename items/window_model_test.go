package items

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// naive is the definition: a list, and one thing at a time.
type naive struct {
	policy   Policy
	weights  Weights
	tokens   int
	maxItems int
	items    []Item
	lastID   int64
	query    []float32
}

func (m *naive) settle(now time.Time) (evicted []int64) {
	sum := func() (n int) {
		for _, it := range m.items {
			n += it.Tokens
		}
		return n
	}
	for len(m.items) > 1 && (sum() > m.tokens || len(m.items) > m.maxItems) {
		best := -1
		score := func(i int) float64 { return relevance(m.weights, m.items[i], now, m.query) }
		for i := range m.items[:len(m.items)-1] {
			if m.items[i].Pinned() {
				continue
			}
			if best < 0 || m.policy != ByAge && score(i) < score(best) {
				best = i
			}
		}
		best = max(best, 0)
		evicted = append(evicted, m.items[best].ID)
		m.items = append(append([]Item{}, m.items[:best]...), m.items[best+1:]...)
	}
	return evicted
}

// SPEC A2, A4, A5: whatever is done to a window, both limits hold and it shows what
// the definition shows.
func TestWindowIsTheDefinition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		now := noon
		policy := rapid.SampledFrom([]Policy{ByRelevance, ByAge}).Draw(t, "policy")
		tokens, items := rapid.IntRange(1, 60).Draw(t, "tokens"), rapid.IntRange(1, 12).Draw(t, "items")
		w := New(Options{Policy: policy, MaxTokens: tokens, MaxItems: items, Count: countFields, NoAutoFlags: true,
			Now: func() time.Time { return now }})
		m := naive{policy: policy, tokens: tokens, maxItems: items}
		agree := func(what string, evicted []Item, want []int64) {
			if err := w.Check(); err != nil {
				t.Fatalf("%s: %v", what, err)
			}
			seen := map[int64]bool{}
			for i, it := range evicted {
				seen[it.ID] = true
				if i > 0 && it.ID <= evicted[i-1].ID {
					t.Fatalf("%s: evicted %v, not oldest first", what, ids(evicted))
				}
			}
			for _, id := range want {
				if !seen[id] {
					t.Fatalf("%s: evicted %v, want %v", what, ids(evicted), want)
				}
			}
			if len(seen) != len(want) || len(evicted) != len(want) {
				t.Fatalf("%s: evicted %v, want %v", what, ids(evicted), want)
			}
			if diff := cmp.Diff(ids(m.items), ids(w.Items(0))); diff != "" {
				t.Fatalf("%s: window (-want +got)\n%s", what, diff)
			}
			for _, it := range m.items {
				if got, ok := w.Get(it.ID); !ok || got.Pinned() != it.Pinned() || got.Whole() != it.Whole() {
					t.Fatalf("%s: item %d is %+v", what, it.ID, got)
				}
			}
		}
		// Eliding has its own tests: the definition takes the sizes as they are.
		sizes := func() {
			for i := range m.items {
				if got, ok := w.Get(m.items[i].ID); ok {
					m.items[i].Tokens = got.Tokens
				} else if m.items[i].Tokens > m.tokens {
					m.items[i].Tokens = m.tokens - m.tokens/2
				}
			}
		}
		id := func() int64 { return rapid.Int64Range(1, m.lastID+1).Draw(t, "id") }
		t.Repeat(map[string]func(*rapid.T){
			"add": func(t *rapid.T) {
				now = now.Add(time.Duration(rapid.IntRange(0, 40).Draw(t, "hours")) * time.Hour)
				it := Item{
					Content: words(rapid.IntRange(0, tokens+5).Draw(t, "words")),
					Time:    now.Add(-time.Duration(rapid.IntRange(0, 100).Draw(t, "age")) * time.Hour),
					Source: rapid.SampledFrom([]Source{SourceUser, SourceAssistant, SourceTool, SourceError}).Draw(t,
						"source"),
					Flags: rapid.SliceOfN(rapid.SampledFrom([]Flag{FlagCode, FlagError, FlagStarred, "own"}), 0,
						3).Draw(t, "flags"),
				}
				if rapid.Bool().Draw(t, "embedded") {
					it.Embedding = []float32{float32(rapid.IntRange(-2, 2).Draw(t, "x")), 1}
				}
				if countFields(it.Content) > m.tokens {
					it.Content = words(m.tokens) // larger ones: below
				}
				id, evicted, err := w.Add(it)
				if err != nil || id != m.lastID+1 {
					t.Fatalf("id %d after %d: %v", id, m.lastID, err)
				}
				m.lastID++
				it.ID, it.Tokens = id, countFields(it.Content)
				m.items = append(m.items, it)
				agree("add", evicted, m.settle(now))
			},
			"oversized": func(t *rapid.T) {
				content := words(m.tokens + 1 + rapid.IntRange(0, 50).Draw(t, "over"))
				id, evicted, err := w.Add(Item{Content: content, Time: now})
				if err != nil {
					t.Fatal(err)
				}
				m.lastID++
				m.items = append(m.items, Item{ID: id, Content: content, Time: now})
				sizes()
				if got, _ := w.Get(id); got.Tokens > m.tokens-m.tokens/2 {
					t.Fatalf("elided to %d of %d", got.Tokens, m.tokens)
				}
				agree("oversized", evicted, m.settle(now))
			},
			"pin": func(t *rapid.T) {
				id := id()
				found := false
				for i := range m.items {
					if m.items[i].ID == id {
						found = true
						m.items[i].Flags = flagged(m.items[i].Flags, FlagStarred, true)
					}
				}
				if err := w.Pin(id); (err == nil) != found {
					t.Fatalf("pin %d: %v", id, err)
				}
				agree("pin", nil, nil)
			},
			"unpin": func(t *rapid.T) {
				id := id()
				found := false
				for i := range m.items {
					if m.items[i].ID == id {
						found = true
						m.items[i].Flags = flagged(m.items[i].Flags, FlagStarred, false)
					}
				}
				if err := w.Unpin(id); (err == nil) != found {
					t.Fatalf("unpin %d: %v", id, err)
				}
				agree("unpin", nil, nil)
			},
			"query": func(t *rapid.T) {
				m.query = []float32{float32(rapid.IntRange(-2, 2).Draw(t, "x")), 1}
				w.SetQuery(m.query)
			},
			"clear": func(t *rapid.T) {
				if rapid.IntRange(0, 9).Draw(t, "really") > 0 {
					return
				}
				want := ids(m.items)
				m.items = nil
				agree("clear", w.Clear(), want)
			},
			"resize": func(t *rapid.T) {
				m.tokens, m.maxItems = rapid.IntRange(1, 60).Draw(t, "tokens"), rapid.IntRange(1, 12).Draw(t, "items")
				var large []int64
				for _, it := range m.items {
					if it.Tokens > m.tokens {
						large = append(large, it.ID)
					}
				}
				evicted := w.SetLimits(m.tokens, m.maxItems)
				sizes()
				if len(large) > 0 {
					// What was elided on the way out is known only by what came out.
					for i := range m.items {
						for _, e := range evicted {
							if e.ID == m.items[i].ID {
								m.items[i].Tokens = e.Tokens
							}
						}
					}
				}
				agree("resize", evicted, m.settle(now))
			},
			"": func(t *rapid.T) {
				limit := rapid.IntRange(0, 15).Draw(t, "limit")
				want := m.items
				if limit > 0 {
					want = want[max(0, len(want)-limit):]
				}
				if diff := cmp.Diff(ids(want), ids(w.Items(limit))); diff != "" {
					t.Fatalf("newest %d (-want +got)\n%s", limit, diff)
				}
			},
		})
	})
}
