package call_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/oriel-context/oriel"
	"github.com/oriel-context/oriel/internal/call"
	"github.com/oriel-context/oriel/internal/proxy"
	"github.com/oriel-context/oriel/internal/test/fakemodel"
	"github.com/oriel-context/oriel/internal/thread"
	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/timeline/memory"
	"github.com/oriel-context/oriel/timeline/sqlite"
	"github.com/oriel-context/oriel/wire"
)

var ctx = context.Background()

// bench is a proxy with an engine before a fake model.
type bench struct {
	t      *testing.T
	model  *fakemodel.Server
	store  timeline.Store
	engine *call.Engine
	proxy  *proxy.Server
	url    string
	client *http.Client

	mu     sync.Mutex
	bodies [][]byte // as the model got them
	events []oriel.Event
}

func start(t *testing.T, store timeline.Store, answer func(*fakemodel.Request) fakemodel.Answer,
	set ...func(*call.TestOptions)) *bench {
	t.Helper()
	return startBefore(t, store, answer, nil, set...)
}

// startBefore is start before another provider, if there is one.
func startBefore(t *testing.T, store timeline.Store, answer func(*fakemodel.Request) fakemodel.Answer,
	provider http.HandlerFunc, set ...func(*call.TestOptions)) *bench {
	t.Helper()
	return startProxy(t, proxy.Options{}, store, answer, provider, set...)
}

