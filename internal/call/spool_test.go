package call_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/oriel-context/oriel"
	"github.com/oriel-context/oriel/internal/call"
	"github.com/oriel-context/oriel/internal/call/spool"
	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/timeline/memory"
	"github.com/oriel-context/oriel/wire"
)

// agents makes calls of several conversations through engines that follow one another, each
// on the same store and spool.
type agents struct {
	t      testing.TB
	store  *flaky
	dir    string // of the spool
	engine *oriel.Engine
	said   map[string][]json.RawMessage // by the name of an agent
	sent   map[string][]byte            // the bodies, by the id of the call
	order  []string                     // the ids

	mu   sync.Mutex // protects what follows
	told []string   // the errors of events
}

// errors returns the errors of events.
func (a *agents) errors() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.told)
}

// flaky is a store that fails in several ways.
type flaky struct {
	timeline.Store
	mode atomic.Value // a string
}

var errGone = errors.New("the store is gone")

func (s *flaky) fails(op string) error {
	switch mode := s.mode.Load().(string); {
	case mode == "gone", mode == op:
		return errGone
	}
	return nil
}

func (s *flaky) Apply(ctx context.Context, tenant string, c timeline.Change) (timeline.Applied, error) {
	if err := s.fails("full"); err != nil {
		return timeline.Applied{}, err
	}
	if s.mode.Load() == "slow" {
		<-ctx.Done()
		return timeline.Applied{}, ctx.Err()
	}
	applied, err := s.Store.Apply(ctx, tenant, c)
	if err == nil && s.mode.Load() == "silent" { // it is written, and nobody hears of it
		return timeline.Applied{}, errGone
	}
	return applied, err
}

func (s *flaky) Conversation(ctx context.Context, tenant, name string) (timeline.Conversation, error) {
	if err := s.fails("gone"); err != nil {
		return timeline.Conversation{}, err
	}
	return s.Store.Conversation(ctx, tenant, name)
}

func (s *flaky) Conversations(ctx context.Context, tenant string) ([]timeline.Conversation, error) {
	if err := s.fails("gone"); err != nil {
		return nil, err
	}
	return s.Store.Conversations(ctx, tenant)
}

func (s *flaky) Records(ctx context.Context, tenant, conversation, kind, key string) ([]timeline.Record, error) {
	if err := s.fails("gone"); err != nil {
		return nil, err
	}
	return s.Store.Records(ctx, tenant, conversation, kind, key)
}

func newAgents(t testing.TB, store timeline.Store, dir string) *agents {
	a := &agents{t: t, store: &flaky{Store: store}, dir: dir, said: map[string][]json.RawMessage{},
		sent: map[string][]byte{}}
	a.store.mode.Store("")
	a.open()
	return a
}

// open begins the next process.
func (a *agents) open() {
	a.t.Helper()
	var err error
	a.engine, err = oriel.Open(call.With(context.Background(),
		call.Inside{Waits: call.Waits{Spool: 20 * time.Millisecond, Write: 20 * time.Millisecond, Brief: time.Second,
			Late: time.Millisecond}}), oriel.Config{
		Store: a.store, Spool: a.dir, NoEmbed: true, Calls: call.Options{Profile: "thrifty"},
		Events: func(e oriel.Event) {
			a.mu.Lock()
			defer a.mu.Unlock()
			a.told = append(a.told, e.Error)
		},
	})
	if err != nil {
		a.t.Fatal(err)
	}
}

