package call_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/oriel-context/oriel"
	"github.com/oriel-context/oriel/internal/call"
	"github.com/oriel-context/oriel/internal/proxy"
	"github.com/oriel-context/oriel/internal/test/fakemodel"
	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/timeline/memory"
	"github.com/oriel-context/oriel/timeline/sqlite"
	"github.com/oriel-context/oriel/token"
	"github.com/oriel-context/oriel/wire"
)

// What lets a provider into the servers of tools is nowhere on disk.
func TestSecretsOfToolsAreNotKept(t *testing.T) {
	dir := t.TempDir()
	store, err := sqlite.Open(ctx, dir, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	b := start(t, store, func(*fakemodel.Request) fakemodel.Answer { return fakemodel.Answer{Text: "hi"} })
	b.model.Unchecked = true
	const canary = "canary-4711"
	for i, body := range []string{
		`{"model":"m","max_tokens":5,"messages":[{"role":"user","content":"a"}],"mcp_servers":[{"type":"url","url":"https://x","authorization_token":"` + canary + `"}]}`,
		`{"model":"m","input":"b","tools":[{"type":"mcp","server_label":"s","authorization":"` + canary +
			`","headers":{"X-Token": "` + canary + `","n":1}}]}`,
		`{"model":"m","messages":[{"role":"user","content":"c"}],"api_key" : "x` + canary + `\"y"}`,
	} {
		path := []string{"/v1/messages", "/v1/responses", "/v1/chat/completions"}[i]
		if resp, answer := b.send(path, []byte(body), "Authorization", "Bearer "+canary, "X-Api-Key",
			canary); resp.StatusCode != http.StatusOK {
			t.Fatalf("%s %s", resp.Status, answer)
		}
		if !bytes.Equal(b.bodies[i], []byte(body)) {
			t.Error("the model got other bytes")
		}
	}
	b.settle(3)
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil || bytes.Contains(raw, []byte("4711")) {
			t.Errorf("%s has it, %v", file, err)
		}
	}
	// Contents may be compressed: ask for the calls themselves.
	all, err := store.Conversations(ctx, timeline.Local)
	if err != nil || len(all) != 3 {
		t.Fatal(all, err)
	}
	for _, c := range all {
		records, err := store.Records(ctx, timeline.Local, c.Name, "call", "")
		if err != nil || len(records) != 1 {
			t.Fatal(records, err)
		}
		recorded, err := call.Read(ctx, store, timeline.Local, &records[0])
		if err != nil || bytes.Contains(recorded.Body, []byte("4711")) || !json.Valid(recorded.Body) {
			t.Errorf("%s, %v", recorded.Body, err)
		}
	}
}

// Fields that other protocols have are kept as they came.
func TestForeignAndEmptyFieldsAreKept(t *testing.T) {
	b := start(t, memory.New(), func(*fakemodel.Request) fakemodel.Answer { return fakemodel.Answer{Text: "hi"} })
	b.model.Unchecked = true
	const body = `{"model":"m","max_tokens":5,"system":[],"input":"x","instructions":null,"messages":[{"role":"user","content":"a"}]}`
	b.send("/v1/messages", []byte(body))
	b.settle(1)
	all, err := b.store.Conversations(ctx, timeline.Local)
	if err != nil || len(all) != 1 {
		t.Fatal(all, err)
	}
	records, err := b.store.Records(ctx, timeline.Local, all[0].Name, "call", "")
	if err != nil || len(records) != 1 {
		t.Fatal(records, err)
	}
	recorded, err := call.Read(ctx, b.store, timeline.Local, &records[0])
	if err != nil {
		t.Fatal(err)
	}
	var want, got map[string]any
	if json.Unmarshal([]byte(body), &want) != nil || json.Unmarshal(recorded.Body, &got) != nil ||
		fmt.Sprint(want) != fmt.Sprint(got) {
		t.Errorf("%s, was %s", recorded.Body, body)
	}
}

// A client that hangs up after the last event has the whole reply.
func TestACompleteReplyCountsThoughTheClientLeft(t *testing.T) {
	b := start(t, memory.New(), func(*fakemodel.Request) fakemodel.Answer {
		return fakemodel.Answer{Text: "a whole reply", Input: 1, Output: 2}
	})
	rec := b.engine.Begin(ctx, requestOf(t, "/v1/messages", wire.Anthropic,
		`{"model":"m","max_tokens":5,"stream":true,"messages":[{"role":"user","content":"a"}]}`))
	rec.Response(http.StatusOK, http.Header{"Content-Type": {"text/event-stream"}})
	_, stream := b.send("/v1/messages",
		[]byte(`{"model":"m","max_tokens":5,"stream":true,"messages":[{"role":"user","content":"b"}]}`))
	rec.Write(stream)
	rec.End(fmt.Errorf("%w: %w: context canceled", proxy.ErrClientLeft, proxy.ErrUpstream))
	b.settle(2)
	for _, e := range b.told(oriel.EventCall) {
		if e.Error != "" {
			t.Errorf("the call failed: %s", e.Error)
		}
	}
	all, err := b.store.Conversations(ctx, timeline.Local)
	if err != nil || len(all) != 2 || all[0].Head.Depth != 2 || all[1].Head.Depth != 2 {
		t.Errorf("%+v, %v", all, err)
	}
}

