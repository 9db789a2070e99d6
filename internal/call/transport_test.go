package call_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/oriel-context/oriel"
	"github.com/oriel-context/oriel/internal/call"
	"github.com/oriel-context/oriel/internal/event"
)

// seen is a request as a provider got it.
type seen struct {
	path, body string
	header     http.Header
}

// through opens an engine before a provider and returns a client whose requests go through
// it, what the provider saw, and the engine's events.
func through(t *testing.T, config oriel.Config,
	answer http.HandlerFunc) (
	client *http.Client, url string, e *oriel.Engine, got func() []seen, events func() []oriel.Event) {
	t.Helper()
	var mu sync.Mutex
	var all []seen
	var told []oriel.Event
	provider := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		mu.Lock()
		all = append(all, seen{r.URL.Path, string(body), r.Header})
		mu.Unlock()
		r.Body = io.NopCloser(bytes.NewReader(body))
		answer(w, r)
	}))
	t.Cleanup(provider.Close)
	config.NoEmbed = true
	config.Events = func(e oriel.Event) {
		mu.Lock()
		told = append(told, e)
		mu.Unlock()
	}
	e, err := oriel.Open(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	client = &http.Client{Transport: e.Transport(&http.Transport{DisableKeepAlives: true})}
	return client, provider.URL, e,
		func() []seen { mu.Lock(); defer mu.Unlock(); return all },
		func() []oriel.Event { mu.Lock(); defer mu.Unlock(); return told }
}

const chatReply = `{"id":"r","object":"chat.completion","model":"gpt-4o","choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":"Noted."}}],"usage":{"prompt_tokens":10,"completion_tokens":2}}`

func reply(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Oriel-Plan", "a provider's own")
	io.WriteString(w, chatReply)
}

func post(t *testing.T, client *http.Client, url, body string, header ...string) (*http.Response, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	res, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res, string(answer)
}