// startProxy is startBefore with options of the proxy.
func startProxy(t *testing.T, p proxy.Options, store timeline.Store, answer func(*fakemodel.Request) fakemodel.Answer,
	provider http.HandlerFunc, set ...func(*call.TestOptions)) *bench {
	t.Helper()
	b := &bench{t: t, store: store, model: &fakemodel.Server{}, client: &http.Client{Transport: &http.Transport{}}}
	b.model.Answer = func(r *fakemodel.Request) fakemodel.Answer {
		b.mu.Lock()
		b.bodies = append(b.bodies, bytes.Clone(r.Data()))
		b.mu.Unlock()
		return answer(r)
	}
	var handler http.Handler = b.model
	if provider != nil {
		handler = provider
	}
	upstream := httptest.NewServer(handler)
	t.Cleanup(upstream.Close)
	t.Cleanup(b.client.CloseIdleConnections)
	// A busy machine is no failure.
	o := call.TestOptions{Options: call.Options{Profile: "off", RecallWait: time.Minute},
		Parts: call.Parts{Store: store, Waits: call.Waits{Store: time.Minute, Agree: time.Minute, Brief: time.Minute},
			Events: func(e oriel.Event) {
				b.mu.Lock()
				defer b.mu.Unlock()
				b.events = append(b.events, e)
			}}}
	for _, f := range set {
		f(&o)
	}
	b.engine = call.NewForTest(o)
	p.OpenAI, p.Anthropic, p.Gemini, p.Engine = upstream.URL, upstream.URL, upstream.URL, b.engine
	p.ReplyTimeout = time.Minute
	s, err := proxy.New(p)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	serving, stop := context.WithCancel(ctx)
	done := make(chan error)
	go func() { done <- s.Serve(serving, l) }()
	t.Cleanup(func() {
		b.client.CloseIdleConnections()
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
		if err := b.engine.Close(ctx); err != nil {
			t.Error(err)
		}
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	b.proxy, b.url = s, "http://"+l.Addr().String()
	return b
}

// send posts a body and reads the whole answer.
func (b *bench) send(path string, body []byte, header ...string) (*http.Response, []byte) {
	b.t.Helper()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, b.url+path, bytes.NewReader(body))
	if err != nil {
		b.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	resp, err := b.client.Do(r)
	if err != nil {
		b.t.Fatal(err)
	}
	defer resp.Body.Close()
	all, err := io.ReadAll(resp.Body)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		b.t.Fatal(err)
	}
	return resp, all
}

// settle waits until all calls are written.
func (b *bench) settle(calls int) {
	b.t.Helper()
	for c := b.engine.Counters(); c.Written.Load()+c.Failed.Load()+c.Unknown.Load()+c.Refused.Load() < int64(calls); {
		select {
		case <-time.After(time.Millisecond):
		case <-b.t.Context().Done():
			b.t.Fatal(b.t.Context().Err())
		}
	}
}

// agent is a client of one format that runs tools for as long as the model wants.
type agent struct {
	path   string
	format wire.Format
	stream bool
	list   []json.RawMessage
}

func (a *agent) body(n int) []byte {
	list, err := json.Marshal(a.list)
	if err != nil {
		panic(err)
	}
	nonce := fmt.Sprintf("cch=%x; You are an agent that lists folders. You do so until everything is listed, and say what you saw in a few words of your own.", n*7919)
	switch a.format {
	case wire.Anthropic:
		return fmt.Appendf(nil,
			`{"model":"claude-sonnet-4-5","max_tokens":1000,"stream":%v,"system":[{"type":"text","text":%q}],"tools":[{"name":"ls","input_schema":{"type":"object"}}],"metadata":{"user_id":"{\"session_id\":\"session-a\"}"},"messages":%s}`, a.stream, nonce, list)
	case wire.Chat:
		return fmt.Appendf(nil,
			`{"model":"gpt-4o","stream":%v,"stream_options":{"include_usage":true},"tools":[{"type":"function","function":{"name":"ls","parameters":{"type":"object"}}}],"messages":[{"role":"system","content":%q},%s}`, a.stream, nonce, list[1:])
	}
	return fmt.Appendf(nil,
		`{"model":"gpt-5","stream":%v,"store":false,"prompt_cache_key":"session-r","tools":[{"type":"function","name":"ls","parameters":{"type":"object"}}],"input":[{"type":"message","role":"developer","content":%q},%s}`, a.stream, nonce, list[1:])
}

// echo adds the model's reply as a client sends it back, and the results of its calls.
func (a *agent) echo(reply *wire.Reply, results func(id string) string) {
	switch a.format {
	case wire.Anthropic:
		var m struct{ Content []struct{ Type, ID string } }
		must(json.Unmarshal(reply.Message, &m))
		a.list = append(a.list, reply.Message)
		for _, p := range m.Content {
			if p.Type == "tool_use" {
				a.list = append(a.list,
					json.RawMessage(
						fmt.Sprintf(`{"role":"user","content":[{"tool_use_id":%q,"type":"tool_result","content":%q}]}`,
							p.ID, results(p.ID))))
			}
		}
	case wire.Chat:
		var m struct {
			ToolCalls []struct{ ID string } `json:"tool_calls"`
		}
		must(json.Unmarshal(reply.Message, &m))
		a.list = append(a.list, reply.Message)
		for _, c := range m.ToolCalls {
			a.list = append(a.list,
				json.RawMessage(fmt.Sprintf(`{"role":"tool","tool_call_id":%q,"content":%q}`, c.ID, results(c.ID))))
		}
	case wire.Gemini:
		var m struct {
			Parts []struct{ FunctionCall *struct{ ID, Name string } }
		}
		must(json.Unmarshal(reply.Message, &m))
		a.list = append(a.list, reply.Message)
		for _, p := range m.Parts {
			if c := p.FunctionCall; c != nil {
				a.list = append(a.list, json.RawMessage(fmt.Sprintf(
					`{"role":"user","parts":[{"functionResponse":{"id":%q,"name":%q,"response":{"output":%q}}}]}`,
					c.ID, c.Name, results(c.ID))))
			}
		}
	case wire.Responses:
		for _, item := range reply.Items {
			a.list = append(a.list, item)
		}
		for _, item := range reply.Items {
			var m struct {
				Type   string
				CallID string `json:"call_id"`
			}
			must(json.Unmarshal(item, &m))
			if m.Type == "function_call" {
				a.list = append(a.list,
					json.RawMessage(fmt.Sprintf(`{"type":"function_call_output","call_id":%q,"output":%q}`, m.CallID,
						results(m.CallID))))
			}
		}
	}
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func readReply(t *testing.T, f wire.Format, stream bool, body []byte) *wire.Reply {
	t.Helper()
	if !stream {
		r, err := wire.ReadReply(f, body)
		if err != nil {
			t.Fatalf("%v in %s", err, body)
		}
		return r
	}
	s := wire.NewStreamReader(f)
	s.Write(body)
	return s.Reply()
}

// looping lists folders n times and then says so.
func looping(n int) func(*fakemodel.Request) fakemodel.Answer {
	var mu sync.Mutex
	calls := 0
	return func(r *fakemodel.Request) fakemodel.Answer {
		mu.Lock()
		defer mu.Unlock()
		calls++
		a := fakemodel.Answer{ID: fmt.Sprintf("reply_%d", calls), Thinking: "What is next?",
			Input: 100 + len(r.Data())/4, Output: 20}
		if calls > n {
			a.Text = "All is listed, and there was nothing else to see in it."
			return a
		}
		for k := range 1 + calls%2 {
			a.Calls = append(a.Calls, fakemodel.Call{ID: fmt.Sprintf("call_%d_%d", calls, k), Name: "ls",
				Arguments: fmt.Sprintf(`{"path": "/folder/%d/%d"}`, calls, k)})
		}
		if calls%3 == 0 {
			a.Text = "On to the next one of them."
		}
		return a
	}
}

// SPEC D1, and that nothing of a request is changed: one conversation, each call once,
// its bytes as they came.
func TestAgentsAreRecordedOnce(t *testing.T) {
	agents := map[string]agent{
		"anthropic": {path: "/v1/messages", format: wire.Anthropic,
			list: []json.RawMessage{[]byte(`{"role":"user","content":[{"type":"text","text":"List all folders."}]}`)}},
		"chat": {path: "/v1/chat/completions", format: wire.Chat,
			list: []json.RawMessage{[]byte(`{"role":"user","content":"List all folders."}`)}},
		"responses": {path: "/v1/responses", format: wire.Responses,
			list: []json.RawMessage{
				[]byte(`{"type":"message","role":"user","content":[{"type":"input_text","text":"List all folders."}]}`)}},
	}
	for name, a := range agents {
		for _, stream := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/stream=%v", name, stream), func(t *testing.T) {
				store, err := sqlite.Open(ctx, t.TempDir(), sqlite.Options{})
				if err != nil {
					t.Fatal(err)
				}
				const loops = 12
				b := start(t, store, looping(loops))
				a := a
				a.stream, a.list = stream, slices.Clone(a.list)
				var sent [][]byte
				conversation := ""
				for n := range loops + 1 {
					body := a.body(n)
					sent = append(sent, body)
					resp, answer := b.send(a.path, body)
					if resp.StatusCode != http.StatusOK {
						t.Fatalf("%s: %s", resp.Status, answer)
					}
					if resp.Header.Get("X-Oriel-Action") != "none" {
						t.Errorf("header %v", resp.Header)
					}
					if c := resp.Header.Get("X-Oriel-Conversation"); conversation == "" {
						conversation = c
					} else if c != conversation {
						t.Errorf("call %d is in conversation %q", n, c)
					}
					reply := readReply(t, a.format, stream, answer)
					if !reply.Complete {
						t.Fatalf("an incomplete reply: %s", answer)
					}
					a.echo(reply, func(id string) string { return "nothing in " + id })
				}
				b.settle(len(sent))
				if !slices.EqualFunc(sent, b.bodies, bytes.Equal) {
					t.Error("the model got other bytes than were sent")
				}
				b.check(conversation, a, sent)
				for _, e := range b.events {
					if e.Kind != oriel.EventCall || e.Error != "" {
						t.Errorf("event %+v", e)
					}
				}
			})
		}
	}
}