func requestOf(t *testing.T, path string, f wire.Format, body string) *call.Request {
	t.Helper()
	return &call.Request{ID: t.Name(), Tenant: timeline.Local, Format: f, Path: path, Header: http.Header{},
		Body: []byte(body)}
}

// What the history must know of a conversation beside its messages: that it continues
// another, who talks in it, and where it stands though a side call came later.
func TestWhatIsKnownOfAConversationIsStored(t *testing.T) {
	b := start(t, memory.New(), func(r *fakemodel.Request) fakemodel.Answer {
		return fakemodel.Answer{Text: fmt.Sprintf("reply to %d messages", len(r.Messages)), Input: 1000, Output: 20}
	})
	a := &agent{path: "/v1/messages", format: wire.Anthropic,
		list: []json.RawMessage{[]byte(`{"role":"user","content":"hello"}`)}}
	calls := 0
	send := func() {
		t.Helper()
		resp, answer := b.send(a.path, a.body(calls))
		if resp.StatusCode != http.StatusOK {
			t.Fatalf("%s %s", resp.Status, answer)
		}
		a.echo(readReply(t, a.format, false, answer), nil)
		calls++
		b.settle(calls)
	}
	for i := range 4 {
		send()
		a.list = append(a.list, json.RawMessage(fmt.Sprintf(`{"role":"user","content":"and then %d?"}`, i)))
	}
	long := a.list
	// A title for it, by another agent.
	title := fmt.Sprintf(`{"model":"claude-sonnet-4-5","max_tokens":9,"system":%q,"metadata":{"user_id":"{\"session_id\":\"session-a\"}"},"messages":[%s]}`,
		"Write a title for the conversation that follows, of seven words at most, in the language of its user, and answer with nothing but this title.", long[0])
	b.send("/v1/messages", []byte(title))
	calls++
	b.settle(calls)
	main, err := b.store.Conversation(ctx, timeline.Local, "session-a")
	if err != nil || main.Head.Depth != int64(len(long)-1) {
		t.Errorf("it stands at %v of %d, %v", main.Head, len(long)-1, err)
	}
	// The client compacts.
	a.list = []json.RawMessage{
		[]byte(`{"role":"user","content":"This session is being continued from a previous conversation that ran out of context. Summary: hello was said, and then again and again, and much more of the same."}`)}
	send()
	next, err := b.store.Conversation(ctx, timeline.Local, "session-a~2")
	if err != nil || next.Continues != "session-a" {
		t.Errorf("%+v, %v", next, err)
	}
	for _, name := range []string{"session-a", "session-a~2"} {
		if who, err := b.store.Records(ctx, timeline.Local, name, "thread", "who"); err != nil || len(who) != 1 {
			t.Errorf("%s: %v, %v", name, who, err)
		}
	}
}

// A request to a thread that Anthropic holds has only what is new. It continues the conversation of
// the reply that it names, also when both come without tools or words in common.
//
// SPEC D1
func TestAThreadThatTheProviderHoldsIsOneConversation(t *testing.T) {
	n := 0
	b := start(t, memory.New(), func(*fakemodel.Request) fakemodel.Answer {
		n++
		return fakemodel.Answer{ID: fmt.Sprint("msg_", n), Text: "yes"}
	})
	for i, thread := range []string{`{"type":"create"}`, `{"type":"continue","previous_message_id":"msg_1"}`,
		`{"type":"continue","previous_message_id":"msg_2"}`, `{"type":"create"}`} {
		body := fmt.Appendf(nil, `{"model":"claude-x","max_tokens":9,"thread":%s,"messages":[{"role":"user","content":"question %d"}]}`,
			thread, i)
		if resp, _ := b.send("/v1/messages", body); resp.StatusCode != http.StatusOK {
			t.Fatal(resp.Status)
		}
		b.settle(i + 1)
	}
	all, err := b.store.Conversations(ctx, timeline.Local)
	if err != nil {
		t.Fatal(err)
	}
	var depths []int64
	for _, c := range all {
		depths = append(depths, int64(c.Head.Depth))
	}
	slices.Sort(depths)
	if !slices.Equal(depths, []int64{2, 6}) {
		t.Errorf("conversations of %v messages, not one of 6 and one of 2", depths)
	}
}

