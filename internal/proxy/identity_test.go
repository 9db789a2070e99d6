package proxy_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/textproto"
	"net/url"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/oriel-context/oriel/internal/proxy"
)

// seen is a request as the upstream had it.
type seen struct {
	method, uri, host string
	header            http.Header
	body              []byte
	length            int64
	trailer           http.Header
}

func see(r *http.Request) seen {
	body, _ := io.ReadAll(r.Body)
	return seen{r.Method, r.RequestURI, r.Host, r.Header, body, r.ContentLength, r.Trailer}
}

var (
	genName = rapid.SampledFrom([]string{"Anthropic-Beta", "Anthropic-Version", "X-Api-Key", "X-Stainless-Lang",
		"Cookie", "Accept", "Accept-Encoding", "X-Forwarded-For", "Forwarded", "User-Agent", "Openai-Organization",
		"Idempotency-Key", "X-Custom"})
	genValue = rapid.StringMatching(`[!-~]([ -~]{0,20}[!-~])?`)
	genQuery = rapid.SampledFrom([]string{"", "?", "?beta=true", "?a=1;b=2", "?key=%zz&&x", "?q=a+b%20c"})
	genPath  = rapid.SampledFrom([]string{"/v1/messages", "/v1/chat/completions", "/v1/responses",
		"/v1/messages/count_tokens", "/v1/files/a%2Fb", "/v1/files/a|b", "/v1/models/x:y@1", "//odd//path",
		"/v1/files/%E2%82%AC"})
	genStat = rapid.SampledFrom([]int{200, 201, 400, 401, 404, 413, 429, 500, 529})
)

// A request goes upstream as it came, and its answer comes back as it was sent.
func TestRequestsAndAnswersAreIdentical(t *testing.T) {
	var got seen
	var status int
	var answerHeader http.Header
	var answer []byte
	var chunkedAnswer bool
	for _, engine := range []proxy.Engine{nil, nothing{}} {
		s := startWith(t, engine, proxy.Options{BodyLimit: 4000}, func(w http.ResponseWriter, r *http.Request) {
			got = see(r)
			for k, v := range answerHeader {
				w.Header()[k] = v
			}
			if !chunkedAnswer {
				w.Header().Set("Content-Length", fmt.Sprint(len(answer)))
			}
			w.WriteHeader(status)
			if chunkedAnswer {
				w.(http.Flusher).Flush()
			}
			w.Write(answer)
		})
		rapid.Check(t, func(t *rapid.T) {
			status = genStat.Draw(t, "status")
			path, query := genPath.Draw(t, "path"), genQuery.Draw(t, "query")
			body := rapid.SliceOfN(rapid.Byte(), 0, 6000).Draw(t, "body")
			chunked := rapid.Bool().Draw(t, "chunked")
			zipped := rapid.Bool().Draw(t, "gzip")
			header := http.Header{}
			for range rapid.IntRange(0, 6).Draw(t, "headers") {
				header.Add(genName.Draw(t, "name"), genValue.Draw(t, "value"))
			}
			header["User-Agent"] = header["User-Agent"][:min(1, len(header["User-Agent"]))]
			if len(header["User-Agent"]) == 0 {
				header["User-Agent"] = nil
			}
			if zipped {
				var b bytes.Buffer
				z := gzip.NewWriter(&b)
				z.Write(body)
				z.Close()
				body = b.Bytes()
				header.Set("Content-Encoding", "gzip")
			}
			want := header.Clone()
			want["User-Agent"] = nil
			if v := header["User-Agent"]; v != nil {
				want["User-Agent"] = v
			}
			header.Add("X-Oriel-Conversation", "c")
			answer = rapid.SliceOfN(rapid.Byte(), 0, 100_000).Draw(t, "answer")
			chunkedAnswer = rapid.Bool().Draw(t, "chunked answer")
			answerHeader = http.Header{"Retry-After": {"3"}, "X-Ratelimit-Remaining-Tokens": {"17"},
				"Set-Cookie": {"a=1", "b=2"}, "Content-Type": {"text/event-stream"}}

			r := &http.Request{Method: "POST", URL: mustURL(s.url), Header: header,
				Body: io.NopCloser(bytes.NewReader(body)), ContentLength: int64(len(body))}
			if path[1] == '/' {
				r.URL.Path = path
			} else {
				r.URL.Opaque = path
			}
			if rest, ok := strings.CutPrefix(query, "?"); ok {
				r.URL.RawQuery, r.URL.ForceQuery = rest, true
			}
			if chunked {
				r.ContentLength = -1
			} else if len(body) == 0 {
				r.Body = nil
			}
			res, err := s.client.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			back, err := io.ReadAll(res.Body)
			res.Body.Close()
			if err != nil {
				t.Fatal(err)
			}

			if got.method != "POST" || got.uri != path+query {
				t.Errorf("%s %s, want %s", got.method, got.uri, path+query)
			}
			if got.host != strings.TrimPrefix(s.upstream.URL, "http://") {
				t.Errorf("host %s", got.host)
			}
			if !bytes.Equal(got.body, body) {
				t.Errorf("body %d bytes, want %d", len(got.body), len(body))
			}
			if chunked != (got.length < 0) {
				t.Errorf("length %d, chunked %v", got.length, chunked)
			}
			delete(got.header, "Content-Length")
			for k, v := range want {
				if len(v) == 0 {
					delete(want, k)
				}
			}
			if diff := cmp.Diff(want, got.header); diff != "" {
				t.Errorf("header: %s", diff)
			}
			if res.StatusCode != status || !bytes.Equal(back, answer) {
				t.Errorf("answer %d, %d bytes; want %d, %d", res.StatusCode, len(back), status, len(answer))
			}
			for k, v := range answerHeader {
				if !slices.Equal(res.Header[k], v) {
					t.Errorf("%s: %q, want %q", k, res.Header[k], v)
				}
			}
			if !chunkedAnswer && res.ContentLength != int64(len(answer)) {
				t.Errorf("length %d of %d", res.ContentLength, len(answer))
			}
		})
		s.close()
		s.done = nil
	}
}

