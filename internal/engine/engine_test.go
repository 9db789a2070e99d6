package engine

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/oriel-context/oriel/internal/engine/fault"
	"github.com/oriel-context/oriel/internal/forward"
	"github.com/oriel-context/oriel/internal/test/pgtest"
	"github.com/oriel-context/oriel/items"
	"github.com/oriel-context/oriel/timeline"
)

// What engines have begun ends with them.
func TestMain(m *testing.M) {
	forward.HeadWait = time.Minute // a busy machine is no silent model
	goleak.VerifyTestMain(stopping{m})
}

// stopping stops the database of the tests before goroutines are counted.
type stopping struct{ *testing.M }

func (s stopping) Run() int {
	defer pgtest.Stop()
	return s.M.Run()
}

var noon = time.Date(2025, 7, 10, 12, 0, 0, 0, time.UTC)

// countFields takes every word for a token.
func countFields(s string) int { return len(strings.Fields(s)) }

func words(n int) string { return strings.TrimSpace(strings.Repeat("word ", n)) }

// open makes a conversation at a fixed time that counts words, and recalls by words
// unless config has a model.
func open(t testing.TB, config Config) *Conversation {
	t.Helper()
	if config.Now == nil {
		config.Now = func() time.Time { return noon }
	}
	if config.Count == nil {
		config.Count = countFields
	}
	config.NoEmbed = config.Embed == nil
	e, err := Open(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close() })
	c, err := e.Conversation(t.Context(), "c")
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// add puts items into a conversation and gives the ids of what left.
func add(t testing.TB, c *Conversation, items ...Item) (left []int64) {
	t.Helper()
	for _, it := range items {
		_, evicted, err := c.Add(t.Context(), it)
		if err != nil {
			t.Fatal(err)
		}
		left = append(left, ids(evicted)...)
		check(t, c)
	}
	return left
}

func ids(items []Item) []int64 {
	out := []int64{}
	for _, it := range items {
		out = append(out, it.ID)
	}
	return out
}

// inView are the ids of the window.
func inView(t testing.TB, c *Conversation) []int64 {
	t.Helper()
	items, err := c.Items(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	return ids(items)
}

// fatal is what *testing.T and *rapid.T share.
type fatal interface {
	Helper()
	Fatalf(format string, args ...any)
}

// check is the conversation's invariant; every test calls it.
func check(t fatal, c *Conversation) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.loaded == nil {
		return
	}
	if err := c.loaded.window.Check(); err != nil {
		t.Fatalf("window: %v", err)
	}
	if limit, _ := c.loaded.window.Limits(); c.engine.allowed > 0 && limit > c.engine.allowed {
		t.Fatalf("a window of %d tokens for a model that takes %d", limit, c.engine.allowed)
	}
	p := c.loaded
	for _, it := range p.window.Items(0) {
		whole, err := p.read(context.Background(), it.ID, it.ID)
		if err != nil || len(whole) != 1 {
			t.Fatalf("item %d: %d read: %v", it.ID, len(whole), err)
		}
		if it.ID > p.last() || it.Whole() != whole[0].Whole() {
			t.Fatalf("item %d of %d: the window has %q, the history %q", it.ID, p.last(), it.Whole(), whole[0].Whole())
		}
		if it.Pinned() != (p.pinned[it.ID] || p.held[it.ID]) {
			t.Fatalf("item %d: starred %v, pinned %v, held %v", it.ID, it.Pinned(), p.pinned[it.ID], p.held[it.ID])
		}
	}
	for id := range p.held {
		if _, shown := p.window.Get(id); !shown {
			t.Fatalf("item %d is held and not in view", id)
		}
	}
	pins, unsettled, err := p.pins(context.Background())
	if p.stored.Revision > 0 && (err != nil || len(unsettled) > 0) {
		t.Fatalf("pins %v are not settled: %v", unsettled, err)
	}
	for id := range p.pinned {
		if _, shown := p.window.Get(id); !shown || !pins[id] {
			t.Fatalf("item %d is pinned: in view %v, stored %v", id, shown, pins[id])
		}
	}
	plans, err := p.plans(context.Background(), 0)
	if err != nil {
		t.Fatalf("plans: %v", err)
	}
	last := int64(0)
	for i := range plans {
		n, err := strconv.ParseInt(plans[i].Undo[1:], 10, 64)
		if err != nil || n > p.lastPlan || n <= last || len(plans[i].Blocks) == 0 {
			t.Fatalf("plan %s of %d after %d took %d items: %v", plans[i].Undo, p.lastPlan, last, len(plans[i].Blocks),
				err)
		}
		last = n
	}
	if last != p.lastKept {
		t.Fatalf("the last plan is %d, not %d", last, p.lastKept)
	}
	if p.touched() || len(p.events) > 0 || p.spoiled || p.savedUpTo >= 0 && p.last()-p.savedUpTo >= maxReplay {
		t.Fatalf("left over: %+v", p)
	}
}

