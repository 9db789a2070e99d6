package proxy_test

import (
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/oriel-context/oriel/internal/proxy"
)

// Oriel's own paths hold at most half of the memory, a tenant of several a quarter, and the
// rest is left to calls.
func TestOwnPathsLeaveMemoryToCalls(t *testing.T) {
	const limit = 64 << 20
	m := proxy.MemoriesForTest(limit, "ann", "bob", "bob")
	proxy.OwnForTest(m[0], m[1])
	if m[0].Take(limit/4+1) || !m[0].Take(limit/4) || m[0].Take(1) {
		t.Error("ann holds more or less than a quarter")
	}
	if !m[1].Take(limit/4) || m[1].Take(1) {
		t.Error("bob holds more or less than a quarter")
	}
	if !m[2].Take(limit / 4) {
		t.Error("no memory is left for bob's call")
	}
	m[0].LetGo()
	m[1].LetGo()
	alone := proxy.MemoriesForTest(limit, "local")
	proxy.OwnForTest(alone[0])
	if alone[0].Take(limit/2+1) || !alone[0].Take(limit/2) {
		t.Error("the only tenant holds more or less than half")
	}
}

// Nobody holds a connection by a body that does not come, with a token or without one.
func TestUnfinishedBodiesOfOwnPathsEnd(t *testing.T) {
	console := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.Copy(io.Discard, r.Body) })
	s := start(t, proxy.Options{
		BodyTimeout: 20 * time.Millisecond, Tokens: map[string]string{"token-of-ann-0123456789": "ann"},
		Console: console,
	}, nil)
	for _, line := range []string{
		"POST /oriel/session", "POST /oriel/api/recall", "POST /oriel/mcp", "GET /oriel/healthz", "GET /oriel/",
		"POST /v1/chat/completions",
	} {
		for _, header := range []string{"", "X-Oriel-Token: token-of-ann-0123456789\r\n"} {
			if header != "" && line == "POST /v1/chat/completions" {
				continue
			}
			c := s.raw(line + " HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n" + header +
				"Content-Length: 1000\r\n\r\n{")
			if _, err := io.Copy(io.Discard, c); err != nil {
				t.Errorf("%s %s: %v", line, header, err)
			}
			c.Close()
		}
	}
}

// Nor by one that does not come after the provider has answered.
func TestUnfinishedBodiesEndBehindAnEarlyAnswer(t *testing.T) {
	s := start(t, proxy.Options{BodyTimeout: 300 * time.Millisecond, IdleTimeout: time.Millisecond},
		func(w http.ResponseWriter, r *http.Request) {
			http.NewResponseController(w).EnableFullDuplex()
			w.Header().Set("Content-Length", "2") // so that all of the answer is there
			io.WriteString(w, "no")
			http.NewResponseController(w).Flush()
		})
	var clients sync.WaitGroup
	for range 10 {
		for _, method := range []string{"GET", "DELETE", "POST"} {
			clients.Go(func() {
				c := s.raw(method + " /v1/files HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 100000\r\n\r\n" +
					strings.Repeat(" ", 50000))
				defer c.Close()
				if _, err := io.Copy(io.Discard, c); err != nil {
					t.Errorf("%s: %v", method, err)
				}
			})
		}
	}
	clients.Wait()
}

