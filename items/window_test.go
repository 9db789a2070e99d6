package items

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/internal/clip"
	"github.com/oriel-context/oriel/internal/test/script"
)

var noon = time.Date(2025, 7, 10, 12, 0, 0, 0, time.UTC)

// countFields takes every word for a token.
func countFields(s string) int { return len(strings.Fields(s)) }

func words(n int) string { return strings.TrimSpace(strings.Repeat("word ", n)) }

// newTestItems is a window at a fixed time that counts words.
func newTestItems(o Options) *Window {
	o.Count = countFields
	if o.Now == nil {
		o.Now = func() time.Time { return noon }
	}
	return New(o)
}

func check(t testing.TB, w *Window) {
	t.Helper()
	if err := w.Check(); err != nil {
		t.Fatal(err)
	}
}

func add(t testing.TB, w *Window, it Item) (int64, []Item) {
	t.Helper()
	id, evicted, err := w.Add(it)
	if err != nil {
		t.Fatal(err)
	}
	check(t, w)
	return id, evicted
}

func ids(items []Item) []int64 {
	var out []int64
	for _, it := range items {
		out = append(out, it.ID)
	}
	return out
}

// SPEC A2, A5
func TestDefaultLimits(t *testing.T) {
	for _, c := range []struct {
		policy Policy
		items  int
	}{{"", 100}, {ByRelevance, 100}, {ByAge, 50}} {
		tokens, items := New(Options{Policy: c.policy}).Limits()
		if tokens != 8000 || items != c.items {
			t.Errorf("%q: %d tokens, %d items", c.policy, tokens, items)
		}
	}
}

// SPEC A5: the three known issues of plain sliding windows: evictions are
// reported, ...
func TestFIFOReportsEveryEviction(t *testing.T) {
	w := newTestItems(Options{Policy: ByAge})
	for i := range 50 {
		if _, evicted := add(t, w, Item{Content: fmt.Sprint("item ", i+1)}); evicted != nil {
			t.Fatalf("item %d evicted %v", i+1, ids(evicted))
		}
	}
	id, evicted := add(t, w, Item{Content: "item 51"})
	if id != 51 || len(evicted) != 1 || evicted[0].Content != "item 1" {
		t.Errorf("item %d evicted %v", id, evicted)
	}
	if all := w.Items(0); len(all) != 50 || all[0].ID != 2 || all[49].ID != 51 {
		t.Errorf("window is %v", ids(all))
	}
	if diff := cmp.Diff([]int64{49, 50, 51}, ids(w.Items(3))); diff != "" {
		t.Errorf("newest three (-want +got)\n%s", diff)
	}
}

// SPEC A5: ... a token limit works beside the item limit, ...
func TestFIFOHasATokenLimitBesideTheItemLimit(t *testing.T) {
	w := newTestItems(Options{Policy: ByAge, MaxTokens: 100, MaxItems: 10})
	for range 5 {
		add(t, w, Item{Content: words(20)})
	}
	_, evicted := add(t, w, Item{Content: words(35)})
	if diff := cmp.Diff([]int64{1, 2}, ids(evicted)); diff != "" {
		t.Errorf("evicted (-want +got)\n%s", diff)
	}
	if w.Tokens() != 95 || w.Len() != 4 {
		t.Errorf("%d tokens, %d items", w.Tokens(), w.Len())
	}
}

// SPEC A5: ... and an eviction moves a bounded number of items on average, however
// large the window is.
func TestFIFOEvictionIsAmortisedConstant(t *testing.T) {
	const size, adds = 5000, 50_000
	w := newTestItems(Options{Policy: ByAge, MaxItems: size, MaxTokens: 1 << 40, NoAutoFlags: true})
	moved := 0
	for range adds {
		before, head := len(w.slots), w.head
		if _, _, err := w.Add(Item{Content: "x", Tokens: 1}); err != nil {
			t.Fatal(err)
		}
		if w.head < head || len(w.slots) < before {
			moved += w.live // compacted
		}
	}
	check(t, w)
	if moved > 2*adds {
		t.Errorf("%d items moved for %d additions", moved, adds)
	}
}

