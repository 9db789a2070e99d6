package proxy_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/oriel-context/oriel/internal/proxy"
)

// A change holds for the next request; what runs goes on where it began, and what cannot
// be changes nothing.
func TestChangesHoldForTheNextRequest(t *testing.T) {
	begun, goOn := make(chan struct{}), make(chan struct{})
	s := start(t, proxy.Options{Tokens: map[string]string{"first": "a"}}, func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		io.WriteString(w, "old ")
		if r.Header.Get("Slow") != "" {
			w.(http.Flusher).Flush()
			close(begun)
			<-goOn
		}
		io.WriteString(w, "end")
	})
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter,
		r *http.Request) {
		io.WriteString(w, "new")
	}))
	defer other.Close()

	answer := make(chan string, 1)
	slow := s.request("POST", "/v1/chat/completions", "{}", "X-Oriel-Token", "first", "Slow", "1")
	go func() {
		res, err := s.client.Do(slow)
		if err != nil {
			answer <- err.Error()
			return
		}
		defer res.Body.Close()
		body, err := io.ReadAll(res.Body)
		if err != nil {
			answer <- err.Error()
			return
		}
		answer <- string(body)
	}()
	<-begun
	changed := proxy.Options{OpenAI: other.URL, Anthropic: other.URL, Tokens: map[string]string{"second": "a"}}
	if err := s.server.Change(changed); err != nil {
		t.Fatal(err)
	}
	if res, _ := s.post("/v1/chat/completions", "{}", "X-Oriel-Token",
		"first"); res.StatusCode != http.StatusUnauthorized {
		t.Error(res.Status)
	}
	for name, o := range map[string]proxy.Options{
		"this proxy itself": {OpenAI: s.url, Tokens: changed.Tokens},
		"not http":          {OpenAI: "ftp://x", Tokens: changed.Tokens},
		"invalid origin":    {Origins: []string{"x"}, Tokens: changed.Tokens},
	} {
		if err := s.server.Change(o); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, body := s.post("/v1/chat/completions", "{}", "X-Oriel-Token", "second"); body != "new" {
		t.Error(body)
	}
	close(goOn)
	if got := <-answer; got != "old end" {
		t.Errorf("what ran: %q", got)
	}
}

func TestTheTokenStaysWhereOthersReachTheProxy(t *testing.T) {
	s, err := proxy.New(proxy.Options{Listen: "0.0.0.0:0", Tokens: map[string]string{"first-0123456789": "a"}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.Change(proxy.Options{}); err == nil || !strings.Contains(err.Error(), "a token is needed") {
		t.Error(err)
	}
	if err := s.Change(proxy.Options{Tokens: map[string]string{"fifteen-letters": "a"}}); err == nil ||
		!strings.Contains(err.Error(), "this one has 15 characters, give at least 16") {
		t.Error(err)
	}
}
