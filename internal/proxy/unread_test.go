package proxy_test

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/oriel-context/oriel/internal/proxy"
	"github.com/oriel-context/oriel/timeline"
)

// Clients whose calls are upgraded, refused as such, or passed unread are named, with their
// paths, in a bounded list and once in the log. What is read, and what asks no model, is
// not among them.
func TestClientsThatAreNotReadAreNamed(t *testing.T) {
	const key = "sk-LEAK-7f3a91c0d2e4"
	s := startWith(t, &keeper{}, proxy.Options{BodyLimit: 1000, NoSockets: true},
		func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Upgrade") != "" {
				echo(t, "websocket")(w, r)
				return
			}
			io.WriteString(w, "{}")
		})
	ask := func(client, method, path, body string, header ...string) {
		t.Helper()
		r := s.request(method, path, body)
		r.Header.Set("User-Agent", client)
		r.Header.Set("Authorization", "Bearer "+key)
		for i := 0; i+1 < len(header); i += 2 {
			r.Header.Set(header[i], header[i+1])
		}
		res, err := s.client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		io.Copy(io.Discard, res.Body)
		res.Body.Close()
	}
	ask("reader/1", "POST", "/v1/chat/completions", "{}")
	ask("reader/1", "GET", "/v1/models", "")
	ask("reader/1", "POST", "/v1/embeddings", "{}")
	ask("reader/1", "POST", "/v1/messages/count_tokens", "{}")
	for range 2 {
		ask("gemini/7", "POST", "/v1internal:streamGenerateContent?alt=sse", "{}")
	}
	ask("gemini/7", "GET", "/v1beta/models", "")
	for range 3 {
		ask("large/2 (linux)", "POST", "/v1/messages", `{"a":"`+strings.Repeat("a", 2000)+`"}`)
	}
	for range 2 {
		ask("old/3", "POST", "/v1/completions/", "{}")
	}
	ask("socket/4", "GET", "/v1/responses", "", "Connection", "Upgrade", "Upgrade", "websocket")
	ask("by/5", "POST", "/v1/responses", "{}", "X-Oriel-Bypass", "1")
	ask(key, "POST", "/"+key+"/v1/completions", "{}")
	c := s.raw(strings.Replace(handshake, "Host: localhost", "Host: localhost\r\nUser-Agent: realtime/6", 1))
	if res, err := http.ReadResponse(bufio.NewReader(c), nil); err != nil || res.StatusCode != 101 {
		t.Fatal(res, err)
	}
	listed := func() (lines []string) {
		for _, u := range s.server.Unread(timeline.Local) {
			if u.Last.IsZero() {
				t.Errorf("%+v", u)
			}
			lines = append(lines, fmt.Sprintf("%d %s %s %s", u.Count, u.Client, u.Path, u.Why))
		}
		return lines
	}
	want := strings.Join([]string{
		"3 large/2 /v1/messages passed: body over the limit",
		"2 gemini/7 /v1internal:streamGenerateContent passed: this API is not read",
		"2 old/3 /v1/completions/ passed: this API is not read",
		"1 [not kept] /[not kept]/v1/completions passed: this API is not read",
		"1 by/5 /v1/responses passed: bypass asked for",
		"1 realtime/6 /v1/realtime became a WebSocket", "1 socket/4 /v1/responses refused: a call over WebSocket",
	}, "\n")
	got := ""
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("got\n%s\nwant\n%s", got, want)
		}
	})
	await(t, func() bool { // a request is counted after its answer
		got = strings.Join(listed(), "\n")
		return got == want
	})
	if n := strings.Count(s.log.String(), "requests are not read"); n != 6 {
		t.Errorf("%d warnings for 6 kinds", n)
	}
	if n := strings.Count(s.log.String(), "is told to use HTTP"); n != 1 {
		t.Errorf("%d lines for a refused WebSocket", n)
	}
	// Its client uses HTTP, as it was told; another path is not the same.
	ask("socket/4", "POST", "/v1/chat/completions", "{}")
	ask("socket/5", "POST", "/v1/responses", "{}")
	time.Sleep(10 * time.Millisecond)
	if got := strings.Join(listed(), "\n"); got != want {
		t.Errorf("another client or path: %s", got)
	}
	ask("socket/4", "POST", "/v1/responses", "{}")
	await(t, func() bool { return !strings.Contains(strings.Join(listed(), "\n"), "socket/4") })
	ask("socket/4", "GET", "/v1/responses", "", "Connection", "Upgrade", "Upgrade", "websocket")
	await(t, func() bool { return strings.Contains(strings.Join(listed(), "\n"), "2 socket/4") })
	ask("socket/4", "POST", "/v1/responses", "{}")
	await(t, func() bool { return !strings.Contains(strings.Join(listed(), "\n"), "socket/4") })
	for i := range 100 {
		ask(fmt.Sprint("client/", i), "POST", "/v1/completions", "{}")
	}
	await(t, func() bool { return listed()[0] == "91 others others not read" })
	if got := listed(); len(got) != 16 {
		t.Errorf("%d: %q", len(got), got)
	}
	if _, health := s.do(s.request("GET", "/oriel/healthz", "")); !strings.Contains(health, `"client":"large/2"`) ||
		!strings.Contains(health,
			`"status":"ok"`) {
		t.Error(health)
	}
	if strings.Contains(s.log.String(), "7f3a91") {
		t.Error("the key of a call is logged")
	}
}