// What is not changed arrives byte for byte; Oriel's headers go neither way.
func TestTransportPassesBytesUnchanged(t *testing.T) {
	client, url, e, got, _ := through(t, oriel.Config{}, reply)
	const odd = "{ \"messages\" : [{\"content\":\"h\\u00e9\", \"role\":\"user\"}],\n\t\"model\":\"gpt-4o\" }"
	res, answer := post(t, client, url+"/v1/chat/completions?x=1", odd, "X-Oriel-Conversation", "mine", "X-Other",
		"yes")
	if g := got()[0]; g.body != odd || g.header.Get("X-Oriel-Conversation") != "" || g.header.Get("X-Other") != "yes" {
		t.Errorf("%q %v", g.body, g.header)
	}
	if h := res.Header; answer != chatReply || h.Get("X-Oriel-Conversation") != "mine" ||
		h.Get("X-Oriel-Action") != "none" || h.Get("X-Oriel-Plan") != "" {
		t.Errorf("%q %v", answer, h)
	}
	post(t, client, url+"/v1/chat/completions", odd, "X-Oriel-Bypass", "1", "X-Oriel-Conversation", "other")
	post(t, client, url+"/v1/embeddings", `{"input":"x"}`, "X-Oriel-Conversation", "other")
	post(t, client, url+"/v1/messages/count_tokens",
		`{"model":"claude-sonnet-4-5","messages":[{"role":"user","content":"x"}]}`)
	for _, g := range got() {
		for name := range g.header {
			if strings.HasPrefix(name, "X-Oriel-") {
				t.Errorf("%s: %s went out", g.path, name)
			}
		}
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	if c := call.Of(e).Counters(); c.Calls.Load() != 1 || c.Written.Load() != 1 {
		t.Errorf("%d calls, %d stored", c.Calls.Load(), c.Written.Load())
	}
}

// Compressed bodies are read; what cannot be read goes on unseen, and an event says so.
func TestTransportReadsCompressedBodies(t *testing.T) {
	client, url, e, got, events := through(t, oriel.Config{}, reply)
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	io.WriteString(z, `{"model":"gpt-4o","messages":[{"role":"user","content":"packed"}]}`)
	z.Close()
	post(t, client, url+"/v1/chat/completions", packed.String(), "Content-Encoding", "gzip")
	post(t, client, url+"/v1/chat/completions", "no gzip", "Content-Encoding", "gzip")
	post(t, client, url+"/v1/chat/completions", `{"model":"gpt-4o","messages":[`)
	for i, want := range []string{packed.String(), "no gzip", `{"model":"gpt-4o","messages":[`} {
		if got()[i].body != want {
			t.Errorf("%d: %q", i, got()[i].body)
		}
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	kinds := ""
	for _, e := range events() {
		kinds += e.Kind + " "
	}
	if !strings.Contains(kinds, oriel.EventUnseen) || !strings.Contains(kinds, oriel.EventUnknown) ||
		!strings.Contains(kinds, oriel.EventCall) {
		t.Error(kinds)
	}
}

// A reply that the client closes early, or that breaks off, is not part of the history; one
// that it closes when it has all of it is.
func TestTransportRecordsWhatCame(t *testing.T) {
	const stream = "data: {\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"yes\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n"
	for _, c := range []struct {
		name, answer string
		broken       bool
		read         int
		outcome      event.Outcome
		error        string
	}{
		{"closed at its end", stream, false, len(stream), event.OutcomeWhole, ""},
		{"closed early", stream, false, 10, event.OutcomeLeft, call.ErrLeft.Error()},
		{"broken off", stream[:20], true, 1 << 20, event.OutcomeFailed, "EOF"},
		{"ended early", stream[:20], false, 20, event.OutcomeLeft, call.ErrLeft.Error()},
	} {
		t.Run(c.name, func(t *testing.T) {
			client, url, e, _, events := through(t, oriel.Config{}, func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "text/event-stream")
				io.WriteString(w, c.answer)
				w.(http.Flusher).Flush()
				if c.broken {
					panic(http.ErrAbortHandler)
				}
			})
			res, err := client.Post(url+"/v1/chat/completions", "application/json",
				strings.NewReader(`{"model":"gpt-4o","stream":true,"messages":[{"role":"user","content":"well?"}]}`))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := io.ReadFull(res.Body, make([]byte, c.read)); err != nil && !c.broken {
				t.Fatal(err)
			}
			if err := errors.Join(res.Body.Close(), e.Close()); err != nil {
				t.Fatal(err)
			}
			all := events()
			if last := all[len(all)-1]; last.Kind != oriel.EventCall || !strings.Contains(last.Error, c.error) ||
				c.error == "" && last.Error != "" || last.Outcome != c.outcome {
				t.Errorf("%+v", last)
			}
		})
	}
}

// SPEC E5: the same history is one conversation, whichever door changes its notes.
func TestTransportAndConversationShareNotes(t *testing.T) {
	client, url, e, got, events := through(t,
		oriel.Config{Dir: t.TempDir(), Calls: oriel.CallOptions{Profile: "thrifty"}}, reply)
	var list []string
	say := func(n int) {
		list = append(list, fmt.Sprintf(`{"role":"user","content":"Line number%03d. %s"}`, n,
			strings.Repeat("We walked along the harbour. ", 40)))
		post(t, client, url+"/v1/chat/completions", `{"model":"gpt-4o","messages":[`+strings.Join(list, ",")+`]}`,
			"X-Oriel-Conversation", "walk", "X-Oriel-Budget", "4000")
		list = append(list, `{"role":"assistant","content":"Noted."}`)
	}
	for n := 1; n <= 40; n++ {
		say(n)
	}
	c, err := e.Conversation(t.Context(), "walk")
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"", "p-none"} {
		u, err := c.WouldUndo(t.Context(), id)
		if (err == nil) != (id == "") || id != "" && !errors.Is(err, oriel.ErrNoPlan) {
			t.Fatalf("%q: %+v, %v", id, u, err)
		}
	}
	shows := func(n int) bool {
		all := got()
		return strings.Contains(all[len(all)-1].body, fmt.Sprintf(`"Line number%03d. We walked along the harbour. We`,
			n))
	}
	gone := 0
	for n := 3; n <= 40 && gone == 0; n++ {
		if !shows(n) {
			gone = n
		}
	}
	if gone == 0 {
		t.Fatal("nothing has left")
	}
	if err := c.Pin(t.Context(), int64(2*gone-1)); err != nil {
		t.Fatal(err)
	}
	if say(41); !shows(gone) {
		t.Error("what is pinned does not come back")
	}
	pins := 0
	for _, e := range events() {
		if e.Kind == oriel.EventPin {
			pins++
		}
	}
	if pins != 1 {
		t.Errorf("%d events of pins", pins)
	}
}

