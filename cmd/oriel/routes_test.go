//go:build unix

package main

import (
	"context"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/oriel-context/oriel/internal/proxy/access"
	"github.com/oriel-context/oriel/internal/test/fakemodel"
	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/timeline/sqlite"
)

// address is a route with its parameters filled in.
type address struct {
	method, path, body string
	calls, changes     bool // it goes to a provider; it changes something
	conversation       bool // it is about a conversation of ann's
}

func (a *address) String() string { return a.method + " " + a.path }

// visitor asks a server.
type visitor struct {
	t   *testing.T
	url string
}

// ask returns the status and the beginning of the answer.
func (v *visitor) ask(token string, a *address) (int, string) {
	v.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, a.method, v.url+a.path, strings.NewReader(a.body))
	if err != nil {
		v.t.Fatal(err)
	}
	if token != "" {
		r.Header.Set("X-Oriel-Token", token)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	r.Header.Set("X-Oriel-Request", "1") // which forms of other pages cannot send
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		v.t.Fatalf("%v: %v", a, err)
	}
	defer res.Body.Close()
	if strings.HasPrefix(a.path, "/oriel/") && res.Header.Get("X-Content-Type-Options") != "nosniff" {
		v.t.Errorf("%v: an answer of Oriel's own without nosniff", a)
	}
	if strings.HasSuffix(a.path, "/events") && res.StatusCode == 200 { // it does not end
		return res.StatusCode, ""
	}
	text, err := io.ReadAll(res.Body)
	if err != nil {
		v.t.Errorf("%v: %v", a, err)
	}
	return res.StatusCode, string(text)
}

// described returns the routes of the API as its own description lists them.
func (v *visitor) described(token string, fill map[string]string) (all []*address) {
	v.t.Helper()
	_, text := v.ask(token, &address{method: "GET", path: "/oriel/api/openapi.json"})
	var found struct {
		Paths map[string]map[string]json.RawMessage
	}
	if err := json.Unmarshal([]byte(text), &found); err != nil {
		v.t.Fatalf("%v: %s", err, text)
	}
	for _, path := range slices.Sorted(maps.Keys(found.Paths)) {
		for method := range found.Paths[path] {
			a := &address{method: strings.ToUpper(method), path: "/oriel/api" + path,
				conversation: strings.Contains(path, "{conversation}")}
			for name, value := range fill {
				a.path = strings.ReplaceAll(a.path, "{"+name+"}", value)
			}
			switch {
			case path == "/recall":
				a.body = `{"query":"the harbour"}`
			case path == "/fit":
				a.body = `{"body":{"model":"gpt-4o","messages":[{"role":"user","content":"hello"}]}}`
			case strings.HasSuffix(path, "/pins"):
				a.changes, a.body = true, `{"id":1}`
			case a.method != "GET":
				a.changes, a.body = true, "{}"
			}
			if strings.HasSuffix(path, "/diff") {
				a.path += "?with=" + fill["call"]
			}
			if strings.Contains(a.path, "{") {
				v.t.Errorf("%v has a parameter that is new to this test", a)
			}
			all = append(all, a)
		}
	}
	return all
}

