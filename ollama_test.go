package oriel_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/oriel-context/oriel"
	"github.com/oriel-context/oriel/internal/proxy"
)

// ollama is a server that drops what exceeds its window from the front and says nothing, as
// Ollama does. It counts a token for four bytes.
type ollama struct {
	mu sync.Mutex // guards all

	window, cut, most, calls int
	models                   string // the answer of /api/ps
}

func (o *ollama) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch r.URL.Path {
	case "/api/show":
		io.WriteString(w, `{"model_info":{"q.context_length":40960}}`)
	case "/api/ps":
		io.WriteString(w, o.models)
	case "/api/chat":
		var body struct {
			Options struct {
				NumCtx int `json:"num_ctx"`
			}
			Messages []struct{ Content string }
		}
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			http.Error(w, `{"error":"not a request"}`, http.StatusBadRequest)
			return
		}
		tokens, window := 0, o.window
		for _, m := range body.Messages {
			tokens += len(m.Content)/4 + 4
		}
		if body.Options.NumCtx > 0 {
			window = body.Options.NumCtx
		}
		o.calls++
		o.most = max(o.most, tokens)
		if tokens >= window {
			o.cut++
		}
		o.models = fmt.Sprintf(`{"models":[{"name":"q:latest","model":"q:latest","context_length":%d}]}`, window)
		w.Header().Set("Content-Type", "application/x-ndjson")
		fmt.Fprintf(w, `{"model":"q","message":{"role":"assistant","content":"Noted."},"done":false}`+"\n"+
			`{"model":"q","message":{"role":"assistant","content":""},"done":true,"done_reason":"stop","prompt_eval_count":%d,"eval_count":2}`+"\n",
			min(tokens, window))
	default:
		http.NotFound(w, r)
	}
}

// With Oriel in front Ollama cuts nothing silently: a conversation that grows far beyond the
// window is within it at every call, whether the request asks for the window or the server has
// it. Without Oriel the same conversation is cut. SPEC B1, E1
func TestOllamaCutsNothingBehindOriel(t *testing.T) {
	for _, c := range []struct {
		name    string
		options string
		window  int
		through bool
	}{
		{"a window of the request", `"options":{"num_ctx":6000},`, 4096, true},
		{"the server's default", "", 4096, true},
		{"a larger one of the server's", "", 16384, true},
		{"without Oriel", "", 4096, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			server := &ollama{window: c.window, models: `{"models":[]}`}
			upstream := httptest.NewServer(server)
			defer upstream.Close()
			at := upstream.URL
			if c.through {
				at = behindOriel(t, upstream.URL)
			}
			var talk []string
			for turn := range 40 {
				talk = append(talk, fmt.Sprintf(`{"role":"user","content":"Turn %d. %s"}`, turn,
					strings.Repeat(fmt.Sprintf("ship %d lies at pier %d; ", turn, 7*turn), 100)))
				res, answer := post(t, http.DefaultClient, at+"/api/chat",
					`{"model":"q",`+c.options+`"messages":[`+strings.Join(talk, ",")+`]}`)
				if res.StatusCode != 200 || !strings.Contains(answer, "Noted.") {
					t.Fatalf("%s: %s", res.Status, answer)
				}
				talk = append(talk, `{"role":"assistant","content":"Noted."}`)
			}
			server.mu.Lock()
			defer server.mu.Unlock()
			if server.calls != 40 || server.cut > 0 == c.through {
				t.Errorf("%d of %d calls were cut; the largest had %d tokens", server.cut, server.calls, server.most)
			}
		})
	}
}

// behindOriel starts a proxy in front of an Ollama and returns its base URL.
func behindOriel(t *testing.T, upstream string) string {
	t.Helper()
	engine, err := oriel.Open(t.Context(), oriel.Config{NoEmbed: true})
	if err != nil {
		t.Fatal(err)
	}
	s, err := proxy.New(proxy.Options{Ollama: upstream, Engine: engine, ReplyTimeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- s.Serve(ctx, l) }()
	t.Cleanup(func() { stop(); <-done; engine.Close() })
	return "http://" + l.Addr().String()
}
