//go:build unix

package main

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/oriel-context/oriel/internal/test/fakemodel"
)

// A server has metrics of its calls behind the same token as its other paths.
func TestServeHasMetrics(t *testing.T) {
	provider := httptest.NewServer(&fakemodel.Server{Answer: func(*fakemodel.Request) fakemodel.Answer {
		return fakemodel.Answer{Text: "Well.", Input: 10, Output: 5}
	}})
	defer provider.Close()
	const secret = "a-token-of-our-own"
	t.Setenv("ORIEL_TOKEN", secret)
	s := startServe(t, "--data", t.TempDir(), "--upstream-openai", provider.URL)
	defer s.end(t)
	base := strings.TrimSuffix(s.anthropic, "/k/$ORIEL_TOKEN")
	get := func(method, token string) (int, string) {
		r, err := http.NewRequestWithContext(t.Context(), method, base+"/oriel/metrics", nil)
		if err != nil {
			t.Fatal(err)
		}
		if token != "" {
			r.Header.Set("Authorization", "Bearer "+token)
		}
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		text, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		return res.StatusCode, string(text)
	}
	if code, _ := get(http.MethodGet, ""); code != http.StatusUnauthorized {
		t.Errorf("without a token: %d", code)
	}
	if code, _ := get(http.MethodPost, secret); code != http.StatusMethodNotAllowed {
		t.Errorf("POST: %d", code)
	}
	call, err := http.NewRequestWithContext(t.Context(), http.MethodPost, base+"/v1/chat/completions",
		strings.NewReader(`{"model":"gpt-4o","messages":[{"role":"user","content":"Hello."}]}`))
	if err != nil {
		t.Fatal(err)
	}
	call.Header.Set("X-Oriel-Token", secret)
	res, err := http.DefaultClient.Do(call)
	if err != nil {
		t.Fatal(err)
	}
	io.Copy(io.Discard, res.Body)
	res.Body.Close()
	for {
		code, text := get(http.MethodGet, secret)
		if code != http.StatusOK {
			t.Fatalf("%d: %s", code, text)
		}
		if strings.Contains(text, `oriel_calls_total{model="gpt-4o",result="ok"} 1`) {
			for _, name := range []string{"oriel_store_bytes ", "oriel_queue_calls ",
				`oriel_requests_total{kind="call"} 1`, `oriel_build_info{go_version="go1.`,
				"process_cpu_seconds_total"} {
				if !strings.Contains(text, name) {
					t.Errorf("%s is missing", name)
				}
			}
			if strings.Contains(text, secret) || strings.Contains(text, "oriel_store_bytes 0\n") {
				t.Error("a secret, or a history without a size")
			}
			return
		}
		if t.Context().Err() != nil {
			t.Fatal(t.Context().Err())
		}
	}
}

// A server exports traces if the standard variables ask for it, and the last spans before
// it ends.
func TestServeExportsTraces(t *testing.T) {
	var spans atomic.Int64
	collector := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		spans.Add(int64(bytes.Count(body, []byte("oriel.stage"))))
	}))
	defer collector.Close()
	provider := httptest.NewServer(
		&fakemodel.Server{Answer: func(*fakemodel.Request) fakemodel.Answer {
			return fakemodel.Answer{Text: "Well.",
				Input: 10}
		}})
	defer provider.Close()
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.URL)
	s := startServe(t, "--data", t.TempDir(), "--upstream-openai", provider.URL)
	res, err := http.Post(s.openAI+"/chat/completions", "application/json",
		strings.NewReader(`{"model":"gpt-4o","messages":[{"role":"user","content":"Hello."}]}`))
	if err != nil {
		t.Fatal(err)
	}
	io.Copy(io.Discard, res.Body)
	res.Body.Close()
	s.end(t)
	if n := spans.Load(); n < 5 {
		t.Errorf("%d spans of stages", n)
	}
}

// Variables that are meant for another program, or wrong, stop nothing.
func TestServeGoesOnWithoutTraces(t *testing.T) {
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:4317")
	t.Setenv("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")
	s := startServe(t, "--data", t.TempDir())
	s.end(t)
	if text := s.errors.String(); !strings.Contains(text, "calls are not traced") ||
		!strings.Contains(text, "OTEL_EXPORTER_OTLP_PROTOCOL") {
		t.Error(text)
	}
}

// A running server measures the windows of calls with something left out.
func TestServeMeasuresQuality(t *testing.T) {
	s, client := serveCut(t)
	defer s.end(t)
	for {
		res, err := http.Get(client.base + "/oriel/metrics")
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(res.Body)
		res.Body.Close()
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(text), "oriel_cache_readable_tokens_total 0\n") &&
			!strings.Contains(string(text), "oriel_measured_calls_total 0\n") &&
			!strings.Contains(string(text), "oriel_window_bytes_total 0\n") {
			return
		}
		select {
		case <-time.After(5 * time.Millisecond):
		case <-t.Context().Done():
			t.Fatal(t.Context().Err())
		}
	}
}
