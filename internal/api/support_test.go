package api_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/oriel-context/oriel"
	"github.com/oriel-context/oriel/internal/api"
	"github.com/oriel-context/oriel/internal/test/fakemodel"
	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/timeline/memory"
)

// world is an engine with a history before a model of its own, and the API over it.
type world struct {
	t       testing.TB
	store   timeline.Store
	engine  *oriel.Engine
	hub     *api.Hub
	handler http.Handler
	model   *httptest.Server
	tenant  string // of requests to the API
	budget  int    // of calls, in tokens
}

type asTenant struct{}

func newWorld(t testing.TB, store timeline.Store) *world {
	t.Helper()
	if store == nil {
		store = memory.New()
	}
	w := &world{t: t, store: store, hub: api.NewHub(), tenant: timeline.Local, budget: 3000}
	var err error
	if w.engine, err = oriel.Open(t.Context(),
		oriel.Config{Store: w.store, NoEmbed: true, Events: w.hub.Publish}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.engine.Close() })
	w.handler = api.New(api.Options{
		Engine: w.engine, Store: w.store, Hub: w.hub, Version: "v9",
		Tenant: func(ctx context.Context) string {
			if tenant, ok := ctx.Value(asTenant{}).(string); ok {
				return tenant
			}
			return timeline.Local
		},
	})
	var calls atomic.Int64
	w.model = httptest.NewServer(&fakemodel.Server{Answer: func(r *fakemodel.Request) fakemodel.Answer {
		n, size := len(r.Messages), 1200
		for i := range r.Messages {
			size += len(r.Messages[i].Raw)
		}
		a := fakemodel.Answer{ID: fmt.Sprintf("msg_%d", n), Text: fmt.Sprintf("Step %d is done.", n),
			Input: size/3 - 100, CacheRead: 100, Output: 20}
		if n%4 == 1 {
			a.Calls = []fakemodel.Call{{ID: fmt.Sprintf("toolu_%d", calls.Add(1)), Name: "Bash",
				Arguments: `{"command":"go test ./settle"}`}}
		}
		return a
	}})
	t.Cleanup(w.model.Close)
	return w
}

const tools = `[{"name":"Bash","description":"Run a command","input_schema":{"type":"object","properties":{"command":{"type":"string"}}}},` +
	`{"name":"mcp__github__search","description":"Search issues, which nobody does","input_schema":{"type":"object","properties":{"q":{"type":"string"}}}}]`

// talk has an agent make calls in a conversation, with a budget small enough for cuts. It
// returns the messages that it has then.
func (w *world) talk(tenant, conversation string, calls int, messages []string) []string {
	w.t.Helper()
	client := &http.Client{Transport: w.engine.ForTenant(tenant).Transport(&http.Transport{DisableKeepAlives: true})}
	for i := range calls {
		if n := len(messages); n > 0 && strings.Contains(messages[n-1], "tool_use") {
			var last struct{ Content []struct{ Type, ID string } }
			json.Unmarshal([]byte(messages[n-1]), &last)
			for _, p := range last.Content {
				if p.Type == "tool_use" {
					out, _ := json.Marshal(fmt.Sprintf("ok settle %d <script>alert(1)</script>\n%s", n,
						strings.Repeat("--- PASS: TestSettle\n", 60)))
					messages = append(messages,
						fmt.Sprintf(`{"role":"user","content":[{"type":"tool_result","tool_use_id":%q,"content":%s}]}`,
							p.ID, out))
				}
			}
		} else {
			text := fmt.Sprintf("Question %d of %s: which port does service %d listen on? %s", n, conversation, n,
				strings.Repeat("More words about it. ", 40))
			messages = append(messages, fmt.Sprintf(`{"role":"user","content":%q}`, text))
		}
		body := fmt.Sprintf(
			`{"model":"claude-sonnet-4-5","max_tokens":500,"system":"You are an agent.","tools":%s,"messages":[%s]}`,
			tools, strings.Join(messages, ","))
		r, err := http.NewRequestWithContext(w.t.Context(), "POST", w.model.URL+"/v1/messages", strings.NewReader(body))
		if err != nil {
			w.t.Fatal(err)
		}
		r.Header.Set("X-Oriel-Conversation", conversation)
		r.Header.Set("X-Oriel-Budget", strconv.Itoa(w.budget))
		r.Header.Set("Anthropic-Version", "2023-06-01")
		resp, err := client.Do(r)
		if err != nil {
			w.t.Fatal(err)
		}
		answer, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || resp.StatusCode != 200 {
			w.t.Fatalf("call %d: %d %s %v", i, resp.StatusCode, answer, err)
		}
		var reply struct{ Content json.RawMessage }
		if err := json.Unmarshal(answer, &reply); err != nil {
			w.t.Fatal(err)
		}
		messages = append(messages, fmt.Sprintf(`{"role":"assistant","content":%s}`, reply.Content))
	}
	ctx, cancel := context.WithTimeout(w.t.Context(), time.Minute)
	defer cancel()
	if err := w.engine.Wait(ctx); err != nil {
		w.t.Fatal(err)
	}
	return messages
}

// answer is what the API answered.
type answer struct {
	status int
	header http.Header
	body   []byte
}

// do sends a request to the API. Header fields follow the body.
func (w *world) do(method, path, body string, header ...string) *answer {
	w.t.Helper()
	r := httptest.NewRequest(method, api.Prefix+path, strings.NewReader(body))
	if method != "GET" {
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	rec := httptest.NewRecorder()
	w.handler.ServeHTTP(rec, r.WithContext(context.WithValue(r.Context(), asTenant{}, w.tenant)))
	return &answer{rec.Code, rec.Header(), rec.Body.Bytes()}
}

// get reads a route that must succeed.
func (w *world) get(path string, into any) {
	w.t.Helper()
	w.want(200, "GET", path, "", into)
}

// want sends a request that must have a status.
func (w *world) want(status int, method, path, body string, into any) {
	w.t.Helper()
	a := w.do(method, path, body)
	if a.status != status {
		w.t.Fatalf("%s %s: %d, want %d: %s", method, path, a.status, status, a.body)
	}
	if into == nil {
		return
	}
	if err := json.NewDecoder(bytes.NewReader(a.body)).Decode(into); err != nil {
		w.t.Fatalf("%s %s: %v: %s", method, path, err, a.body)
	}
}