// SPEC A1: the same text twice is two items; ids rise, also over Clear.
func TestIDsRise(t *testing.T) {
	w := newTestItems(Options{})
	a, _ := add(t, w, Item{Content: "same"})
	b, _ := add(t, w, Item{Content: "same"})
	if a != 1 || b != 2 || w.Len() != 2 {
		t.Fatalf("ids %d, %d, %d items", a, b, w.Len())
	}
	if got := w.Clear(); len(got) != 2 || w.Len() != 0 || w.Tokens() != 0 {
		t.Errorf("clear gave %v and left %d items", ids(got), w.Len())
	}
	check(t, w)
	if c, _ := add(t, w, Item{Content: "same"}); c != 3 {
		t.Errorf("after clear: id %d", c)
	}
	if d, _ := add(t, w, Item{ID: 9, Content: "restored"}); d != 9 {
		t.Errorf("restored as %d", d)
	}
	for _, bad := range []Item{{ID: 9}, {ID: -1}, {Tokens: -1}} {
		if _, _, err := w.Add(bad); err == nil {
			t.Errorf("%+v was added", bad)
		}
	}
	check(t, w)
}

// SPEC A4: the oldest of equals leaves first; the newest never does.
func TestTiesEvictTheOldestAndNeverTheNewest(t *testing.T) {
	w := newTestItems(Options{MaxItems: 3, NoAutoFlags: true})
	for range 3 {
		add(t, w, Item{Source: SourceUser, Content: "x"})
	}
	// A clamped score: both are 1, and the newest is worth least of all.
	_, evicted := add(t, w, Item{Source: SourceTool, Content: "x", Time: noon.Add(-1000 * time.Hour)})
	if diff := cmp.Diff([]int64{1}, ids(evicted)); diff != "" {
		t.Errorf("evicted (-want +got)\n%s", diff)
	}
}

// SPEC A4: pinned items leave only when nothing else is left, then the oldest.
func TestPinnedLeaveLast(t *testing.T) {
	for _, policy := range []Policy{ByRelevance, ByAge} {
		w := newTestItems(Options{Policy: policy, MaxItems: 3})
		for range 3 {
			add(t, w, Item{Content: "x"})
		}
		for _, id := range []int64{1, 2} {
			if err := w.Pin(id); err != nil {
				t.Fatal(err)
			}
		}
		var left []int64
		for range 3 {
			id, evicted := add(t, w, Item{Content: "x"})
			left = append(left, ids(evicted)...)
			if err := w.Pin(id); err != nil {
				t.Fatal(err)
			}
		}
		if diff := cmp.Diff([]int64{3, 1, 2}, left); diff != "" {
			t.Errorf("%s: left (-want +got)\n%s", policy, diff)
		}
		if err := w.Pin(3); err == nil {
			t.Error("an item that left was pinned")
		}
	}
}

// SPEC A4: a flag that a caller set is not shared with items that were handed out.
func TestPinDoesNotChangeItemsHandedOut(t *testing.T) {
	w := newTestItems(Options{})
	flags := append(make([]Flag, 0, 8), FlagCode)
	id, _ := add(t, w, Item{Content: "x", Flags: flags})
	before, _ := w.Get(id)
	if err := w.Pin(id); err != nil {
		t.Fatal(err)
	}
	after, _ := w.Get(id)
	if before.Pinned() || !after.Pinned() || flags[:2][1] == FlagStarred {
		t.Errorf("before %v, after %v, caller's %v", before.Flags, after.Flags, flags[:2])
	}
	if err := w.Unpin(id); err != nil {
		t.Fatal(err)
	}
	if it, _ := w.Get(id); it.Pinned() || !after.Pinned() {
		t.Errorf("unpinned: %v, handed out: %v", it.Flags, after.Flags)
	}
}