// callErrors are the errors of the calls that were recorded of one request.
func callErrors(t *testing.T, path, request, kind, answer string) (errors []string) {
	t.Helper()
	client, url, e, _, events := through(t, oriel.Config{}, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", kind)
		io.WriteString(w, answer)
	})
	if _, got := post(t, client, url+path, request); got != answer {
		t.Errorf("the client got %q", got)
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	for _, told := range events() {
		if told.Kind == oriel.EventCall {
			errors = append(errors, told.Error)
			if told.Outcome != event.OutcomeOf(told.Error) {
				t.Errorf("%q has the outcome %q", told.Error, told.Outcome)
			}
		}
	}
	return errors
}

// A call without a whole reply counts as failed, also where the connection ended as it should:
// a stream without its last event, and an answer that is no reply at all.
func TestAnAnswerWithoutAWholeReplyIsAFailedCall(t *testing.T) {
	const begin = "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"m\",\"type\":\"message\",\"role\":\"assistant\",\"model\":\"m\",\"content\":[],\"usage\":{\"input_tokens\":10,\"output_tokens\":1}}}\n\n" +
		"event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"half\"}}\n\n"
	const end = "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"
	for _, c := range []struct{ kind, answer string }{
		{"text/event-stream", begin},
		{"text/event-stream", ""},
		{"text/event-stream", end},
		{"text/event-stream", begin + "data: {\"type\":\"content_block_delta\",}\n\n" + end},
		{"application/json", `{"id":"m","type":"message","role":"assistant","content":[{"type":"text","text":"he`},
		{"application/json", ""},
		{"application/json", "{}"},
		{"text/html", "<html>Sign in</html>"},
	} {
		errors := callErrors(t, "/v1/messages",
			`{"model":"m","max_tokens":1,"messages":[{"role":"user","content":"hello"}]}`, c.kind, c.answer)
		if len(errors) != 1 || errors[0] != "the answer has no complete reply" {
			t.Errorf("%s %q: the calls ended with %q", c.kind, c.answer, errors)
		}
	}
}

// A response that runs in the background, or was cancelled, is no failed call although there
// is no whole reply.
func TestAResponseInTheBackgroundIsNoFailedCall(t *testing.T) {
	for _, c := range []struct{ kind, answer string }{
		{"application/json",
			`{"id":"resp_1","object":"response","status":"queued","background":true,"model":"m","output":[]}`},
		{"application/json",
			`{"id":"resp_1","object":"response","status":"in_progress","background":true,"model":"m","output":[]}`},
		{"application/json",
			`{"id":"resp_1","object":"response","status":"cancelled","background":true,"model":"m","output":[]}`},
		{"text/event-stream",
			"event: response.cancelled\ndata: {\"type\":\"response.cancelled\",\"response\":{\"id\":\"resp_1\",\"status\":\"cancelled\",\"model\":\"m\",\"output\":[]}}\n\n"},
	} {
		errors := callErrors(t, "/v1/responses",
			`{"model":"m","background":true,"input":[{"role":"user","content":"hello"}]}`, c.kind, c.answer)
		if len(errors) != 1 || errors[0] != "" {
			t.Errorf("%s: the calls ended with %q", c.answer, errors)
		}
	}
}

// A model's name may hold an escaped slash: the path is read as it is sent, as the proxy reads it.
func TestTransportReadsTheEscapedPath(t *testing.T) {
	client, url, e, got, events := through(t, oriel.Config{}, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, `{"candidates":[{"content":{"role":"model","parts":[{"text":"Noted."}]},"finishReason":"STOP"}]}`)
	})
	post(t, client, url+"/v1beta/models/team%2Fgemini:generateContent",
		`{"contents":[{"role":"user","parts":[{"text":"hi"}]}]}`)
	if err := e.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	calls := 0
	for _, e := range events() {
		if e.Kind == event.Call {
			calls++
		}
	}
	if len(got()) != 1 || calls != 1 {
		t.Errorf("%d requests, %d recorded calls", len(got()), calls)
	}
}
