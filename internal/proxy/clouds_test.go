package proxy_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/oriel-context/oriel"
	"github.com/oriel-context/oriel/internal/proxy"
	"github.com/oriel-context/oriel/internal/test/eventstream"
	"github.com/oriel-context/oriel/internal/test/fakemodel"
	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/wire"
)

// cloud is a proxy with an engine of its own before a cloud that has a model's API behind a prefix.
type cloud struct {
	*setup
	engine *oriel.Engine
	model  *fakemodel.Server

	mu   sync.Mutex // protects what follows
	got  []*fakemodel.Request
	uris []string
	keys []string // of the requests
}

// startCloud runs a proxy whose options are made from the URL of the cloud.
func startCloud(t *testing.T, prefix string, options func(url string) proxy.Options) *cloud {
	t.Helper()
	c := &cloud{setup: &setup{t: t, log: &lockedBuffer{}, client: &http.Client{}, done: make(chan error, 1)}}
	c.model = &fakemodel.Server{Answer: func(r *fakemodel.Request) fakemodel.Answer {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.got = append(c.got, r)
		return fakemodel.Answer{Text: "The harbour is north.", Input: 10, Output: 5}
	}}
	c.upstream = httptest.NewServer(http.StripPrefix(prefix, http.HandlerFunc(func(w http.ResponseWriter,
		r *http.Request) {
		if f := wire.CallFormat(r.URL.Path); f == wire.Anthropic || f == wire.Converse { // not a question for a local model's window
			c.mu.Lock()
			c.uris = append(c.uris, prefix+r.URL.RequestURI())
			c.keys = append(c.keys, r.Header.Get("Authorization")+r.Header.Get("X-Api-Key"))
			c.mu.Unlock()
		}
		c.model.ServeHTTP(w, r)
	})))
	var err error
	if c.engine, err = oriel.Open(t.Context(), oriel.Config{NoEmbed: true}); err != nil {
		t.Fatal(err)
	}
	o := options(c.upstream.URL)
	o.Engine, o.Log = c.engine, slog.New(slog.NewTextHandler(c.log, nil))
	if c.server, err = proxy.New(o); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c.url = "http://" + l.Addr().String()
	ctx, stop := context.WithCancel(context.Background())
	c.stop = stop
	go func() { c.done <- c.server.Serve(ctx, l) }()
	t.Cleanup(func() {
		c.close()
		if err := c.engine.Close(); err != nil {
			t.Error(err)
		}
		if p := c.model.Problems(); len(p) > 0 {
			t.Errorf("the model refused: %v", p)
		}
	})
	return c
}

// agentBody is a body of Anthropic's API with a long history of an agent, between a beginning of
// its members and its messages.
func agentBody(members string, turns int) string {
	var b strings.Builder
	fmt.Fprintf(&b, `{%s"max_tokens":100,"tools":[{"name":"ls","input_schema":{"type":"object"}}],`, members)
	b.WriteString(`"messages":[{"role":"user","content":"list all"}`)
	for i := range turns {
		fmt.Fprintf(&b, `,{"role":"assistant","content":[{"type":"tool_use","id":"t%d","name":"ls",`, i)
		fmt.Fprintf(&b, `"input":{"path":"/%d"}}]}`, i)
		fmt.Fprintf(&b, `,{"role":"user","content":[{"type":"tool_result","tool_use_id":"t%d","content":%q}]}`, i,
			strings.Repeat(fmt.Sprintf("file-%d ", i), 80))
	}
	b.WriteString(`,{"role":"assistant","content":"so far"},{"role":"user","content":"Where is the harbour?"}]}`)
	return b.String()
}

