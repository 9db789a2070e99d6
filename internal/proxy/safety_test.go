package proxy_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/oriel-context/oriel/internal/proxy"
	"github.com/oriel-context/oriel/timeline"
)

func TestListeningElsewhereWantsAToken(t *testing.T) {
	for address, fine := range map[string]bool{
		"": true, "127.0.0.1:1": true, "127.9.9.9:1": true, "[::1]:1": true, "localhost:1": true,
		"0.0.0.0:1": false, ":1": false, "[::]:1": false, "192.168.1.5:1": false,
	} {
		_, err := proxy.New(proxy.Options{Listen: address})
		if fine != (err == nil) || !fine && !errors.Is(err, proxy.ErrToken) {
			t.Errorf("%s: %v", address, err)
		}
		if !fine && !strings.Contains(err.Error(), "ORIEL_TOKEN") {
			t.Errorf("%s: does not say what to do: %v", address, err)
		}
		if _, err := proxy.New(proxy.Options{Listen: address,
			Tokens: map[string]string{"0123456789abcdef": "ann"}}); err != nil {
			t.Errorf("%s with a token: %v", address, err)
		}
	}
	if _, err := proxy.New(proxy.Options{Listen: "nonsense"}); err == nil {
		t.Error("nonsense: no error")
	}
	// The listener is looked at, too.
	s, err := proxy.New(proxy.Options{})
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "0.0.0.0:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Serve(t.Context(), l); !errors.Is(err, proxy.ErrToken) {
		t.Error(err)
	}
}

func TestUpstreamsAreChecked(t *testing.T) {
	for _, bad := range []string{"api.openai.com", "ftp://x", "http://", "https://user:secret@x", "http://x/#a",
		"http://a b"} {
		if _, err := proxy.New(proxy.Options{OpenAI: bad}); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", bad, err)
		}
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s, err := proxy.New(proxy.Options{Anthropic: fmt.Sprintf("http://localhost:%d", l.Addr().(*net.TCPAddr).Port)})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Serve(t.Context(), l); err == nil || !strings.Contains(err.Error(), "itself") {
		t.Error(err)
	}
}

func TestHostsOfOthersAreRefused(t *testing.T) {
	calls := 0
	s := start(t, proxy.Options{}, func(w http.ResponseWriter, r *http.Request) { calls++ })
	for host, fine := range map[string]bool{
		"localhost": true, "LOCALHOST.:99": true, "127.0.0.1:8780": true, "127.3.2.1": true, "[::1]:5": true,
		"[::1]": true, "[::ffff:127.0.0.1]:1": true,
		"evil.example": false, "evil.example:8780": false, "localhost.evil.example": false, "10.0.0.1": false,
		"127.0.0.1.nip.io": false, "[::2]": false,
	} {
		for _, path := range []string{"/v1/models", "/oriel/healthz"} {
			r := s.request("GET", path, "")
			r.Host = host
			res, body := s.do(r)
			if fine && res.StatusCode != 200 ||
				!fine && (res.StatusCode != 403 || !strings.Contains(body, "127.0.0.1")) {
				t.Errorf("%s%s: %d %s", host, path, res.StatusCode, body)
			}
		}
	}
	if calls != 7 {
		t.Errorf("%d calls upstream", calls)
	}
	c := s.raw("GET http://evil.example/x HTTP/1.1\r\nHost: localhost\r\n\r\n")
	if res, err := http.ReadResponse(bufio.NewReader(c), nil); err != nil || res.StatusCode != 403 {
		t.Error(res, err)
	}
	c = s.raw("CONNECT localhost:443 HTTP/1.1\r\nHost: localhost:443\r\n\r\n")
	if res, err := http.ReadResponse(bufio.NewReader(c), nil); err != nil || res.StatusCode != 405 {
		t.Error(res, err)
	}
}