// SPEC A4: an item larger than the window is elided; it stays, and so do others.
func TestOversizedItemIsElidedNotDropped(t *testing.T) {
	w := newTestItems(Options{MaxTokens: 100})
	add(t, w, Item{Content: words(30)})
	add(t, w, Item{Content: words(20)})
	whole := "begin " + words(1000) + " end"
	id, evicted := add(t, w, Item{Content: whole})
	if len(evicted) != 0 || w.Len() != 3 {
		t.Errorf("evicted %v, %d items left", ids(evicted), w.Len())
	}
	it, ok := w.Get(id)
	if !ok || it.Full != whole || it.Whole() != whole || it.Tokens > 50 || it.Tokens != countFields(it.Content) {
		t.Errorf("%d tokens: %.200q", it.Tokens, it.Content)
	}
	if !strings.HasPrefix(it.Content, "begin ") || !strings.HasSuffix(it.Content, " end") ||
		!clip.WithoutMiddle(it.Content) ||
		!strings.Contains(it.Content, "item 3 of the history") {
		t.Errorf("content %q", it.Content)
	}
	// Smaller limits elide from the whole, and evict at once.
	left := w.SetLimits(40, 0)
	check(t, w)
	it, _ = w.Get(id)
	if len(left) == 0 || it.Full != whole || strings.Count(it.Content, chat.Mark) != 1 || it.Tokens > 20 {
		t.Errorf("left %v; %d tokens: %q", ids(left), it.Tokens, it.Content)
	}
	// There may be no room for anything.
	w.SetLimits(1, 1)
	check(t, w)
	if it, ok := w.Get(id); !ok || it.Full != whole {
		t.Errorf("%v %q", ok, it.Content)
	}
}

// SPEC A4: tokens that a caller counted for another model, or for a picture.
func TestCallersTokensAreRespected(t *testing.T) {
	w := newTestItems(Options{MaxTokens: 100})
	id, _ := add(t, w, Item{Content: words(80), Tokens: 160}) // twice ours
	if it, _ := w.Get(id); it.Tokens > 50 || countFields(it.Content) > 25 {
		t.Errorf("%d tokens for %d words", it.Tokens, countFields(it.Content))
	}
	id, _ = add(t, w, Item{Content: "[picture]", Tokens: 5000})
	if it, _ := w.Get(id); it.Content != "[picture]" {
		t.Errorf("%+v", it)
	}
}

// SPEC A3, A4: the query counts at eviction.
func TestQueryDecidesWhoLeaves(t *testing.T) {
	for _, c := range []struct {
		query []float32
		want  int64
	}{{nil, 1}, {[]float32{1, 0}, 2}, {[]float32{0, 1}, 1}} {
		w := newTestItems(Options{MaxItems: 2})
		w.SetQuery(c.query)
		add(t, w, Item{Content: "cats", Embedding: []float32{1, 0}})
		add(t, w, Item{Content: "dogs", Embedding: []float32{0, 1}})
		_, evicted := add(t, w, Item{Content: "x"})
		if diff := cmp.Diff([]int64{c.want}, ids(evicted)); diff != "" {
			t.Errorf("query %v: evicted (-want +got)\n%s", c.query, diff)
		}
	}
}

// SPEC A1: automatic flags are set when content arrives, and can be switched off.
func TestAutomaticFlagsOnArrival(t *testing.T) {
	for _, off := range []bool{false, true} {
		w := newTestItems(Options{NoAutoFlags: off})
		id, _ := add(t, w, Item{Content: "Why?", Source: SourceUser, Flags: []Flag{"mine"}})
		want := []Flag{"mine", FlagQuestion}
		if off {
			want = want[:1]
		}
		if it, _ := w.Get(id); !cmp.Equal(want, it.Flags) || !it.Time.Equal(noon) || it.Tokens != 1 {
			t.Errorf("off %v: %+v", off, it)
		}
	}
}

