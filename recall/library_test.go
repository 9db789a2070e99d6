package recall

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.uber.org/goleak"

	"github.com/oriel-context/oriel/internal/test/pgtest"
	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/timeline/memory"
	"github.com/oriel-context/oriel/timeline/sqlite"
)

func TestMain(m *testing.M) {
	if url := os.Getenv(childVar); url != "" {
		embedUntilKilled(url)
	}
	code := m.Run()
	pgtest.Stop()
	if code == 0 {
		if err := goleak.Find(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

// counting is a model that counts the texts that it is given.
type counting struct {
	bags
	name  string
	width int // zeros that its vectors have more
	texts atomic.Int64
}

func (c *counting) Name() string { return c.name }

func (c *counting) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	c.texts.Add(int64(len(texts)))
	vectors, err := c.bags.Embed(ctx, texts)
	for i := range vectors {
		vectors[i] = append(vectors[i], make([]float32, c.width)...)
	}
	return vectors, err
}

func openSQLite(t testing.TB, dir string, o sqlite.Options) *sqlite.Store {
	t.Helper()
	s, err := sqlite.Open(context.Background(), dir, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

var holidayTexts = []string{
	"We went to the mountains in Norway with the dogs.",
	"It rained on the last two days of our holiday only.",
	"My sister is moving to Lisbon for her new job.",
	"I started learning the cello with a teacher from the conservatory.",
	rooms(1000), // more passages than are embedded at once
	"ok",
}

func rooms(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "Room %d will be yellow, the ceiling of number %d white as it was before. ", i, i*7919%1000)
	}
	return b.String()
}

// settled asks a question and waits for the vectors; then it asks again.
func settled(t testing.TB, l *Library, w Where, query string) *Result {
	t.Helper()
	if _, err := l.Recall(t.Context(), w, query, RecallOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := l.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	r, err := l.Recall(t.Context(), w, query, RecallOptions{Floor: -1})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// vectorsOf are the vectors of the latest scope, as they are kept.
func vectorsOf(l *Library) (out []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.order.Front().Value.(*cachedScope).scope
	for _, id := range s.vectorOf {
		if id >= 0 {
			q, scale := s.vectors.At(int(id))
			out = append(out, fmt.Sprint(q, math.Float32bits(scale)))
		}
	}
	return out
}

var sameResult = cmpopts.IgnoreFields(Result{}, "TookMS")

// SPEC D2: vectors survive a restart.
func TestARestartEmbedsNothing(t *testing.T) {
	dir := t.TempDir()
	for name, open := range map[string]func() timeline.Store{
		"memory": func() func() timeline.Store {
			s := memory.New()
			return func() timeline.Store { return s }
		}(),
		"sqlite": func() timeline.Store { return openSQLite(t, dir, sqlite.Options{}) },
	} {
		t.Run(name, func(t *testing.T) {
			w := Where{Tenant: timeline.Local, Conversation: "c"}
			store := open()
			say(t, store, "c", holidayTexts...)
			model := &counting{name: "a"}
			l := library(t, store, LibraryOptions{Model: model})
			before := settled(t, l, w, "Where is the sister moving?")
			vectors := vectorsOf(l)
			if n := l.Stats(); before.Mode != Hybrid || n.Made != int64(len(vectors)) || n.Made < 8 ||
				n.Embedded != n.Passages {
				t.Fatalf("%s, %+v", before.Mode, n)
			}
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
			if _, err := l.Recall(t.Context(), w, "q", RecallOptions{}); !errors.Is(err, ErrClosed) {
				t.Errorf("after Close: %v", err)
			}

			store, model = open(), &counting{name: "a"}
			l = library(t, store, LibraryOptions{Model: model})
			after := settled(t, l, w, "Where is the sister moving?")
			if made := l.Stats().Made; made != 0 || model.texts.Load() > 2 { // the queries
				t.Errorf("%d passages were embedded, the model was asked %d times", made, model.texts.Load())
			}
			if diff := cmp.Diff(vectors, vectorsOf(l)); diff != "" {
				t.Errorf("other vectors:\n%s", diff)
			}
			if diff := cmp.Diff(before, after, sameResult); diff != "" {
				t.Errorf("another result:\n%s", diff)
			}
			// What is new is embedded, and nothing else.
			say(t, store, "c", "The new bicycle has a basket and a bell.")
			settled(t, l, w, "bicycle")
			if made := l.Stats().Made; made != 1 {
				t.Errorf("%d passages were embedded for a new one", made)
			}
			// Another model's vectors are not compared with these, and take their place.
			other := library(t, store, LibraryOptions{Model: &counting{name: "b", width: 64}})
			settled(t, other, w, "bicycle")
			if made := other.Stats().Made; made != int64(len(vectors))+1 {
				t.Errorf("another model embedded %d passages of %d", made, len(vectors)+1)
			}
			st, err := store.Stats(t.Context(), timeline.Local)
			if err != nil || st.Derived != 6 {
				t.Errorf("%+v, %v", st, err)
			}
			if err := store.Verify(t.Context(), func(p timeline.Problem) { t.Errorf("%+v", p) }); err != nil {
				t.Error(err)
			}
		})
	}
}

// A content that is said under another name is another text.
func TestTheSameContentUnderAnotherNameIsEmbeddedAnew(t *testing.T) {
	store := memory.New()
	defer store.Close()
	text := "We went to the mountains in Norway with the dogs."
	say(t, store, "c", text)
	model := &counting{name: "a"}
	from := &vectorStore{store, timeline.Local, "vector/a", 0, ""}
	for i, c := range []struct {
		name string
		made int
	}{{"", 1}, {"Ann", 1}, {"", 0}, {"Ann", 0}, {"Ben", 1}, {"Ann", 0}} {
		s := NewScope(Options{Model: model})
		if err := s.Add(t.Context(),
			[]Message{{Block: "1", Role: "user", Name: c.name, Text: text,
				Content: timeline.HashOf([]byte(text))}}); err != nil {
			t.Fatal(err)
		}
		made, more, err := s.embedSome(t.Context(), from)
		if err != nil || made != c.made || !more {
			t.Errorf("%d: made %d, %v", i, made, err)
		}
		if _, more, _ := s.embedSome(t.Context(), from); more || s.awaiting != nil {
			t.Errorf("%d: there is more", i)
		}
	}
}

func TestUnreadableVectorsAreMadeAgain(t *testing.T) {
	store := memory.New()
	defer store.Close()
	say(t, store, "c", holidayTexts[0])
	w := Where{Tenant: timeline.Local, Conversation: "c"}
	for _, data := range []string{"", "abc", "\x00\x00\x00\x00", "\x21\x00\x00\x00", "\x40\x00\x00\x00short",
		"\xff\xff\xff\xff"} {
		if err := store.KeepDerived(t.Context(), timeline.Local, "vector/a",
			[]timeline.Derived{{Content: timeline.HashOf([]byte(holidayTexts[0])), Data: []byte(data)}}); err != nil {
			t.Fatal(err)
		}
		l := library(t, store, LibraryOptions{Model: &counting{name: "a"}})
		if settled(t, l, w, "Norway"); l.Stats().Made != 1 {
			t.Errorf("%q: %+v", data, l.Stats())
		}
	}
}

func FuzzVectorsAreRead(f *testing.F) {
	f.Add([]byte("\x20\x00\x00\x00" + strings.Repeat("x", 44)))
	f.Fuzz(func(t *testing.T, data []byte) {
		k, ok := readVectors(data)
		if !ok {
			return
		}
		out := data[:vectorHead:vectorHead]
		for _, h := range k.order {
			values, _ := quantised(k.vectors[h])
			if len(values) != k.dimensions {
				t.Fatalf("%d values of %d", len(values), k.dimensions)
			}
			out = appendKept(out, h, k.vectors[h])
		}
		if len(k.order)*(vectorEntry+k.dimensions) == len(data)-vectorHead && string(out) != string(data) {
			t.Error("written otherwise than it was read")
		}
	})
}

// A text that the model makes nothing of is asked for once, too.
func TestTextsWithoutDirectionAreKeptAsSuch(t *testing.T) {
	store := memory.New()
	defer store.Close()
	say(t, store, "c", holidayTexts[0], "a nought of a text")
	w := Where{Tenant: timeline.Local, Conversation: "c"}
	for _, want := range []int64{2, 0} {
		l := library(t, store, LibraryOptions{Model: &noughts{counting{name: "a"}}})
		settled(t, l, w, "Norway")
		if made := l.Stats().Made; made != want || len(vectorsOf(l)) != 1 {
			t.Errorf("made %d, want %d", made, want)
		}
	}
}

type noughts struct{ counting }

func (n *noughts) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	vectors, err := n.counting.Embed(ctx, texts)
	for i := range vectors {
		if strings.Contains(texts[i], "nought") {
			clear(vectors[i])
		}
	}
	return vectors, err
}

// A store that only reads has its vectors in memory.
func TestAReadOnlyStoreIsSearchedByMeaning(t *testing.T) {
	dir := t.TempDir()
	say(t, openSQLite(t, dir, sqlite.Options{}), "c", holidayTexts...)
	store := openSQLite(t, dir, sqlite.Options{ReadOnly: true})
	for range 2 {
		l := library(t, store, LibraryOptions{Model: &counting{name: "a"}})
		if r := settled(t, l, Where{Tenant: timeline.Local, Conversation: "c"}, "cello"); r.Mode != Hybrid ||
			l.Stats().Made < 8 {
			t.Errorf("%s, %+v", r.Mode, l.Stats())
		}
	}
}

// SPEC D2: what is deleted, by whomever, is in no scope and in no file any more.
func TestDeletionReachesScopesAndVectors(t *testing.T) {
	dir := t.TempDir()
	store, others := openSQLite(t, dir, sqlite.Options{}), openSQLite(t, dir, sqlite.Options{})
	say(t, store, "stays", matters("stays")...)
	say(t, store, "goes", matters("goes", "went")...)
	l := library(t, store, LibraryOptions{Model: &counting{name: "a"}})
	goes, all := Where{Tenant: timeline.Local, Conversation: "goes"},
		Where{Tenant: timeline.Local, Conversation: "stays", Reach: ReachUser}
	settled(t, l, goes, "common")
	settled(t, l, all, "common")
	var data string
	if err := store.Derived(t.Context(), timeline.Local, "vector/a",
		[]timeline.Hash{timeline.HashOf([]byte("common matter went"))}, func(_ timeline.Hash, d []byte) error {
			data = string(d)
			return nil
		}); err != nil || data == "" {
		t.Fatal(err)
	}
	if gone, err := others.Delete(t.Context(), timeline.Local, "goes", nil); err != nil || gone.Pending {
		t.Fatalf("%+v, %v", gone, err)
	}
	if got := shown(t, l, all); got != "1=stays" {
		t.Errorf("found %q", got)
	}
	// Nobody asked for the other scope since then.
	if err := l.Wait(t.Context()); err != nil || l.Stats().Scopes != 1 {
		t.Errorf("%+v, %v", l.Stats(), err)
	}
	if got := shown(t, l, goes); got != `no such conversation: "goes"` {
		t.Errorf("found %q", got)
	}
	if n := l.Stats().Scopes; n != 1 {
		t.Errorf("%d scopes", n)
	}
	// A new one of the same name has nothing of the old.
	say(t, others, "goes", matters("anew")...)
	if got := shown(t, l, goes); got != "1=anew" {
		t.Errorf("found %q", got)
	}
	if got := shown(t, l, all); got != "1=stays goes#1=anew" {
		t.Errorf("found %q", got)
	}
	if err := l.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	l.Forget(timeline.Local, "goes")
	if n := l.Stats().Scopes; n != 0 {
		t.Errorf("%d scopes show what was to be forgotten", n)
	}
	for _, err := range []error{l.Close(), others.Close(), store.Close()} {
		if err != nil {
			t.Fatal(err)
		}
	}
	raw, err := os.ReadFile(filepath.Join(dir, "oriel.db"))
	if err != nil || strings.Contains(string(raw), data[vectorHead+8:]) {
		t.Errorf("the vector is still in the file: %v", err)
	}
}

// What was embedded before a library was closed need not be embedded again.
func TestWhatWasEmbeddedIsKeptBatchByBatch(t *testing.T) {
	store := memory.New()
	defer store.Close()
	var names []string
	for i := range 3 * embedBatch {
		names = append(names, fmt.Sprint(i))
	}
	say(t, store, "c", matters(names...)...)
	w := Where{Tenant: timeline.Local, Conversation: "c"}
	model := &stopping{counting: counting{name: "a"}, stopped: make(chan struct{})}
	l := library(t, store, LibraryOptions{Model: model})
	shown(t, l, w)
	<-model.stopped
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	l = library(t, store, LibraryOptions{Model: &counting{name: "a"}})
	settled(t, l, w, "common")
	if made := l.Stats().Made; made != 2*embedBatch {
		t.Errorf("%d passages were embedded", made)
	}
}

// stopping is a model that embeds one batch, and then nothing until it is told to end.
type stopping struct {
	counting
	stopped chan struct{}
}

func (s *stopping) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	if s.texts.Load() > 0 {
		close(s.stopped)
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return s.counting.Embed(ctx, texts)
}

func TestTwoLibrariesShareAHistory(t *testing.T) {
	dir := t.TempDir()
	a, b := openSQLite(t, dir, sqlite.Options{}), openSQLite(t, dir, sqlite.Options{})
	say(t, a, "c", matters("one", "two")...)
	w := Where{Tenant: timeline.Local, Conversation: "c"}
	la, lb := library(t, a, LibraryOptions{Model: &counting{name: "a"}}),
		library(t, b, LibraryOptions{Model: &counting{name: "a"}})
	settled(t, la, w, "common")
	settled(t, lb, w, "common")
	say(t, a, "c", matters("three")...)
	if got := shown(t, lb, w); got != "1=one 2=two 3=three" {
		t.Errorf("found %q", got)
	}
	settled(t, lb, w, "common")
	settled(t, la, w, "common")
	if x, y := la.Stats().Made, lb.Stats().Made; x != 2 || y != 1 {
		t.Errorf("made %d and %d", x, y)
	}
}

// blocking is a store that reads no messages until it is let go.
type blocking struct {
	timeline.Store
	after   int // so many readings of messages later
	blocked chan struct{}
	free    chan struct{}
	lists   chan struct{} // where it is not nil, it stands before everything else
}

func newBlocking(s timeline.Store, after int) *blocking {
	return &blocking{Store: s, after: after, blocked: make(chan struct{}, 100), free: make(chan struct{})}
}

func (b *blocking) Conversation(ctx context.Context, tenant, name string) (timeline.Conversation, error) {
	if b.lists != nil {
		<-b.lists
	}
	return b.Store.Conversation(ctx, tenant, name)
}

func (b *blocking) Messages(ctx context.Context, tenant string, to timeline.Place, first, last int64, hashes bool,
	visit func(*timeline.Entry) error) error {
	if !hashes {
		if b.after--; b.after < 0 {
			b.blocked <- struct{}{}
			<-b.free
		}
	}
	return b.Store.Messages(ctx, tenant, to, first, last, hashes, visit)
}

// SPEC D2: a search answers within its deadline with what is there.
func TestADeadlineIsKeptWhileAScopeIsBuilt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inner := memory.New()
		var names []string
		for i := range 3 * growBatch {
			names = append(names, fmt.Sprint(i+1))
		}
		say(t, inner, "c", matters(names...)...)
		store := newBlocking(inner, 2)
		l := NewLibrary(store, LibraryOptions{Count: func(text string) int { return len(text) }})
		defer l.Close()
		w := Where{Tenant: timeline.Local, Conversation: "c"}
		ask := func() (*Result, time.Duration, error) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			start := time.Now()
			r, err := l.Recall(ctx, w, "common", RecallOptions{Floor: -1, Budget: 1 << 16})
			return r, time.Since(start), err
		}
		for range 2 {
			r, took, err := ask()
			if err != nil || took > time.Second || len(r.Passages) != 2*growBatch {
				t.Fatalf("%v, %v", took, err)
			}
		}
		// Without a deadline it waits.
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			synctest.Wait()
			cancel()
		}()
		if _, err := l.Recall(ctx, w, "common", RecallOptions{}); !errors.Is(err, context.Canceled) {
			t.Errorf("error %v", err)
		}
		close(store.free)
		if r, _, err := ask(); err != nil || len(r.Passages) != 3*growBatch {
			t.Errorf("in the end: %v", err)
		}
		// Where not even the head is to be had, it is what it was.
		store.lists = make(chan struct{})
		r, took, err := ask()
		if err != nil || took > time.Second || len(r.Passages) != 3*growBatch || r.Passages[0].Block != "1" {
			t.Errorf("%v, %v", took, err)
		}
		w.Conversation = "unknown"
		if r, took, err := ask(); err != nil || took > time.Second || len(r.Passages) != 0 {
			t.Errorf("%v, %v", took, err)
		}
		close(store.lists)
		if err := l.Wait(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

func TestCloseEndsWhatIsUnderWay(t *testing.T) {
	store := newBlocking(memory.New(), 0)
	say(t, store.Store, "c", matters("one")...)
	l := NewLibrary(store, LibraryOptions{})
	failed := make(chan error)
	go func() {
		_, err := l.Recall(context.Background(), Where{Tenant: timeline.Local, Conversation: "c"}, "common",
			RecallOptions{})
		failed <- err
	}()
	<-store.blocked
	closed := make(chan error)
	go func() { closed <- l.Close() }()
	if err := <-failed; !errors.Is(err, ErrClosed) {
		t.Errorf("error %v", err)
	}
	close(store.free)
	if err := <-closed; err != nil {
		t.Error(err)
	}
	if err := l.Wait(t.Context()); !errors.Is(err, ErrClosed) {
		t.Errorf("error %v", err)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
}

// A model that fails leaves the words, and its work is taken up again.
func TestWordsAnswerWhereTheModelFails(t *testing.T) {
	store := memory.New()
	defer store.Close()
	say(t, store, "c", matters("one")...)
	w := Where{Tenant: timeline.Local, Conversation: "c"}
	model := &failing{err: errors.New("no power")}
	l := library(t, store, LibraryOptions{Model: model})
	if got := shown(t, l, w); got != "1=one" {
		t.Errorf("found %q", got)
	}
	if err := l.Wait(t.Context()); !errors.Is(err, model.err) {
		t.Errorf("error %v", err)
	}
	model.works.Store(true)
	if r := settled(t, l, w, "common"); r.Mode != Hybrid {
		t.Errorf("%+v", r)
	}
	model.works.Store(false)
	if r, err := l.Recall(t.Context(), w, "common matter", RecallOptions{}); err != nil || r.Mode != Keyword ||
		len(r.Passages) != 1 {
		t.Errorf("%+v, %v", r, err)
	}
}

type failing struct {
	bags
	works atomic.Bool
	err   error
}

func (f *failing) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	if !f.works.Load() {
		return nil, f.err
	}
	return f.bags.Embed(ctx, texts)
}

// SPEC D2: many scopes answer under a limit that is smaller than their sum.
func TestScopesAreLetGoOfUnderALimit(t *testing.T) {
	store := memory.New()
	defer store.Close()
	fill := func(prefix string) {
		for c := range 10 {
			var names []string
			for i := range 100 {
				names = append(names, fmt.Sprint(prefix, c, "x", i))
			}
			say(t, store, fmt.Sprint("c", c), matters(names...)...)
		}
	}
	fill("m")
	where := func(c int) Where { return Where{Tenant: timeline.Local, Conversation: fmt.Sprint("c", c)} }
	all := library(t, store, LibraryOptions{Model: &counting{name: "a"}})
	for c := range 10 {
		settled(t, all, where(c), "common")
	}
	whole := all.Stats()
	if whole.Scopes != 10 || whole.Made != 1000 {
		t.Fatalf("%+v", whole)
	}
	l := library(t, store, LibraryOptions{Model: &counting{name: "a"}, Memory: whole.Bytes * 35 / 100})
	for round := range 3 {
		for c := range 10 {
			r := settled(t, l, where(c), fmt.Sprint("common matter m", c, "x", round))
			if r.Mode != Hybrid || best(r) != fmt.Sprint(round+1) {
				t.Errorf("%d: %s, best %s", c, r.Mode, best(r))
			}
			if n := l.Stats(); n.Bytes > whole.Bytes*35/100 || n.Scopes > 3 {
				t.Errorf("%+v", n)
			}
		}
	}
	if n := l.Stats(); n.Made != 0 || n.Scopes < 2 {
		t.Errorf("%+v", n)
	}
	// The latest used are there still.
	l.mu.Lock()
	latest := l.order.Front().Value.(*cachedScope).key.name
	l.mu.Unlock()
	if latest != "c9" {
		t.Errorf("the latest is %s", latest)
	}
	// One that is larger than the limit works all the same, alone.
	tiny := library(t, store, LibraryOptions{Model: &counting{name: "a"}, Memory: 1})
	var group sync.WaitGroup
	for c := range 10 {
		group.Go(func() {
			r, err := tiny.Recall(t.Context(), where(c), "common", RecallOptions{Floor: -1, Budget: 1 << 16})
			if err != nil || len(r.Passages) != 100 {
				t.Errorf("%d: %v", c, err)
			}
		})
	}
	group.Wait()
	if err := tiny.Wait(t.Context()); err != nil || tiny.Stats().Scopes != 1 {
		t.Errorf("%+v, %v", tiny.Stats(), err)
	}
}

func TestALibraryServesManyAtOnce(t *testing.T) {
	store := memory.New()
	defer store.Close()
	first := say(t, store, "c", matters("one", "two", "three")...)
	say(t, store, "d", matters("four")...)
	l := library(t, store, LibraryOptions{Model: &counting{name: "a"}, Memory: 1 << 20})
	var group sync.WaitGroup
	for g := range 4 {
		group.Go(func() {
			for i := range 20 {
				branch := apply(t, store, timeline.Local, timeline.Change{Conversation: "c", At: first.Places[i%3]},
					matters(fmt.Sprint("b", g, "x", i))...)
				w := Where{Conversation: "c", At: branch.Head}
				if got := shown(t, l, w); strings.Count(got, "=b") > 1 { // it sees its own branch, not the others
					t.Errorf("found %q", got)
				}
				shown(t, l, Where{Conversation: "d", Reach: ReachUser})
				if _, _, err := l.Directives(t.Context(), w.withTenant()); err != nil {
					t.Error(err)
				}
				if i%7 == 0 {
					l.Forget(timeline.Local, "c")
				}
				l.Stats()
			}
		})
	}
	group.Wait()
	if err := l.Wait(t.Context()); err != nil {
		t.Error(err)
	}
}

func (w Where) withTenant() Where {
	w.Tenant = timeline.Local
	return w
}

func TestDirectivesAreThoseOfTheBranch(t *testing.T) {
	store := memory.New()
	defer store.Close()
	first := say(t, store, "c", "Always answer in metric units.", "Never mention the budget.")
	apply(t, store, timeline.Local, timeline.Change{Conversation: "c", At: first.Places[0]},
		"Always write in British English.")
	l := library(t, store, LibraryOptions{})
	got, _, err := l.Directives(t.Context(), Where{Tenant: timeline.Local, Conversation: "c"})
	if err != nil || len(got) != 2 || got[0].Block != "1" || got[1].Block != "2" ||
		!strings.Contains(got[1].Text, "British") {
		t.Errorf("%+v, %v", got, err)
	}
}

// SPEC D3: what the window shows already is told by the ids that people see.
func TestExcludeKnowsTheIdsThatPeopleSee(t *testing.T) {
	store := memory.New()
	defer store.Close()
	say(t, store, "old", matters("old")...)
	apply(t, store, timeline.Local, timeline.Change{Conversation: "c", Continues: "old"}, matters("one", "two")...)
	l := library(t, store, LibraryOptions{})
	r, err := l.Recall(t.Context(), Where{Tenant: timeline.Local, Conversation: "c"}, "common", RecallOptions{
		Floor: -1, Exclude: func(block string) bool { return block == "2" || block == "old#1" }})
	if err != nil || blocks(r) != "1" {
		t.Errorf("%+v, %v", r, err)
	}
}

// strange is a model whose vectors are of no use.
type strange struct {
	counting
	calls  atomic.Int64
	change func(call int64, v []float32) []float32
}

func (s *strange) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	vectors, err := s.counting.Embed(ctx, texts)
	call := s.calls.Add(1)
	for i := range vectors {
		vectors[i] = s.change(call, vectors[i])
	}
	return vectors, err
}

// A model that gives nothing useful is asked once, not over and over, and Wait says why.
func TestUselessVectorsAreNotAskedForAgain(t *testing.T) {
	for name, change := range map[string]func(int64, []float32) []float32{
		"empty":      func(int64, []float32) []float32 { return nil },
		"no numbers": func(_ int64, v []float32) []float32 { return append(v[1:], float32(math.NaN())) },
		"always other dimensions": func(call int64, v []float32) []float32 {
			return append(v, make([]float32, 32*call)...)
		},
	} {
		t.Run(name, func(t *testing.T) {
			store := memory.New()
			defer store.Close()
			say(t, store, "c", holidayTexts...)
			model := &strange{counting: counting{name: "a"}, change: change}
			l := library(t, store, LibraryOptions{Model: model})
			r, err := l.Recall(t.Context(), Where{Tenant: timeline.Local, Conversation: "c"}, "sister", RecallOptions{})
			if err != nil || len(r.Passages) == 0 {
				t.Errorf("%+v, %v", r, err)
			}
			if err := l.Wait(t.Context()); err == nil || model.calls.Load() > 5 {
				t.Errorf("asked %d times: %v", model.calls.Load(), err)
			}
		})
	}
}

// Another model under the same name: its vectors are not mixed with those that were
// kept, and take their place.
func TestVectorsOfOtherDimensionsAreMadeAgain(t *testing.T) {
	for _, name := range []string{"something new", "nothing new"} {
		store := memory.New()
		defer store.Close()
		say(t, store, "c", holidayTexts[:4]...)
		w := Where{Tenant: timeline.Local, Conversation: "c"}
		settled(t, library(t, store, LibraryOptions{Model: &counting{name: "a"}}), w, "sister")
		want := int64(4)
		if name == "something new" {
			say(t, store, "c", "The harbour of Trieste is eleven metres deep.")
			want++
		}
		for _, made := range []int64{want, 0} {
			l := library(t, store, LibraryOptions{Model: &counting{name: "a", width: 64}})
			settled(t, l, w, "sister")
			if r := settled(t, l, w, "sister"); r.Mode != Hybrid || l.Stats().Made != made {
				t.Errorf("%s: %s, %+v", name, r.Mode, l.Stats())
			}
		}
	}
}

// unwritable keeps no vectors of some contents.
type unwritable struct {
	timeline.Store
	refuse func([]timeline.Derived) bool
}

func (u *unwritable) KeepDerived(ctx context.Context, tenant, kind string, data []timeline.Derived) error {
	if u.refuse(data) {
		return errDiskFull
	}
	return u.Store.KeepDerived(ctx, tenant, kind, data)
}

var errDiskFull = errors.New("disk full")

// What is kept of other messages, or in other scopes, does not hide what is not.
func TestWaitTellsWhatCouldNotBeKept(t *testing.T) {
	inner := memory.New()
	defer inner.Close()
	say(t, inner, "c", holidayTexts...)
	say(t, inner, "d", holidayTexts[0])
	once := true
	store := &unwritable{inner, func([]timeline.Derived) bool { was := once; once = false; return was }}
	l := library(t, store, LibraryOptions{Model: &counting{name: "a"}})
	for _, name := range []string{"c", "d"} {
		w := Where{Tenant: timeline.Local, Conversation: name}
		if _, err := l.Recall(t.Context(), w, "sister", RecallOptions{}); err != nil {
			t.Fatal(err)
		}
		if err := l.Wait(t.Context()); !errors.Is(err, errDiskFull) {
			t.Errorf("%s: error %v", name, err)
		}
	}
	if n := l.Stats(); n.Embedded != n.Passages {
		t.Errorf("%+v", n)
	}
}

// Searches at several places of a conversation at the same time have each its own, and
// an earlier place does not take from a later one.
func TestPlacesOfOneConversationAreSearchedAtOnce(t *testing.T) {
	store := memory.New()
	defer store.Close()
	var names []string
	for i := range 60 {
		names = append(names, fmt.Sprint("number", i+1))
	}
	trunk := say(t, store, "c", matters(names...)...)
	branch := apply(t, store, timeline.Local, timeline.Change{Conversation: "c", At: trunk.Places[54]},
		matters("branch")...)
	l := library(t, store, LibraryOptions{})
	var group sync.WaitGroup
	for _, c := range []struct {
		at          timeline.Place
		query, miss string
	}{{trunk.Places[49], "number50", "number51"}, {trunk.Places[59], "number60", "branch"},
		{branch.Head, "branch", "number60"}, {trunk.Places[59], "number59", "branch"}} {
		group.Go(func() {
			for range 60 {
				r, err := l.Recall(t.Context(), Where{Tenant: timeline.Local, Conversation: "c", At: c.at}, c.query,
					RecallOptions{})
				if err != nil || !strings.Contains(r.Text, c.query) || strings.Contains(r.Text, c.miss) {
					t.Errorf("%s: %+v, %v", c.query, r, err)
					return
				}
			}
		})
	}
	group.Wait()
	l.mu.Lock()
	defer l.mu.Unlock()
	for e := l.order.Front(); e != nil; e = e.Next() {
		if n := e.Value.(*cachedScope).users; n != 0 {
			t.Errorf("%d users are left", n)
		}
	}
}

// Scopes that are larger than the limit are finished one after the other, though
// others are asked for meanwhile.
func TestWhatIsBeingBuiltIsNotLetGoOf(t *testing.T) {
	l := library(t, memory.New(), LibraryOptions{Memory: 1})
	l.mu.Lock()
	defer l.mu.Unlock()
	built, asked := l.newCachedScope(scopeKey{name: "built"}), l.newCachedScope(scopeKey{name: "asked"})
	if l.account(built, 1000); built.element == nil || asked.element == nil {
		t.Error("what is being built is gone")
	}
	built.caught = true
	if l.account(built, 1000); built.element != nil || asked.element == nil {
		t.Error("what is finished and was not asked for last is there still")
	}
}