// Strangers' connections do not keep out whoever has a token: when there are too many, those
// that wait longest are closed, and none whose call is served.
func TestConnectionsOfStrangersAreClosed(t *testing.T) {
	const most = 8
	began, answer := make(chan struct{}, 2), make(chan struct{})
	s := start(t, proxy.Options{Tokens: map[string]string{"token-of-ann-0123456789": "ann"}, HeaderTimeout: time.Hour},
		func(w http.ResponseWriter, r *http.Request) {
			began <- struct{}{}
			<-answer
		})
	s.server.LimitConnections(most)
	call := func() chan int {
		status := make(chan int, 1)
		go func() {
			res, _ := s.post("/v1/messages", "{}", "X-Oriel-Token", "token-of-ann-0123456789")
			status <- res.StatusCode
		}()
		<-began
		return status
	}
	first := call()
	var strangers []io.ReadCloser
	for i := range 3 * most {
		line := ""
		if i%2 == 0 {
			line = "GET /oriel/healthz HTTP/1.1\r\nHost:"
		}
		c := s.raw(line)
		defer c.Close()
		strangers = append(strangers, c)
	}
	for _, c := range strangers[:2*most] {
		if b, _ := io.ReadAll(c); len(b) > 0 {
			t.Errorf("a stranger reads %q", b)
		}
	}
	second := call()
	close(answer)
	if a, b := <-first, <-second; a != 200 || b != 200 {
		t.Error(a, b)
	}
}

// Of several tenants none has more requests open than are left to others: calls, requests to
// Oriel's own paths, connections of another protocol. One alone may have all.
func TestATenantLeavesConnectionsToOthers(t *testing.T) {
	const most = 8
	const first, second = "token-of-the-first-0123456789", "token-of-the-second-0123456789"
	for _, head := range []string{
		"GET /v1/models HTTP/1.1\r\n", "GET /oriel/api/events HTTP/1.1\r\n",
		"GET /v1/realtime HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n",
	} {
		for _, owner := range []string{"bob", "ann"} { // of the second token
			served, end := make(chan struct{}), make(chan struct{})
			wait := func(w http.ResponseWriter, r *http.Request) {
				if r.Header.Get("Upgrade") != "" {
					c, _, err := w.(http.Hijacker).Hijack()
					if err != nil {
						t.Error(err)
						return
					}
					defer c.Close()
					io.WriteString(c,
						"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
				} else {
					served <- struct{}{}
				}
				<-end
			}
			s := start(t, proxy.Options{Tokens: map[string]string{first: "ann", second: owner},
				Console: http.HandlerFunc(wait)}, wait)
			s.server.LimitConnections(most)
			// ask returns the beginning of an answer, or "served".
			ask := func(token string) string {
				c := s.raw(head + "Host: 127.0.0.1\r\nX-Oriel-Token: " + token + "\r\n\r\n")
				answer := make(chan string, 1)
				go func() {
					line := make([]byte, len("HTTP/1.1 429"))
					n, _ := io.ReadFull(c, line)
					answer <- string(line[:n])
				}()
				select {
				case <-served:
					return "served"
				case line := <-answer:
					return strings.Replace(line, "HTTP/1.1 101", "served", 1)
				}
			}
			got := "served"
			for n := 0; n < most && got == "served"; n++ {
				got = ask(first)
			}
			if want := map[string]string{"ann": "served", "bob": "HTTP/1.1 429"}[owner]; got != want {
				t.Errorf("%s: the last of %d requests is answered %q", head, most, got)
			}
			if got := ask(second); owner == "bob" && got != "served" {
				t.Errorf("%s: another tenant is answered %q", head, got)
			}
			close(end)
			s.close()
			s.done = nil
		}
	}
}

// A refused request with many credentials is logged without a search for them.
func TestRefusedRequestsWithManyCredentials(t *testing.T) {
	s := start(t, proxy.Options{Tokens: map[string]string{"token-of-ann-0123456789": "ann"}}, nil)
	for _, tc := range []struct {
		size int
		path string
	}{{100, "path=/v1/models"}, {100_000, `path="[not kept]"`}} {
		if res, _ := s.do(s.request("GET", "/v1/models", "", "Cookie",
			strings.Repeat("a=12345678;", tc.size/11))); res.StatusCode != 401 {
			t.Error(res.Status)
		}
		if !strings.Contains(s.log.String(), tc.path) {
			t.Errorf("%d bytes: %s", tc.size, s.log)
		}
	}
}