// call has an agent say something, and returns when the call is in the store or the spool.
func (a *agents) call(name string) {
	a.t.Helper()
	id := fmt.Sprintf("call-%03d", len(a.order))
	a.said[name] = append(a.said[name],
		json.RawMessage(fmt.Sprintf(`{"role":"user","content":"%s asks %s: %s"}`, name, id,
			strings.Repeat("why? ", 50))))
	list, err := json.Marshal(a.said[name])
	must(err)
	body := fmt.Appendf(nil, `{"model":"gpt-4o","messages":%s}`, list)
	h := http.Header{"X-Oriel-Conversation": {name}, "X-Oriel-Budget": {"1000"}}
	begun := call.Of(a.engine).Begin(context.Background(), &call.Request{ID: id, Tenant: "team", Format: wire.Chat,
		Path: "/v1/chat/completions", Header: h, Body: body, Began: time.Now()})
	if sent := begun.Body(); len(sent) > len(body)+2000 {
		a.t.Errorf("%d bytes are sent of %d", len(sent), len(body))
	}
	begun.Response(200, http.Header{"Content-Type": {"application/json"}})
	begun.Write([]byte(`{"id":"r","object":"chat.completion","model":"gpt-4o","choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":"Because."}}],"usage":{"prompt_tokens":10,"completion_tokens":2}}`))
	begun.End(nil)
	a.said[name] = append(a.said[name], json.RawMessage(`{"role":"assistant","content":"Because."}`))
	a.sent[id], a.order = body, append(a.order, id)
	must(call.Of(a.engine).Wait(ctx))
	if n := call.Of(a.engine).Counters().Failed.Load(); n > 0 {
		a.t.Errorf("%d calls failed", n)
	}
}

// await waits for something, a minute at most.
func await(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for began := time.Now(); !ok(); time.Sleep(time.Millisecond) {
		if time.Since(began) > time.Minute {
			t.Fatal("waited a minute for ", what)
		}
	}
}

// crash ends the process as kill -9 does, and begins the next one.
func (a *agents) crash() {
	old := a.engine
	call.Of(old).CrashSpool()
	a.open()
	a.t.Cleanup(func() { old.Close() })
}

// settle has the store answer again, and waits until nothing is left to write.
func (a *agents) settle() {
	a.store.mode.Store("")
	await(a.t, "the spool to be empty", func() bool { return call.Of(a.engine).Spool().Calls == 0 })
	if err := call.Of(a.engine).Err(); err != nil {
		a.t.Error(err)
	}
}

// check fails unless the store has each call once, as it came, and those of a conversation
// in their order.
func (a *agents) check() {
	a.t.Helper()
	ctx := context.Background()
	times := map[string]int{}
	all, err := a.store.Store.Conversations(ctx, "team")
	must(err)
	for _, c := range all {
		records, err := a.store.Store.Records(ctx, "team", c.Name, "call", "")
		must(err)
		last := ""
		for i := range records {
			id := records[i].Key
			if times[id]++; id < last {
				a.t.Errorf("%s of %s is written after %s", id, c.Name, last)
			}
			last = id
			recorded, err := call.Read(ctx, a.store.Store, "team", &records[i])
			if err != nil {
				a.t.Errorf("%s: %v", id, err)
			} else if !bytes.Equal(recorded.Body, a.sent[id]) {
				a.t.Errorf("%s: %s, sent %s", id, recorded.Body, a.sent[id])
			}
		}
	}
	for _, id := range a.order {
		if times[id] != 1 {
			a.t.Errorf("%s is there %d times", id, times[id])
		}
	}
	must(a.store.Store.Verify(ctx, func(p timeline.Problem) { a.t.Errorf("%+v", p) }))
	if left, err := os.ReadDir(a.dir); err == nil && len(left) > 0 {
		a.t.Errorf("%v is left", left)
	}
}

