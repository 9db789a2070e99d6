package recall

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/oriel-context/oriel/internal/test/pgtest"
	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/timeline/postgres"
)

// tallying is a model that counts how often it was given each text.
type tallying struct {
	bags
	gate  chan struct{} // it answers once this is closed
	calls atomic.Int32
	mu    sync.Mutex // protects given
	given map[string]int
}

func newTallying() *tallying {
	return &tallying{gate: make(chan struct{}), given: map[string]int{}}
}

func (m *tallying) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	m.mu.Lock()
	for _, text := range texts {
		m.given[text]++
	}
	m.mu.Unlock()
	m.calls.Add(1)
	<-m.gate
	return m.bags.Embed(ctx, texts)
}

// once fails the test unless each of n texts was given once.
func (m *tallying) once(t *testing.T, n int) {
	t.Helper()
	m.mu.Lock()
	defer m.mu.Unlock()
	for text, times := range m.given {
		if times != 1 {
			t.Errorf("%q was embedded %d times", text, times)
		}
	}
	if len(m.given) != n {
		t.Errorf("%d texts were embedded, want %d", len(m.given), n)
	}
}

func openPostgres(t testing.TB, url string) *postgres.Store {
	t.Helper()
	s, err := postgres.Open(context.Background(), url, postgres.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// long returns a text of many passages, all different.
func long(name string, sentences int) string {
	var b strings.Builder
	for i := range sentences {
		fmt.Fprintf(&b, "In sentence %d of %s somebody tells number %d about the weather in the mountains. ", i, name,
			i*i)
	}
	return b.String()
}

// Servers that share a database embed every message once, also if they need the same ones
// at the same time and fill the history in the background.
func TestServersEmbedEveryMessageOnce(t *testing.T) {
	url := pgtest.URL(t)
	stores := []*postgres.Store{openPostgres(t, url), openPostgres(t, url)}
	for _, name := range []string{"one", "two"} { // the last message has more passages than are embedded at once
		apply(t, stores[0], timeline.Local, timeline.Change{Conversation: name, Project: "p"},
			append(remarks(name, 20), long(name, 900))...)
	}
	apply(t, stores[0], "team", timeline.Change{Conversation: "one"}, remarks("team", 20)...)
	model := newTallying()
	var libraries []*Library
	for _, store := range stores {
		l := library(t, store, LibraryOptions{Model: model})
		l.Prepare(Where{Tenant: timeline.Local, Conversation: "one"})
		l.Prepare(Where{Tenant: timeline.Local, Conversation: "two", Reach: ReachProject})
		await(t, "the library embeds, or waits for another one that does", func() bool {
			l.mu.Lock()
			defer l.mu.Unlock()
			return l.elsewhere > 0 || model.calls.Load() > int32(len(libraries))
		})
		libraries = append(libraries, l)
	}
	for _, store := range stores {
		filling(t, store, FillOptions{Model: model, Tenants: store.Tenants, Every: time.Millisecond, Settle: -1})
	}
	close(model.gate)
	for _, l := range libraries {
		if err := l.Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
		if st := l.Stats(); st.Embedded != st.Passages || st.Passages == 0 {
			t.Errorf("%+v: not all passages have vectors", st)
		}
	}
	await(t, "the other tenant's messages have vectors", func() bool {
		st, err := stores[0].Stats(t.Context(), "team")
		return err == nil && st.Derived == 20
	})
	alone := library(t, stores[0], LibraryOptions{Model: model})
	alone.Prepare(Where{Tenant: timeline.Local, Conversation: "two", Reach: ReachProject})
	if err := alone.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	st := alone.Stats()
	if st.Made != 0 || st.Passages < 2*(20+embedBatch) {
		t.Errorf("%d vectors of %d were not stored", st.Made, st.Passages)
	}
	model.once(t, st.Passages+20)
}

// childVar makes the test binary a process that embeds until it is killed; it holds the URL
// of the database.
const childVar = "ORIEL_TEST_EMBED"

// stuck is a model that prints a line and never returns when it is asked for the third time.
type stuck struct {
	bags
	asked int
}

func (m *stuck) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	if m.asked++; m.asked == 3 {
		fmt.Println("embedding")
		select {}
	}
	return m.bags.Embed(ctx, texts)
}

func embedUntilKilled(url string) {
	store, err := postgres.Open(context.Background(), url, postgres.Options{})
	if err != nil {
		panic(err)
	}
	claimLease = time.Second
	l := NewLibrary(store, LibraryOptions{Model: &stuck{}})
	l.Prepare(Where{Tenant: timeline.Local, Conversation: "c"})
	select {}
}

// What a killed server was about to embed another one embeds, and what it had stored no
// other embeds again.
func TestAnotherServerTakesOverFromAKilledOne(t *testing.T) {
	url := pgtest.URL(t)
	store := openPostgres(t, url)
	apply(t, store, timeline.Local, timeline.Change{Conversation: "c"}, remarks("c", 4*embedBatch)...)
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), childVar+"="+url)
	child.Stderr = os.Stderr
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Errorf("the other process said %q, %v", line, err)
	}
	model := newTallying()
	close(model.gate)
	l := library(t, store, LibraryOptions{Model: model})
	l.Prepare(Where{Tenant: timeline.Local, Conversation: "c"})
	await(t, "the library waits for the other process", func() bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		return l.elsewhere > 0
	})
	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = child.Wait() // it was killed
	if err := l.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	if st := l.Stats(); st.Embedded != 4*embedBatch {
		t.Errorf("%+v: not all passages have vectors", st)
	}
	model.once(t, 2*embedBatch)
}
