package call_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/oriel-context/oriel/internal/call"
	"github.com/oriel-context/oriel/internal/test/fakemodel"
	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/timeline/memory"
)

// spy is a store that notes all bytes that it is given to keep.
type spy struct {
	timeline.Store
	mu   sync.Mutex
	kept []byte
}

func (s *spy) Apply(ctx context.Context, tenant string, c timeline.Change) (timeline.Applied, error) {
	s.mu.Lock()
	for i := range c.Messages {
		s.kept = append(append(s.kept, c.Messages[i].Raw...), '\n')
	}
	for _, raw := range c.Contents {
		s.kept = append(append(s.kept, raw...), '\n')
	}
	for _, r := range c.Put {
		s.kept = append(append(append(s.kept, r.Key...), ' '), r.Data...)
	}
	s.kept = append(s.kept, c.Conversation...)
	s.mu.Unlock()
	return s.Store.Apply(ctx, tenant, c)
}

// lines collects what is logged.
type lines struct {
	mu  sync.Mutex
	all []byte
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, p...)
	return len(p), nil
}

// watched is a bench of which everything is seen that is kept, logged or told.
type watched struct {
	*bench
	store *spy
	log   lines
	calls int
}

func watch(t *testing.T, provider http.HandlerFunc) *watched {
	w := &watched{store: &spy{Store: memory.New()}}
	w.bench = startBefore(t, w.store, func(*fakemodel.Request) fakemodel.Answer { return fakemodel.Answer{} }, provider,
		func(o *call.TestOptions) {
			o.Profile, o.Log = "full",
				slog.New(slog.NewTextHandler(&w.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
		})
	return w
}

func (w *watched) call(path, body string, header ...string) {
	w.t.Helper()
	w.send(path, []byte(body), header...)
	w.calls++
	w.settle(w.calls)
}

// outputs are what the store, the log and the listener of events have.
func (w *watched) outputs() map[string]string {
	w.store.mu.Lock()
	defer w.store.mu.Unlock()
	w.log.mu.Lock()
	defer w.log.mu.Unlock()
	w.mu.Lock()
	defer w.mu.Unlock()
	return map[string]string{"kept": string(w.store.kept), "log": string(w.log.all), "events": jsonOf(w.events)}
}

// A client that has its key in the name of a profile or in the path as well teaches it to
// nobody, either.
func TestKeysInProfilesAndPathsAreNotKept(t *testing.T) {
	const key = "sk-LEAK-7f3a91c0d2e4"
	w := watch(t, func(rw http.ResponseWriter, _ *http.Request) { message(rw, "end_turn", 10, 10) })
	const body = `{"model":"m","messages":[{"role":"user","content":"hello"}]}`
	w.call("/v1/messages", body, "X-Api-Key", key, "X-Oriel-Profile", key)
	w.call("/p/"+key+"/v1/messages", body, "X-Api-Key", key)
	w.call("/"+key+"/v1/messages", body, "X-Api-Key", key)
	w.call("/"+strings.ReplaceAll(key, "-", "%2D")+"/v1/messages", body, "Authorization", "Bearer "+key)
	w.send("/v1/files/"+key, []byte("x"), "X-Api-Key", key)
	for where, text := range w.outputs() {
		if strings.Contains(text, "7f3a91") || !strings.Contains(text, "not kept") {
			t.Errorf("%s: %s", where, text)
		}
	}
}

// A client that has its key in the name of its conversation teaches it to nobody, either,
// and the name is still the same for each of its calls.
func TestKeysInNamesAreNotKept(t *testing.T) {
	const key = "sk-LEAK-7f3a91c0d2e4"
	w := watch(t, func(rw http.ResponseWriter, _ *http.Request) { message(rw, "end_turn", 10, 10) })
	const messages = `"messages":[{"role":"user","content":"hello"}]`
	for range 2 {
		got, _ := w.send("/v1/messages", []byte(`{"model":"m",`+messages+`}`), "X-Api-Key", key, "X-Oriel-Conversation",
			"of-"+key)
		if name := got.Header.Get("X-Oriel-Conversation"); name != timeline.HashOf([]byte("of-"+key)).String() {
			t.Errorf("name %q, want a hash", name)
		}
		w.calls++
		w.settle(w.calls)
	}
	got, _ := w.send("/v1/messages", []byte(`{"model":"m",`+messages+`}`), "X-Api-Key", key, "X-Oriel-Conversation",
		"plain")
	w.calls++
	w.settle(w.calls)
	if name := got.Header.Get("X-Oriel-Conversation"); name != "plain" {
		t.Errorf("a name without a key became %q", name)
	}
	for where, text := range w.outputs() {
		if strings.Contains(text, "7f3a91") {
			t.Errorf("%s: %s", where, text)
		}
	}
}

// A client that has its key in a field that names its user, its cache or its session teaches
// it to nobody, either. Other names stay.
func TestKeysInFieldsThatNameAreNotKept(t *testing.T) {
	const key = "sk-LEAK-7f3a91c0d2e4"
	w := watch(t, func(rw http.ResponseWriter, _ *http.Request) { message(rw, "end_turn", 10, 10) })
	const messages = `"messages":[{"role":"user","content":"hello"}]`
	w.call("/v1/messages", `{"model":"m","metadata":{"user_id":"`+key+`","other":1},`+messages+`}`, "X-Api-Key", key)
	w.call("/v1/chat/completions",
		`{"model":"m","user":"`+key+`","prompt_cache_key":"of `+key+
			`","safety_identifier":"sk-LEAK\u002d7f3a91c0d2e4",`+messages+`}`, "Authorization",
		"Bearer "+key)
	for _, field := range []string{
		`"session_id":"` + key + `"`, `"conversation_id":"` + key + `"`, `"extra_body":{"of":[{"` + key + `":1},"x/` +
			key + `"]}`, `"` + key + `":1`,
		`"response_format":{"type":"text","note":"` + strings.Repeat("long ", 200) + key + `"}`,
	} {
		w.call("/v1/chat/completions", `{"model":"m",`+field+`,`+messages+`}`, "Authorization", "Bearer "+key)
	}
	w.call("/v1/chat/completions", `{"model":"m","user":"USER-BY-NAME","metadata":{ "a":"PLAIN-NAME" },`+messages+`}`,
		"Authorization", "Bearer "+key)
	for where, text := range w.outputs() {
		if strings.Contains(text, "7f3a91") {
			t.Errorf("%s: %s", where, text)
		}
		if where == "kept" && (!strings.Contains(text, timeline.HashOf([]byte(key)).String()) ||
			!strings.Contains(text, `"USER-BY-NAME"`) ||
			!strings.Contains(text, `"PLAIN-NAME"`)) {
			t.Errorf("%s: %s", where, text)
		}
	}
}

// A provider that repeats the key of the call teaches it to nobody.
func TestKeysThatAProviderRepeatsAreNotKept(t *testing.T) {
	const key = "sk-LEAK-7f3a91c0d2e4"
	escaped := ""
	for _, c := range []byte(key) {
		escaped += fmt.Sprintf(`\u%04x`, c)
	}
	answer := func(http.ResponseWriter) {}
	w := watch(t, func(rw http.ResponseWriter, _ *http.Request) { answer(rw) })
	whole := func(status int, kind, body string) func(http.ResponseWriter) {
		return func(rw http.ResponseWriter) {
			rw.Header().Set("Content-Type", kind)
			rw.Header().Set("X-Request-Id", key)
			rw.WriteHeader(status)
			io.WriteString(rw, body)
		}
	}
	var answers []func(http.ResponseWriter)
	for _, said := range []string{key, escaped, "Bearer " + key, strings.ToUpper(key), key[:16] + "..."} {
		for _, status := range []int{200, 400, 404, 429, 500, 529} {
			answers = append(answers,
				whole(status, "application/json", `{"error":{"type":"x","code":"y","message":"bad key `+said+`"}}`),
				whole(status, "application/json", `{"error":"bad key `+said+`"}`),
				whole(status, "application/json", `{"error":{"type":"`+said+`","code":"`+said+`"}}`),
				whole(status, "application/json", `{"detail":[{"msg":"`+said+`","input":{"headers":"`+said+`"}}]}`),
				whole(status, "text/plain", said))
		}
		answers = append(answers,
			whole(200, "text/event-stream",
				"event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"x\",\"message\":\""+said+"\"}}\n\n"),
			whole(200, "text/event-stream", "data: {\"choices\":[{\"delta\":{\"content\":\"well "+said+
				"\"}}]}\n\ndata: {\"error\":{\"message\":\""+said+"\"}}\n\n"),
			whole(200, "application/json", `{"id":"`+said+`","choices":[{"finish_reason":"`+said+
				`","message":{"role":"assistant","content":"hi"}}]}`),
			whole(200, "application/json", `{"id":"`+said+
				`","type":"message","role":"assistant","content":[{"type":"text","text":"hi"}],"stop_reason":"`+said+
				`"}`),
			whole(200, "application/json",
				`{"error":{"message":"x"},"choices":[{"message":{"role":"assistant","content":"`+said+`"}}]}`))
	}
	for i, a := range answers {
		answer = a
		w.call("/v1/chat/completions",
			fmt.Sprintf(`{"model":"gpt-4o","messages":[{"role":"user","content":"number %d"}]}`, i), "Authorization",
			"Bearer "+key)
		w.call("/v1/messages?beta=true&key="+key,
			fmt.Sprintf(`{"model":"claude-sonnet-4-5","max_tokens":10,"messages":[{"role":"user","content":"number %d"}]}`, i), "X-Api-Key", key)
	}
	for where, text := range w.outputs() {
		if i := strings.Index(strings.ToLower(text), strings.ToLower(key[:14])); i >= 0 {
			t.Errorf("%s: …%s…", where, text[max(0, i-200):min(len(text), i+100)])
		}
		if where != "log" && !strings.Contains(text, "not kept") {
			t.Errorf("%s: nothing was taken out", where)
		}
	}
}

// Credentials for the servers of tools go to the provider and nowhere else, and the call
// can be shown again without them.
func TestCredentialsForToolsAreNotKept(t *testing.T) {
	const key = "sk-LEAK-7f3a91c0d2e4"
	got := ""
	w := watch(t, func(rw http.ResponseWriter, r *http.Request) {
		all, _ := io.ReadAll(r.Body)
		got = string(all)
		rw.Header().Set("Content-Type", "application/json")
		io.WriteString(rw,
			`{"id":"r","status":"completed","output":[{"type":"message","role":"assistant","content":[{"type":"output_text","text":"hi"}]}]}`)
	})
	for i, more := range []string{
		`"tools":[{"type":"mcp","server_label":"x","server_url":"https://h.example/mcp?api_key=KEY","authorization":"KEY"}]`,
		`"tools":[{"type":"mcp","server_url":"https://u:KEY@h.example/","headers":{"A":"{KEY}","B":{"c":["KEY"]}}}]`,
		`"tools":[{"type":"mcp","headers":["A: KEY"],"\u0061uthorization":"KEY"}]`,
		`"tools":[{"type":"mcp","token":"KEY","secret":"KEY","bearer":"KEY","credentials":{"a":"KEY"}}]`,
		`"mcp_servers":[{"type":"url","url":"https://h.example/sse?token=KEY","name":"n","authorization_token":"KEY"}]`,
		`"metadata":{"headers":{"a":"KEY"},"config":"{\"token\":\"KEY\"}"},"authorization":"KEY"`,
	} {
		body := strings.ReplaceAll(
			fmt.Sprintf(`{"model":"gpt-5","input":[{"type":"message","role":"user","content":"number %d"},{"type":"mcp_list_tools","id":"m","server_label":"x","authorization":"KEY","server_url":"https://h.example/?key=KEY","tools":[]},{"type":"message","role":"user","content":"go on"}],%s}`, i, more), "KEY", key)
		w.call("/v1/responses", body)
		if got != body {
			t.Errorf("the provider got %s", got)
		}
	}
	for where, text := range w.outputs() {
		if i := strings.Index(text, key); i >= 0 {
			t.Errorf("%s: …%s…", where, text[max(0, i-200):min(len(text), i+100)])
		}
	}
	n := 0
	conversations, err := w.store.Conversations(ctx, timeline.Local)
	must(err)
	for _, one := range conversations {
		all, err := w.store.Records(ctx, timeline.Local, one.Name, "call", "")
		must(err)
		for i := range all {
			c, err := call.Read(ctx, w.store, timeline.Local, &all[i])
			must(err)
			if !json.Valid(c.Body) || !strings.Contains(string(c.Body), "https://h.example/not-kept") {
				t.Errorf("%s", c.Body)
			}
			n++
		}
	}
	if n != w.calls {
		t.Errorf("%d of %d calls can be shown again", n, w.calls)
	}
}
