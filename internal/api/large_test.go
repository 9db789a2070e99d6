package api_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/oriel-context/oriel/internal/api"
	"github.com/oriel-context/oriel/internal/plan"
	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/timeline/memory"
	"github.com/oriel-context/oriel/timeline/sqlite"
)

// counting is a store that counts the messages that are read of it.
type counting struct {
	timeline.Store
	read atomic.Int64
}

func (c *counting) Messages(ctx context.Context, tenant string, to timeline.Place, first, last int64, hashes bool,
	visit func(*timeline.Entry) error) error {
	return c.Store.Messages(ctx, tenant, to, first, last, hashes, func(e *timeline.Entry) error {
		if !hashes {
			c.read.Add(1)
		}
		return visit(e)
	})
}

// reads returns how many messages do reads.
func (c *counting) reads(do func()) int64 {
	before := c.read.Load()
	do()
	return c.read.Load() - before
}

// large adds n messages to a conversation, and, if n is at least 100, a call whose plan
// leaves out two thirds of them.
func (w *world) large(conversation string, n int) {
	w.t.Helper()
	at := timeline.Place{}
	if c, err := w.store.Conversation(w.t.Context(), timeline.Local, conversation); err == nil {
		at = c.Head
	}
	change := timeline.Change{Conversation: conversation, At: at, Now: noon}
	for i := range n {
		id := int(at.Depth) + i + 1
		role, text := "user", fmt.Sprintf("Question %d: %s", id, strings.Repeat("and more ", id%97))
		if id%2 == 0 {
			role = "assistant"
		}
		raw := fmt.Appendf(nil, `{"role":%q,"content":%q}`, role, text)
		change.Messages = append(change.Messages, timeline.Message{Identity: timeline.HashOf(raw), Raw: raw,
			Format: timeline.FormatOpenAI, Role: role, Time: noon})
	}
	applied, err := w.store.Apply(w.t.Context(), timeline.Local, change)
	if err != nil {
		w.t.Fatal(err)
	}
	if n < 100 {
		return
	}
	var blocks []string
	for id := 2; id < n; id++ {
		if id%3 != 0 {
			blocks = append(blocks, fmt.Sprintf(`{"index":%d,"role":"user","tokens":10,"verdict":"evict","reason":"oldest"}`, id))
		}
	}
	data := fmt.Sprintf(`{"policy":"ladder","mode":"hard","model":"m","budget":1000,"tokens_before":2000,"tokens_after":900,"action":"evict","blocks":[%s],"inserted":[{"kind":"recall","into":%d,"tokens":12,"text":"r","block":"7 other#9"}]}`, strings.Join(blocks, ","), n)
	p := (&plan.Stored{ID: "p-x-0", At: applied.Head, Time: noon, Data: json.RawMessage(data)}).Record()
	call := timeline.Record{Kind: "call", Key: "c1", At: applied.Head, Time: noon,
		Data: fmt.Appendf(nil, `{"v":1,"model":"m","plan":%q,"tokens":900,"came":2000}`, p.Key)}
	notes := timeline.Change{Conversation: conversation, Stay: true, Now: noon, Put: []timeline.Record{p, call}}
	if _, err := w.store.Apply(w.t.Context(), timeline.Local, notes); err != nil {
		w.t.Fatal(err)
	}
}