// What belongs to a connection stays there, in both directions.
func TestHopByHopHeadersStay(t *testing.T) {
	var got seen
	s := start(t, proxy.Options{}, func(w http.ResponseWriter, r *http.Request) {
		got = see(r)
		w.Header().Set("Connection", "X-Inner")
		w.Header().Set("X-Inner", "1")
		w.Header().Set("Keep-Alive", "timeout=5")
		w.Header().Set("Proxy-Authenticate", "Basic")
		w.Header().Set("X-Outer", "1")
	})
	c := s.raw("POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nConnection: x-secret, keep-alive\r\nX-Secret: 1\r\nKeep-Alive: 5\r\nProxy-Authorization: x\r\nTE: trailers, deflate\r\nX-Oriel-Budget: 5\r\nx-oriel-anything: 5\r\nX-Kept: 1\r\nContent-Length: 2\r\n\r\n{}")
	res, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(http.Header{"X-Kept": {"1"}, "Content-Length": {"2"}, "Te": {"trailers"}},
		got.header); diff != "" {
		t.Error(diff)
	}
	for _, name := range []string{"X-Inner", "Keep-Alive", "Proxy-Authenticate"} {
		if res.Header.Get(name) != "" {
			t.Errorf("%s came back", name)
		}
	}
	if res.Header.Get("X-Outer") != "1" || res.Header.Get("X-Oriel-Action") != "none" {
		t.Error(res.Header)
	}
}

// What the provider leaves out is not made up.
func TestNothingIsAddedToAnswers(t *testing.T) {
	s := start(t, proxy.Options{}, func(w http.ResponseWriter, r *http.Request) {
		c, rw, _ := w.(http.Hijacker).Hijack()
		defer c.Close()
		rw.WriteString("HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\n<html>")
		rw.Flush()
	})
	res, body := s.do(s.request("GET", "/v1/models", ""))
	if body != "<html>" || len(res.Header) != 1 {
		t.Errorf("%q %v", body, res.Header)
	}
}

func TestAnswersWithoutBodies(t *testing.T) {
	s := start(t, proxy.Options{}, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/v1/models":
			w.Header().Set("Content-Length", "1234")
		case "/v1/files":
			w.WriteHeader(http.StatusNoContent)
		default:
			w.Header().Set("Etag", "e")
			w.WriteHeader(http.StatusNotModified)
		}
	})
	for _, tc := range []struct {
		method, path string
		status       int
		length       int64
	}{{"HEAD", "/v1/models", 200, 1234}, {"DELETE", "/v1/files", 204, 0}, {"GET", "/v1/other", 304, 0}} {
		r := s.request(tc.method, tc.path, "")
		res, body := s.do(r)
		if res.StatusCode != tc.status || body != "" || res.ContentLength != tc.length {
			t.Errorf("%s %s: %d %q %d", tc.method, tc.path, res.StatusCode, body, res.ContentLength)
		}
	}
}

