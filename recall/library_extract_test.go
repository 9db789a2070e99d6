package recall

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/timeline/memory"
	"github.com/oriel-context/oriel/timeline/sqlite"
)

// extracting counts the messages that are read, and may keep no extracts, or only later.
type extracting struct {
	*sqlite.Store
	read    atomic.Int64
	listed  atomic.Int64
	refuses error
	waits   chan struct{} // extracts are kept once it is closed
	asked   chan struct{} // receives when extracts are to be kept
}

func (x *extracting) Conversations(ctx context.Context, tenant string) ([]timeline.Conversation, error) {
	x.listed.Add(1)
	return x.Store.Conversations(ctx, tenant)
}

func (x *extracting) Messages(ctx context.Context, tenant string, to timeline.Place, first, last int64, hashes bool,
	visit func(*timeline.Entry) error) error {
	return x.Store.Messages(ctx, tenant, to, first, last, hashes, func(e *timeline.Entry) error {
		if !hashes {
			x.read.Add(1)
		}
		return visit(e)
	})
}

func (x *extracting) KeepExtracts(ctx context.Context, tenant, kind string, extracts []timeline.Extract) error {
	if x.refuses != nil {
		return x.refuses
	}
	if x.waits != nil {
		x.asked <- struct{}{}
		select {
		case <-x.waits:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return x.Store.KeepExtracts(ctx, tenant, kind, extracts)
}

// searched asks a new library, waits until it has stored everything, and returns how many
// messages it read.
func searched(t *testing.T, store *extracting, w Where, query string) (*Result, int64) {
	t.Helper()
	store.read.Store(0)
	l := library(t, store, LibraryOptions{Report: func(err error) { t.Error(err) }})
	r, err := l.Recall(t.Context(), w, query, RecallOptions{Floor: -1, Budget: 100_000})
	if err == nil {
		err = l.Wait(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	return r, store.read.Load()
}

// A conversation with tools, whose messages name one another.
func hives(n int) (said []string) {
	for i := range n {
		switch i % 4 {
		case 0:
			said = append(said, fmt.Sprintf(`{"role":"user","content":"Please look at hive %d, always with care."}`, i))
		case 1:
			said = append(said,
				fmt.Sprintf(`{"role":"assistant","content":[{"type":"text","text":"I look at it."},{"type":"tool_use","id":"t%d","name":"Read","input":{"file_path":"/hives/%d"}}]}`, i, i))
		case 2:
			said = append(said,
				fmt.Sprintf(`{"role":"user","content":[{"type":"tool_result","tool_use_id":"t%d","content":"%s"}]}`,
					i-1, strings.Repeat(fmt.Sprintf("frame %d of bees and honey\\n", i), 5)))
		default:
			said = append(said, fmt.Sprintf(`{"role":"assistant","content":"There are %d bees in it."}`, i*31))
		}
	}
	return said
}

func sayWork(t testing.TB, store timeline.Store, name string, said []string) timeline.Applied {
	t.Helper()
	var at timeline.Place
	if c, err := store.Conversation(t.Context(), timeline.Local, name); err == nil {
		at = c.Head
	}
	c := timeline.Change{Conversation: name, At: at, Now: time.Unix(1_700_000_000, 0).UTC()}
	for _, raw := range said {
		c.Messages = append(c.Messages, timeline.Message{Identity: timeline.HashOf([]byte(raw)), Raw: []byte(raw),
			Format: timeline.FormatAnthropic, Role: "user", Time: time.Unix(1_700_000_000, 0).UTC()})
	}
	a, err := store.Apply(t.Context(), timeline.Local, c)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestASecondLibraryReadsExtracts(t *testing.T) {
	store := &extracting{Store: openSQLite(t, t.TempDir(), sqlite.Options{})}
	said := hives(400)
	sayWork(t, store, "c", said[:300])
	all := Where{Tenant: timeline.Local, Reach: ReachUser}
	before, read := searched(t, store, all, "How many bees are in hive 120?")
	if read != 300 || len(before.Passages) < 50 {
		t.Fatalf("read %d messages, found %d passages", read, len(before.Passages))
	}
	after, read := searched(t, store, all, "How many bees are in hive 120?")
	if read != 0 {
		t.Errorf("the second time %d messages were read", read)
	}
	if diff := cmp.Diff(before, after, sameResult); diff != "" {
		t.Errorf("another result:\n%s", diff)
	}
	// What is new is read, with what names its results, and then kept, too.
	sayWork(t, store, "c", said[300:])
	if _, read = searched(t, store, all, "bees"); read != 100+leadIn {
		t.Errorf("for 100 new messages %d were read", read)
	}
	grown, read := searched(t, store, all, "How many bees are in hive 320?")
	if read != 0 {
		t.Errorf("then %d messages were read", read)
	}
	whole := memory.New()
	defer whole.Close()
	sayWork(t, whole, "c", said)
	want, err := library(t, whole, LibraryOptions{}).Recall(t.Context(), all, "How many bees are in hive 320?",
		RecallOptions{Floor: -1, Budget: 100_000})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, grown, sameResult); diff != "" {
		t.Errorf("not what a store without extracts finds:\n%s", diff)
	}
	if err := store.Verify(t.Context(), func(p timeline.Problem) { t.Errorf("%+v", p) }); err != nil {
		t.Error(err)
	}
}

// An extract may reach beyond the place that is searched, and begin before what is missing.
func TestExtractsAreReadInPart(t *testing.T) {
	store := &extracting{Store: openSQLite(t, t.TempDir(), sqlite.Options{})}
	a := sayWork(t, store, "c", hives(60))
	w := Where{Tenant: timeline.Local, Conversation: "c"}
	searched(t, store, w, "bees")
	store.read.Store(0)
	l := library(t, store, LibraryOptions{})
	for _, depth := range []int64{20, 40, 60} {
		w.At = timeline.Place{Trunk: a.Head.Trunk, Depth: depth}
		r, err := l.Recall(t.Context(), w, "bees", RecallOptions{Floor: -1, Budget: 100_000})
		if err != nil {
			t.Fatal(err)
		}
		last := int64(0)
		for _, p := range r.Passages {
			var n int64
			if _, err := fmt.Sscan(p.Block, &n); err != nil {
				t.Fatal(err)
			}
			last = max(last, n)
		}
		if last != depth {
			t.Errorf("up to message %d the last one found is %d", depth, last)
		}
	}
	if read := store.read.Load(); read != 0 {
		t.Errorf("%d messages were read", read)
	}
}

func TestDeletedWordsAreNotFoundInExtracts(t *testing.T) {
	store := &extracting{Store: openSQLite(t, t.TempDir(), sqlite.Options{})}
	a := sayWork(t, store, "goes", hives(40))
	branch := timeline.Change{Conversation: "stays", At: timeline.Place{Trunk: a.Head.Trunk, Depth: 20}}
	apply(t, store, timeline.Local, branch, "Another beekeeper has wasps.")
	all := Where{Tenant: timeline.Local, Reach: ReachUser}
	searched(t, store, all, "bees")
	if _, err := store.Delete(t.Context(), timeline.Local, "goes", nil); err != nil {
		t.Fatal(err)
	}
	r, _ := searched(t, store, all, "bees hive honey")
	for _, p := range r.Passages {
		if strings.Contains(p.Text, fmt.Sprint(23*31)) || strings.Contains(p.Text, "hive 24") {
			t.Errorf("%s is found: %q", p.Block, p.Text)
		}
	}
	// What grows in the place of what was deleted is found.
	if _, err := store.Delete(t.Context(), timeline.Local, "stays", nil); err != nil {
		t.Fatal(err)
	}
	sayWork(t, store, "anew", hives(8))
	if r, _ := searched(t, store, all, "hive"); len(r.Passages) == 0 || len(r.Passages) > 20 {
		t.Errorf("found %d passages", len(r.Passages))
	}
}

func TestAStoreThatKeepsNoExtractsIsSearched(t *testing.T) {
	for what, c := range map[string]struct {
		refuses  error
		reported int
	}{
		"read only":   {timeline.ErrReadOnly, 0},
		"unsupported": {errors.ErrUnsupported, 0},
		"full":        {errors.New("the disk is full"), 1},
	} {
		t.Run(what, func(t *testing.T) {
			store := &extracting{Store: openSQLite(t, t.TempDir(), sqlite.Options{}), refuses: c.refuses}
			sayWork(t, store, "c", hives(100))
			var reported atomic.Int64
			l := library(t, store, LibraryOptions{Report: func(error) { reported.Add(1) }})
			r, err := l.Recall(t.Context(), Where{Tenant: timeline.Local, Conversation: "c"}, "bees",
				RecallOptions{Floor: -1})
			if err != nil || len(r.Passages) == 0 {
				t.Fatalf("%+v, %v", r, err)
			}
			if err := l.Wait(t.Context()); err != nil || int(reported.Load()) != c.reported {
				t.Errorf("%d failures were reported: %v", reported.Load(), err)
			}
		})
	}
}

// A store that waits for another process before it writes delays no search.
func TestSearchesDoNotWaitForExtractsToBeStored(t *testing.T) {
	store := &extracting{Store: openSQLite(t, t.TempDir(), sqlite.Options{}), waits: make(chan struct{}),
		asked: make(chan struct{}, 9)}
	l := library(t, store, LibraryOptions{})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for i := range 4 { // more than there are workers
		name := fmt.Sprint("c", i)
		sayWork(t, store, name, hives(40)[4*i:])
		r, err := l.Recall(ctx, Where{Tenant: timeline.Local, Conversation: name}, "bees", RecallOptions{Floor: -1})
		if err != nil || len(r.Passages) == 0 {
			t.Fatalf("%s: %+v, %v", name, r, err)
		}
		if i == 0 {
			<-store.asked
		}
	}
	close(store.waits)
	if err := l.Wait(ctx); err != nil || len(store.asked) != 3 {
		t.Errorf("%d times more something was stored: %v", len(store.asked), err)
	}
}

// What waits to be stored is limited, and counted no more once it is stored or discarded.
func TestExtractsThatWaitAreCounted(t *testing.T) {
	store := &extracting{Store: openSQLite(t, t.TempDir(), sqlite.Options{}), waits: make(chan struct{}),
		asked: make(chan struct{}, 9)}
	sayWork(t, store, "c", hives(100))
	l := library(t, store, LibraryOptions{})
	unstored := func() int {
		l.mu.Lock()
		defer l.mu.Unlock()
		return l.unstored
	}
	w := Where{Tenant: timeline.Local, Conversation: "c"}
	ask := func() {
		t.Helper()
		if r, err := l.Recall(t.Context(), w, "bees", RecallOptions{Floor: -1}); err != nil || len(r.Passages) == 0 {
			t.Fatalf("%+v, %v", r, err)
		}
	}
	ask()
	if n := unstored(); n == 0 {
		t.Error("nothing waits")
	}
	// A library with much that waits makes no more.
	l.mu.Lock()
	l.unstored += maxUnstored
	l.mu.Unlock()
	sayWork(t, store, "d", hives(80)[4:])
	before := unstored()
	w.Conversation = "d"
	if ask(); unstored() != before {
		t.Errorf("%d bytes more wait", unstored()-before)
	}
	l.mu.Lock()
	l.unstored -= maxUnstored
	l.mu.Unlock()
	close(store.waits)
	if err := l.Wait(t.Context()); err != nil || unstored() != 0 {
		t.Errorf("%d bytes wait: %v", unstored(), err)
	}
}

func TestKeepWords(t *testing.T) {
	store := &extracting{Store: openSQLite(t, t.TempDir(), sqlite.Options{})}
	sayWork(t, store, "c", hives(100))
	if err := KeepWords(t.Context(), store, timeline.Local, "c"); err != nil {
		t.Fatal(err)
	}
	if _, read := searched(t, store, Where{Tenant: timeline.Local, Conversation: "c"}, "bees"); read != 0 {
		t.Errorf("%d messages were read", read)
	}
	if n := store.listed.Load(); n != 1 { // by the search
		t.Errorf("all conversations were listed %d times", n)
	}
	store.refuses = errors.New("the disk is full")
	sayWork(t, store, "d", hives(100)[4:])
	if err := KeepWords(t.Context(), store, timeline.Local, "d"); !errors.Is(err, store.refuses) {
		t.Errorf("error %v", err)
	}
	store.refuses = errors.ErrUnsupported
	if err := KeepWords(t.Context(), store, timeline.Local, "d"); err != nil {
		t.Errorf("a store that keeps none: %v", err)
	}
	if err := KeepWords(t.Context(), store, timeline.Local, "gone"); err != nil {
		t.Errorf("a conversation that is not there: %v", err)
	}
	if err := KeepWords(t.Context(), memory.New(), timeline.Local, "c"); err != nil {
		t.Errorf("a store without extracts: %v", err)
	}
}
