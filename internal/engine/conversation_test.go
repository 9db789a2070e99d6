package engine

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/oriel-context/oriel/internal/call"
	"github.com/oriel-context/oriel/internal/clip"
	"github.com/oriel-context/oriel/internal/engine/fault"
	"github.com/oriel-context/oriel/items"
	"github.com/oriel-context/oriel/window"
)

// SPEC A1, A7: an item is read back as it was added, evicted or not, and what a
// caller does to its own copies reaches neither history nor window.
func TestItemsAreReadBackAsTheyCame(t *testing.T) {
	c := open(t, Config{MaxItems: 1})
	it := Item{
		Content: "it failed with an error", Source: "tool", Failed: true, Embedding: []float32{1, 2},
		Flags: []items.Flag{"mine"}, Meta: map[string]string{"k": "v"},
	}
	want := Item(clone(it))
	want.ID, want.Time, want.Tokens, want.Flags = 1, noon, 5, []items.Flag{"mine", "error"}
	add(t, c, it)
	it.Flags[0], it.Meta["k"], it.Embedding[0] = "x", "x", 9
	same := func(when string) {
		t.Helper()
		got, err := c.Item(t.Context(), 1)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Fatalf("%s: %v (-want +got)\n%s", when, err, diff)
		}
		got.Flags[0], got.Meta["k"], got.Embedding[0] = "x", "x", 9
	}
	same("in view")
	_, evicted, err := c.Add(t.Context(), Item{Content: "next"})
	if diff := cmp.Diff([]Item{want}, evicted); diff != "" || err != nil {
		t.Fatalf("evicted: %v (-want +got)\n%s", err, diff)
	}
	evicted[0].Flags[0], evicted[0].Meta["k"], evicted[0].Embedding[0] = "x", "x", 9
	same("evicted")
	if err := c.Clear(t.Context()); err != nil {
		t.Fatal(err)
	}
	same("cleared")
	if left := add(t, c, Item{Content: "next"}); len(left) != 0 || c.loaded.last() != 3 {
		t.Errorf("after clear: %v left, %d items", left, c.loaded.last())
	}
}

