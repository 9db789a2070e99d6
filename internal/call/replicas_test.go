package call_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/oriel-context/oriel"
	"github.com/oriel-context/oriel/internal/call"
	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/timeline/memory"
	"github.com/oriel-context/oriel/token"
	"github.com/oriel-context/oriel/wire"
)

// deaf is a store, and a place for what was learnt, whose notifications never come.
type deaf struct {
	timeline.Store
	mu   sync.Mutex
	data []byte
}

func (*deaf) Changed(context.Context) (int64, error) { return 1, nil }
func (*deaf) String() string                         { return "a deaf place" }
func (*deaf) Stamp() string                          { return "always the same" }

func (d *deaf) Read() ([]byte, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.data, nil
}

func (d *deaf) Replace(was, data []byte) (bool, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !bytes.Equal(was, d.data) {
		return false, nil
	}
	d.data = data
	return true, nil
}

// member is a conversation that several engines have in turn.
type member struct {
	name    string // empty: the client does not name it
	profile string
	budget  string
	model   string
	factor  float64 // what the provider counts, of what Oriel counts
	limit   int     // bytes above which the provider refuses; 0: none
	list    []json.RawMessage
}

// call makes one call and returns what the provider got.
func (m *member) call(e *call.Engine, id string) (sent [][]byte, header http.Header) {
	h := http.Header{}
	if m.budget != "" {
		h.Set("X-Oriel-Budget", m.budget)
	}
	if m.name != "" {
		h.Set("X-Oriel-Conversation", m.name)
	}
	body := fmt.Appendf(nil, `{"model":%q,"messages":%s}`, m.model, jsonOf(m.list))
	c := e.Begin(ctx, &call.Request{ID: id, Tenant: timeline.Local, Profile: m.profile, Format: wire.Chat,
		Path: "/v1/chat/completions", Header: h, Body: body})
	got := c.Body()
	if got == nil {
		got = body
	}
	sent = append(sent, got)
	for range 2 {
		if m.limit == 0 || len(got) <= m.limit {
			break
		}
		refusal := fmt.Appendf(nil,
			`{"error":{"type":"invalid_request_error","code":"context_length_exceeded","message":"This model's maximum context length is %d tokens. However, your messages resulted in %d tokens."}}`, m.limit/4, len(got)/4)
		if got = c.Refused(http.StatusBadRequest, refusal); got == nil {
			break
		}
		sent = append(sent, got)
	}
	c.Response(http.StatusOK, http.Header{"Content-Type": {"application/json"}})
	header = http.Header{}
	c.Header(header)
	read, err := wire.Read(sent[len(sent)-1], wire.Chat, wire.Limits{})
	must(err)
	local := token.NewCounter(token.Builtin().Lookup(m.model), token.Options{}).Request(&read.Request).Local
	c.Write(fmt.Appendf(nil,
		`{"id":"r","object":"chat.completion","model":%q,"choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":"Noted."}}],"usage":{"prompt_tokens":%d,"completion_tokens":2}}`,
		m.model, int(m.factor*float64(local))))
	c.End(nil)
	return sent, header
}

// Calls that are dealt at random to engines on one store get the bytes that one engine
// would send: cuts, counts, limits, adaptive sizes and pauses depend on nothing that only
// one engine knows, nor on notifications. One that was down goes on where the others are.
func TestEnginesOnOneStoreSendTheSameBytes(t *testing.T) {
	for seed := range uint64(10) {
		sendTheSameBytes(t, rand.New(rand.NewPCG(seed, 1)))
	}
}