func TestForwardedForOnlyWhereConfigured(t *testing.T) {
	for _, on := range []bool{false, true} {
		var got seen
		s := start(t, proxy.Options{ForwardedFor: on}, func(w http.ResponseWriter, r *http.Request) { got = see(r) })
		s.post("/v1/messages", "{}", "X-Forwarded-For", "10.0.0.1")
		want := "10.0.0.1"
		if on {
			want = "10.0.0.1, 127.0.0.1"
		}
		if v := strings.Join(got.header["X-Forwarded-For"], "|"); v != want {
			t.Errorf("%v: %s", on, v)
		}
	}
}

func TestTrailersAndEarlyHints(t *testing.T) {
	var got seen
	s := startWith(t, nothing{}, proxy.Options{}, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Link", "</style.css>; rel=preload")
		w.WriteHeader(http.StatusEarlyHints)
		w.Header().Del("Link")
		got = see(r)
		w.Header().Set("Trailer", "X-Sum")
		w.Write([]byte("body"))
		w.Header().Set("X-Sum", "17")
		w.Header().Set(http.TrailerPrefix+"X-Late", "18")
	})
	for _, path := range []string{"/v1/messages", "/v1/files"} {
		c := s.raw("POST " + path +
			" HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\nTrailer: X-Check\r\n\r\n2\r\n{}\r\n0\r\nX-Check: 5\r\n\r\n")
		r := textproto.NewReader(bufio.NewReader(c))
		if line, err := r.ReadLine(); err != nil || line != "HTTP/1.1 103 Early Hints" {
			t.Fatal(line, err)
		}
		if h, err := r.ReadMIMEHeader(); err != nil || h.Get("Link") == "" {
			t.Fatal(h, err)
		}
		res, err := http.ReadResponse(r.R, nil)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(res.Body)
		if err != nil || string(body) != "body" || res.Header.Get("Link") != "" {
			t.Fatal(string(body), err, res.Header)
		}
		if res.Trailer.Get("X-Sum") != "17" || res.Trailer.Get("X-Late") != "18" {
			t.Error(res.Trailer)
		}
		if got.trailer.Get("X-Check") != "5" || string(got.body) != "{}" {
			t.Error(path, got.trailer, string(got.body))
		}
		c.Close()
	}
}

// Headers and trailers with Oriel's name are Oriel's own: none goes upstream, and none
// that a provider sends reaches the client.
func TestOwnHeadersStay(t *testing.T) {
	var got seen
	s := startWith(t, nothing{}, proxy.Options{}, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Oriel-Early", "theirs")
		w.WriteHeader(http.StatusEarlyHints)
		got = see(r)
		w.Header().Set("X-Oriel-Action", "theirs")
		w.Header().Set("X-Oriel-Conversation", "theirs")
		w.Header().Set("Trailer", "X-Oriel-Sum, X-Sum")
		w.Write([]byte("body"))
		w.Header().Set("X-Oriel-Sum", "theirs")
		w.Header().Set("X-Sum", "17")
		w.Header().Set(http.TrailerPrefix+"X-Oriel-Late", "theirs")
	})
	for _, path := range []string{"/v1/messages", "/v1/files"} {
		c := s.raw("POST " + path +
			" HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nX-Oriel-Token: mine\r\nTransfer-Encoding: chunked\r\nTrailer: X-Check, X-Oriel-Token\r\n\r\n" +
			"2\r\n{}\r\n0\r\nX-Check: 5\r\nX-Oriel-Token: mine\r\nX-Oriel-Late: mine\r\n\r\n")
		answer, err := io.ReadAll(c)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(answer), "theirs") || strings.Contains(string(answer), "X-Oriel-Sum") ||
			!strings.Contains(string(answer), "X-Sum: 17") {
			t.Errorf("%s: %s", path, answer)
		}
		if path == "/v1/messages" && !strings.Contains(string(answer), "X-Oriel-Action: none") {
			t.Errorf("%s", answer)
		}
		if diff := cmp.Diff(http.Header{"X-Check": {"5"}}, got.trailer); diff != "" {
			t.Error(path, diff)
		}
		for name := range got.header {
			if strings.HasPrefix(name, "X-Oriel") {
				t.Error(path, name, "went upstream")
			}
		}
	}
}

