package proxy_test

import (
	"bufio"
	"net/http"
	"strings"
	"testing"

	"github.com/oriel-context/oriel/internal/proxy"
)

// Where requests go: the base URL of an upstream is what the vendor's SDK takes.
func TestRoutes(t *testing.T) {
	const (
		openAI    = "https://o"
		openAIv1  = "https://o/v1"
		router    = "https://o/api/v1"
		azure     = "https://o/openai/deployments/g?api-version=1"
		anthropic = "https://a"
		deepseek  = "https://a/anthropic/"
		routerA   = "https://a/api/v1"
	)
	for _, tc := range []struct {
		openAI, anthropic, line, header string
		want, format                    string
	}{
		{openAI, anthropic, "POST /v1/chat/completions", "", "https://o/v1/chat/completions", "openai"},
		{openAIv1, anthropic, "POST /v1/chat/completions", "", "https://o/v1/chat/completions", "openai"},
		{openAIv1, anthropic, "POST /chat/completions?a=b", "", "https://o/v1/chat/completions?a=b", "openai"},
		{openAI, anthropic, "POST /responses", "", "https://o/v1/responses", "responses"},
		{router, anthropic, "POST /v1/responses", "", "https://o/api/v1/responses", "responses"},
		{router, anthropic, "POST /api/v1/chat/completions", "", "https://o/api/v1/chat/completions", "openai"},
		{openAI, anthropic, "POST /api/v1/chat/completions", "", "https://o/api/v1/chat/completions", "openai"},
		{azure, anthropic, "POST /v1/chat/completions?x=%20", "",
			"https://o/openai/deployments/g/chat/completions?api-version=1&x=%20", "openai"},
		{openAI, anthropic, "POST /openai/deployments/g/chat/completions?api-version=2", "",
			"https://o/openai/deployments/g/chat/completions?api-version=2", "openai"},
		{openAI, anthropic, "POST /openai/responses", "", "https://o/openai/responses", "responses"},
		{openAI, anthropic, "POST /v1/messages?beta=true", "", "https://a/v1/messages?beta=true", "anthropic"},
		{openAI, anthropic, "POST /messages", "", "https://a/v1/messages", "anthropic"},
		{openAI, deepseek, "POST /v1/messages", "", "https://a/anthropic/v1/messages", "anthropic"},
		{openAI, routerA, "POST /v1/messages", "", "https://a/api/v1/messages", "anthropic"},
		{openAI, anthropic, "POST /backend-api/codex/responses", "", "https://c/backend-api/codex/responses",
			"responses"},
		{openAI, anthropic, "GET /backend-api/wham/usage?x=1", "", "https://c/backend-api/wham/usage?x=1", "auto"},
		{"https://o/backend-api/codex", anthropic, "POST /backend-api/codex/responses", "",
			"https://o/backend-api/codex/responses", "responses"},
		// not calls
		{openAI, anthropic, "GET /v1/messages", "", "https://a/v1/messages", "auto"},
		{openAI, anthropic, "POST /v1/messages/count_tokens", "", "https://a/v1/messages/count_tokens", "auto"},
		{openAI, anthropic, "POST /v1/threads/t/messages", "", "https://o/v1/threads/t/messages", "auto"},
		{openAI, anthropic, "GET /v1/responses/r", "", "https://o/v1/responses/r", "auto"},
		{openAIv1, anthropic, "POST /v1/embeddings", "", "https://o/v1/embeddings", "auto"},
		{openAI, anthropic, "GET /v1", "", "https://o/v1", "auto"},
		{openAI, anthropic, "HEAD /", "", "https://a/", "auto"},
		{openAI, anthropic, "GET /", "Authorization: Bearer sk-key", "https://o/", "auto"},
		// both have these: the headers decide
		{openAI, anthropic, "GET /v1/models", "", "https://o/v1/models", "auto"},
		{openAI, anthropic, "GET /models", "anthropic-version: 1", "https://a/v1/models", "auto"},
		{openAI, anthropic, "GET /v1/models", "x-api-key: k", "https://a/v1/models", "auto"},
		{openAI, anthropic, "GET /v1/files", "Authorization: Bearer sk-ant-1", "https://a/v1/files", "auto"},
		// a key that says whose it is goes nowhere else
		{openAI, anthropic, "POST /v1/chat/completions", "Authorization: Bearer sk-ant-1",
			"https://a/v1/chat/completions", "openai"},
		{openAI, anthropic, "POST /chat/completions", "authorization: bearer  sk-ant-1",
			"https://a/v1/chat/completions", "openai"},
		{openAI, anthropic, "POST /v1/responses", "X-Api-Key: sk-ant-1", "https://a/v1/responses", "responses"},
		{openAI, routerA, "POST /v1/chat/completions", "Authorization: Bearer sk-ant-1",
			"https://a/api/v1/chat/completions", "openai"},
		{openAI, anthropic, "POST /v1/chat/completions", "Authorization: Bearer sk-proj-1",
			"https://o/v1/chat/completions", "openai"},
		{openAI, anthropic, "POST /v1/chat/completions", "X-Api-Key: k", "https://o/v1/chat/completions", "openai"},
		// others do not say it: the path decides
		{openAI, anthropic, "POST /v1/messages", "Authorization: Bearer sk-proj-1", "https://a/v1/messages",
			"anthropic"},
		// as written
		{openAI, anthropic, "GET /v1/files/a%2Fb%7c", "", "https://o/v1/files/a%2Fb%7c", "auto"},
		{openAI, anthropic, "GET /v1/files/a|b?", "", "https://o/v1/files/a|b?", "auto"},
		{openAI, anthropic, "GET /v1/../x", "", "https://o/v1/../x", "auto"},
		// Google and Ollama: what comes before the version is the upstream's
		{openAI, anthropic, "GET /v1beta/models/g", "", "https://g/v1beta/models/g", "auto"},
		{openAI, anthropic, "POST /v1beta/models/g:generateContent?key=k", "",
			"https://g/v1beta/models/g:generateContent?key=k", "gemini"},
		{openAI, anthropic, "POST /v1/models/g:streamGenerateContent?alt=sse", "",
			"https://g/v1/models/g:streamGenerateContent?alt=sse", "gemini"},
		{openAI, anthropic, "POST /v1beta/tunedModels/t%3AgenerateContent", "",
			"https://g/v1beta/tunedModels/t%3AgenerateContent", "gemini"},
		{openAI, anthropic, "POST /v1/projects/p/locations/l/publishers/google/models/g:generateContent", "",
			"https://g/v1/projects/p/locations/l/publishers/google/models/g:generateContent", "gemini"},
		{openAI, anthropic, "POST /v1/projects/p/locations/l/publishers/anthropic/models/c:rawPredict", "",
			"https://g/v1/projects/p/locations/l/publishers/anthropic/models/c:rawPredict", "anthropic"},
		{openAI, anthropic, "POST /projects/p/locations/l/publishers/anthropic/models/c%4020251101:streamRawPredict",
			"",
			"https://g/v1/projects/p/locations/l/publishers/anthropic/models/c%4020251101:streamRawPredict",
			"anthropic"},
		{openAI, anthropic, "POST /v1/projects/p/locations/l/publishers/anthropic/models/count-tokens:rawPredict", "",
			"https://g/v1/projects/p/locations/l/publishers/anthropic/models/count-tokens:rawPredict", "auto"},
		{openAI, anthropic, "POST /v1/projects/p/locations/l/publishers/mistralai/models/m:rawPredict", "",
			"https://g/v1/projects/p/locations/l/publishers/mistralai/models/m:rawPredict", "auto"},
		{openAI, anthropic, "POST /v1beta/models/g:countTokens", "", "https://g/v1beta/models/g:countTokens", "auto"},
		{openAI, anthropic, "POST /v1beta/interactions", "", "https://g/v1beta/interactions", "interactions"},
		{openAI, anthropic, "POST /v1/interactions", "", "https://g/v1/interactions", "interactions"},
		{openAI, anthropic, "POST /v1beta1/projects/p/locations/l/interactions", "",
			"https://g/v1beta1/projects/p/locations/l/interactions", "interactions"},
		{openAI, anthropic, "POST /v1beta/interactions/i/cancel", "", "https://g/v1beta/interactions/i/cancel", "auto"},
		{openAI, anthropic, "POST /v1internal:generateContent", "", "https://g/v1internal:generateContent", "auto"},
		{openAI, anthropic, "GET /v1beta/models/g:generateContent", "", "https://g/v1beta/models/g:generateContent",
			"auto"},
		{openAI, anthropic, "GET /v1/models/g", "x-goog-api-key: k", "https://g/v1/models/g", "auto"},
		{openAI, anthropic, "GET /v1/models?key=AIzaX", "", "https://g/v1/models?key=AIzaX", "auto"},
		{openAI, anthropic, "GET /v1/models?key=X", "", "https://o/v1/models?key=X", "auto"},
		{openAI, anthropic, "POST /upload/v1beta/files", "", "https://g/upload/v1beta/files", "auto"},
		{openAI, anthropic, "GET /ws/google.ai.generativelanguage.v1beta.GenerativeService.BidiGenerateContent", "",
			"https://g/ws/google.ai.generativelanguage.v1beta.GenerativeService.BidiGenerateContent", "auto"},
		{openAI, anthropic, "GET /api/tags", "", "http://l/gw/api/tags", "auto"},
		{openAI, anthropic, "GET /gw/api/tags", "", "http://l/gw/api/tags", "auto"},
		{openAI, anthropic, "POST /api/show", "Authorization: Bearer sk-ant-1", "http://l/gw/api/show", "auto"},
		{"https://o/api", anthropic, "GET /api/tags", "", "https://o/api/tags", "auto"},
	} {
		r := readRequest(t, tc.line, tc.header)
		uri, format, _, _, own, err := proxy.RouteForTest(tc.openAI, tc.anthropic, r)
		if err != nil || uri != tc.want || format != tc.format || own {
			t.Errorf("%s to %s %s: %s %s own=%v %v; want %s %s", tc.line, tc.openAI, tc.anthropic, uri, format, own,
				err, tc.want, tc.format)
		}
	}
}