func TestTokens(t *testing.T) {
	k := &keeper{}
	var got seen
	s := startWith(t, k, proxy.Options{Listen: "0.0.0.0:0", Tokens: map[string]string{"tok-canary-0000-1": "ann",
		"tok-canary-0000-2": "bob"}}, func(w http.ResponseWriter, r *http.Request) { got = see(r) })
	for _, tc := range []struct {
		path   string
		header []string
		status int
		tenant string
	}{
		{"/v1/messages", nil, 401, ""},
		{"/v1/messages", []string{"X-Oriel-Token", "wrong-canary"}, 401, ""},
		{"/k/wrong-canary/v1/messages", nil, 401, ""},
		{"/v1/messages", []string{"X-Oriel-Token", "tok-canary-0000-1"}, 200, "ann"},
		{"/k/tok-canary-0000-2/v1/messages", nil, 200, "bob"},
		{"/p/x/k/tok-canary-0000-2/v1/messages", nil, 200, "bob"},
		{"/v1/messages", []string{"Authorization", "Bearer tok-canary-0000-1"}, 401,
			""}, // that is the provider's place
	} {
		k.calls, got = nil, seen{}
		r := s.request("POST", tc.path, "{}")
		if len(tc.header) > 0 {
			r.Header.Set(tc.header[0], tc.header[1])
		}
		r.Host = "proxy.example"
		res, body := s.do(r)
		if res.StatusCode != tc.status {
			t.Errorf("%s %v: %d %s", tc.path, tc.header, res.StatusCode, body)
		}
		if tc.status == 200 {
			if len(k.calls) != 1 || k.calls[0].Tenant != tc.tenant ||
				got.header.Get("Authorization") != "Bearer "+canary || got.uri != "/v1/messages" {
				t.Errorf("%s %v: %+v %+v", tc.path, tc.header, k.calls, got)
			}
			for name := range got.header {
				if strings.HasPrefix(name, "X-Oriel") {
					t.Error(name, "went upstream")
				}
			}
		} else if len(k.calls) > 0 || got.method != "" ||
			!strings.HasPrefix(body, `{"type":"error","error":{"type":"authentication_error"`) ||
			!strings.Contains(body, "X-Oriel-Token") {
			t.Error(body)
		}
	}
}

// A token that is not where it belongs goes neither upstream nor into the log.
func TestMisplacedTokensAreRefused(t *testing.T) {
	var got []string
	s := start(t, proxy.Options{Tokens: map[string]string{"tok-canary-1": "ann", "tok/canary 2": "bob"}},
		func(w http.ResponseWriter, r *http.Request) { got = append(got, r.RequestURI) })
	for path, status := range map[string]int{
		"/k/tok-canary-1/v1/models":                     200,
		"/k/tok-canary-1//v1//models%2f":                200, // what is forwarded is not touched
		"//k/tok-canary-1/v1/models":                    400,
		"/%6b/tok-canary-1/v1/models":                   400,
		"/k/tok-canary-1/k/tok-canary-1/v1/models":      400,
		"/k/tok-canary-1/k/tok%2Fcanary%202/v1/models":  400,
		"/k/tok-canary-1/p/x/k/tok%2dcanary-1/v1/x":     400,
		"/v1/tok-canary-1":                              400,
		"/k/tok-canary-1/v1/../%6B/%74ok-canary-1/v1/x": 400,
	} {
		c := s.raw("GET " + path + " HTTP/1.1\r\nHost: localhost\r\nX-Oriel-Token: tok-canary-1\r\n\r\n")
		if res, err := http.ReadResponse(bufio.NewReader(c), nil); err != nil || res.StatusCode != status {
			t.Error(path, res, err)
		}
	}
	slices.Sort(got)
	if diff := cmp.Diff([]string{"//v1//models%2f", "/v1/models"}, got); diff != "" {
		t.Error(diff)
	}
}