// HTTP/2 upstream: the same bytes, streamed.
func TestHTTP2Upstream(t *testing.T) {
	next := make(chan struct{})
	up := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		fmt.Fprintf(w, "%d %s", r.ProtoMajor, b)
		w.(http.Flusher).Flush()
		<-next
		w.Header().Set(http.TrailerPrefix+"X-Sum", "1")
	}))
	up.EnableHTTP2 = true
	up.StartTLS()
	defer up.Close()
	s := start(t, proxy.Options{OpenAI: up.URL}, nil)
	proxy.TrustForTest(s.server, up.Client().Transport.(*http.Transport).TLSClientConfig)
	res, err := s.client.Do(s.request("POST", "/v1/responses", "{}"))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	b := make([]byte, 4)
	if _, err := io.ReadFull(res.Body, b); err != nil || string(b) != "2 {}" {
		t.Fatal(string(b), err)
	}
	close(next)
	if rest, err := io.ReadAll(res.Body); err != nil || len(rest) > 0 || res.Trailer.Get("X-Sum") != "1" {
		t.Fatal(rest, err, res.Trailer)
	}
}

// A provider's errors come back word by word; one that cannot be reached is told in the
// vendor's own form, with what to do.
func TestErrorsOfProviders(t *testing.T) {
	const theirs = `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`
	s := start(t, proxy.Options{}, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v1/responses" {
			panic(http.ErrAbortHandler)
		}
		w.WriteHeader(529)
		io.WriteString(w, theirs)
	})
	if res, body := s.post("/v1/messages", "{}"); res.StatusCode != 529 || body != theirs {
		t.Error(res.StatusCode, body)
	}
	if res, body := s.post("/v1/responses", "{}"); res.StatusCode != 502 ||
		!strings.Contains(body, `"code":"upstream_broke_off"`) || !strings.Contains(body, "not asked a second time") {
		t.Error(res.StatusCode, body)
	}

	dead := start(t, proxy.Options{OpenAI: "http://127.0.0.1:1/v1", Anthropic: "http://127.0.0.1:1"}, nil)
	res, body := dead.post("/v1/chat/completions", "{}")
	if res.StatusCode != 502 ||
		!strings.HasPrefix(body, `{"error":{"message":"oriel: http://127.0.0.1:1 cannot be reached (`) ||
		!strings.Contains(body, "ORIEL_UPSTREAM_OPENAI") {
		t.Error(res.StatusCode, body)
	}
	res, body = dead.post("/v1/messages", "{}")
	if res.StatusCode != 502 ||
		!strings.HasPrefix(body,
			`{"type":"error","error":{"type":"api_error","message":"oriel: http://127.0.0.1:1 cannot be reached (`) {
		t.Error(res.StatusCode, body)
	}
	secure := httptest.NewUnstartedServer(http.NotFoundHandler())
	secure.Config.ErrorLog = log.New(io.Discard, "", 0)
	secure.StartTLS()
	defer secure.Close()
	res, body = start(t, proxy.Options{OpenAI: secure.URL + "/v1"}, nil).post("/v1/chat/completions", "{}")
	if res.StatusCode != 502 || !strings.Contains(body, "$SSL_CERT_FILE") {
		t.Error(res.StatusCode, body)
	}
	if c := dead.server.Counters(); c.Unreachable != 2 || c.Calls != 2 {
		t.Errorf("%+v", c)
	}
}

// A request that may have been seen is never sent again, whatever headers it has.
func TestNothingIsSentTwice(t *testing.T) {
	var calls atomic.Int64
	s := start(t, proxy.Options{}, func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		if calls.Add(1) > 1 {
			panic(http.ErrAbortHandler)
		}
	})
	s.post("/v1/responses", "{}") // its connection is used again
	if res, _ := s.post("/v1/responses", "{}", "Idempotency-Key", "k"); res.StatusCode != 502 || calls.Load() != 2 {
		t.Error(res.StatusCode, calls.Load())
	}
}

// Bodies that are too large to look at go through, whole.
func TestLargeBodiesPassUnseen(t *testing.T) {
	var got seen
	calls := &keeper{}
	large := strings.Repeat("0123456789", 40_000)
	for i, tc := range []struct {
		body         string
		chunked      bool
		action       string
		size, memory int64
	}{
		{large, false, "bypass", 1, 0}, {large, true, "bypass", 0, 1}, {large[:90_000], false, "none", 0, 0},
		{large[:90_000], true, "bypass", 0, 1}, {large[:60_000], true, "none", 0, 0},
	} {
		// Each its own: the memory of a call is given back a moment after its answer.
		s := startWith(t, calls, proxy.Options{BodyLimit: 100_000, BufferLimit: 95_000},
			func(w http.ResponseWriter, r *http.Request) { got = see(r) })
		r := s.request("POST", "/v1/messages", tc.body)
		if tc.chunked {
			r.ContentLength = -1
		}
		res, _ := s.do(r)
		if string(got.body) != tc.body || res.Header.Get("X-Oriel-Action") != tc.action {
			t.Errorf("%d: %d bytes, %s", i, len(got.body), res.Header.Get("X-Oriel-Action"))
		}
		s.finish()
		if c := s.server.Counters(); c.PassedSize != tc.size || c.PassedMemory != tc.memory || c.BufferedBytes != 0 {
			t.Errorf("%d: %+v", i, c)
		}
	}
}

