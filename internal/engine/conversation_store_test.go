package engine

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/oriel-context/oriel/internal/engine/fault"
	"github.com/oriel-context/oriel/internal/event"
	"github.com/oriel-context/oriel/items"
	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/timeline/memory"
	"github.com/oriel-context/oriel/timeline/sqlite"
)

// over opens an engine over a store that is there already.
func over(t testing.TB, store timeline.Store, config Config) *Engine {
	t.Helper()
	if config.Now == nil {
		config.Now = func() time.Time { return noon }
	}
	config.Count, config.Store, config.NoEmbed = countFields, store, true
	e, err := Open(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close() })
	return e
}

func conversation(t testing.TB, e *Engine, id string) *Conversation {
	t.Helper()
	c, err := e.Conversation(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// tape is a store that counts what is asked of it, and fails on demand.
type tape struct {
	timeline.Store
	mu    sync.Mutex
	calls int
	bytes int
	fail  func(timeline.Change) error
}

func (s *tape) count() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls++
}

func (s *tape) Apply(ctx context.Context, tenant string, c timeline.Change) (timeline.Applied, error) {
	s.count()
	for i := range c.Put {
		s.bytes += len(c.Put[i].Data)
	}
	if s.fail != nil {
		if err := s.fail(c); err != nil {
			return timeline.Applied{}, err
		}
	}
	return s.Store.Apply(ctx, tenant, c)
}

func (s *tape) Messages(ctx context.Context, tenant string, to timeline.Place, first, last int64, hashes bool,
	visit func(*timeline.Entry) error) error {
	s.count()
	return s.Store.Messages(ctx, tenant, to, first, last, hashes, visit)
}

func (s *tape) Records(ctx context.Context, tenant, conversation, kind, key string) ([]timeline.Record, error) {
	s.count()
	return s.Store.Records(ctx, tenant, conversation, kind, key)
}

// SPEC D8: a turn asks as much of the store at any length of the history; and what
// is kept in memory, and written of it, is bounded by the window.
func TestATurnCostsTheSameAtAnyLength(t *testing.T) {
	if testing.Short() {
		t.Skip("computes for long, and nothing beside it")
	}
	for _, policy := range []string{"relevance", "fifo"} {
		store := &tape{Store: memory.New()}
		now := noon
		c := conversation(t, over(t, store, Config{Policy: policy, MaxItems: 50, Now: func() time.Time { return now }}),
			"c")
		turns := func(n int) (calls, bytes int) {
			store.calls, store.bytes = 0, 0
			for i := range n {
				now = now.Add(time.Minute)
				if _, _, err := c.Add(t.Context(), talk(i)); err != nil {
					t.Fatal(err)
				}
				if _, err := c.Plans(t.Context(), 3); err != nil {
					t.Fatal(err)
				}
			}
			return store.calls, store.bytes
		}
		turns(500) // and digests are made in turns
		calls, bytes := turns(10 * maxWaiting)
		turns(5000)
		later, more := turns(10 * maxWaiting)
		if later > calls*21/20 || more > bytes*5/4 { // numbers grow longer
			t.Errorf("%s: %d calls and %d bytes became %d and %d", policy, calls, bytes, later, more)
		}
		store.calls = 0
		c.unload()
		if _, err := c.Status(t.Context()); err != nil || store.calls > 60 {
			t.Errorf("%s: loading takes %d calls: %v", policy, store.calls, err)
		}
		check(t, c)
	}
}

// As long as the window has room, an addition writes its item and nothing else.
func TestAdditionsWriteTheStateRarely(t *testing.T) {
	if testing.Short() {
		t.Skip("computes for long, and nothing beside it")
	}
	store := &tape{Store: memory.New()}
	c := conversation(t, over(t, store, Config{MaxItems: 1000}), "c")
	const n = 640
	for i := range n {
		add(t, c, Item{Content: fmt.Sprint(i)})
	}
	if store.bytes > n/maxReplay*500 {
		t.Errorf("%d bytes of records for %d items", store.bytes, n)
	}
	before, err := c.Items(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	c.unload()
	if after, err := c.Items(t.Context(), 0); !cmp.Equal(before, after) || err != nil {
		t.Errorf("loaded again: %v %s", err, cmp.Diff(before, after))
	}
}

// SPEC A7: conversations that begin with the same words have items of their own.
func TestSameWordsAreDifferentItems(t *testing.T) {
	now := noon
	e := open(t, Config{Now: func() time.Time { return now }}).engine
	for i, id := range []string{"one", "two"} {
		now = now.Add(time.Hour)
		add(t, conversation(t, e, id), Item{Content: "Hello", Source: "user",
			Meta: map[string]string{"i": fmt.Sprint(i)}})
	}
	for i, id := range []string{"one", "two"} {
		c := conversation(t, e, id)
		c.unload()
		it, err := c.Item(t.Context(), 1)
		if err != nil || it.Meta["i"] != fmt.Sprint(i) || !it.Time.Equal(noon.Add(time.Duration(i+1)*time.Hour)) {
			t.Errorf("%s: %+v: %v", id, it, err)
		}
	}
}

// SPEC A6: pins, holds, plans, sizes and the state of a conversation survive the
// end of the program.
func TestEverythingSurvivesARestart(t *testing.T) {
	ctx := t.Context()
	config := Config{Dir: t.TempDir(), MaxTokens: 40, MaxItems: 4, Policy: "fifo", Sync: "full"}
	c := open(t, config)
	for i := range 6 {
		add(t, c, Item{Content: fmt.Sprint("error in the function ", i), Source: "tool"})
	}
	add(t, c, Item{Content: words(60)})
	for _, err := range []error{c.Pin(ctx, 2), c.Undo(ctx, "p1"), c.Pin(ctx, 5), c.Unpin(ctx, 5)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if _, err := c.Resize(ctx, 35); err != nil {
		t.Fatal(err)
	}
	type all struct {
		Items  []Item
		Plans  []Plan
		Status Status
		Whole  Item
	}
	see := func(c *Conversation) (a all) {
		var errs [4]error
		a.Items, errs[0] = c.Items(ctx, 0)
		a.Plans, errs[1] = c.Plans(ctx, 0)
		a.Status, errs[2] = c.Status(ctx)
		a.Whole, errs[3] = c.Item(ctx, 7)
		if err := errors.Join(errs[:]...); err != nil {
			t.Fatal(err)
		}
		check(t, c)
		return a
	}
	before := see(c)
	if before.Status.Held == 0 || before.Status.State != items.StateDebugging || before.Status.MaxTokens != 35 ||
		before.Whole.Content != words(60) {
		t.Fatalf("%+v", before.Status)
	}
	if err := c.engine.Close(); err != nil {
		t.Fatal(err)
	}
	c = open(t, config)
	if diff := cmp.Diff(before, see(c)); diff != "" {
		t.Errorf("after a restart (-want +got)\n%s", diff)
	}
	names, err := c.engine.Conversations(ctx)
	if err != nil || !slices.Equal(names, []string{"c"}) {
		t.Errorf("%v: %v", names, err)
	}
	if err := c.engine.Close(); err != nil {
		t.Fatal(err)
	}
	// Sizes that are not given are those that the conversation had: a tool that
	// looks at it takes nothing out of view.
	c = open(t, Config{Dir: config.Dir})
	if diff := cmp.Diff(before, see(c)); diff != "" {
		t.Errorf("with no sizes given (-want +got)\n%s", diff)
	}
	if p := c.loaded; p.policy != "fifo" {
		t.Errorf("the policy became %q", p.policy)
	}
	if err := c.engine.Close(); err != nil {
		t.Fatal(err)
	}
	// Smaller limits take items out of view, and a plan records that.
	config.MaxItems = 2
	c = open(t, config)
	defer c.engine.Close()
	after := see(c)
	if len(after.Items) != 2 || len(after.Plans) != len(before.Plans)+1 {
		t.Errorf("%v in view, %d plans", ids(after.Items), len(after.Plans))
	}
}

// SPEC A6: several programs may use one conversation: all ids are given once, and
// what one pins holds for the other.
func TestTwoEnginesShareAConversation(t *testing.T) {
	ctx := t.Context()
	config := Config{Dir: t.TempDir(), MaxItems: 20}
	both := []*Conversation{open(t, config), open(t, config)}
	defer both[0].engine.Close()
	defer both[1].engine.Close()
	const each = 60
	var wg sync.WaitGroup
	given := make([][]int64, 2)
	for i, c := range both {
		wg.Go(func() {
			for n := range each {
				id, _, err := c.Add(ctx, Item{Content: fmt.Sprintf("%d of engine %d", n, i), Source: "user"})
				if err != nil {
					t.Error(err)
					return
				}
				given[i] = append(given[i], id)
				if _, err := c.Items(ctx, 3); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if t.Failed() {
		return
	}
	whose := map[int64]int{}
	for i := range given {
		if !slices.IsSorted(given[i]) {
			t.Errorf("engine %d: %v", i, given[i])
		}
		for n, id := range given[i] {
			whose[id] = i
			for _, c := range both {
				if it, err := c.Item(ctx, id); err != nil || it.Content != fmt.Sprintf("%d of engine %d", n, i) {
					t.Fatalf("item %d: %q: %v", id, it.Content, err)
				}
			}
		}
	}
	for id := range int64(2 * each) {
		if _, ok := whose[id+1]; !ok {
			t.Errorf("nobody has item %d", id+1)
		}
	}
	same := func(when string) {
		t.Helper()
		a, b := inView(t, both[0]), inView(t, both[1])
		if !cmp.Equal(a, b) {
			t.Errorf("%s: %v and %v are in view", when, a, b)
		}
		check(t, both[0])
		check(t, both[1])
	}
	same("added")
	if err := both[0].Pin(ctx, 1); err != nil {
		t.Fatal(err)
	}
	for range 30 {
		add(t, both[1], Item{Content: "more"})
	}
	same("pinned")
	if got := inView(t, both[1]); got[0] != 1 {
		t.Errorf("item 1 is pinned, in view are %v", got)
	}
	plans, err := both[1].Plans(ctx, 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{both[0].Undo(ctx, plans[0].Undo), both[1].Unpin(ctx, 1), both[0].Release(ctx),
		both[1].Clear(ctx)} {
		if err != nil {
			t.Error(err)
		}
		same("changed")
	}
	if _, err := both[0].engine.Delete(ctx, "c"); err != nil {
		t.Fatal(err)
	}
	for _, c := range both {
		if s, err := c.Status(ctx); err != nil || s.History != 0 {
			t.Errorf("deleted: %+v: %v", s, err)
		}
	}
	if id, _, err := both[1].Add(ctx, Item{Content: "anew"}); id != 1 || err != nil {
		t.Errorf("item %d: %v", id, err)
	}
	same("begun anew")
}

// Where another program is faster, what it did counts, and the addition comes after
// it.
func TestSomebodyElseIsFaster(t *testing.T) {
	dir := t.TempDir()
	other := open(t, Config{Dir: dir, MaxItems: 4})
	defer other.engine.Close()
	store, err := sqlite.Open(t.Context(), dir, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	slow := &tape{Store: store}
	c := conversation(t, over(t, slow, Config{MaxItems: 4}), "c")
	for i := range 12 {
		first := true
		slow.fail = func(timeline.Change) error {
			if first {
				first = false
				add(t, other, Item{Content: fmt.Sprint("theirs ", i)})
			}
			return nil
		}
		id, _, err := c.Add(t.Context(), Item{Content: fmt.Sprint("ours ", i)})
		if err != nil || id != int64(2*i+2) {
			t.Fatalf("item %d: %v", id, err)
		}
		check(t, c)
		theirs, err := c.Item(t.Context(), id-1)
		if err != nil || theirs.Content != fmt.Sprint("theirs ", i) {
			t.Errorf("item %d: %q: %v", id-1, theirs.Content, err)
		}
	}
}

// SPEC A6: a pin that another program puts down as a record takes effect at the
// next call, in view or not, and one that it removes ends.
func TestPinsOfOtherProgramsTakeEffect(t *testing.T) {
	ctx := t.Context()
	dir := t.TempDir()
	c := open(t, Config{Dir: dir, MaxItems: 3, Policy: "fifo"})
	defer c.engine.Close()
	for range 6 {
		add(t, c, Item{Content: "x"})
	}
	other, err := sqlite.Open(ctx, dir, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	apply := func(change timeline.Change) {
		t.Helper()
		change.Conversation, change.Stay, change.Now = "c", true, noon
		if _, err := other.Apply(ctx, timeline.Local, change); err != nil {
			t.Fatal(err)
		}
	}
	apply(timeline.Change{Put: []timeline.Record{{Kind: "pin", Key: "1"}, {Kind: "pin", Key: "6"},
		{Kind: "pin", Key: "99"}}})
	if diff := cmp.Diff([]int64{1, 5, 6}, inView(t, c)); diff != "" {
		t.Errorf("in view (-want +got)\n%s", diff)
	}
	if it, err := c.Item(ctx, 1); err != nil || !it.Pinned() {
		t.Errorf("%+v: %v", it, err)
	}
	if plans, err := c.Plans(ctx, 1); err != nil || plans[0].Blocks[0].Index != 4 {
		t.Errorf("%+v: %v", plans, err)
	}
	if left := add(t, c, Item{Content: "x"}, Item{Content: "x"}); !cmp.Equal(left, []int64{5, 7}) {
		t.Errorf("%v left", left)
	}
	apply(timeline.Change{Drop: []timeline.Key{{Kind: "pin", Key: "1"}}})
	if left := add(t, c, Item{Content: "x"}); !cmp.Equal(left, []int64{1}) {
		t.Errorf("unpinned, %v left", left)
	}
	// What cannot fit waits until it can.
	for _, id := range []int64{8, 9} {
		if err := c.Pin(ctx, id); err != nil {
			t.Fatal(err)
		}
	}
	apply(timeline.Change{Put: []timeline.Record{{Kind: "pin", Key: "2"}}})
	if diff := cmp.Diff([]int64{6, 8, 9}, inView(t, c)); diff != "" {
		t.Errorf("in view (-want +got)\n%s", diff)
	}
	if err := c.Unpin(ctx, 8); err != nil {
		t.Fatal(err)
	}
	c.unload()
	if diff := cmp.Diff([]int64{2, 6, 9}, inView(t, c)); diff != "" {
		t.Errorf("in view (-want +got)\n%s", diff)
	}
}

// imported makes a conversation as importers do.
func imported(t testing.TB, store timeline.Store, at timeline.Place, from, n int) timeline.Place {
	t.Helper()
	for n > 0 {
		c := timeline.Change{Conversation: "c", At: at, Now: noon}
		for range min(n, 5000) {
			raw := fmt.Appendf(nil, `{"role":"user","text":"message %d"}`, from)
			c.Messages = append(c.Messages, timeline.Message{Identity: timeline.HashOf(raw), Raw: raw,
				Format: timeline.FormatGeneric, Role: "user", Time: noon.Add(time.Duration(from) * time.Second)})
			from++
			n--
		}
		applied, err := store.Apply(t.Context(), timeline.Local, c)
		if err != nil {
			t.Fatal(err)
		}
		at = applied.Head
	}
	return at
}

// SPEC A7, D8: a history that came another way is opened with its newest items,
// without reading the rest; older ones can be read and pinned.
func TestImportedHistoryOpensWithItsNewestItems(t *testing.T) {
	ctx := t.Context()
	store := &tape{Store: memory.New()}
	head := imported(t, store, timeline.Place{}, 1, 20_000)
	store.calls = 0
	c := conversation(t, over(t, store, Config{MaxItems: 50, MaxTokens: 80, Adaptive: true}), "c")
	s, err := c.Status(ctx)
	if err != nil || s.History != 20_000 || s.Items != 40 || s.Tokens != 80 || store.calls > 10 {
		t.Fatalf("%+v, %d calls: %v", s, store.calls, err)
	}
	check(t, c)
	if it, err := c.Item(ctx, 3); err != nil || it.Content != "message 3" {
		t.Errorf("%+v: %v", it, err)
	}
	v := contextOf(t, c, "q", ContextOptions{Budget: 70})
	if !strings.Contains(v.Text, hiddenMark) {
		t.Errorf("the model is not told that something is hidden:\n%s", v.Text)
	}
	if err := c.Pin(ctx, 3); err != nil {
		t.Fatal(err)
	}
	if got := inView(t, c); got[0] != 3 || got[len(got)-1] != 20_000 {
		t.Errorf("in view: %v", got)
	}
	if id, _, err := c.Add(ctx, Item{Content: "and now?", Source: "user"}); err != nil || id != 20_001 {
		t.Errorf("item %d: %v", id, err)
	}
	before := inView(t, c)
	c.unload()
	if diff := cmp.Diff(before, inView(t, c)); diff != "" {
		t.Errorf("loaded again (-want +got)\n%s", diff)
	}
	check(t, c)

	// More messages come another way: they are taken in, and what leaves is told.
	now, err := store.Conversation(ctx, timeline.Local, "c")
	if err != nil {
		t.Fatal(err)
	}
	plans, _ := c.Plans(ctx, 0)
	imported(t, store, now.Head, 30_000, 10)
	c.unload()
	got := inView(t, c)
	if more, _ := c.Plans(ctx, 0); got[len(got)-1] != 20_011 || got[0] != 3 || len(more) != len(plans)+1 {
		t.Errorf("in view: %v, %d plans after %d", got, len(more), len(plans))
	}
	check(t, c)
	imported(t, store, c.loaded.stored.Head, 40_000, 5000)
	c.unload()
	if got := inView(t, c); got[len(got)-1] != 25_011 || got[0] != 3 {
		t.Errorf("in view: %v", got)
	}
	check(t, c)

	// A branch that begins before: the window begins with its newest items.
	imported(t, store, timeline.Place{Trunk: head.Trunk, Depth: 100}, 50_000, 30)
	c.unload()
	if got := inView(t, c); got[len(got)-1] != 130 {
		t.Errorf("in view: %v", got)
	}
	if it, err := c.Item(ctx, 101); err != nil || it.Content != "message 50000" {
		t.Errorf("%+v: %v", it, err)
	}
	if _, _, err := c.Add(ctx, Item{Content: "on the branch"}); err != nil {
		t.Error(err)
	}
	check(t, c)
}

// What the store cannot do is not done at all: the call fails and says why, and
// everything is as it was.
func TestAFailingStoreChangesNothing(t *testing.T) {
	ctx := t.Context()
	store := &tape{Store: memory.New()}
	var told []string
	c := conversation(t,
		over(t, store, Config{MaxItems: 3, Policy: "fifo",
			Events: func(e event.Event) { told = append(told, e.Kind) }}), "c")
	for range 5 {
		add(t, c, Item{Content: "x y"})
	}
	if err := c.Undo(ctx, "p1"); err != nil {
		t.Fatal(err)
	}
	see := func() string {
		items, err1 := c.Items(ctx, 0)
		plans, err2 := c.Plans(ctx, 0)
		s, err3 := c.Status(ctx)
		check(t, c)
		return fmt.Sprintln(items, plans, s, err1, err2, err3)
	}
	before := see()
	events := len(told)
	for _, full := range []error{syscall.ENOSPC, errors.New("database or disk is full")} {
		store.fail = func(timeline.Change) error { return full }
		errs := map[string]error{
			"pin": c.Pin(ctx, 2), "undo": c.Undo(ctx, "p2"), "release": c.Release(ctx), "clear": c.Clear(ctx),
		}
		_, _, errs["add"] = c.Add(ctx, Item{Content: "y", Flags: []items.Flag{"starred"}})
		_, errs["resize"] = c.Resize(ctx, 3)
		_, errs["context"] = c.Context(ctx, "q", ContextOptions{Budget: 40})
		for name, err := range errs {
			var e *fault.Error
			if !errors.Is(err, full) || !errors.As(err, &e) || e.Op == "" || e.Conversation != "c" || e.Hint == "" {
				t.Errorf("%s: %v", name, err)
			}
		}
		store.fail = nil
		if diff := cmp.Diff(before, see()); diff != "" {
			t.Fatalf("%v: (-want +got)\n%s", full, diff)
		}
	}
	if len(told) != events {
		t.Errorf("told of what did not happen: %v", told[events:])
	}
	// Somebody else is always faster, then only a few times.
	store.fail = func(timeline.Change) error { return timeline.ErrChanged }
	if _, _, err := c.Add(ctx, Item{Content: "z"}); !errors.Is(err, timeline.ErrChanged) ||
		!strings.Contains(err.Error(), "try again") {
		t.Error(err)
	}
	tries := 0
	store.fail = func(timeline.Change) error {
		if tries++; tries%4 != 0 {
			return timeline.ErrChanged
		}
		return nil
	}
	add(t, c, Item{Content: "z"})
	if len(told) != events+1 {
		t.Errorf("one item left: %v", told[events:])
	}
}

// Conversations that nobody used for long are let go and read again; who has one
// may go on using it.
func TestIdleConversationsAreReadAgain(t *testing.T) {
	ctx := t.Context()
	e := open(t, Config{MaxItems: 3}).engine
	e.keep = 2
	var all []*Conversation
	for i := range 6 {
		c := conversation(t, e, fmt.Sprint(i))
		add(t, c, Item{Content: fmt.Sprint("first of ", i)}, Item{Content: "second"})
		all = append(all, c)
	}
	if e.recent.Len() != 2 || all[0].loaded != nil || all[5].loaded == nil {
		t.Errorf("%d conversations are in memory", e.recent.Len())
	}
	for i, c := range all {
		if again := conversation(t, e, fmt.Sprint(i)); again != c {
			t.Errorf("conversation %d is another one", i)
		}
		add(t, c, Item{Content: "third"}, Item{Content: "fourth"})
		if it, err := c.Item(ctx, 1); err != nil || it.Content != fmt.Sprint("first of ", i) {
			t.Errorf("%+v: %v", it, err)
		}
	}
	all = nil
	n := 0
	for range 10_000 {
		runtime.GC()
		e.mu.Lock()
		n = len(e.conversations)
		e.mu.Unlock()
		if n <= 3 { // "c" of open may be among them
			break
		}
		time.Sleep(time.Millisecond)
	}
	if n > 3 {
		t.Errorf("%d conversations are remembered that nobody has", n)
	}
	if names, err := e.Conversations(ctx); err != nil || len(names) < 6 {
		t.Errorf("%v: %v", names, err)
	}
}

func TestDeletedConversationsBeginAnew(t *testing.T) {
	ctx := t.Context()
	c := open(t, Config{MaxItems: 2})
	add(t, c, Item{Content: "a", Flags: []items.Flag{"starred"}}, Item{Content: "b"}, Item{Content: "c"})
	gone, err := c.engine.Delete(ctx, "c")
	if err != nil {
		t.Fatal(err)
	}
	if gone.Messages != 3 || gone.Contents != 3 || gone.Bytes == 0 {
		t.Errorf("gone: %+v", gone)
	}
	if names, err := c.engine.Conversations(ctx); err != nil || len(names) != 0 {
		t.Errorf("%v: %v", names, err)
	}
	if _, err := c.Item(ctx, 1); !errors.Is(err, fault.ErrNoItem) {
		t.Error(err)
	}
	add(t, c, Item{Content: "d"})
	if plans, err := c.Plans(ctx, 0); err != nil || len(plans) != 0 || !cmp.Equal(inView(t, c), []int64{1}) {
		t.Errorf("%v: %v", plans, err)
	}
	if _, err := c.engine.Delete(ctx, "nobody"); !errors.Is(err, timeline.ErrNoConversation) {
		t.Error(err)
	}
}

// A tenant's conversations are nobody else's.
func TestTenantsShareNothing(t *testing.T) {
	dir := t.TempDir()
	ann, bob := open(t, Config{Dir: dir, Tenant: "ann"}), open(t, Config{Dir: dir, Tenant: "bob"})
	defer ann.engine.Close()
	defer bob.engine.Close()
	add(t, ann, Item{Content: "a secret"})
	if s, err := bob.Status(t.Context()); err != nil || s.History != 0 {
		t.Errorf("%+v: %v", s, err)
	}
	if _, err := bob.engine.Delete(t.Context(), "c"); !errors.Is(err, timeline.ErrNoConversation) {
		t.Error(err)
	}
}

// Retention deletes, at Open, what has not changed for too long.
func TestRetentionDeletesWhatIsOld(t *testing.T) {
	now := noon
	config := Config{Dir: t.TempDir(), Now: func() time.Time { return now }}
	c := open(t, config)
	add(t, c, Item{Content: "old"})
	now = now.Add(24 * time.Hour)
	add(t, conversation(t, c.engine, "new"), Item{Content: "new"})
	if err := c.engine.Close(); err != nil {
		t.Fatal(err)
	}
	config.Retention.OlderThan = 12 * time.Hour
	e, err := Open(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	if names, err := e.Conversations(t.Context()); err != nil || !slices.Equal(names, []string{"new"}) {
		t.Errorf("%v: %v", names, err)
	}
}

// A state that this program cannot read is told, not thrown away.
func TestUnreadableStatesAreTold(t *testing.T) {
	for data, want := range map[string]error{
		`{"v":9}`: timeline.ErrNewer, `{`: timeline.ErrDamaged, `{"v":1,"shown":"3-1"}`: timeline.ErrDamaged,
		`{"v":1,"shown":"1-9"}`: timeline.ErrDamaged,
	} {
		c := open(t, Config{})
		add(t, c, Item{Content: "x"}, Item{Content: "y"})
		_, err := c.engine.store.Apply(t.Context(), timeline.Local, timeline.Change{
			Conversation: "c", Stay: true, Now: noon,
			Put: []timeline.Record{{Kind: kindState, Key: stateKey, At: timeline.AtHead(), Data: []byte(data)}},
		})
		if err != nil {
			t.Fatal(err)
		}
		c.unload()
		var e *fault.Error
		if _, err := c.Items(t.Context(), 0); !errors.Is(err, want) || !errors.As(err, &e) || e.Hint == "" {
			t.Errorf("%s: %v", data, err)
		}
	}
}