func sendTheSameBytes(t *testing.T, random *rand.Rand) {
	var minutes atomic.Int64
	open := func(shared bool, d *deaf) *call.Engine {
		learnt, err := token.OpenLearntAt(d)
		must(err)
		parts := call.Parts{Store: d, Limits: learnt.Limits, Calibration: learnt.Calibration, Learnt: learnt.Save,
			Refresh: learnt.Refresh, Shared: shared,
			Waits: call.Waits{Store: time.Minute, Agree: time.Minute, Brief: time.Minute, Shared: time.Minute},
			Now:   func() time.Time { return time.Date(2026, 1, 2, 10, int(minutes.Load()), 0, 0, time.UTC) }}
		if shared {
			learnt.Hold()
			parts.Reread = learnt.Reread
		}
		return call.NewForTest(call.TestOptions{Parts: parts})
	}
	alone, together := &deaf{Store: memory.New()}, &deaf{Store: memory.New()}
	one := open(false, alone)
	defer one.Close(ctx)
	many := make([]*call.Engine, 3) // nil: it is down
	for i := range many {
		many[i] = open(true, together)
	}
	defer func() {
		for _, e := range many {
			if e != nil {
				e.Close(ctx)
			}
		}
	}()
	members := []*member{
		{name: "counted", profile: "thrifty", budget: "1500", model: "model-1", factor: 2},
		{profile: "thrifty", model: "model-2", factor: 1, limit: 9000},
		{name: "adaptive", profile: "chat", model: "model-3", factor: 1},
		{profile: "thrifty", budget: "1500", model: "gpt-4o", factor: 0.7},
	}
	for i := range 60 {
		m := members[random.IntN(len(members))]
		text := fmt.Sprintf("Call %d: %s?", i, randomWords(random, 40+random.IntN(200)))
		m.list = append(m.list, json.RawMessage(fmt.Sprintf(`{"role":"user","content":%q}`, text)))
		want, told := m.call(one, fmt.Sprint("call", i))
		switch i % 20 {
		case 5: // this one is down for ten calls
			must(many[i/20].Close(ctx))
			many[i/20] = nil
		case 15:
			many[i/20] = open(true, together)
		}
		which := random.IntN(len(many))
		for many[which] == nil {
			which = random.IntN(len(many))
		}
		got, heard := m.call(many[which], fmt.Sprint("call", i))
		if len(got) != len(want) || told.Get("X-Oriel-Plan") != heard.Get("X-Oriel-Plan") ||
			told.Get("X-Oriel-Action") != heard.Get("X-Oriel-Action") {
			t.Fatalf("%s %s: sent %d times instead of %d: %v instead of %v", m.name, m.model, len(got), len(want),
				heard, told)
		}
		for k := range got {
			if !bytes.Equal(got[k], want[k]) {
				t.Fatalf("%s %s: engine %d sends %s\ninstead of %s", m.name, m.model, which, got[k], want[k])
			}
		}
		m.list = append(m.list, json.RawMessage(`{"role":"assistant","content":"Noted."}`))
		minutes.Add([]int64{1, 1, 1, 20, 100}[random.IntN(5)])
	}
}

var vocabulary = []string{"adjust", "balance", "cache", "delay", "error", "file", "graph", "handler", "index", "join",
	"key", "limit", "mutex", "node", "offset", "page", "queue", "record"}

func randomWords(r *rand.Rand, n int) string {
	var b bytes.Buffer
	for range n {
		b.WriteString(vocabulary[r.IntN(len(vocabulary))])
		b.WriteByte(' ')
	}
	return b.String()
}

// A call whose conversation cannot be found, because the store is gone, is sent again with
// less when the provider refuses it.
func TestARefusalIsAnsweredWhileTheStoreIsGone(t *testing.T) {
	store := &flaky{Store: memory.New()}
	store.mode.Store("gone")
	e, err := oriel.Open(call.With(ctx,
		call.Inside{Waits: call.Waits{Spool: 20 * time.Millisecond, Write: 20 * time.Millisecond,
			Late: time.Millisecond}}), oriel.Config{Store: store, Spool: t.TempDir(), Shared: true, NoEmbed: true,
		Calls: call.Options{Profile: "full"}})
	must(err)
	defer e.Close()
	m := &member{name: "talk", model: "model-9", factor: 1, limit: 9000}
	random := rand.New(rand.NewPCG(1, 1))
	for range 20 {
		m.list = append(m.list, json.RawMessage(fmt.Sprintf(`{"role":"user","content":%q}`, randomWords(random, 150))),
			json.RawMessage(`{"role":"assistant","content":"Noted."}`))
	}
	m.list = append(m.list, json.RawMessage(`{"role":"user","content":"And now?"}`))
	sent, header := m.call(call.Of(e), "call")
	if action := header.Get("X-Oriel-Action"); action != "error" {
		t.Errorf("the action is %q: its conversation was found", action)
	}
	if len(sent) != 2 || len(sent[0]) <= m.limit || len(sent[1]) > m.limit {
		t.Errorf("bodies of %d bytes, the last of %d", len(sent), len(sent[len(sent)-1]))
	}
	must(call.Of(e).Wait(ctx))
	if n := call.Of(e).Spool().Calls; n != 1 {
		t.Errorf("%d calls wait in the spool", n)
	}
}