// A page of another machine sends nothing through a proxy without a token, unless it may.
func TestPagesOfOthersAreRefused(t *testing.T) {
	calls := 0
	upstream := func(w http.ResponseWriter, r *http.Request) { calls++ }
	open := start(t, proxy.Options{Origins: []string{"https://chat.example", "app://obsidian.md"}}, upstream)
	closed := start(t, proxy.Options{Tokens: map[string]string{"t": "ann"}}, upstream)
	for _, tc := range []struct {
		s      *setup
		header []string
		fine   bool
	}{
		{open, nil, true},
		{open, []string{"Origin", "http://localhost:3000", "Sec-Fetch-Site", "cross-site"},
			true}, // localhost is another site than 127.0.0.1
		{open, []string{"Origin", "https://127.0.0.1"}, true},
		{open, []string{"Origin", "http://[::1]:5"}, true},
		{open, []string{"Origin", open.url, "Sec-Fetch-Site", "same-origin"}, true},
		{open, []string{"Origin", "https://Chat.example", "Sec-Fetch-Site", "cross-site"}, true},
		{open, []string{"Origin", "app://obsidian.md"}, true},
		{open, []string{"Sec-Fetch-Site", "none"}, true},
		{open, []string{"Sec-Fetch-Site", "cross-site"}, false},
		{open, []string{"Origin", "https://evil.example", "Content-Type", "text/plain"}, false},
		{open, []string{"Origin", "https://evil.example", "Sec-Fetch-Site", "same-origin"}, false},
		{open, []string{"Origin", "https://chat.example:444"}, false},
		{open, []string{"Origin", "https://localhost.evil.example"}, false},
		{open, []string{"Origin", "https://chat.example", "Origin", "https://evil.example"}, false},
		{open, []string{"Origin", "null"}, false},
		{open, []string{"Origin", ""}, false},
		{closed, []string{"Origin", "https://evil.example", "X-Oriel-Token", "t"}, true}, // it was given the token
	} {
		for _, r := range []*http.Request{tc.s.request("POST", "/v1/chat/completions", "{}", tc.header...),
			tc.s.request("GET", "/v1/models", "", tc.header...)} {
			calls = 0
			res, body := tc.s.do(r)
			if tc.fine && (res.StatusCode != 200 || calls != 1) ||
				!tc.fine && (res.StatusCode != 403 || calls != 0 || !strings.Contains(body, "--origin")) {
				t.Errorf("%s %v: %d %s, %d calls upstream", r.Method, tc.header, res.StatusCode, body, calls)
			}
		}
	}
	for _, bad := range []string{"https://chat.example/", "chat.example", "https://", "*", "https://a@b", ""} {
		if _, err := proxy.New(proxy.Options{Origins: []string{bad}}); err == nil {
			t.Errorf("%q is an origin", bad)
		}
	}
}

// Errors have the form that the client's SDK reads, wherever the call goes.
func TestErrorsHaveTheFormOfTheCall(t *testing.T) {
	s := start(t, proxy.Options{Anthropic: "http://127.0.0.1:1"},
		func(http.ResponseWriter, *http.Request) { t.Error("went to OpenAI") })
	r := s.request("POST", "/v1/chat/completions", "{}")
	r.Header.Set("Authorization", "Bearer sk-ant-canary")
	if res, body := s.do(r); res.StatusCode != 502 || !strings.HasPrefix(body, `{"error":{"message":"oriel: `) ||
		!strings.Contains(body, "--upstream-anthropic") {
		t.Error(res.StatusCode, body)
	}
}