// Claude on clouds is read, kept within the budget and recorded: Bedrock's Messages behind a prefix,
// with an API key in either header, and the paths of Vertex AI and of Bedrock's InvokeModel, which
// have the model. The key arrives as it was sent.
func TestClaudeOnClouds(t *testing.T) {
	const vertex = "/projects/p/locations/global/publishers/anthropic/models/"
	onBedrock := func(url string) proxy.Options { return proxy.Options{Anthropic: url + "/anthropic"} }
	invoked := func(url string) proxy.Options { return proxy.Options{Bedrock: url} }
	onVertex := func(url string) proxy.Options { return proxy.Options{Gemini: url} }
	for _, tc := range []struct {
		name, prefix   string
		options        func(string) proxy.Options
		path, uri      string
		header, key    string
		members, model string
		stream         bool
	}{
		{"Bedrock", "/anthropic", onBedrock, "/v1/messages?beta=true", "/anthropic/v1/messages?beta=true", "X-Api-Key",
			"ABSK" + canary, `"model":"anthropic.claude-haiku-4-5",`, "anthropic.claude-haiku-4-5", false},
		{"Bedrock streamed", "/anthropic", onBedrock, "/v1/messages", "/anthropic/v1/messages", "Authorization",
			"Bearer bedrock-api-key-" + canary, `"stream":true,"model":"us.anthropic.claude-opus-4-8",`,
			"us.anthropic.claude-opus-4-8", true},
		{"Bedrock with the whole path", "/anthropic", onBedrock, "/anthropic/v1/messages", "/anthropic/v1/messages",
			"Authorization", "Bearer bedrock-api-key-" + canary, `"model":"us.anthropic.claude-opus-4-8",`,
			"us.anthropic.claude-opus-4-8", false},
		{"InvokeModel", "", invoked, "/model/us.anthropic.claude-opus-4-8-v1%3A0/invoke",
			"/model/us.anthropic.claude-opus-4-8-v1%3A0/invoke", "Authorization", "Bearer ABSK" + canary,
			`"anthropic_version":"bedrock-2023-05-31",`, "us.anthropic.claude-opus-4-8-v1:0", false},
		{"InvokeModel streamed", "", invoked, "/model/us.anthropic.claude-opus-4-8/invoke-with-response-stream",
			"/model/us.anthropic.claude-opus-4-8/invoke-with-response-stream", "Authorization", "Bearer ABSK" + canary,
			`"anthropic_version":"bedrock-2023-05-31",`, "us.anthropic.claude-opus-4-8", true},
		{"Vertex", "", onVertex, "/v1" + vertex + "claude-haiku-4-5@20251001:rawPredict",
			"/v1" + vertex + "claude-haiku-4-5@20251001:rawPredict", "Authorization", "Bearer ya29." + canary,
			`"anthropic_version":"vertex-2023-10-16",`, "claude-haiku-4-5@20251001", false},
		{"Vertex streamed, without a version", "", onVertex, vertex + "claude-opus-4-8:streamRawPredict",
			"/v1" + vertex + "claude-opus-4-8:streamRawPredict", "Authorization", "Bearer ya29." + canary,
			`"anthropic_version":"vertex-2023-10-16","stream":true,`, "claude-opus-4-8", true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := startCloud(t, tc.prefix, tc.options)
			body := agentBody(tc.members, 40)
			r := c.request("POST", tc.path, body, "X-Oriel-Budget", "4000", "X-Oriel-Conversation", "harbour")
			r.Header.Del("Authorization")
			r.Header.Set(tc.header, tc.key)
			res, text := c.do(r)
			streamed := strings.Contains(text, "event: message_start")
			if res.Header.Get("Content-Type") == eventstream.MediaType {
				streamed, text = true, "The harbour" // in base64
			}
			if res.StatusCode != http.StatusOK || !strings.Contains(text, "The harbour") || streamed != tc.stream {
				t.Fatalf("%d %s", res.StatusCode, text)
			}
			c.mu.Lock()
			defer c.mu.Unlock()
			if len(c.got) != 1 || c.uris[0] != tc.uri || c.keys[0] != tc.key {
				t.Fatalf("asked %q with %q", c.uris, c.keys)
			}
			sent := string(c.got[0].Data())
			if len(sent) > len(body)/2 || !strings.HasPrefix(sent, "{"+tc.members) ||
				!strings.Contains(sent, "Where is the harbour?") || res.Header.Get("X-Oriel-Action") == "none" {
				t.Errorf("%s: sent %d of %d bytes: %.300s", res.Header.Get("X-Oriel-Action"), len(sent), len(body),
					sent)
			}
			if m := c.got[0].Body.Model; m != tc.model {
				t.Errorf("the model is asked for %q", m)
			}
			await(t, func() bool {
				all, err := c.engine.Conversations(t.Context())
				return err == nil && len(all) == 1
			})
		})
	}
}

// Converse is read, kept within the budget and recorded like Claude's own protocol there, and an
// error of Oriel's own has the form that AWS's SDKs read.
func TestConverse(t *testing.T) {
	for action, kind := range map[string]string{"converse": "application/json",
		"converse-stream": eventstream.MediaType} {
		c := startCloud(t, "", func(url string) proxy.Options { return proxy.Options{Bedrock: url} })
		var b strings.Builder
		b.WriteString(`{"toolConfig":{"tools":[{"toolSpec":{"name":"ls","inputSchema":{"json":{"type":"object"}}}}]},`)
		b.WriteString(`"messages":[{"role":"user","content":[{"text":"list all"}]}`)
		for i := range 40 {
			fmt.Fprintf(&b, `,{"role":"assistant","content":[{"toolUse":{"toolUseId":"t%d","name":"ls","input":{}}}]}`, i)
			fmt.Fprintf(&b, `,{"role":"user","content":[{"toolResult":{"toolUseId":"t%d","content":[{"text":%q}]}}]}`,
				i, strings.Repeat(fmt.Sprintf("file-%d ", i), 80))
		}
		b.WriteString(`,{"role":"assistant","content":[{"text":"so far"}]},`)
		b.WriteString(`{"role":"user","content":[{"text":"Where is the harbour?"},{"cachePoint":{"type":"default"}}]}]}`)
		path := "/model/us.anthropic.claude-opus-4-8-v1%3A0/" + action
		r := c.request("POST", path, b.String(), "X-Oriel-Budget", "4000", "X-Oriel-Conversation", "harbour")
		r.Header.Set("Authorization", "Bearer ABSK"+canary)
		res, text := c.do(r)
		if res.StatusCode != http.StatusOK || res.Header.Get("Content-Type") != kind ||
			!strings.Contains(text, "harbour") {
			t.Fatalf("%d %s", res.StatusCode, text)
		}
		c.mu.Lock()
		sent := string(c.got[0].Data())
		if c.uris[0] != path || c.keys[0] != "Bearer ABSK"+canary ||
			c.got[0].Model != "us.anthropic.claude-opus-4-8-v1:0" {
			t.Errorf("asked %q with %q", c.uris, c.keys)
		}
		if len(sent) > b.Len()/2 ||
			!strings.HasSuffix(sent, `Where is the harbour?"},{"cachePoint":{"type":"default"}}]}]}`) {
			t.Errorf("sent %d of %d bytes: %.300s", len(sent), b.Len(), sent)
		}
		c.mu.Unlock()
		await(t, func() bool {
			all, err := c.engine.Conversations(t.Context())
			return err == nil && len(all) == 1
		})

		r = c.request("POST", path, b.String())
		r.Header.Set("Authorization", "Bearer ABSK"+canary)
		c.upstream.Close()
		if res, text := c.do(r); res.StatusCode != http.StatusBadGateway ||
			!strings.HasPrefix(text, `{"__type":"ServiceUnavailableException","message":"oriel: `) {
			t.Errorf("%d %s", res.StatusCode, text)
		}
	}
}