// Whatever is wrong with the store, calls go on, wait on disk, and are stored once and in
// order when it is back: by the same process or by the next one.
func TestCallsWaitForTheStore(t *testing.T) {
	for _, mode := range []string{"full", "gone", "slow", "silent"} {
		for _, killed := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/killed=%v", mode, killed), func(t *testing.T) {
				a := newAgents(t, openStore(t, t.TempDir()), t.TempDir())
				for range 2 {
					a.call("ann")
					a.call("bob")
				}
				a.store.mode.Store(mode)
				for range 8 { // more than the window has
					a.call("ann")
					a.call("bob")
				}
				// A store that writes in silence has a call after all when it is asked again.
				if err := call.Of(a.engine).Err(); mode != "silent" && (err == nil ||
					!strings.Contains(err.Error(), "calls wait on this machine's disk")) {
					t.Error(err)
				}
				await(t, "the event of a call that waits", func() bool {
					a.mu.Lock()
					defer a.mu.Unlock()
					return slices.ContainsFunc(a.told,
						func(e string) bool { return strings.Contains(e, "waits on this machine's disk") })
				})
				if killed {
					a.crash()
				}
				a.call("cid")
				a.settle()
				a.call("bob")
				a.settle() // a slow write goes to the spool, too
				all, err := a.store.Store.Conversations(ctx, "team")
				if err != nil || !killed && len(all) != 3 {
					t.Error(all, err)
				}
				for _, c := range all {
					if want := int64(len(a.said[c.Name])); !killed && c.Head.Depth != want {
						t.Errorf("the head of %s is at %d, want %d", c.Name, c.Head.Depth, want)
					}
				}
				must(a.engine.Close())
				a.check()
			})
		}
	}
}

// Random calls, faults and crashes.
func TestNoCallIsLostOrStoredTwice(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		dir, err := os.MkdirTemp(t.TempDir(), "")
		must(err)
		a := newAgents(t, memory.New(), dir)
		for range rapid.IntRange(1, 15).Draw(r, "steps") {
			switch rapid.IntRange(0, 7).Draw(r, "step") {
			case 0:
				a.crash()
			case 1:
				must(a.engine.Close())
				a.open()
			case 2:
				a.store.mode.Store("")
			case 3:
				a.store.mode.Store(rapid.SampledFrom([]string{"full", "gone", "silent"}).Draw(r, "fault"))
			default:
				a.call(rapid.SampledFrom([]string{"ann", "bob"}).Draw(r, "agent"))
			}
		}
		a.settle()
		must(a.engine.Close())
		a.check()
		if t.Failed() {
			r.Fatal("see above")
		}
	})
}

// A conversation that went on elsewhere meanwhile keeps its head.
func TestASpooledCallLeavesALaterHead(t *testing.T) {
	store := memory.New()
	a := newAgents(t, store, t.TempDir())
	a.call("ann")
	a.store.mode.Store("full")
	a.call("ann")
	other := newAgents(t, store, t.TempDir()) // another machine, which reaches the store
	other.said["ann"], other.order = append([]json.RawMessage(nil), a.said["ann"]...), append([]string(nil), a.order...)
	other.call("ann")
	other.settle()
	before, err := store.Conversation(ctx, "team", "ann")
	must(err)
	a.settle()
	after, err := store.Conversation(ctx, "team", "ann")
	must(err)
	if before.Head != after.Head || after.Revision != before.Revision+1 {
		t.Errorf("%+v, then %+v", before, after)
	}
	must(other.engine.Close())
	must(a.engine.Close())
	for id, body := range other.sent {
		a.sent[id] = body
	}
	a.order = other.order
	records, err := store.Records(ctx, "team", "ann", "call", "")
	if err != nil || len(records) != 3 {
		t.Error(len(records), err)
	}
}

// A spool that is full or cannot be made loses calls, counts them, and fails none.
func TestCallsBeyondTheSpoolAreCounted(t *testing.T) {
	file := t.TempDir() + "/file"
	must(os.WriteFile(file, nil, 0o600))
	a := newAgents(t, memory.New(), file+"/spool")
	a.store.mode.Store("full")
	body := []byte(`{"model":"gpt-4o","messages":[{"role":"user","content":"hello"}]}`)
	begun := call.Of(a.engine).Begin(ctx, &call.Request{ID: "x", Format: wire.Chat, Path: "/v1/chat/completions",
		Header: http.Header{}, Body: body, Began: time.Now()})
	begun.End(nil)
	await(t, "a call to be lost", func() bool { return call.Of(a.engine).Spool().Lost == 1 })
	must(a.engine.Close())
	told := strings.Join(a.errors(), "\n")
	if !strings.Contains(told, "the call is lost") || strings.Contains(told, "waits on this machine's disk") {
		t.Errorf("it was told: %s", told)
	}
}