// A compressed body is decoded for the engine only; one that nobody here can read
// goes through, too.
func TestCompressedRequests(t *testing.T) {
	var got seen
	calls := &keeper{}
	s := startWith(t, calls, proxy.Options{BodyLimit: 1 << 20},
		func(w http.ResponseWriter, r *http.Request) { got = see(r) })
	zip := func(body []byte) string {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		z.Write(body)
		z.Close()
		return b.String()
	}
	for _, tc := range []struct{ body, encoding, decoded, action string }{
		{zip([]byte("{}")), "gzip", "{}", "none"},
		{zip([]byte(zip([]byte("{}")))), "gzip, gzip", "{}", "none"},
		{"{}", "identity", "{}", "none"},
		{"no gzip", "gzip", "", "bypass"},
		{"what", "sealed", "", "bypass"},
		{zip(make([]byte, 2<<20)), "gzip", "", "bypass"},
	} {
		calls.calls = nil
		res, _ := s.post("/v1/messages", tc.body, "Content-Encoding", tc.encoding)
		if string(got.body) != tc.body || got.header.Get("Content-Encoding") != tc.encoding ||
			res.Header.Get("X-Oriel-Action") != tc.action {
			t.Errorf("%s: %d bytes, %s\n%s", tc.encoding, len(got.body), res.Header.Get("X-Oriel-Action"), s.log)
		}
		if tc.action == "none" && (len(calls.calls) != 1 || string(calls.calls[0].Body) != tc.decoded) ||
			tc.action != "none" && len(calls.calls) > 0 {
			t.Errorf("%s: %d calls", tc.encoding, len(calls.calls))
		}
	}
	res, _ := s.post("/v1/messages", "{}", "X-Oriel-Bypass", "1")
	if res.Header.Get("X-Oriel-Action") != "bypass" || got.header.Get("X-Oriel-Bypass") != "" {
		t.Error(res.Header, got.header)
	}
}

// What a few bytes grow to takes its memory while it grows, not afterwards.
func TestMemoryIsBoundedWhileDecoding(t *testing.T) {
	var member bytes.Buffer
	z := gzip.NewWriter(&member)
	z.Write(make([]byte, 1<<20))
	z.Close()
	bomb := strings.Repeat(member.String(), 40) // 40 kB that decode to 40 MiB
	k := &keeper{}
	s := startWith(t, k, proxy.Options{BufferLimit: 1 << 20},
		func(w http.ResponseWriter, r *http.Request) { io.Copy(io.Discard, r.Body) })
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	res, _ := s.post("/v1/messages", bomb, "Content-Encoding", "gzip")
	runtime.ReadMemStats(&after)
	if grown := after.TotalAlloc - before.TotalAlloc; grown > 8<<20 {
		t.Errorf("%d MiB were allocated", grown>>20)
	}
	if res.Header.Get("X-Oriel-Action") != "bypass" || len(k.calls) != 0 {
		t.Error(res.Header, len(k.calls))
	}
	s.finish()
	if c := s.server.Counters(); c.PassedMemory != 1 || c.BufferedBytes != 0 {
		t.Errorf("%+v", c)
	}
}

func mustURL(text string) *url.URL {
	u, err := url.Parse(text)
	if err != nil {
		panic(err)
	}
	return u
}

// llama.cpp's server closes a connection after a stream though it says that it keeps it: each
// request has its own.
func TestNoConnectionToLlamaIsKept(t *testing.T) {
	var mu sync.Mutex
	seen := map[string]int{}
	s := start(t, proxy.Options{}, func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		mu.Lock()
		defer mu.Unlock()
		if seen[r.RemoteAddr]++; seen[r.RemoteAddr] > 1 {
			panic(http.ErrAbortHandler)
		}
		w.Header().Set("Server", "llama.cpp")
		io.WriteString(w, `{"id":"c","choices":[]}`)
	})
	for range 3 {
		if res, body := s.post("/v1/chat/completions", `{"model":"m","messages":[]}`); res.StatusCode != 200 {
			t.Error(res.StatusCode, body)
		}
	}
	mu.Lock()
	defer mu.Unlock()
	if len(seen) != 3 {
		t.Errorf("%d connections", len(seen))
	}
}
