package call_test

import (
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"testing"
)

// Whatever is long in a request or an answer: lines of the log, events and records of
// calls are short.
func TestLongFieldsAreClipped(t *testing.T) {
	if testing.Short() {
		t.Skip("computes for long, and nothing beside it")
	}
	const usage = `"usage":{"prompt_tokens":10,"completion_tokens":10}`
	long := strings.Repeat("long-", 220<<10) // 1.1 MB
	number := strings.Repeat("9", 1<<20)
	header := strings.Repeat("h", 100<<10)
	fine := `{"id":"r","model":"m","choices":[{"finish_reason":"stop","message":{"role":"assistant","content":"hi"}}],` + usage + `}`
	for _, c := range []struct {
		name, path, body string
		status           int
		answer           string
		header           []string
	}{
		{name: "model", body: `"model":"LONG"`},
		{name: "max_tokens", body: `"model":"m","max_tokens":NUMBER`},
		{name: "temperature", body: `"model":"m","temperature":NUMBER`},
		{name: "user", body: `"model":"m","user":"LONG"`},
		{name: "prompt_cache_key", body: `"model":"m","prompt_cache_key":"LONG"`},
		{name: "metadata", body: `"model":"m","metadata":{"user_id":"LONG"}`},
		{name: "session of an agent",
			body: `"model":"m","metadata":{"user_id":"LONG_session_01234567-89ab-cdef-0123-456789abcdef"}`},
		{name: "previous_response_id", body: `"model":"m","previous_response_id":"LONG"`},
		{name: "conversation", body: `"model":"m","conversation":{"id":"LONG"}`},
		{name: "a field's name", body: `"model":"m","LONG":1,"max_tokens":{}`},
		{name: "profile", body: `"model":"m"`, header: []string{"X-Oriel-Profile", header}},
		{name: "conversation header", body: `"model":"m"`, header: []string{"X-Oriel-Conversation", header}},
		{name: "betas", body: `"model":"m"`, header: []string{"Anthropic-Beta", header}},
		{name: "budget", body: `"model":"m"`, header: []string{"X-Oriel-Budget", strings.Repeat("9", 100<<10)}},
		{name: "profile in the path", path: "/p/" + header + "/v1/chat/completions", body: `"model":"m"`},
		{name: "path", path: "/" + header + "/v1/chat/completions", body: `"model":"m"`},
		{name: "finish reason", body: `"model":"m"`,
			answer: `{"id":"r","choices":[{"finish_reason":"LONG","message":{"role":"assistant","content":"hi"}}],` +
				usage + `}`},
		{name: "id of the reply", body: `"model":"m"`,
			answer: `{"id":"LONG","model":"LONG","choices":[{"finish_reason":"stop","message":{"role":"assistant","content":"hi"}}]}`},
		{name: "usage", body: `"model":"m"`,
			answer: `{"id":"r","choices":[{"finish_reason":"stop","message":{"role":"assistant","content":"hi"}}],"usage":{"prompt_tokens":NUMBER,"completion_tokens":NUMBER}}`},
		{name: "error", body: `"model":"m"`, status: 500,
			answer: `{"error":{"message":"LONG","code":"LONG","type":"LONG"}}`},
		{name: "error of the request", body: `"model":"m"`, status: 400, answer: `{"error":{"message":"LONG"}}`},
		{name: "error in plain text", body: `"model":"m"`, status: 400, answer: `LONG`},
		{name: "error in a status of 200", body: `"model":"m"`, answer: `{"error":{"message":"LONG"}}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := watch(t, func(rw http.ResponseWriter, r *http.Request) {
				io.Copy(io.Discard, r.Body)
				rw.Header().Set("Content-Type", "application/json")
				if c.status != 0 {
					rw.WriteHeader(c.status)
				}
				answer := c.answer
				if answer == "" {
					answer = fine
				}
				io.WriteString(rw, strings.ReplaceAll(strings.ReplaceAll(answer, "LONG", long), "NUMBER", number))
			})
			body := `{` + strings.ReplaceAll(strings.ReplaceAll(c.body, "LONG", long), "NUMBER", number) +
				`,"messages":[{"role":"user","content":"hello"}]}`
			path := c.path
			if path == "" {
				path = "/v1/chat/completions"
			}
			w.call(path, body, c.header...)
			w.call(path, body, c.header...)
			out := w.outputs()
			for line := range strings.Lines(out["log"]) {
				if len(line) > 4<<10 {
					t.Errorf("a line of %d bytes in the log: %.200s", len(line), line)
				}
			}
			if len(out["events"]) > 16<<10 {
				t.Errorf("%d bytes of events: %.300s", len(out["events"]), out["events"])
			}
			if c.name != "a field's name" && len(out["kept"]) > 16<<10 {
				t.Errorf("%d bytes are kept: %.300s", len(out["kept"]), out["kept"])
			}
		})
	}
}

// Long names cost nothing after their calls.
func TestLongNamesAreNotRemembered(t *testing.T) {
	if testing.Short() {
		t.Skip("computes for long, and nothing beside it")
	}
	w := watch(t, func(rw http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		rw.Header().Set("Content-Type", "application/json")
		io.WriteString(rw,
			`{"id":"r","model":"m","choices":[{"finish_reason":"stop","message":{"role":"assistant","content":"hi"}}],"usage":{"prompt_tokens":3000,"completion_tokens":10}}`)
	})
	call := func(i int, long string) {
		text := strings.Repeat(fmt.Sprintf("word%d ", i), 1500) // calibration learns from it
		for _, field := range []string{`"model":"%d-LONG"`, `"model":"m","user":"%d-LONG"`,
			`"model":"m","prompt_cache_key":"%d-LONG"`,
			`"model":"m","metadata":{"user_id":"%d-LONG_session_01234567-89ab-cdef-0123-456789abcdef"}`} {
			w.call("/v1/chat/completions", `{`+strings.ReplaceAll(fmt.Sprintf(field, i), "LONG", long)+
				`,"messages":[{"role":"user","content":"`+text+`"}]}`)
		}
	}
	heap := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	call(0, "short")
	before := heap()
	const each, names = 2 << 20, 12
	for i := range names {
		call(i+1, strings.Repeat("n", each))
	}
	if grew := int64(heap()) - int64(before); grew > each*4 {
		t.Errorf("%d names of %d bytes leave %d bytes", 4*names, each, grew)
	}
}