// SPEC A4, A7: an item larger than the window is shown without its middle and kept
// whole.
func TestOversizedItemIsElidedInViewAndWholeInHistory(t *testing.T) {
	c := open(t, Config{MaxTokens: 100})
	add(t, c, Item{Content: words(20)}, Item{Content: words(500), Source: "tool"})
	if diff := cmp.Diff([]int64{1, 2}, inView(t, c)); diff != "" {
		t.Errorf("in view (-want +got)\n%s", diff)
	}
	items, _ := c.Items(t.Context(), 1)
	if !clip.WithoutMiddle(items[0].Content) || items[0].Tokens > 50 {
		t.Errorf("shown as %d tokens: %q", items[0].Tokens, items[0].Content)
	}
	it, err := c.Item(t.Context(), 2)
	if err != nil || it.Content != words(500) || it.Full != "" || it.Tokens != 500 {
		t.Errorf("history has %d tokens: %v", it.Tokens, err)
	}
	// It comes back as it was.
	if err := c.Clear(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := c.Pin(t.Context(), 2); err != nil {
		t.Fatal(err)
	}
	again, _ := c.Items(t.Context(), 1)
	if diff := cmp.Diff(items, again, cmpopts.IgnoreFields(Item{}, "Flags")); diff != "" {
		t.Errorf("pinned after clear (-want +got)\n%s", diff)
	}
	check(t, c)
}

// SPEC A6: pins are set and taken away by id at any time; pinning brings an evicted
// item back in its place, and what leaves for it is under a plan.
func TestPinBringsAnEvictedItemBack(t *testing.T) {
	ctx := t.Context()
	c := open(t, Config{MaxItems: 3, Policy: "fifo"})
	for range 5 {
		add(t, c, Item{Content: "x"})
	}
	if err := c.Pin(ctx, 1); err != nil {
		t.Fatal(err)
	}
	check(t, c)
	if diff := cmp.Diff([]int64{1, 4, 5}, inView(t, c)); diff != "" {
		t.Errorf("in view (-want +got)\n%s", diff)
	}
	plans, err := c.Plans(ctx, 1)
	want := []Plan{{
		Policy: "fifo", Mode: "hard", Budget: 8000, Low: 8000, TokensBefore: 4, TokensAfter: 3, Action: "evict",
		Undo: "p3",
		Blocks: []window.Block{{Index: 3, Role: "user", Tokens: 1, Lost: 1, Verdict: "evict",
			Reason: "the oldest when item 1 was pinned"}},
	}}
	if diff := cmp.Diff(want, plans, cmpopts.EquateEmpty()); diff != "" || err != nil {
		t.Errorf("plan: %v (-want +got)\n%s", err, diff)
	}
	if left := add(t, c, Item{Content: "x"}, Item{Content: "x"}); !cmp.Equal(left, []int64{4, 5}) {
		t.Errorf("%v left", left)
	}
	if err := c.Unpin(ctx, 1); err != nil {
		t.Fatal(err)
	}
	if left := add(t, c, Item{Content: "x"}); !cmp.Equal(left, []int64{1}) {
		t.Errorf("%v left", left)
	}
	if err := c.Unpin(ctx, 1); err != nil { // not in view
		t.Error(err)
	}
}

// SPEC E5: undo brings back what a plan took and holds it until it is released.
func TestUndoHoldsUntilRelease(t *testing.T) {
	ctx := t.Context()
	c := open(t, Config{MaxTokens: 10, MaxItems: 100, Policy: "fifo"})
	add(t, c, Item{Content: words(3)}, Item{Content: words(3)}, Item{Content: words(3)})
	if left := add(t, c, Item{Content: words(6)}); !cmp.Equal(left, []int64{1, 2}) {
		t.Fatalf("%v left", left)
	}
	for range 2 { // twice is no error and changes nothing
		err := c.Undo(ctx, "p1")
		if !errors.Is(err, fault.ErrCannotFit) ||
			!strings.Contains(err.Error(), "12 tokens in 3 items, the window has 10 in 100") {
			t.Fatalf("undo: %v", err)
		}
		if diff := cmp.Diff([]int64{3, 4}, inView(t, c)); diff != "" {
			t.Fatalf("refused, in view (-want +got)\n%s", diff)
		}
	}
	add(t, c, Item{Content: words(2)}) // now 4 is not the newest
	for range 2 {
		if err := c.Undo(ctx, "p1"); err != nil {
			t.Fatal(err)
		}
		check(t, c)
		if diff := cmp.Diff([]int64{1, 2, 5}, inView(t, c)); diff != "" {
			t.Fatalf("undone, in view (-want +got)\n%s", diff)
		}
	}
	if items, _ := c.Items(ctx, 0); items[0].Pinned() {
		t.Error("what is held shows as pinned")
	}
	if s, _ := c.Status(ctx); s.Held != 2 {
		t.Errorf("%d held", s.Held)
	}
	if left := add(t, c, Item{Content: words(3)}); !cmp.Equal(left, []int64{5}) {
		t.Errorf("held, %v left", left)
	}
	if err := c.Pin(ctx, 2); err != nil {
		t.Fatal(err)
	}
	if err := c.Release(ctx); err != nil {
		t.Fatal(err)
	}
	check(t, c)
	if diff := cmp.Diff([]int64{1, 2, 6}, inView(t, c)); diff != "" {
		t.Errorf("released, in view (-want +got)\n%s", diff)
	}
	if left := add(t, c, Item{Content: words(3)}, Item{Content: words(3)}); !cmp.Equal(left, []int64{1, 6}) {
		t.Errorf("released, %v left", left)
	}
}

// SPEC E5: clearing is a cut like any other.
func TestClearCanBeUndone(t *testing.T) {
	ctx := t.Context()
	c := open(t, Config{})
	add(t, c, Item{Content: "a"}, Item{Content: "b", Flags: []items.Flag{"starred"}}, Item{Content: "c"})
	before, _ := c.Items(ctx, 0)
	if err := c.Clear(ctx); err != nil {
		t.Fatal(err)
	}
	check(t, c)
	if got := inView(t, c); len(got) != 0 {
		t.Errorf("in view: %v", got)
	}
	if err := c.Undo(ctx, "p1"); err != nil {
		t.Fatal(err)
	}
	after, _ := c.Items(ctx, 0)
	if diff := cmp.Diff(before, after); diff != "" {
		t.Errorf("undone (-want +got)\n%s", diff)
	}
	check(t, c)
}

// SPEC D6: the size follows state and complexity by steps; the user's own beats it;
// nothing goes beyond the model.
func TestAdaptiveSize(t *testing.T) {
	ctx := t.Context()
	size := func(c *Conversation) int {
		s, err := c.Status(ctx)
		if err != nil {
			t.Fatal(err)
		}
		check(t, c)
		return s.MaxTokens
	}
	trouble := Item{
		Content: "The function failed with an error in the database:\n```\npanic\n```\nHow do I fix this bug?"}
	c := open(t, Config{MaxTokens: 400, Adaptive: true})
	last := 400
	for i := range 20 {
		add(t, c, trouble)
		if now := size(c); now < last || now > last+100 {
			t.Fatalf("item %d: from %d to %d", i+1, last, now)
		} else {
			last = now
		}
	}
	if last != 1600 {
		t.Errorf("grew to %d, want four times the base", last)
	}
	evicted, err := c.Resize(ctx, 150)
	if err != nil || size(c) != 150 || len(evicted) == 0 {
		t.Errorf("resized to %d, %d left: %v", size(c), len(evicted), err)
	}
	add(t, c, trouble)
	if size(c) != 150 {
		t.Errorf("the user's size became %d", size(c))
	}
	if _, err := c.Resize(ctx, 0); err != nil || size(c) != 250 {
		t.Errorf("adaptive again: %d: %v", size(c), err)
	}
	for range 20 {
		add(t, c, Item{Content: "fine"})
	}
	if size(c) != 200 {
		t.Errorf("shrank to %d, want half the base", size(c))
	}
	if err := c.Clear(ctx); err != nil || size(c) != 400 {
		t.Errorf("cleared: %d: %v", size(c), err)
	}

	// Multipliers, bounds and step are settings.
	c = open(t, Config{MaxTokens: 400, Adaptive: true, Sizing: items.Sizing{Most: 5, Step: 1}})
	for range 12 {
		add(t, c, trouble)
	}
	if size(c) != 2000 {
		t.Errorf("grew to %d, want five times the base", size(c))
	}

	fixed := open(t, Config{})
	add(t, fixed, trouble, trouble, trouble)
	if _, err := fixed.Resize(ctx, 9000); err != nil || size(fixed) != 9000 {
		t.Errorf("%d: %v", size(fixed), err)
	}
	if _, err := fixed.Resize(ctx, 0); err != nil || size(fixed) != 8000 {
		t.Errorf("%d: %v", size(fixed), err)
	}

	// 8,192 less a tenth and 2,000 for the reply.
	bounded := open(t, Config{Model: "gpt-4", Reserve: 2000, MaxTokens: 1 << 30})
	for range 2 {
		if got := size(bounded); got != 8192-819-2000 {
			t.Errorf("the model takes 5373, the window has %d", got)
		}
		if _, err := bounded.Resize(ctx, 1<<29); err != nil {
			t.Error(err)
		}
	}
	view, err := bounded.Context(ctx, "q", ContextOptions{Budget: 1 << 20})
	if err != nil || view.Plan.Budget != 5373 || len(view.Plan.Warnings) != 1 {
		t.Errorf("a budget of %d, warnings %q: %v", view.Plan.Budget, view.Plan.Warnings, err)
	}
	if _, err := Open(ctx, Config{Model: "gpt-4"}); !errors.Is(err, fault.ErrConfig) {
		t.Errorf("no room for the reply: %v", err)
	}
}

// SPEC A3: the vector of the newest query counts when items leave.
func TestQueryCountsAtEviction(t *testing.T) {
	for _, again := range []bool{false, true} { // a window that is read again knows it, too
		c := open(t, Config{MaxItems: 3, NoAutoFlags: true})
		near, far := []float32{1, 0}, []float32{0, 1}
		add(t, c, Item{Content: "near", Embedding: near}, Item{Content: "far", Embedding: far},
			Item{Content: "far", Embedding: far})
		if _, err := c.Context(t.Context(), "q", ContextOptions{QueryEmbedding: near}); err != nil {
			t.Fatal(err)
		}
		if again {
			c.unload()
		}
		if left := add(t, c, Item{Content: "x"}); !cmp.Equal(left, []int64{2}) {
			t.Errorf("%v left", left)
		}
		if again {
			c.unload()
		}
		if err := c.Pin(t.Context(), 2); err != nil { // and one that is made anew
			t.Fatal(err)
		}
		if diff := cmp.Diff([]int64{1, 2, 4}, inView(t, c)); diff != "" {
			t.Errorf("in view (-want +got)\n%s", diff)
		}
	}
}

// SPEC A1: concurrent callers get numbers of their own, and nothing breaks.
func TestConcurrentUse(t *testing.T) {
	t.Run("memory", func(t *testing.T) { useConcurrently(t, Config{}, 60) })
	t.Run("sqlite", func(t *testing.T) { useConcurrently(t, Config{Dir: t.TempDir()}, 20) })
}

func useConcurrently(t *testing.T, config Config, rounds int) {
	ctx := t.Context()
	config.MaxTokens, config.MaxItems, config.Adaptive = 50, 10, true
	c := open(t, config)
	defer c.engine.Close()
	const workers = 8
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			mine, err := c.engine.Conversation(ctx, "c")
			if err != nil {
				t.Error(err)
				return
			}
			last := int64(0)
			for i := range rounds {
				text := fmt.Sprintf("worker %d says %d %s", w, i, words(i%9))
				id, _, err := mine.Add(ctx,
					Item{Content: text, Source: "user", Meta: map[string]string{"w": fmt.Sprint(w)}})
				if err != nil || id <= last {
					t.Errorf("id %d after %d: %v", id, last, err)
				}
				last = id
				got, err := mine.Item(ctx, id)
				if err != nil || got.Content != text {
					t.Errorf("item %d is %q: %v", id, got.Content, err)
				}
				got.Meta["w"] = "changed"
				view, err := mine.Context(ctx, "and now?", ContextOptions{Budget: 60, QueryEmbedding: []float32{1}})
				if err != nil || view.Tokens > 60 {
					t.Errorf("%d tokens: %v", view.Tokens, err)
					continue
				}
				for _, err := range []error{mine.Pin(ctx, id), mine.Undo(ctx, view.Plan.Undo), mine.Release(ctx),
					mine.Unpin(ctx, id)} {
					if err != nil && !errors.Is(err, fault.ErrCannotFit) {
						t.Error(err)
					}
				}
				if i%20 == 19 {
					if err := mine.Clear(ctx); err != nil {
						t.Error(err)
					}
				}
				if _, err := mine.Plans(ctx, 5); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	check(t, c)
	if n := c.loaded.last(); n != int64(workers*rounds) {
		t.Errorf("%d items, want %d", n, workers*rounds)
	}
}

// SPEC E5: for what an undo brings back the oldest leave, whatever the policy, no more than
// must, and it can be asked before which.
func TestUndoTakesTheOldestOut(t *testing.T) {
	ctx := t.Context()
	c := open(t, Config{MaxTokens: 10, MaxItems: 100, NoAutoFlags: true})
	add(t, c, Item{Content: words(4)})
	for range 5 {
		add(t, c, Item{Content: words(2), Source: items.SourceUser}) // at last 2 to 6, item 1 has left
	}
	if diff := cmp.Diff([]int64{2, 3, 4, 5, 6}, inView(t, c)); diff != "" {
		t.Fatalf("in view (-want +got)\n%s", diff)
	}
	if err := c.Pin(ctx, 2); err != nil {
		t.Fatal(err)
	}
	for _, plan := range []string{"p1", ""} {
		u, err := c.WouldUndo(ctx, plan)
		if want := (call.Undoing{Plan: "p1", Back: []int64{1}, Leaves: []int64{3, 4}, BackTokens: 4,
			LeavesTokens: 4}); err != nil || !cmp.Equal(u, want) || !u.Newer() {
			t.Errorf("%+v, %v", u, err)
		}
	}
	if diff := cmp.Diff([]int64{2, 3, 4, 5, 6}, inView(t, c)); diff != "" {
		t.Errorf("asking changed the view (-want +got)\n%s", diff)
	}
	if err := c.Undo(ctx, "p1"); err != nil {
		t.Fatal(err)
	}
	check(t, c)
	if diff := cmp.Diff([]int64{1, 2, 5, 6}, inView(t, c)); diff != "" {
		t.Errorf("in view (-want +got)\n%s", diff)
	}
	if _, err := c.WouldUndo(ctx, "p9"); !errors.Is(err, fault.ErrNoPlan) {
		t.Error(err)
	}
}

// SPEC E5: what left for an undo and has room in the end stays.
func TestUndoGivesBackWhatHasRoom(t *testing.T) {
	ctx := t.Context()
	c := open(t, Config{MaxTokens: 100, MaxItems: 100, NoAutoFlags: true})
	for _, n := range []int{60, 5, 5, 5, 60, 10} {
		add(t, c, Item{Content: words(n)})
	}
	u, err := c.WouldUndo(ctx, "p1")
	if want := (call.Undoing{Plan: "p1", Back: []int64{1}, Leaves: []int64{5}, BackTokens: 60,
		LeavesTokens: 60}); err != nil || !cmp.Equal(u, want) {
		t.Fatalf("%+v, %v", u, err)
	}
	if err := c.Undo(ctx, "p1"); err != nil {
		t.Fatal(err)
	}
	check(t, c)
	if diff := cmp.Diff([]int64{1, 2, 3, 4, 6}, inView(t, c)); diff != "" {
		t.Errorf("in view (-want +got)\n%s", diff)
	}
}

// SPEC E5: an undo takes out nothing for which there is room.
func TestUndoTakesOutOnlyWhatMustLeave(t *testing.T) {
	ctx := t.Context()
	undone := 0
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 0))
		c := open(t, Config{MaxTokens: 100, MaxItems: 4 + r.IntN(20), NoAutoFlags: true})
		size := map[int64]int{}
		for id := range int64(40) {
			size[id+1] = 1 + r.IntN(70)
			add(t, c, Item{Content: words(size[id+1])})
		}
		plans, err := c.Plans(ctx, 0)
		if err != nil {
			t.Fatal(err)
		}
		u, err := c.WouldUndo(ctx, plans[r.IntN(len(plans))].Undo)
		if err != nil {
			continue
		}
		undone++
		if err := c.Undo(ctx, u.Plan); err != nil {
			t.Fatal(err)
		}
		s, err := c.Status(ctx)
		if err != nil {
			t.Fatal(err)
		}
		for _, id := range u.Leaves {
			if s.Tokens+size[id] <= s.MaxTokens && s.Items < s.MaxItems {
				t.Errorf("seed %d: item %d of %d tokens left, though %d of %d are in use", seed, id, size[id], s.Tokens,
					s.MaxTokens)
			}
		}
	}
	if undone < 30 {
		t.Errorf("only %d undos", undone)
	}
}