// punctual is a store that writes one change a second.
type punctual struct {
	timeline.Store
	turn chan struct{}
}

func (s *punctual) Apply(ctx context.Context, tenant string, c timeline.Change) (timeline.Applied, error) {
	s.turn <- struct{}{}
	defer func() { <-s.turn }()
	time.Sleep(time.Second)
	return s.Store.Apply(ctx, tenant, c)
}

// Calls that come faster than the store writes them go to the spool before the queue is full.
func TestCallsOfAFullQueueGoToTheSpool(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New()
		calls := call.NewForTestWithSpool(call.TestOptions{Options: call.Options{Profile: "thrifty"},
			Parts: call.Parts{Store: &punctual{store, make(chan struct{}, 1)}, Backlog: 8000}}, t.TempDir())
		list := ""
		const n = 30
		for i := range n {
			list += fmt.Sprintf(`{"role":"user","content":"question %d %s"}`, i, strings.Repeat("why? ", 5))
			body := []byte(`{"model":"gpt-4o","messages":[` + list + `]}`)
			begun := calls.Begin(ctx, &call.Request{ID: fmt.Sprintf("call-%02d", i), Tenant: "team", Format: wire.Chat,
				Path: "/v1/chat/completions", Header: http.Header{"X-Oriel-Conversation": {"ann"}}, Body: body,
				Began: time.Now()})
			begun.End(nil)
			list += `,{"role":"assistant","content":"Because."},`
			time.Sleep(200 * time.Millisecond)
		}
		time.Sleep(n * 2 * time.Second)
		must(calls.Close(ctx))
		if c := calls.Counters(); calls.Spool().Lost != 0 || c.Failed.Load() != 0 || c.Spooled.Load() == 0 {
			t.Errorf("%d calls are lost, %d went to the spool", c.Failed.Load(), c.Spooled.Load())
		}
		records, err := store.Records(ctx, "team", "ann", "call", "")
		must(err)
		if !slices.IsSortedFunc(records, func(a, b timeline.Record) int { return strings.Compare(a.Key, b.Key) }) ||
			len(records) != n {
			t.Errorf("%d calls of %d are stored", len(records), n)
		}
		found, err := store.Conversation(ctx, "team", "ann")
		if err != nil || found.Head.Depth != 2*n-1 {
			t.Errorf("the head is at %d, %v", found.Head.Depth, err)
		}
	})
}

// What is not stored when the time of the end is half over goes to the spool.
func TestWhatIsLeftAtTheEndGoesToTheSpool(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &flaky{Store: memory.New()}
		store.mode.Store("slow")
		config := oriel.Config{
			Store: store, Spool: t.TempDir(), NoEmbed: true, Calls: call.Options{Profile: "thrifty"},
		}
		waits := call.Waits{Spool: time.Hour, Brief: time.Second, Late: time.Millisecond}
		engine, err := oriel.Open(call.With(ctx, call.Inside{Waits: waits}), config)
		must(err)
		for i := range 3 {
			body := fmt.Appendf(nil, `{"model":"gpt-4o","messages":[{"role":"user","content":"talk %d"}]}`, i)
			begun := call.Of(engine).Begin(ctx, &call.Request{ID: fmt.Sprint("call-", i), Format: wire.Chat,
				Path: "/v1/chat/completions", Header: http.Header{}, Body: body, Began: time.Now()})
			begun.End(nil)
		}
		must(engine.Close())
		if s := call.Of(engine).Spool(); s.Lost != 0 {
			t.Errorf("%d calls are lost", s.Lost)
		}
		store.mode.Store("")
		engine, err = oriel.Open(ctx, config)
		must(err)
		must(engine.Close())
		all, err := store.Conversations(ctx, timeline.Local)
		if err != nil || len(all) != 3 {
			t.Errorf("%d calls are stored, %v", len(all), err)
		}
	})
}