// The replies to requests outside threads are not remembered by their ids, of which a tenant has
// a limited number.
func TestOnlyRepliesInThreadsAreKnownByTheirIDs(t *testing.T) {
	n := 0
	b := start(t, memory.New(), func(*fakemodel.Request) fakemodel.Answer {
		n++
		return fakemodel.Answer{ID: fmt.Sprint("msg_", n), Text: "yes"}
	})
	for i, thread := range []string{"", `"thread":{"type":"continue","previous_message_id":"msg_1"},`} {
		b.send("/v1/messages", fmt.Appendf(nil, `{"model":"claude-x","max_tokens":9,%s"messages":[{"role":"user","content":"question %d"}]}`,
			thread, i))
		b.settle(i + 1)
	}
	if all, err := b.store.Conversations(ctx, timeline.Local); err != nil || len(all) != 2 {
		t.Errorf("%d conversations, %v", len(all), err)
	}
}

// Usage teaches the counter, but not where the provider has more than the request.
func TestUsageTeachesTheCounter(t *testing.T) {
	learnt := new(token.Calibration)
	b := start(t, memory.New(), func(r *fakemodel.Request) fakemodel.Answer {
		return fakemodel.Answer{Text: "yes", Input: 20 + len(r.Data())/4, Output: 2}
	}, func(o *call.TestOptions) { o.Calibration = learnt })
	for i := range 12 {
		b.send("/v1/responses",
			fmt.Appendf(nil, `{"model":"some-model","previous_response_id":"r%d","input":"question %d %s"}`, i, i,
				bytes.Repeat([]byte("of words "), 400+40*i)))
	}
	b.settle(12)
	if s := learnt.Scale(token.LearntKey(timeline.Local, "some-model")); s.N != 0 {
		t.Errorf("%+v was learnt from what the provider holds", s)
	}
	for i := range 12 {
		b.send("/v1/responses", fmt.Appendf(nil, `{"model":"some-model","input":"question %d %s"}`, i,
			bytes.Repeat([]byte("of words "), 400+40*i)))
	}
	b.settle(24)
	if s := learnt.Scale(token.LearntKey(timeline.Local, "some-model")); s.N == 0 {
		t.Error("nothing was learnt")
	}
}

// What waits to be written is bounded.
func TestTheBacklogIsBounded(t *testing.T) {
	gate := make(chan struct{})
	b := start(t, &broken{memory.New(), func(op string) error {
		if op == "apply" {
			<-gate
		}
		return nil
	}}, func(*fakemodel.Request) fakemodel.Answer { return fakemodel.Answer{Text: "hi"} },
		func(o *call.TestOptions) { o.Backlog = 1000 })
	for i := range 4 {
		if resp, _ := b.send("/v1/messages",
			fmt.Appendf(nil, `{"model":"m","max_tokens":5,"messages":[{"role":"user","content":"%d %s"}]}`, i,
				bytes.Repeat([]byte("x"), 600))); resp.StatusCode != http.StatusOK {
			t.Error(resp.Status)
		}
	}
	for b.engine.Counters().Failed.Load() < 3 {
		runtime.Gosched()
	}
	close(gate)
	b.settle(4)
	if n := b.engine.Counters().Written.Load(); n != 1 {
		t.Errorf("%d calls were written of one that there was room for", n)
	}
}

// A call that ends after the one that went on from it leaves the conversation where
// that one ended.
func TestALateEndMovesNothingBack(t *testing.T) {
	// The second call waits in vain for the end of the first.
	brief := func(o *call.TestOptions) { o.Waits.Brief = time.Millisecond }
	b := start(t, memory.New(), func(*fakemodel.Request) fakemodel.Answer { return fakemodel.Answer{Text: "hi"} },
		thrifty, brief)
	const first = `{"model":"m","max_tokens":5,"messages":[{"role":"user","content":"a"}`
	one := b.engine.Begin(ctx, requestOf(t, "/v1/messages", wire.Anthropic, first+`]}`))
	two := b.engine.Begin(ctx, requestOf(t, "/v1/messages", wire.Anthropic,
		first+`,{"role":"assistant","content":"b"},{"role":"user","content":"c"}]}`))
	two.End(nil)
	b.settle(1)
	one.End(nil)
	b.settle(2)
	all, err := b.store.Conversations(ctx, timeline.Local)
	if err != nil || len(all) != 1 || all[0].Head.Depth != 3 {
		t.Errorf("%+v, %v", all, err)
	}
}
