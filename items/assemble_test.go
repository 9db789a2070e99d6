package items

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/oriel-context/oriel/internal/bpe"
	"github.com/oriel-context/oriel/internal/clip"
)

func at(id int64, minutes int, content string) Item {
	return Item{ID: id, Time: noon.Add(time.Duration(minutes) * time.Minute), Source: SourceUser, Content: content}
}

// SPEC D4: three titled parts in the order of time; the second is left out when it
// is empty.
func TestAssembleText(t *testing.T) {
	got := AssembleText([]Item{at(7, 7, "seven"), at(6, 6, "six")}, []Item{at(3, 3, "three"), at(1, 1, "one")},
		"What now?")
	want := `# Recent Context
[user] six

[user] seven

# Relevant Historical Context
[2025-07-10 12:01 user] one

[2025-07-10 12:03 user] three

# Current Query
What now?`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if got := AssembleText([]Item{{Content: "x"}}, nil, "q"); got != "# Recent Context\nx\n\n# Current Query\nq" {
		t.Errorf("%q", got)
	}
	if got := AssembleText(nil, []Item{{Content: "x"}}, "q"); !strings.Contains(got, "Context\nx\n\n# Current") {
		t.Errorf("without a time: %q", got)
	}
}

// SPEC D4: half and half, and what one half does not use the other may. Entries
// have 10 tokens (11 for recent ones, with their source), titles and query 11.
func TestAssembleHalves(t *testing.T) {
	var recent, relevant []Item
	for i := range 20 {
		relevant = append(relevant, Item{ID: int64(i + 1), Content: fmt.Sprintf("r%d ", i) + words(9)})
		recent = append(recent, at(int64(i+101), 100+i, fmt.Sprintf("n%d ", i)+words(9)))
	}
	for _, c := range []struct {
		name             string
		recent, relevant []Item
		share            float64
		n, m             int
	}{
		{"both have much", recent, relevant, 0, 5, 4},
		{"nothing relevant", recent, nil, 0, 9, 0},
		{"little relevant", recent, relevant[:1], 0, 7, 1},
		{"little recent", recent[18:], relevant, 0, 2, 7},
		{"nothing recent", nil, relevant, 0, 0, 9},
		{"a share of one's own", recent, relevant, 0.8, 7, 1},
	} {
		a := Assemble(c.recent, c.relevant, "q", AssembleOptions{MaxTokens: 107, RecentShare: c.share,
			Count: countFields})
		if len(a.Recent) != c.n || len(a.Relevant) != c.m || a.Tokens > 107 {
			t.Errorf("%s: %d recent, %d relevant, %d tokens", c.name, len(a.Recent), len(a.Relevant), a.Tokens)
		}
		// The newest ones, and the best ones.
		for i, it := range a.Recent {
			if it.ID != c.recent[len(c.recent)-c.n+i].ID {
				t.Errorf("%s: recent %v", c.name, ids(a.Recent))
			}
		}
		for i, it := range a.Relevant {
			if it.ID != c.relevant[i].ID {
				t.Errorf("%s: relevant %v", c.name, ids(a.Relevant))
			}
		}
	}
}

// SPEC D4: the newest item comes before what is relevant, however small the share.
func TestAssembleKeepsTheNewest(t *testing.T) {
	for _, share := range []float64{.01, .05, .2, .5} {
		a := Assemble([]Item{at(1, 1, words(60)), at(2, 2, "the boss comes at noon")},
			[]Item{{ID: 9, Content: words(12)}, {ID: 8, Content: words(9)}, {ID: 7, Content: words(3)},
				{ID: 6, Content: words(2)}, {ID: 5, Content: words(1)}}, "q",
			AssembleOptions{MaxTokens: 40, RecentShare: share, Count: countFields})
		if got := ids(a.Recent); len(got) != 1 || got[0] != 2 || clip.WithoutMiddle(a.Text) || len(a.Relevant) == 0 {
			t.Errorf("share %g: recent %v, relevant %v", share, got, ids(a.Relevant))
		}
	}
}

// The time grows with the number of items, not with its square.
func BenchmarkAssembleMany(b *testing.B) {
	for _, n := range []int{5_000, 20_000} {
		relevant := make([]Item, n)
		for i := range relevant {
			relevant[i] = Item{ID: int64(i + 1), Content: words(9)}
		}
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for b.Loop() {
				Assemble(nil, relevant, "q", AssembleOptions{MaxTokens: 1 << 30, Count: countFields})
			}
		})
	}
}

// SPEC D3: recall never repeats what the window shows.
func TestAssembleRepeatsNothing(t *testing.T) {
	recent := []Item{at(1, 1, "one"), at(2, 2, "two")}
	a := Assemble(recent, []Item{at(2, 2, "two"), at(9, 0, "nine"), at(9, 0, "nine")}, "q",
		AssembleOptions{Count: countFields})
	if diff := cmp.Diff([]int64{9}, ids(a.Relevant)); diff != "" {
		t.Errorf("relevant (-want +got)\n%s", diff)
	}
}

// SPEC D4, E2: the newest and the query are there, however large.
func TestAssembleElidesWhatIsTooLarge(t *testing.T) {
	a := Assemble([]Item{at(1, 1, "begin "+words(500)+" end")}, []Item{{ID: 9, Content: words(30)}}, "q",
		AssembleOptions{MaxTokens: 100, Count: countFields})
	if a.Tokens > 100 || len(a.Recent) != 1 || !clip.WithoutMiddle(a.Text) ||
		!strings.Contains(a.Text, "[user] begin ") ||
		len(a.Relevant) != 1 {
		t.Errorf("%d tokens: %s", a.Tokens, a.Text)
	}
	a = Assemble([]Item{at(1, 1, "x")}, nil, "begin "+words(500)+" end",
		AssembleOptions{MaxTokens: 100, Count: countFields})
	if a.Tokens > 100 || !strings.Contains(a.Text, "Query\nbegin ") || !strings.HasSuffix(a.Text, " end") {
		t.Errorf("%d tokens: %s", a.Tokens, a.Text)
	}
}

// SPEC D4: within the limit, in the order of time, the newest first to be taken.
func TestAssembleProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		items := func(name string, first int64) (out []Item) {
			for i, n := range rapid.SliceOfN(rapid.IntRange(0, 30), 0, 12).Draw(t, name) {
				out = append(out, at(first+int64(i), int(first)+i, strings.Repeat("wörd\n", n)))
			}
			return out
		}
		recent, relevant := items("recent", 100), items("relevant", 95)
		count := rapid.SampledFrom([]func(string) int{countFields, bpe.Count}).Draw(t, "count")
		limit := rapid.IntRange(40, 400).Draw(t, "limit")
		a := Assemble(recent, relevant, "query", AssembleOptions{MaxTokens: limit, Count: count})
		if a.Tokens > limit || a.Tokens != count(a.Text) || a.Text != AssembleText(a.Recent, a.Relevant, "query") {
			t.Fatalf("%d tokens, limit %d: %s", a.Tokens, limit, a.Text)
		}
		for i, it := range a.Recent {
			if it.ID != recent[len(recent)-len(a.Recent)+i].ID {
				t.Fatalf("recent %v", ids(a.Recent))
			}
		}
		seen := map[int64]bool{}
		for _, it := range append(a.Relevant, a.Recent...) {
			if seen[it.ID] {
				t.Fatalf("item %d twice", it.ID)
			}
			seen[it.ID] = true
		}
	})
}