func TestOwnPaths(t *testing.T) {
	console := http.HandlerFunc(func(w http.ResponseWriter,
		r *http.Request) {
		io.WriteString(w, "console "+r.URL.Path)
	})
	s := start(t, proxy.Options{Listen: "0.0.0.0:0", Tokens: map[string]string{"own-0123456789abc": "ann",
		"own-0123456789xyz": timeline.Local}, Console: console, Version: "v9",
		Store: func(context.Context) error { return errors.New("disk\nfull") }},
		func(w http.ResponseWriter, r *http.Request) { t.Error("went upstream:", r.URL) })
	host := strings.TrimPrefix(s.url, "http://")
	for _, tc := range []struct {
		path   string
		header []string
		status int
		body   string
	}{
		{"/oriel/healthz", nil, 200, `{"status":"degraded","version":"v9","store":"failed"}`},
		{"/oriel/healthz", []string{"Authorization", "Bearer own-0123456789xyz"}, 200,
			`{"status":"degraded","version":"v9","store":"failed","error":"disk full"}`},
		{"/oriel/healthz", []string{"Authorization", "Bearer own-0123456789abc"}, 200,
			`{"status":"degraded","version":"v9","store":"failed"}`}, // not the operator
		{"/oriel/metrics", nil, 401, `token_unknown`}, // the provider's key is no token
		{"/oriel/", nil, 200, "console /oriel/"},      // it asks for one
		{"/oriel/api/x", []string{"Authorization", "Bearer own-0123456789abc"}, 200, "console /oriel/api/x"},
		{"/k/own-0123456789abc/p/x/oriel/api/x", nil, 200, "console /oriel/api/x"},
		{"/k/own-0123456789abc/oriel/", []string{"Origin", "http://" + host}, 200, "console /oriel/"},
		{"/k/own-0123456789abc/oriel/", []string{"Origin", "http://evil.example"}, 403, "origin_not_allowed"},
		{"/k/own-0123456789abc/oriel/", []string{"Origin", "null"}, 403, "origin_not_allowed"},
		{"/k/own-0123456789abc/oriel/", []string{"Sec-Fetch-Site", "cross-site"}, 403, "origin_not_allowed"},
		{"/k/own-0123456789abc/oriel/", []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate"}, 200,
			"console"},
		{"/k/own-0123456789abc/oriel/", []string{"Sec-Fetch-Site", "same-origin"}, 200, "console"},
		{"/oriel/healthz", []string{"Origin", "http://evil.example"}, 403, "origin_not_allowed"},
	} {
		r := s.request("GET", tc.path, "")
		for i := 0; i < len(tc.header); i += 2 {
			r.Header.Set(tc.header[i], tc.header[i+1])
		}
		res, body := s.do(r)
		if res.StatusCode != tc.status || !strings.Contains(body, tc.body) {
			t.Errorf("%s %v: %d %s", tc.path, tc.header, res.StatusCode, body)
		}
	}
	bare := start(t, proxy.Options{}, func(w http.ResponseWriter, r *http.Request) { t.Error("went upstream:", r.URL) })
	if res, body := bare.do(bare.request("GET", "/oriel/metrics", "")); res.StatusCode != 404 ||
		!strings.Contains(body, "healthz") {
		t.Error(res.StatusCode, body)
	}
	if res, body := bare.do(bare.request("GET", "/oriel/healthz", "")); res.StatusCode != 200 ||
		!strings.HasPrefix(body, `{"status":"ok"`) {
		t.Error(res.StatusCode, body)
	}
}

// Calls that wait for a newer version do not make the store a failed one.
func TestHealthTellsCallsHeldFromAFailedStore(t *testing.T) {
	s := start(t, proxy.Options{Version: "v9", Store: func(context.Context) error { return nil },
		Health: func() proxy.Health { return proxy.Health{CallsHeld: "2 calls wait"} }},
		func(w http.ResponseWriter, r *http.Request) { t.Error("went upstream:", r.URL) })
	if _, body := s.do(s.request("GET", "/oriel/healthz", "")); !strings.HasPrefix(body,
		`{"status":"degraded","version":"v9","store":"ok","calls_held":"2 calls wait"}`) {
		t.Error(body)
	}
}

// Lost calls are told.
func TestHealthTellsLostCalls(t *testing.T) {
	s := start(t, proxy.Options{Version: "v9", Store: func(context.Context) error { return nil },
		Health: func() proxy.Health { return proxy.Health{CallsLost: 3} }}, nil)
	if _, body := s.do(s.request("GET", "/oriel/healthz", "")); !strings.HasPrefix(body,
		`{"status":"degraded","version":"v9","store":"ok","calls_lost":3}`) {
		t.Error(body)
	}
}