// Every route, with no token, a wrong, an expired and a revoked one, one that may only
// read, and one of another tenant. DESIGN: tenants never meet.
func TestRoutesAskForATokenOfTheTenant(t *testing.T) {
	up := httptest.NewServer(&fakemodel.Server{Answer: func(*fakemodel.Request) fakemodel.Answer {
		return fakemodel.Answer{Text: "The lighthouse is at the harbour."}
	}})
	defer up.Close()
	dir := filepath.Join(t.TempDir(), "data")
	const shared = "0123456789abcdef"
	s := startServe(t, "--upstream-openai", up.URL+"/v1", "--upstream-anthropic", up.URL, "--data", dir, "--token",
		shared)
	v := &visitor{t, strings.Split(s.openAI, "/k/")[0]}
	store, err := sqlite.Open(t.Context(), dir, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	add := func(tenant, role string, expires time.Time) string {
		token := access.NewToken()
		if err := store.AddToken(t.Context(), timeline.AccessToken{Hash: timeline.HashToken(token), Tenant: tenant,
			Role: role, Created: time.Now(), Expires: expires}); err != nil {
			t.Fatal(err)
		}
		return token
	}
	ann, reader, bob := add("ann", timeline.RoleCall, time.Time{}), add("ann", timeline.RoleRead, time.Time{}),
		add("bob", timeline.RoleCall, time.Time{})
	expired, revoked := add("ann", timeline.RoleCall, time.Now().Add(-time.Second)),
		add("ann", timeline.RoleCall, time.Time{})
	if err := store.RevokeToken(t.Context(), timeline.HashToken(revoked), time.Now()); err != nil {
		t.Fatal(err)
	}
	chat := &address{method: "POST", path: "/v1/chat/completions",
		body:  `{"model":"gpt-4o","messages":[{"role":"user","content":"Where is the lighthouse of ann?"}]}`,
		calls: true}
	if code, text := v.ask(ann, chat); code != 200 {
		t.Fatal(code, text)
	}
	fill := map[string]string{"message": "1", "plan": "p1"}
	await(func() bool {
		all, err := store.Conversations(t.Context(), "ann")
		if err != nil || len(all) == 0 {
			return false
		}
		keys, err := store.RecordKeys(t.Context(), "ann", all[0].Name, "call")
		if err == nil && len(keys) == 1 {
			fill["conversation"], fill["call"] = all[0].Name, keys[0]
		}
		return fill["call"] != ""
	})
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	own := v.described(ann, fill)
	if len(own) < 20 {
		t.Errorf("only %d routes are described", len(own))
	}
	hello := &address{method: "POST", path: "/oriel/mcp",
		body: `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`}
	health := &address{method: "GET", path: "/oriel/healthz"}
	metrics := &address{method: "GET", path: "/oriel/metrics"} // of all tenants
	own = append(own, hello, &address{method: "GET", path: "/oriel/session"},
		&address{method: "GET", path: "/oriel/nothing"},
		&address{method: "POST", path: "/oriel/nothing", changes: true})
	proxied := []*address{
		chat, {method: "POST", path: "/v1/responses", body: `{"model":"gpt-4o","input":"hi"}`},
		{method: "POST", path: "/v1/messages",
			body: `{"model":"claude-sonnet-4-5","max_tokens":9,"messages":[{"role":"user","content":"hi"}]}`},
		{method: "POST", path: "/v1/messages/count_tokens",
			body: `{"model":"claude-sonnet-4-5","messages":[{"role":"user","content":"hi"}]}`},
		{method: "GET", path: "/v1/models"}, {method: "POST", path: "/p/full/v1/embeddings", body: "{}"},
		{method: "DELETE", path: "/v1/files/x"},
	}
	for _, a := range proxied {
		a.calls = true
	}
	all := slices.Concat(own, proxied, []*address{metrics})

	refused := map[string]struct{ token, why string }{
		"none": {"", "needs its own token"}, "expired": {expired, "has expired"}, "revoked": {revoked, "was revoked"},
	}
	for who, r := range refused {
		for _, a := range all {
			if code, text := v.ask(r.token, a); code != http.StatusUnauthorized || !strings.Contains(text, r.why) ||
				strings.Contains(text, "lighthouse") {
				t.Errorf("%s: %v: %d %s", who, a, code, text)
			}
		}
		if code, text := v.ask(r.token, health); code != 200 || strings.Contains(text, "error") {
			t.Errorf("%s: health: %d %s", who, code, text)
		}
	}
	if code, text := v.ask("", &address{method: "GET", path: "/oriel/"}); code != 200 ||
		strings.Contains(text, "lighthouse") { // it asks for a token
		t.Errorf("the page: %d %s", code, text)
	}
	var wg sync.WaitGroup
	for group := range slices.Chunk(all, len(all)/14+1) { // wrong tokens are answered late
		wg.Go(func() {
			for _, a := range group {
				if code, text := v.ask(access.NewToken(), a); code != http.StatusUnauthorized ||
					!strings.Contains(text, "does not know") {
					t.Errorf("unknown: %v: %d %s", a, code, text)
				}
			}
		})
	}
	wg.Wait()
	all = all[:len(all)-1]
	for token, want := range map[string]int{shared: 200, ann: 403, reader: 403} {
		if code, text := v.ask(token, metrics); code != want ||
			want == 403 && !strings.Contains(text, "--tenant local") {
			t.Errorf("metrics: %d, want %d: %.300s", code, want, text)
		}
	}
	for _, a := range all {
		code, text := v.ask(reader, a)
		if want := a.calls || a.changes; want != (code == http.StatusForbidden) || code == http.StatusUnauthorized ||
			want && !strings.Contains(text, "this token may read the history") {
			t.Errorf("read: %v: %d %s", a, code, text)
		}
	}
	for _, a := range all {
		if code, text := v.ask(bob, a); code == http.StatusUnauthorized || code == http.StatusForbidden ||
			a.conversation && code != http.StatusNotFound ||
			!a.calls && (strings.Contains(text, fill["conversation"]) && !a.conversation ||
				strings.Contains(text, "lighthouse")) {
			t.Errorf("bob: %v: %d %s", a, code, text)
		}
	}
	for _, a := range all {
		if code, text := v.ask(ann, a); code == http.StatusUnauthorized || code == http.StatusForbidden ||
			a.method == "GET" && a.conversation && code != 200 && !strings.Contains(a.path, "/plans/") {
			t.Errorf("ann: %v: %d %s", a, code, text)
		}
	}
	for token, changes := range map[string]bool{reader: false, ann: true} {
		tools := &address{method: "POST", path: "/oriel/mcp", body: `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`}
		if code, text := v.ask(token, tools); code != 200 || strings.Contains(text, `"unpin"`) != changes ||
			!strings.Contains(text, `"recall"`) {
			t.Errorf("tools of the role (changes: %v): %d %.300s", changes, code, text)
		}
	}
	tool := func(name, arguments string) *address {
		return &address{method: "POST", path: "/oriel/mcp",
			body: `{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"` + name + `","arguments":` +
				arguments + `}}`}
	}
	in := `,"conversation":"` + fill["conversation"] + `"`
	for _, c := range []struct {
		who, token string
		call       *address
		finds      bool
	}{
		{"ann", ann, tool("recall", `{"query":"Where is the lighthouse?","scope":"user"}`), true},
		{"ann", reader, tool("recall", `{"query":"Where is the lighthouse?"`+in+`}`), true},
		{"bob", bob, tool("recall", `{"query":"Where is the lighthouse?"`+in+`}`), false},
		{"bob", bob, tool("read", `{"id":1`+in+`}`), false},
		{"bob", bob, tool("pin", `{"id":1`+in+`}`), false},
		{"the reader", reader, tool("pin", `{"id":1`+in+`}`), false},
	} {
		if code, text := v.ask(c.token, c.call); strings.Contains(text, "harbour") != c.finds ||
			!c.finds && code == 200 && !strings.Contains(text, "rror") && !strings.Contains(text, `"passages":[]`) {
			t.Errorf("%s: %s: %d %.600s", c.who, c.call.body, code, text)
		}
	}
	if _, text := v.ask(bob,
		tool("recall", `{"query":"Where is the lighthouse?","scope":"user"}`)); strings.Contains(text,
		fill["conversation"]) { // bob has asked the same
		t.Errorf("bob finds ann's conversation: %.600s", text)
	}
	http.DefaultClient.CloseIdleConnections()
	s.end(t)
	if text := s.errors.String(); strings.Contains(text, access.Prefix) || strings.Contains(text, shared) {
		t.Error("a token is in the log:", text)
	}
}