// readCount is a place for what was learnt that counts how often it is read.
type readCount struct {
	deaf
	reads atomic.Int64
}

func (p *readCount) Read() ([]byte, error) {
	p.reads.Add(1)
	return p.deaf.Read()
}

// While calls wait for the store, so does what they teach: a database that does not answer
// would hold up each of them, and the calls behind it would be lost.
func TestWhatIsLearntWaitsWhileTheStoreIsGone(t *testing.T) {
	store, place := &flaky{Store: memory.New()}, &readCount{}
	store.mode.Store("full")
	e, err := oriel.Open(call.With(ctx,
		call.Inside{Waits: call.Waits{Spool: 20 * time.Millisecond, Write: 20 * time.Millisecond}}),
		oriel.Config{Store: store, Learnt: place, Spool: t.TempDir(), Shared: true, NoEmbed: true,
			Calls: call.Options{Profile: "full"}})
	must(err)
	before := place.reads.Load()
	m := &member{name: "talk", model: "model-9", factor: 2}
	random := rand.New(rand.NewPCG(1, 1))
	for i := range 6 {
		m.list = append(m.list, json.RawMessage(fmt.Sprintf(`{"role":"user","content":%q}`, randomWords(random, 800))))
		m.call(call.Of(e), fmt.Sprint("call", i))
		must(call.Of(e).Wait(ctx))
		m.list = append(m.list, json.RawMessage(`{"role":"assistant","content":"Noted."}`))
	}
	if n := place.reads.Load() - before; n > 1 { // the first call reads what others learnt
		t.Errorf("the place is read %d times", n)
	}
	store.mode.Store("")
	must(e.Close())
	l, err := token.OpenLearntAt(place)
	must(err)
	if n := l.Calibration.Scale(token.LearntKey(timeline.Local, "model-9")).N; n != 6 {
		t.Errorf("%d observations are kept", n)
	}
}

// While the store is gone, an engine cannot know the history of a request without a name, and
// begins another conversation. When the store is back, everything is stored once, in one
// conversation, in which all engines go on.
func TestAConversationThatGoesOnWhileTheStoreIsGoneIsStoredOnce(t *testing.T) {
	open := func(store timeline.Store) *oriel.Engine {
		e, err := oriel.Open(call.With(ctx,
			call.Inside{Waits: call.Waits{Spool: time.Minute, Write: time.Minute, Late: time.Millisecond,
				Shared: time.Minute, Store: time.Minute, Agree: time.Minute, Brief: time.Minute}}),
			oriel.Config{Store: store, Spool: t.TempDir(), Shared: true, NoEmbed: true,
				Calls: call.Options{Profile: "thrifty"}})
		must(err)
		t.Cleanup(func() { must(e.Close()) })
		return e
	}
	shared := memory.New()
	away := &flaky{Store: shared}
	away.mode.Store("")
	first, second := open(shared), open(away)
	m := &member{model: "gpt-4o", profile: "thrifty", budget: "3000", factor: 1}
	random := rand.New(rand.NewPCG(1, 1))
	say := func(e *oriel.Engine, id string) {
		m.list = append(m.list,
			json.RawMessage(fmt.Sprintf(`{"role":"user","content":%q}`, id+" "+randomWords(random, 150))))
		m.call(call.Of(e), id)
		must(call.Of(e).Wait(ctx))
		m.list = append(m.list, json.RawMessage(`{"role":"assistant","content":"Noted."}`))
	}
	for i := range 12 {
		say(first, fmt.Sprint("known", i))
	}
	away.mode.Store("gone")
	say(second, "gone")
	if n := call.Of(second).Spool().Calls; n != 1 {
		t.Fatalf("%d calls wait", n)
	}
	away.mode.Store("")
	for began := time.Now(); call.Of(second).Spool().Calls > 0; time.Sleep(time.Millisecond) {
		if time.Since(began) > time.Minute {
			t.Fatal("the call is not written")
		}
	}
	for i, e := range []*oriel.Engine{first, second, open(shared), first} {
		say(e, fmt.Sprint("back", i))
	}
	stats, err := shared.Stats(ctx, timeline.Local)
	must(err)
	if stats.Conversations != 1 || stats.Messages != int64(len(m.list)) {
		t.Errorf("%d messages are stored in %d conversations; %d were said", stats.Messages, stats.Conversations,
			len(m.list))
	}
}