// SPEC A2, A5: the documented zero values.
func TestDefaults(t *testing.T) {
	for policy, most := range map[string]int{"": 100, "relevance": 100, "fifo": 50} {
		s, err := open(t, Config{Policy: policy}).Status(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(Status{MaxTokens: 8000, MaxItems: most, State: items.StateGeneral}, s); diff != "" {
			t.Errorf("%q (-want +got)\n%s", policy, diff)
		}
	}
}

func TestSameIDIsTheSameConversation(t *testing.T) {
	c := open(t, Config{})
	other, err := c.engine.Conversation(t.Context(), "other")
	if err != nil {
		t.Fatal(err)
	}
	add(t, c, Item{Content: "x"})
	again, err := c.engine.Conversation(t.Context(), "c")
	if err != nil || again != c || again.ID() != "c" {
		t.Errorf("%p, want %p: %v", again, c, err)
	}
	if got := inView(t, other); len(got) != 0 {
		t.Errorf("the other conversation has %v", got)
	}
	all, err := c.engine.Conversations(t.Context())
	if diff := cmp.Diff([]string{"c", "other"}, all); diff != "" || err != nil {
		t.Errorf("%v %s", err, diff)
	}
}

// Every error says what, where and what to do.
func TestErrorsSayWhatToDo(t *testing.T) {
	ctx := t.Context()
	c := open(t, Config{MaxItems: 2, Policy: "fifo"})
	add(t, c, Item{Content: "a", Flags: []items.Flag{"starred"}}, Item{Content: "b", Flags: []items.Flag{"starred"}},
		Item{Content: "c"})
	opening := func(config Config) error { _, err := Open(ctx, config); return err }
	for _, tt := range []struct {
		name string
		err  error
		is   error
		says string
	}{
		{"dir", opening(Config{Dir: "doc.go"}), syscall.ENOTDIR, "open doc.go: "},
		{"sync", opening(Config{Sync: "never"}), fault.ErrConfig, `Sync "never"; use "normal" or "full"`},
		{"retention", opening(Config{Retention: Retention{OlderThan: -1}}), fault.ErrConfig,
			"Retention.OlderThan -1; give a number above 0"},
		{"tokens", opening(Config{MaxTokens: -1}), fault.ErrConfig, "MaxTokens -1; give a number above 0"},
		{"items", opening(Config{MaxItems: -1}), fault.ErrConfig, "MaxItems -1; give a number above 0"},
		{"policy", opening(Config{Policy: "lru"}), fault.ErrConfig, `Policy "lru"; use "relevance" or "fifo"`},
		{"no id", func() error { _, err := c.engine.Conversation(ctx, ""); return err }(), fault.ErrNoConversation,
			"give it a name"},
		{"weights", opening(Config{Weights: items.Weights{Cosine: math.NaN()}}), fault.ErrConfig,
			"the weight of cosine: NaN is not a number"},
		{"sizing", opening(Config{Sizing: items.Sizing{Step: -1}}), fault.ErrConfig,
			"sizing: Step -1: give a number above 0"},
		{"margin", opening(Config{Margin: math.Inf(1)}), fault.ErrConfig, "a margin of +Inf"},
		{"floor", func() error {
			_, err := c.Recall(ctx, "q", RecallOptions{Floor: math.Inf(-1)})
			return err
		}(), fault.ErrConfig, "Floor of -Inf"},
		{"long id", func() error { _, err := c.engine.Conversation(ctx, words(500)); return err }(), fault.ErrConfig,
			"an id of 2499 bytes"},
		{"delete", func() error { _, err := c.engine.Delete(ctx, "nobody"); return err }(), timeline.ErrNoConversation,
			`delete in conversation "nobody": no such conversation`},
		{"own id", func() error { _, _, err := c.Add(ctx, Item{ID: 9}); return err }(), fault.ErrItem,
			`add item in conversation "c": not a valid item: it has the id 9; leave ID 0`},
		{"tokens of an item", func() error { _, _, err := c.Add(ctx, Item{Tokens: -9}); return err }(), fault.ErrItem,
			"it has -9 tokens; leave Tokens 0"},
		{"item", func() error { _, err := c.Item(ctx, 4); return err }(), fault.ErrNoItem,
			`read item 4 in conversation "c": no such item; there are items 1 to 3`},
		{"pin", c.Pin(ctx, 0), fault.ErrNoItem, "pin item 0"},
		{"pin what cannot fit", c.Pin(ctx, 1), fault.ErrCannotFit,
			"would take 3 tokens in 3 items, the window has 8000 in 2; release or unpin"},
		{"unpin", c.Unpin(ctx, -1), fault.ErrNoItem, "unpin item -1"},
		{"plan", c.Undo(ctx, "p2"), fault.ErrNoPlan,
			`undo plan "p2" in conversation "c": no such plan; there are plans p1 to p1`},
		{"plan's spelling", c.Undo(ctx, "p01"), fault.ErrNoPlan, "no such plan"},
		{"undo what cannot fit", c.Undo(ctx, "p1"), fault.ErrCannotFit, "would take 3 tokens in 3 items"},
		{"size", func() error { _, err := c.Resize(ctx, -1); return err }(), fault.ErrConfig, "-1 tokens"},
		{"budget", func() error { _, err := c.Context(ctx, "q", ContextOptions{Budget: -1}); return err }(),
			fault.ErrConfig, "Budget -1"},
		{"share", func() error { _, err := c.Context(ctx, "q", ContextOptions{RecentShare: 2}); return err }(),
			fault.ErrConfig, "RecentShare 2"},
		{"query", func() error { _, err := c.Context(ctx, "q", ContextOptions{Budget: 5}); return err }(),
			fault.ErrCannotFit, "takes 7 tokens, and 5 have no room"},
	} {
		if !errors.Is(tt.err, tt.is) || !strings.Contains(fmt.Sprint(tt.err), tt.says) {
			t.Errorf("%s: %v, want %q", tt.name, tt.err, tt.says)
		}
	}
	check(t, c)
}

// A context that has ended, and an engine that is closed, stop every call before it
// changes anything.
func TestEndedContextsAndEnginesChangeNothing(t *testing.T) {
	c := open(t, Config{MaxItems: 2})
	add(t, c, Item{Content: "a"}, Item{Content: "b"}, Item{Content: "c"})
	cause := errors.New("the caller went home")
	ended, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	calls := func(ctx context.Context) map[string]error {
		errs := map[string]error{
			"pin": c.Pin(ctx, 1), "unpin": c.Unpin(ctx, 1), "undo": c.Undo(ctx, "p1"), "release": c.Release(ctx),
			"clear": c.Clear(ctx),
		}
		_, _, errs["add"] = c.Add(ctx, Item{Content: "d"})
		_, errs["context"] = c.Context(ctx, "q", ContextOptions{})
		_, errs["items"] = c.Items(ctx, 0)
		_, errs["item"] = c.Item(ctx, 1)
		_, errs["plans"] = c.Plans(ctx, 0)
		_, errs["status"] = c.Status(ctx)
		_, errs["resize"] = c.Resize(ctx, 1)
		_, errs["conversation"] = c.engine.Conversation(ctx, "c")
		_, errs["conversations"] = c.engine.Conversations(ctx)
		_, errs["delete"] = c.engine.Delete(ctx, "c")
		return errs
	}
	for name, err := range calls(ended) {
		if !errors.Is(err, cause) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := Open(ended, Config{}); !errors.Is(err, cause) {
		t.Errorf("open: %v", err)
	}
	if diff := cmp.Diff([]int64{2, 3}, inView(t, c)); diff != "" {
		t.Errorf("in view (-want +got)\n%s", diff)
	}
	check(t, c)
	if err := c.engine.Close(); err != nil {
		t.Fatal(err)
	}
	for name, err := range calls(t.Context()) {
		if !errors.Is(err, fault.ErrClosed) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