// A signed request reaches its cloud byte for byte, whatever the budget, and the log says once why
// it is not read. Nothing else goes to Bedrock's own paths either way.
func TestSignedRequestsAreNeverEdited(t *testing.T) {
	const signature = "AWS4-HMAC-SHA256 Credential=AKIA/20261119/us-east-1/bedrock/aws4_request, Signature=00"
	type received struct{ uri, body, authorization string }
	var (
		mu  sync.Mutex // protects got
		got []received
	)
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if r.Method != http.MethodPost || strings.HasSuffix(r.URL.Path, "/api/show") {
			return // a question for a local model's window
		}
		mu.Lock()
		defer mu.Unlock()
		got = append(got, received{r.RequestURI, string(body), r.Header.Get("Authorization")})
		io.WriteString(w, "{}")
	}))
	defer up.Close()
	c := startCloud(t, "", func(string) proxy.Options {
		return proxy.Options{Anthropic: up.URL + "/anthropic", Bedrock: up.URL}
	})
	body := agentBody(`"model":"anthropic.claude-haiku-4-5",`, 40)
	for _, tc := range []struct{ path, uri, key string }{
		{"/v1/messages", "/anthropic/v1/messages", signature},
		{"/v1/messages", "/anthropic/v1/messages", signature},
		{"/v1/messages?X-Amz-Signature=00", "/anthropic/v1/messages?X-Amz-Signature=00", ""},
		{"/v1/messages/count_tokens", "/anthropic/v1/messages/count_tokens", signature},
		{"/model/anthropic.claude-haiku-4-5-v1%3A0/converse-stream",
			"/model/anthropic.claude-haiku-4-5-v1%3A0/converse-stream", signature},
		{"/model/m/invoke", "/model/m/invoke", signature},
		{"/model/m/invoke", "/model/m/invoke", "Bearer ABSK" + canary},
	} {
		r := c.request("POST", tc.path, body, "X-Oriel-Budget", "4000")
		r.Header.Set("User-Agent", "aws-sdk/3")
		if r.Header.Del("Authorization"); tc.key != "" {
			r.Header.Set("Authorization", tc.key)
		}
		res, text := c.do(r)
		mu.Lock()
		last := got[len(got)-1]
		if res.StatusCode != http.StatusOK || last != (received{tc.uri, body, tc.key}) {
			t.Errorf("%s: %d %s: got %s with %q, %d bytes of %d", tc.path, res.StatusCode, text, last.uri,
				last.authorization, len(last.body), len(body))
		}
		mu.Unlock()
	}
	var lines []string
	await(t, func() bool {
		lines = nil
		for _, u := range c.server.Unread(timeline.Local) {
			lines = append(lines, fmt.Sprintf("%d %s %s", u.Count, u.Path, u.Why))
		}
		return len(lines) == 4
	})
	const signed = "passed: its body is signed for AWS, which accepts no change; use a Bedrock API key to have it read"
	for i, want := range []string{"3 /v1/messages " + signed,
		"1 /model/anthropic.claude-haiku-4-5-v1%3A0/converse-stream " + signed,
		"1 /model/m/invoke " + signed, "1 /model/m/invoke passed: this API is not read"} {
		if lines[i] != want {
			t.Errorf("%d: %s, want %s", i, lines[i], want)
		}
	}
	if n := strings.Count(c.log.String(), "requests are not read"); n != 4 {
		t.Errorf("%d warnings for 4 kinds:\n%s", n, c.log)
	}
	if n := c.server.Counters().PassedSigned; n != 4 {
		t.Errorf("%d calls passed because they were signed", n)
	}
}