// check compares what is stored with what was sent.
func (b *bench) check(conversation string, a agent, sent [][]byte) {
	t := b.t
	t.Helper()
	all, err := b.store.Conversations(ctx, timeline.Local)
	if err != nil || len(all) != 1 || all[0].Name != conversation {
		t.Fatalf("conversations %+v, %v", all, err)
	}
	var stored []json.RawMessage
	err = b.store.Messages(ctx, timeline.Local, all[0].Head, 1, math.MaxInt64, false, func(e *timeline.Entry) error {
		var one bytes.Buffer // which of a reply's forms came first is not said
		stored = append(stored, nil)
		err := json.Compact(&one, e.Raw)
		stored[len(stored)-1] = one.Bytes()
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	want, err := json.Marshal(a.list)
	if err != nil {
		t.Fatal(err)
	}
	if got, _ := json.Marshal(stored); !bytes.Equal(want, got) {
		t.Errorf("stored\n%s\nwant\n%s", got, want)
	}
	heads, err := b.store.Heads(ctx, timeline.Local, conversation)
	if err != nil || len(heads) != 1 {
		t.Errorf("heads %v, %v", heads, err)
	}
	records, err := b.store.Records(ctx, timeline.Local, conversation, "call", "")
	if err != nil || len(records) != len(sent) {
		t.Fatalf("%d calls recorded, %v", len(records), err)
	}
	slices.SortFunc(records,
		func(a, c timeline.Record) int { return a.Time.Compare(c.Time) }) // they are written when they end
	for i, r := range records {
		b.checkCall(conversation, &r, sent[i])
	}
	if err := b.store.Verify(ctx, func(p timeline.Problem) { t.Errorf("%+v", p) }); err != nil {
		t.Error(err)
	}
}

// checkCall shows a call as it was.
func (b *bench) checkCall(conversation string, r *timeline.Record, sent []byte) {
	t := b.t
	t.Helper()
	c, err := call.Read(ctx, b.store, timeline.Local, r)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(c.Body, sent) {
		t.Errorf("the body is\n%s\nwas\n%s", c.Body, sent)
	}
	if c.Usage == nil || c.Usage.Output != 20 || c.Status != 200 || c.Tokens == 0 {
		t.Errorf("call %+v", c)
	}
}

// A store that fails in every way a store can.
type broken struct {
	timeline.Store
	fail func(op string) error
}

func (s *broken) Apply(ctx context.Context, tenant string, c timeline.Change) (timeline.Applied, error) {
	if err := s.fail("apply"); err != nil {
		return timeline.Applied{}, err
	}
	return s.Store.Apply(ctx, tenant, c)
}

func (s *broken) Conversation(ctx context.Context, tenant, name string) (timeline.Conversation, error) {
	if err := s.fail("read"); err != nil {
		return timeline.Conversation{}, err
	}
	return s.Store.Conversation(ctx, tenant, name)
}

func (s *broken) Conversations(ctx context.Context, tenant string) ([]timeline.Conversation, error) {
	if err := s.fail("read"); err != nil {
		return nil, err
	}
	return s.Store.Conversations(ctx, tenant)
}

// Whatever is broken here, the call goes on.
func TestCallsGoOnWithoutTheStore(t *testing.T) {
	body := (&agent{format: wire.Anthropic, list: []json.RawMessage{[]byte(`{"role":"user","content":"hello"}`)}}).body(
		1)
	for name, c := range map[string]struct {
		fail   func(op string) error
		body   []byte
		kind   string
		action string
	}{
		"locked": {fail: func(op string) error { return sqlite.ErrBusy }, kind: oriel.EventOpen, action: "error"},
		"full": {fail: func(op string) error {
			if op == "apply" {
				return sqlite.ErrFull
			}
			return nil
		}, kind: oriel.EventOpen, action: "none"},
		"damaged": {fail: func(op string) error { return timeline.ErrDamaged }, kind: oriel.EventOpen, action: "error"},
		"panic while writing": {fail: func(op string) error {
			if op == "apply" {
				panic("no disk")
			}
			return nil
		}, kind: oriel.EventOpen, action: "none"},
		"unknown body": {body: []byte(
			`{"model":"m","messages":[{"role":"user","content":"a"}],"messages":[{"role":"user","content":"b"}]}`),
			kind: oriel.EventUnknown, action: "error"},
		"more messages than are looked for": {body: many(thread.MaxMessages + 1), kind: oriel.EventUnknown,
			action: "error"},
		"more parts than are read": {body: fmt.Appendf(nil,
			`{"model":"m","max_tokens":1,"messages":[{"role":"user","content":[%s{}]}]}`,
			strings.Repeat("{},", wire.MaxParts)), kind: oriel.EventUnknown, action: "error"},
	} {
		t.Run(name, func(t *testing.T) {
			if c.fail == nil {
				c.fail = func(string) error { return nil }
			}
			if c.body == nil {
				c.body = body
			}
			b := start(t, &broken{memory.New(), c.fail},
				func(*fakemodel.Request) fakemodel.Answer { return fakemodel.Answer{Text: "hi"} })
			b.model.Unchecked = true
			resp, answer := b.send("/v1/messages", c.body)
			b.settle(1)
			if c.kind == oriel.EventOpen && (resp.StatusCode != http.StatusOK ||
				!bytes.Contains(answer, []byte("hi"))) {
				t.Errorf("%s %s", resp.Status, answer)
			}
			if got := resp.Header.Get("X-Oriel-Action"); got != c.action {
				t.Errorf("action %q", got)
			}
			b.mu.Lock()
			defer b.mu.Unlock()
			for _, e := range b.events {
				if e.Kind != c.kind || e.Error == "" {
					t.Errorf("event %+v", e)
				}
			}
			if n := len(b.events); n < 1 || n > 2 { // that it is not found, that it is not written
				t.Errorf("events %+v", b.events)
			}
		})
	}
}

// many is a request with so many messages.
func many(n int) []byte {
	return fmt.Appendf(nil, `{"model":"m","max_tokens":1,"messages":[%s{"role":"user","content":"b"}]}`,
		strings.Repeat(`{"role":"user","content":"a"},`, n-1))
}

// A reply that was cut off is kept beside the history, and the next try is the same
// conversation.
func TestACutOffReplyIsNoPartOfTheHistory(t *testing.T) {
	first := true
	b := start(t, memory.New(), func(*fakemodel.Request) fakemodel.Answer {
		a := fakemodel.Answer{Text: "a reply that is long enough to be cut in the middle", Input: 10, Output: 5}
		if first {
			a.Cut = 5
		}
		first = false
		return a
	})
	body := (&agent{format: wire.Anthropic, stream: true,
		list: []json.RawMessage{[]byte(`{"role":"user","content":"hello"}`)}}).body(1)
	r1, _ := b.send("/v1/messages", body)
	b.settle(1)
	r2, _ := b.send("/v1/messages", body)
	b.settle(2)
	name := r1.Header.Get("X-Oriel-Conversation")
	if other := r2.Header.Get("X-Oriel-Conversation"); other != name {
		t.Errorf("conversations %q and %q", name, other)
	}
	records, err := b.store.Records(ctx, timeline.Local, name, "call", "")
	if err != nil || len(records) != 2 {
		t.Fatalf("%v, %v", records, err)
	}
	recorded, err := call.Read(ctx, b.store, timeline.Local, &records[0])
	if err != nil || !strings.Contains(string(recorded.Partial), "a reply that") || recorded.Error == "" {
		t.Errorf("%+v, %v", recorded, err)
	}
	c, err := b.store.Conversation(ctx, timeline.Local, name)
	if err != nil || c.Head.Depth != 2 {
		t.Errorf("%+v, %v", c, err)
	}
}

// A call that the provider refused for its key leaves nothing: any page in a browser
// could make one.
func TestCallsWithoutAKeyLeaveNothing(t *testing.T) {
	b := start(t, memory.New(), func(*fakemodel.Request) fakemodel.Answer {
		return fakemodel.Answer{Status: http.StatusUnauthorized, Error: "invalid x-api-key"}
	})
	resp, _ := b.send("/v1/messages",
		(&agent{format: wire.Anthropic, list: []json.RawMessage{[]byte(`{"role":"user","content":"hello"}`)}}).body(1))
	b.settle(1)
	if all, err := b.store.Conversations(ctx, timeline.Local); resp.StatusCode != http.StatusUnauthorized ||
		err != nil || len(all) != 0 {
		t.Errorf("%s: %v, %v", resp.Status, all, err)
	}
}

// A call that failed is recorded with the status of the answer, what it says, and when to try
// again.
func TestCallsRecordWhatTheProviderFailedWith(t *testing.T) {
	for name, tc := range map[string]struct {
		status           int
		body, after, err string
	}{
		"an error": {429, `{"type":"error","error":{"type":"rate_limit_error","message":"slow down"}}`, "17",
			"status 429: rate_limit_error: slow down"},
		"another one": {500, `{"type":"error","error":{"type":"api_error","message":"broken"}}`, "",
			"status 500: api_error: broken"},
		"a page": {503, `<html>Service Unavailable</html>`, "Wed, 18 Nov 2026 10:00:00 GMT",
			"status 503: no error in a form that is known here"},
	} {
		t.Run(name, func(t *testing.T) {
			b := startBefore(t, memory.New(), nil, func(w http.ResponseWriter, r *http.Request) {
				io.Copy(io.Discard, r.Body)
				if tc.after != "" {
					w.Header().Set("Retry-After", tc.after)
				}
				w.WriteHeader(tc.status)
				io.WriteString(w, tc.body)
			})
			body := `{"model":"claude-sonnet-4-5","max_tokens":10,"messages":[{"role":"user","content":"Begin."}]}`
			b.send("/v1/messages", []byte(body), "X-Oriel-Conversation", "work")
			b.settle(1)
			records, err := b.store.Records(ctx, timeline.Local, "work", "call", "")
			if err != nil || len(records) != 1 {
				t.Fatal(err, len(records))
			}
			recorded, err := call.Decode(&records[0])
			if err != nil || recorded.Status != tc.status || recorded.Error != tc.err ||
				recorded.RetryAfter != tc.after {
				t.Errorf("%d %q %q (%v)", recorded.Status, recorded.Error, recorded.RetryAfter, err)
			}
		})
	}
}

// A request that asks its provider to clear the window is recorded as one: what the model
// has seen of it is not known.
func TestCallsRecordThatTheProviderManagesTheWindow(t *testing.T) {
	store := memory.New()
	b := start(t, store, func(*fakemodel.Request) fakemodel.Answer { return fakemodel.Answer{Text: "Well."} })
	for i, edits := range []string{`[{"type":"clear_tool_uses_20250919"}]`,
		`[{"type":"clear_thinking_20251015","keep":"all"}]`} {
		body := fmt.Sprintf(`{"model":"claude-sonnet-4-5","max_tokens":10,"context_management":{"edits":%s},"messages":[{"role":"user","content":"Begin."}]}`, edits)
		name := fmt.Sprint("work", i)
		b.send("/v1/messages", []byte(body), "X-Oriel-Conversation", name)
		b.settle(i + 1)
		records, err := store.Records(ctx, timeline.Local, name, "call", "")
		if err != nil || len(records) != 1 {
			t.Fatal(err, len(records))
		}
		recorded, err := call.Decode(&records[0])
		if want := [...]string{"context_management", ""}[i]; err != nil || recorded.Managed != want {
			t.Errorf("%s: managed by %q (%v), want %q", edits, recorded.Managed, err, want)
		}
	}
}

// Many agents at once, each in a conversation of its own, all stored.
func TestManyAgentsAtOnce(t *testing.T) {
	store, err := sqlite.Open(ctx, t.TempDir(), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	b := start(t, store, func(r *fakemodel.Request) fakemodel.Answer {
		return fakemodel.Answer{Text: fmt.Sprintf("reply to %d messages", len(r.Messages)), Input: 1, Output: 20}
	})
	const agents, calls = 8, 6
	var wg sync.WaitGroup
	for k := range agents {
		wg.Add(1)
		go func() {
			defer wg.Done()
			a := agent{path: "/v1/chat/completions", format: wire.Chat, stream: k%2 == 0,
				list: []json.RawMessage{[]byte(`{"role":"user","content":"the same opener"}`)}}
			name := fmt.Sprintf("agent-%d", k)
			for n := range calls {
				resp, answer := b.send(a.path, a.body(n), "X-Oriel-Conversation", name)
				if got := resp.Header.Get("X-Oriel-Conversation"); got != name {
					t.Errorf("agent %d is in conversation %q", k, got)
				}
				a.echo(readReply(t, a.format, a.stream, answer), nil)
				a.list = append(a.list, json.RawMessage(fmt.Sprintf(`{"role":"user","content":"and then, %d?"}`, n)))
			}
		}()
	}
	wg.Wait()
	b.settle(agents * calls)
	all, err := store.Conversations(ctx, timeline.Local)
	if err != nil || len(all) != agents {
		t.Fatalf("%d conversations, %v", len(all), err)
	}
	for _, c := range all {
		records, err := store.Records(ctx, timeline.Local, c.Name, "call", "")
		if err != nil || len(records) != calls || c.Head.Depth != 2*calls {
			t.Errorf("%s: %d calls, %d messages, %v", c.Name, len(records), c.Head.Depth, err)
		}
	}
}