// SPEC A2, A4, A5: scripts show what each policy does. A line is an operation:
//
//	window fifo|relevance TOKENS ITEMS    begins; no further automatic flags
//	add SOURCE TOKENS [HOURS-AGO] [FLAG…]
//	pin ID, unpin ID, limits TOKENS ITEMS, newest N, clear
func TestItemScripts(t *testing.T) {
	script.Run(t, "testdata/*.txt", func(t *testing.T, in string) string {
		var b strings.Builder
		var w *Window
		for line := range strings.Lines(in) {
			f := strings.Fields(line)
			if len(f) == 0 || f[0] == "#" {
				continue
			}
			num := func(i int) int {
				n := 0
				if i < len(f) {
					if _, err := fmt.Sscan(f[i], &n); err != nil {
						t.Fatalf("%s: %v", line, err)
					}
				}
				return n
			}
			show := w
			switch f[0] {
			case "window":
				w = newTestItems(Options{Policy: Policy(f[1]), MaxTokens: num(2), MaxItems: num(3), NoAutoFlags: true})
				continue
			case "add":
				it := Item{Source: Source(f[1]), Content: words(num(2)),
					Time: noon.Add(-time.Duration(num(3)) * time.Hour)}
				for _, flag := range f[min(4, len(f)):] {
					it.Flags = append(it.Flags, Flag(flag))
				}
				_, evicted := add(t, w, it)
				report(&b, line, evicted)
			case "pin", "unpin":
				do := w.Pin
				if f[0] == "unpin" {
					do = w.Unpin
				}
				if err := do(int64(num(1))); err != nil {
					fmt.Fprintf(&b, "%s: %v\n", strings.TrimSpace(line), err)
				}
			case "limits":
				report(&b, line, w.SetLimits(num(1), num(2)))
			case "clear":
				report(&b, line, w.Clear())
			case "newest":
				fmt.Fprintf(&b, "newest %d: %v\n", num(1), ids(w.Items(num(1))))
			default:
				t.Fatalf("unknown operation %q", line)
			}
			check(t, show)
		}
		fmt.Fprintf(&b, "window: %d tokens:", w.Tokens())
		for _, it := range w.Items(0) {
			fmt.Fprintf(&b, " %d", it.ID)
			if it.Pinned() {
				b.WriteString("*")
			}
			if it.Full != "" {
				fmt.Fprintf(&b, "(%d of %d)", it.Tokens, countFields(it.Full))
			}
		}
		return b.String() + "\n"
	})
}

func report(b *strings.Builder, line string, evicted []Item) {
	if len(evicted) > 0 {
		fmt.Fprintf(b, "%s: evicted %v\n", strings.TrimSpace(line), ids(evicted))
	}
}

// SPEC A5, D8: by age an addition costs the same whatever has passed through and
// however large the window is.
func BenchmarkAddByAge(b *testing.B) {
	for _, history := range []int{100, 10_000, 1_000_000} {
		for _, size := range []int{50, 5000} {
			b.Run(fmt.Sprintf("history=%d/window=%d", history, size), func(b *testing.B) {
				benchmarkAdd(b, Options{Policy: ByAge, MaxItems: size}, history)
			})
		}
	}
}

// SPEC A4, D8: by relevance it costs as much as the window is large.
func BenchmarkAddByRelevance(b *testing.B) {
	for _, history := range []int{100, 10_000, 1_000_000} {
		for _, size := range []int{50, 100, 200, 400} {
			if history > 10_000 && size > 100 {
				continue
			}
			b.Run(fmt.Sprintf("history=%d/window=%d", history, size), func(b *testing.B) {
				benchmarkAdd(b, Options{MaxItems: size}, history)
			})
		}
	}
}

func benchmarkAdd(b *testing.B, o Options, history int) {
	now := noon
	o.Now = func() time.Time { now = now.Add(time.Second); return now }
	o.MaxTokens, o.NoAutoFlags = 1<<40, true
	w := New(o)
	r := rand.New(rand.NewPCG(1, 2))
	sources := []Source{SourceUser, SourceAssistant, SourceTool}
	item := func() Item { return Item{Content: "x", Tokens: 80, Source: sources[r.IntN(3)]} }
	for range history {
		if _, _, err := w.Add(item()); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := w.Add(item()); err != nil {
			b.Fatal(err)
		}
	}
	check(b, w)
}