func readRequest(t *testing.T, line, header string) *http.Request {
	t.Helper()
	if header != "" {
		header += "\r\n"
	}
	r, err := http.ReadRequest(bufio.NewReader(strings.NewReader(line + " HTTP/1.1\r\nHost: localhost\r\n" + header +
		"\r\n")))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestPrefixes(t *testing.T) {
	for _, tc := range []struct {
		path, uri, token, profile string
		own                       bool
	}{
		{"/k/t/v1/messages", "https://a/v1/messages", "t", "", false},
		{"/p/deep/v1/messages", "https://a/v1/messages", "", "deep", false},
		{"/k/t/p/deep/v1/messages", "https://a/v1/messages", "t", "deep", false},
		{"/p/deep/k/t/v1/messages", "https://a/v1/messages", "t", "deep", false},
		{"/k/a%2Fb%20c/v1/messages", "https://a/v1/messages", "a/b c", "", false},
		{"/k/t/oriel/healthz", "", "t", "", true},
		{"/k/t/k/u/x", "https://o/k/u/x", "t", "", false},
		{"/k//x", "https://o/k//x", "", "", false},
		{"/oriel", "", "", "", true},
		{"/oriels", "https://o/oriels", "", "", false},
	} {
		uri, _, token, profile, own, err := proxy.RouteForTest("https://o", "https://a",
			readRequest(t, "POST "+tc.path, ""))
		if err != nil || own != tc.own || !own && uri != tc.uri || token != tc.token || profile != tc.profile {
			t.Errorf("%s: %s %q %q %v %v", tc.path, uri, token, profile, own, err)
		}
	}
}

// Whatever the path, a request goes to a provider and nowhere else, with the path that
// came at its end.
func FuzzRoute(f *testing.F) {
	for _, path := range []string{"/v1/messages", "//evil.example/x", "/k/t/p/x/v1/responses?a", "*",
		"http://evil.example/x", "/v1/a|b%2F", "/k/%/x", "/@evil.example", "/\\evil", "/v1", "?"} {
		f.Add("POST", path)
	}
	for _, path := range []string{"/v1beta/x", "/gw/api/tags", "/api/tags", "/g/v1beta/models"} {
		f.Add("POST", path)
	}
	f.Fuzz(func(t *testing.T, method, path string) {
		r, err := http.ReadRequest(bufio.NewReader(strings.NewReader(method + " " + path +
			" HTTP/1.1\r\nHost: localhost\r\n\r\n")))
		if err != nil || method == http.MethodConnect {
			t.Skip()
		}
		uri, _, token, _, own, err := proxy.RouteForTest("https://o/x/v1", "https://a", r)
		if err != nil {
			t.Fatal(err)
		}
		rest, ok := strings.CutPrefix(uri, "https://o")
		if !ok {
			rest, ok = strings.CutPrefix(uri, "https://a")
		}
		if !ok {
			rest, ok = strings.CutPrefix(uri, "https://g")
		}
		if !ok {
			rest, ok = strings.CutPrefix(uri, "http://l")
		}
		if !ok || !strings.HasPrefix(rest, "/") {
			t.Fatalf("%q goes to %q", path, uri)
		}
		sent := strings.TrimPrefix(r.URL.RawPath, "/v1")
		if r.URL.RawPath == "" {
			sent = strings.TrimPrefix(r.URL.EscapedPath(), "/v1")
		}
		if got, _, _ := strings.Cut(rest, "?"); token == "" && !own && !strings.HasPrefix(sent, "/p/") &&
			!strings.HasPrefix(sent, "/k/") && !strings.HasSuffix(got, sent) && !strings.HasPrefix(got, "//") {
			t.Fatalf("%q goes to %q", path, uri)
		}
	})
}