// A strip of 30,000 messages is read once, then only what is new; its answer is small.
func TestAStripReadsEachMessageOnce(t *testing.T) {
	n := 30_000
	if testing.Short() {
		n = 3000
	}
	store := &counting{Store: memory.New()}
	w := newWorld(t, store)
	w.large("large", n)
	var s struct {
		Count, Upto int
		Kinds, Plan string
		Tokens      []int
		Verdicts    [][3]any
		Recalled    []struct {
			Into, ID     int
			Conversation string
		}
	}
	if got := store.reads(func() { w.get("conversations/large/strip", &s) }); got != int64(n) {
		t.Errorf("a strip of %d messages reads %d", n, got)
	}
	if s.Count != n || s.Upto != n || len(s.Kinds) != n || len(s.Tokens) != n || s.Plan != "p1" ||
		s.Kinds[:3] != "uau" || s.Tokens[95] < s.Tokens[1] {
		t.Fatalf("%d messages, up to %d, %d kinds, %d tokens, plan %q",
			s.Count, s.Upto, len(s.Kinds), len(s.Tokens), s.Plan)
	}
	if len(s.Verdicts) != n/3 || len(s.Recalled) != 2 ||
		s.Recalled[1].Conversation != "other" || s.Recalled[1].ID != 9 {
		t.Errorf("%d spans, recalled %+v", len(s.Verdicts), s.Recalled)
	}
	if got := store.reads(func() { w.get("conversations/large/strip?call=1", &s) }); got != 0 {
		t.Errorf("the same strip again reads %d messages", got)
	}
	w.large("large", 10)
	got := store.reads(func() { w.get("conversations/large/strip", &s) })
	if got != 10 || len(s.Tokens) != n+10 || s.Upto != n {
		t.Errorf("10 more messages: %d are read, %d are there, %d were sent", got, len(s.Tokens), s.Upto)
	}
	if got := store.reads(func() { w.get("conversations/large/messages?from=2000&limit=20", nil) }); got > 21 {
		t.Errorf("a page of 20 messages reads %d", got)
	}
	// One message in three is sent: no strip has more spans.
	a := w.do("GET", "conversations/large/strip", "", "Accept-Encoding", "gzip, br")
	z, err := gzip.NewReader(bytes.NewReader(a.body))
	if err != nil || a.header.Get("Content-Encoding") != "gzip" {
		t.Fatal(err, a.header)
	}
	whole, err := io.ReadAll(z)
	if err != nil || len(a.body) > 200<<10 || len(whole) < n {
		t.Errorf("%d bytes, %d compressed, %v", len(whole), len(a.body), err)
	}
	t.Logf("a strip of %d messages with %d spans has %d bytes, %d compressed",
		n, len(s.Verdicts), len(whole), len(a.body))
}

// The list and the page of a conversation read the same of a large one as of a small one.
func TestListsDoNotReadWhatTheyDoNotShow(t *testing.T) {
	store := &counting{Store: memory.New()}
	w := newWorld(t, store)
	w.large("small", 100)
	w.large("large", 5000)
	first := store.reads(func() { w.get("conversations", nil) })
	again := store.reads(func() {
		w.get("conversations", nil)
		w.get("overview", nil)
		w.get("conversations/large", nil)
	})
	if first > 2*32 || again != 0 {
		t.Errorf("a list reads %d messages, and %d when nothing has changed", first, again)
	}
}

func TestNoMoreThanAFewOfATenantAreServedAtATime(t *testing.T) {
	release, begun := make(chan struct{}), make(chan struct{}, 64)
	store := &blocking{Store: memory.New(), begun: begun, release: release}
	w := newWorld(t, store)
	done := make(chan int, 64)
	for range 12 {
		go func() { done <- w.do("GET", "conversations", "").status }()
	}
	for range api.MaxShareForTest {
		<-begun
	}
	select {
	case <-begun:
		t.Error("one more is served")
	default:
	}
	close(release)
	for range 12 {
		if status := <-done; status != http.StatusOK {
			t.Errorf("status %d", status)
		}
	}
}

// blocking is a store whose lists wait.
type blocking struct {
	timeline.Store
	begun   chan struct{}
	release chan struct{}
}

func (b *blocking) Conversations(ctx context.Context, tenant string) ([]timeline.Conversation, error) {
	b.begun <- struct{}{}
	<-b.release
	return b.Store.Conversations(ctx, tenant)
}

// BenchmarkFirstStrip asks a server that has just started for the strip of a stored
// conversation of 30,000 messages, as the console does when somebody opens it.
func BenchmarkFirstStrip(b *testing.B) {
	store, err := sqlite.Open(b.Context(), filepath.Join(b.TempDir(), "data"), sqlite.Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { store.Close() })
	w := newWorld(b, store)
	w.large("large", 30_000)
	for b.Loop() {
		w.handler = api.New(api.Options{Engine: w.engine, Store: store, Hub: w.hub})
		a := w.do("GET", "conversations/large/strip", "", "Accept-Encoding", "gzip")
		if a.status != 200 || len(a.body) < 10_000 {
			b.Fatal(a.status, len(a.body))
		}
	}
}