// A client that sends its header, or its body, drop by drop is let go.
func TestSlowClientsAreLetGo(t *testing.T) {
	var calls atomic.Int64
	upstream := func(w http.ResponseWriter, r *http.Request) {
		calls.Add(1)
		io.Copy(io.Discard, r.Body)
	}
	s := start(t, proxy.Options{HeaderTimeout: 20 * time.Millisecond}, upstream)
	c := s.raw("POST /v1/messages HTTP/1.1\r\nHost: localhost\r\nX-")
	if b, err := io.ReadAll(c); err != nil || len(b) > 0 && !strings.HasPrefix(string(b), "HTTP/1.1 4") {
		t.Errorf("%q %v", b, err)
	}
	s = start(t, proxy.Options{BodyTimeout: 20 * time.Millisecond}, upstream)
	for _, path := range []string{"/v1/messages", "/v1/files"} {
		c = s.raw("POST " + path + " HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n{")
		b, err := io.ReadAll(c) // the connection ends
		if err != nil || !strings.HasPrefix(string(b), "HTTP/1.1 408") {
			t.Errorf("%s: %q %v", path, b, err)
		}
	}
	// A refusal does not wait for the body, nor for long for what is left of it.
	c = s.raw("POST /v1/messages HTTP/1.1\r\nHost: evil.example\r\nContent-Length: 1000\r\n\r\n{")
	if b, err := io.ReadAll(c); err != nil || !strings.HasPrefix(string(b), "HTTP/1.1 403") {
		t.Errorf("%q %v", b, err)
	}
	if n := calls.Load(); n > 1 {
		t.Errorf("%d calls upstream", n)
	}
}

// A body may take as long as it likes while it moves: each part has a deadline of its
// own. None is left over when it is there, so that the answer may take its time.
func TestEachPartOfABodyHasItsTime(t *testing.T) {
	for _, path := range []string{"/v1/messages", "/v1/files"} {
		w := &deadlines{ResponseRecorder: httptest.NewRecorder()}
		up := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			io.Copy(io.Discard, r.Body)
			if !w.get().IsZero() {
				t.Error("a deadline is left over while the provider is at work")
			}
		}))
		s, err := proxy.New(proxy.Options{OpenAI: up.URL, Anthropic: up.URL, BodyTimeout: time.Hour})
		if err != nil {
			t.Fatal(err)
		}
		parts := 0
		r := httptest.NewRequest("POST", "http://localhost"+path, readerFunc(func(p []byte) (int, error) {
			left := time.Until(w.get())
			if parts++; left <= 0 || left > time.Hour {
				t.Errorf("part %d has %v", parts, left)
			}
			if parts == 5 {
				return 0, io.EOF
			}
			w.SetReadDeadline(time.Time{}) // the next part must have a new one
			return copy(p, "x"), nil
		}))
		r.ContentLength = -1
		s.ServeHTTP(w, r)
		if w.Code != 200 || parts != 5 || !w.get().IsZero() {
			t.Error(w.Code, parts, w.get())
		}
		s.Close()
		up.Close()
	}
}

// deadlines keeps the deadline for reading.
type deadlines struct {
	*httptest.ResponseRecorder
	mu   sync.Mutex
	last time.Time
}

func (d *deadlines) SetReadDeadline(t time.Time) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.last = t
	return nil
}

func (d *deadlines) get() time.Time {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.last
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// A client that takes nothing more of its answer is let go, and the provider with it.
func TestClientThatDoesNotRead(t *testing.T) {
	gone := make(chan struct{})
	s := start(t, proxy.Options{WriteTimeout: 50 * time.Millisecond}, func(w http.ResponseWriter, r *http.Request) {
		defer close(gone)
		p := make([]byte, 1<<20)
		for {
			if _, err := w.Write(p); err != nil {
				return
			}
		}
	})
	s.raw("GET /v1/models HTTP/1.1\r\nHost: localhost\r\n\r\n")
	<-gone
	s.finish()
	if c := s.server.Counters(); c.ClientLeft != 1 {
		t.Errorf("%+v", c)
	}
}

func TestHeadersHaveALimit(t *testing.T) {
	s := start(t, proxy.Options{}, func(w http.ResponseWriter, r *http.Request) { t.Error("went upstream") })
	if res, _ := s.do(s.request("GET", "/v1/models", "", "X-Large",
		strings.Repeat("x", 200<<10))); res.StatusCode != 431 {
		t.Error(res.StatusCode)
	}
}