// A call that a newer version has put into the spool stays there for it.
func TestTheSpoolKeepsCallsOfANewerVersion(t *testing.T) {
	dir := t.TempDir()
	newer := spool.Entry{Meta: []byte(`{"v":2,"id":"call-x","messages":"in another form"}`),
		Blobs: [][]byte{[]byte("a message")}}
	left := spool.Open(dir, spool.Options{})
	must(left.Append(newer))
	must(left.Close())
	for range 2 { // processes of this version
		a := newAgents(t, memory.New(), dir)
		if s := call.Of(a.engine).Spool(); s.Calls != 1 || s.Newer != 1 || s.Lost != 0 {
			t.Fatalf("%+v", s)
		}
		if err := call.Of(a.engine).Err(); err != nil { // nothing is wrong with the store
			t.Error(err)
		}
		m := &member{profile: "thrifty", budget: "1000", model: "gpt-4o", factor: 1, list: branched(2, "")}
		if _, header := m.call(call.Of(a.engine), "planned"); header.Get("X-Oriel-Plan") != "p-planned-0" {
			t.Errorf("%v", header)
		}
		a.call("ann")
		await(t, "both calls", func() bool { return call.Of(a.engine).Counters().Written.Load() == 2 })
		must(a.engine.Close())
	}
	next := spool.Open(dir, spool.Options{})
	defer next.Close()
	found, err := next.First(t.Context(), 10)
	if err != nil || len(found) != 1 || !bytes.Equal(found[0].Meta, newer.Meta) || len(found[0].Blobs) != 1 ||
		!bytes.Equal(found[0].Blobs[0], newer.Blobs[0]) {
		t.Errorf("%+v, %v", found, err)
	}
}

// What a spool has comes back as it was written, whatever else is in it.
func FuzzSpooledCalls(f *testing.F) {
	f.Add([]byte(`{"v":1,"id":"x","tenant":"t","conversation":"c","messages":[{"i":"00000000000000000000000000000000","f":"chat"}],"asked":1,"entry":{},"contents":1,"plans":[{"covers":1,"contents":1}]}`), []byte("a"))
	f.Fuzz(func(t *testing.T, meta, blob []byte) {
		store := memory.New()
		call.WriteSpooledForTest(spool.Entry{Meta: meta, Blobs: [][]byte{blob, blob}}, store)
		if err := store.Verify(t.Context(), func(p timeline.Problem) { t.Errorf("%+v", p) }); err != nil {
			t.Fatal(err)
		}
	})
}

// asked is a store that counts how often it is asked for calls.
type asked struct {
	timeline.Store
	times atomic.Int64
}

func (s *asked) Records(ctx context.Context, tenant, conversation, kind, key string) ([]timeline.Record, error) {
	s.times.Add(1)
	return s.Store.Records(ctx, tenant, conversation, kind, key)
}

// A call of a newer version is set aside once, however long the store does not accept the
// one before it.
func TestACallOfANewerVersionIsSetAsideOnce(t *testing.T) {
	dir, store := t.TempDir(), &asked{Store: memory.New()}
	a := newAgents(t, store, dir)
	a.store.mode.Store("full")
	a.call("ann")
	must(a.engine.Close())
	left := spool.Open(dir, spool.Options{})
	must(left.Append(spool.Entry{Meta: []byte(`{"v":2,"id":"call-x"}`)}))
	must(left.Close())
	a.open()
	before := store.times.Load()
	await(t, "the store to be asked again", func() bool { return store.times.Load() > before+2 })
	if s := call.Of(a.engine).Spool(); s.Calls != 2 {
		t.Errorf("%+v", s)
	}
	a.store.mode.Store("")
	await(t, "the call before it to be written", func() bool {
		return call.Of(a.engine).Spool() == call.SpoolState{Calls: 1, Newer: 1, Bytes: call.Of(a.engine).Spool().Bytes}
	})
	must(a.engine.Close())
	next := spool.Open(dir, spool.Options{})
	defer next.Close()
	if n := next.Stats().Entries; n != 1 {
		t.Errorf("%d calls are left", n)
	}
}
