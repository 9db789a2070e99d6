package proxy_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/oriel-context/oriel/internal/proxy"
	"github.com/oriel-context/oriel/internal/proxy/access"
	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/timeline/memory"
)

// browse sends a request as a browser would, without following redirects.
func browse(t *testing.T, s *setup, path string, cookies []*http.Cookie, header ...string) *http.Response {
	t.Helper()
	r, err := http.NewRequest("GET", s.url+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	return roundTrip(t, s, r, cookies, header)
}

// roundTrip sends a request with cookies and header fields, without following redirects.
func roundTrip(t *testing.T, s *setup, r *http.Request, cookies []*http.Cookie, header []string) *http.Response {
	t.Helper()
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	for _, c := range cookies {
		r.AddCookie(c)
	}
	resp, err := s.client.Transport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { resp.Body.Close() })
	return resp
}

// signIn posts a token as the console does.
func signIn(t *testing.T, s *setup, token string, cookies []*http.Cookie, header ...string) *http.Response {
	t.Helper()
	r := s.request("POST", "/oriel/session", `{"token":"`+token+`"}`)
	r.Header.Set("Content-Type", "application/json")
	return roundTrip(t, s, r, cookies, header)
}

// read returns the status and the body of an answer.
func read(t *testing.T, resp *http.Response) string {
	t.Helper()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%d %s", resp.StatusCode, body)
}

func TestABrowserSignsInAndKeepsNoToken(t *testing.T) {
	tokens := map[string]string{"own-0123456789abc": "ann", "own-0123456789xyz": "ben"}
	s := start(t, proxy.Options{Listen: "0.0.0.0:0", Tokens: tokens, Console: whose}, nil)
	resp := signIn(t, s, "own-0123456789xyz", nil)
	cookies := resp.Cookies()
	if got := read(t, resp); got != `200 {"tenant":"ben","role":"call","signed_in":true}`+"\n" || len(cookies) != 1 {
		t.Fatalf("%s with %d cookies", got, len(cookies))
	}
	c := cookies[0]
	hash := timeline.HashToken("own-0123456789xyz")
	if !c.HttpOnly || c.SameSite != http.SameSiteStrictMode || c.Path != "/oriel/" ||
		strings.Contains(c.Value, "own-") || strings.Contains(c.Value, base64.RawURLEncoding.EncodeToString(hash[:])) {
		t.Errorf("cookie %v", c)
	}
	for path, want := range map[string]string{"/oriel/api/x": "200 ben call",
		"/oriel/session": `200 {"tenant":"ben","role":"call","signed_in":true}` + "\n"} {
		if got := read(t, browse(t, s, path, cookies)); got != want {
			t.Errorf("%s: %s", path, got)
		}
	}
	if resp := browse(t, s, "/oriel/api/x", cookies, "Sec-Fetch-Site",
		"cross-site"); resp.StatusCode != http.StatusForbidden {
		t.Errorf("another page got %d", resp.StatusCode)
	}
	// The cookie admits to no call, and is no token; a forged one admits to nothing.
	if resp := browse(t, s, "/v1/models", cookies); resp.StatusCode != http.StatusUnauthorized {
		t.Errorf("a call with the cookie got %d", resp.StatusCode)
	}
	if resp := browse(t, s, "/oriel/api/x", nil, "X-Oriel-Token", c.Value); resp.StatusCode != http.StatusUnauthorized {
		t.Errorf("the cookie as a token got %d", resp.StatusCode)
	}
	for _, value := range []string{"", "x", newCookieText(31), newCookieText(32), newCookieText(64)} {
		if resp := browse(t, s, "/oriel/api/x",
			[]*http.Cookie{{Name: c.Name, Value: value}}); resp.StatusCode != http.StatusUnauthorized ||
			resp.Header.Get("Content-Type") != "application/problem+json" {
			t.Errorf("the forged cookie %q got %d, %s", value, resp.StatusCode, resp.Header.Get("Content-Type"))
		}
	}
	if resp := signIn(t, s, "wrong-0123456789", nil); resp.StatusCode != http.StatusUnauthorized ||
		len(resp.Cookies()) > 0 {
		t.Errorf("a wrong token got %d and %v", resp.StatusCode, resp.Cookies())
	}
}

func newCookieText(n int) string { return base64.RawURLEncoding.EncodeToString(make([]byte, n)) }

// Another site must not put a browser into a tenant of its choice: neither by a link nor by
// a form nor by a script.
func TestAnotherSiteCannotSignABrowserIn(t *testing.T) {
	s := start(t, proxy.Options{Listen: "0.0.0.0:0", Tokens: map[string]string{"own-0123456789abc": "mallory"},
		Console: whose}, nil)
	resp := browse(t, s, "/oriel/?token=own-0123456789abc&x=1", nil, "Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode",
		"navigate")
	if resp.StatusCode != http.StatusSeeOther || len(resp.Cookies()) > 0 ||
		resp.Header.Get("Location") != "/oriel/#token=own-0123456789abc" {
		t.Errorf("a link: %d to %q with %v", resp.StatusCode, resp.Header.Get("Location"), resp.Cookies())
	}
	for name, header := range map[string][]string{
		"a form": {"Content-Type", "text/plain"}, "a form without a type": {"Content-Type", ""},
		"a script": {"Origin", "https://evil.example"}, "a script of the same site": {"Sec-Fetch-Site", "same-site"},
	} {
		if resp := signIn(t, s, "own-0123456789abc", nil, header...); resp.StatusCode < 400 || len(resp.Cookies()) > 0 {
			t.Errorf("%s: %d with %v", name, resp.StatusCode, resp.Cookies())
		}
	}
}

// The files of the page have no data: a browser without a token gets them, and asks.
func TestThePageIsServedToEverybodyAndNothingElseIs(t *testing.T) {
	s := start(t, proxy.Options{Listen: "0.0.0.0:0", Tokens: map[string]string{"own-0123456789abc": "ann"},
		Console: whose}, nil)
	for path, want := range map[string]int{
		"/oriel/": 200, "/oriel": 200, "/oriel/ui/main.js": 200, "/oriel/session": 401, "/oriel/api/overview": 401,
		"/oriel/metrics": 401, "/oriel/mcp": 401,
		"/oriel/ui/../api/overview": 401, "/oriel/ui/%2e%2e/api/overview": 401, "/oriel/ui/..%2fapi/overview": 401,
		"/oriel/ui/a/../b": 401, "/oriel/other": 401, "/v1/models": 401,
	} {
		if resp := browse(t, s, path, nil); resp.StatusCode != want {
			t.Errorf("%s: %d", path, resp.StatusCode)
		}
	}
	r := s.request("POST", "/oriel/", "{}")
	if resp, _ := s.do(r); resp.StatusCode != http.StatusUnauthorized {
		t.Errorf("POST: %d", resp.StatusCode)
	}
}

// Behind a balancer the next request may come to another server of the same store.
func TestASessionHoldsOnAllServersOfAStoreAndEndsWithItsToken(t *testing.T) {
	store := &team{Store: memory.New()}
	var clock atomic.Int64
	clock.Store(time.Now().UnixNano())
	now := func() time.Time { return time.Unix(0, clock.Load()) }
	pass := func(d time.Duration) { clock.Add(int64(d)) }
	one := start(t, proxy.Options{Listen: "0.0.0.0:0", Stored: store,
		Tokens: map[string]string{"own-0123456789abc": "ops"}, Console: whose, Now: now}, nil)
	two := start(t, proxy.Options{Listen: "0.0.0.0:0", Stored: store,
		Tokens: map[string]string{"own-0123456789abc": "ops", "own-more-0123456": "dev"}, Console: whose, Now: now},
		nil)
	enter := func(token string) []*http.Cookie {
		t.Helper()
		resp := signIn(t, one, token, nil)
		if len(resp.Cookies()) != 1 {
			t.Fatalf("no cookie: %s", read(t, resp))
		}
		return resp.Cookies()
	}
	// seen is what a request with a cookie gets from a server, which knows the cookie by
	// the name that it has behind a balancer.
	seen := func(s *setup, cookies []*http.Cookie) string {
		t.Helper()
		r := s.request("GET", "/oriel/api/x", "")
		r.Header.Del("Authorization")
		r.Host = strings.TrimPrefix(one.url, "http://")
		for _, c := range cookies {
			r.AddCookie(c)
		}
		resp, body := s.do(r)
		if resp.StatusCode != 200 {
			return fmt.Sprint(resp.StatusCode)
		}
		return body
	}
	expect := func(why, want string, cookies []*http.Cookie) {
		t.Helper()
		for i, s := range []*setup{one, two} {
			if got := seen(s, cookies); got != want {
				t.Errorf("%s: server %d: %s, want %s", why, i+1, got, want)
			}
		}
	}
	reader, brief := store.add(t, "ann", timeline.RoleRead, time.Time{}),
		store.add(t, "bob", timeline.RoleCall, now().Add(time.Hour))
	ann, again, bob, ops := enter(reader), enter(reader), enter(brief), enter("own-0123456789abc")
	expect("signed in", "ann read", ann)
	expect("signed in", "bob call", bob)
	expect("with a token of the settings", "ops call", ops)

	r := two.request("DELETE", "/oriel/session", "")
	r.Header.Del("Authorization")
	r.Host = strings.TrimPrefix(one.url, "http://")
	r.AddCookie(ann[0])
	if resp, _ := two.do(r); resp.StatusCode != http.StatusForbidden {
		t.Errorf("a sign-out without the header: %d", resp.StatusCode)
	}
	r.Header.Set("X-Oriel-Console", "1")
	if resp, _ := two.do(r); resp.StatusCode != http.StatusNoContent || len(resp.Cookies()) != 1 ||
		resp.Cookies()[0].MaxAge >= 0 {
		t.Errorf("a sign-out: %d %v", resp.StatusCode, resp.Cookies())
	}
	pass(access.Lifetime)
	expect("signed out", "401", ann)
	expect("the other browser", "ann read", again)
	pass(time.Hour)
	expect("the token has expired", "401", bob)
	if err := store.RevokeToken(t.Context(), timeline.HashToken(reader), now()); err != nil {
		t.Fatal(err)
	}
	pass(access.Lifetime)
	expect("the token was revoked", "401", again)
	pass(31 * 24 * time.Hour)
	expect("the session has expired", "401", ops)
	all, err := store.Tokens(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, found := range all {
		if found.Role != timeline.RoleConsole {
			continue
		}
		if value, err := base64.RawURLEncoding.DecodeString(again[0].Value); err != nil ||
			bytes.Contains(value, found.Hash[:]) {
			t.Errorf("the store's hash is in the cookie (%v)", err)
		}
	}
}

// While the store does not answer, a server that does not know a session must not claim that
// it has ended, nor end it in the browser alone.
func TestASessionThatCannotBeCheckedIsNotEnded(t *testing.T) {
	store := &team{Store: memory.New()}
	token := store.add(t, "ann", timeline.RoleCall, time.Time{})
	one := start(t, proxy.Options{Listen: "0.0.0.0:0", Stored: store, Console: whose}, nil)
	cookies := signIn(t, one, token, nil).Cookies()
	if len(cookies) != 1 {
		t.Fatal(cookies)
	}
	for _, listen := range []string{"0.0.0.0:0", "127.0.0.1:0"} { // the second admits everybody as local
		two := start(t, proxy.Options{Listen: listen, Stored: store, Console: whose}, nil)
		ask := func(method, path string) *http.Response {
			t.Helper()
			r := two.request(method, path, "")
			r.Header.Del("Authorization")
			r.Header.Set("X-Oriel-Console", "1")
			_, port, _ := strings.Cut(strings.TrimPrefix(two.url, "http://"), ":")
			r.AddCookie(&http.Cookie{Name: "oriel_" + port, Value: cookies[0].Value})
			resp, _ := two.do(r)
			return resp
		}
		store.gone.Store(true)
		for _, path := range []string{"/oriel/api/x", "/oriel/session"} {
			if resp := ask("GET", path); resp.StatusCode != http.StatusServiceUnavailable {
				t.Errorf("%s: GET %s: %d", listen, path, resp.StatusCode)
			}
		}
		if resp := ask("DELETE", "/oriel/session"); resp.StatusCode != http.StatusServiceUnavailable ||
			len(resp.Cookies()) > 0 {
			t.Errorf("%s: a sign-out: %d %v", listen, resp.StatusCode, resp.Cookies())
		}
		store.gone.Store(false)
		if resp := ask("GET", "/oriel/api/x"); resp.StatusCode != 200 {
			t.Errorf("%s: the store is back: %d", listen, resp.StatusCode)
		}
	}
}

// hung is a store that can stop answering.
type hung struct {
	*memory.Store
	hangs atomic.Bool
}

func (s *hung) Token(ctx context.Context, hash timeline.TokenHash) (timeline.AccessToken, error) {
	if s.hangs.Load() {
		<-ctx.Done()
		return timeline.AccessToken{}, ctx.Err()
	}
	return s.Store.Token(ctx, hash)
}

// The cookie of a token of the settings does not name the token. A store that hangs is waited
// for once, not for every token, and a session that is known does not wait for the others.
func TestASessionWaitsForAHungStoreOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, n, tokens := &hung{Store: memory.New()}, newNetwork(), map[string]string{}
		for i := range 6 {
			tokens[fmt.Sprintf("own-0123456789-%d", i)] = fmt.Sprint("tenant", i)
		}
		s := startOn(t, nil, proxy.Options{Listen: "0.0.0.0:0", Stored: store, Tokens: tokens, Console: whose}, nil, n)
		var known [][]*http.Cookie
		for i := range 6 {
			cookies := signIn(t, s, fmt.Sprintf("own-0123456789-%d", i), nil).Cookies()
			if got, want := read(t, browse(t, s, "/oriel/api/x", cookies)),
				fmt.Sprintf("200 tenant%d call", i); got != want {
				t.Fatalf("%s, want %s", got, want)
			}
			known = append(known, cookies)
		}
		other := signIn(t, s, "own-0123456789-3", nil).Cookies() // nobody has used it
		store.hangs.Store(true)
		time.Sleep(access.Lifetime)
		for i, cookies := range known {
			began := time.Now()
			got := read(t, browse(t, s, "/oriel/api/x", cookies))
			if took := time.Since(began); took > time.Second || got != fmt.Sprintf("200 tenant%d call", i) {
				t.Errorf("session %d: %s after %v", i, got, took)
			}
		}
		began := time.Now()
		if resp := browse(t, s, "/oriel/api/x", other); resp.StatusCode != http.StatusServiceUnavailable ||
			time.Since(began) > 6*time.Second {
			t.Errorf("an unknown session: %d after %v", resp.StatusCode, time.Since(began))
		}
		time.Sleep(time.Minute) // until the store is asked no more
	})
}

// A cookie is looked up in the store, and anybody can send one. Unknown ones are answered late
// and, beyond a number for an address, refused at once; holders of tokens and of sessions at
// that address are served, also if the server has not seen the session before.
func TestCookiesOfStrangersAreSlowed(t *testing.T) {
	store := &team{Store: memory.New()}
	token := store.add(t, "ann", timeline.RoleCall, time.Time{})
	s := start(t, proxy.Options{Listen: "0.0.0.0:0", Stored: store, Console: whose}, nil)
	fresh := signIn(t, s, token, nil).Cookies() // it is used later
	cookies := signIn(t, s, token, nil).Cookies()
	if resp := browse(t, s, "/oriel/api/x", cookies); resp.StatusCode != 200 {
		t.Fatal(resp.StatusCode)
	}
	proxy.HoldGuessesForTest(s.server, time.Hour)
	host := strings.TrimPrefix(s.url, "http://")
	_, port, _ := strings.Cut(host, ":")
	send := func(header string) net.Conn {
		return s.raw("GET /oriel/api/x HTTP/1.1\r\nHost: " + host + "\r\n" + header + "\r\n\r\n")
	}
	stranger := func() net.Conn {
		value := make([]byte, 64)
		rand.Read(value)
		return send("Cookie: oriel_" + port + "=" + base64.RawURLEncoding.EncodeToString(value))
	}
	status := func(c net.Conn) int {
		res, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil {
			return 0 // the test has ended
		}
		return res.StatusCode
	}
	answers := make(chan int, 40)
	for range cap(answers) {
		c := stranger()
		go func() { answers <- status(c) }()
	}
	for range cap(answers) - 16 { // which are held
		if code := <-answers; code != http.StatusTooManyRequests {
			t.Fatalf("a stranger's cookie got %d at once", code)
		}
	}
	for range 50 {
		if code := status(stranger()); code != http.StatusTooManyRequests {
			t.Fatalf("one more got %d", code)
		}
	}
	if code := status(send("X-Oriel-Token: " + token)); code != 200 {
		t.Errorf("a token got %d", code)
	}
	for _, c := range []*http.Cookie{cookies[0], fresh[0]} {
		if code := status(send("Cookie: " + c.Name + "=" + c.Value)); code != 200 {
			t.Errorf("a browser that has signed in got %d", code)
		}
	}
}

// Without a token nobody has to sign in.
func TestOnLoopbackNobodySignsIn(t *testing.T) {
	s := start(t, proxy.Options{Console: whose}, nil)
	if got := read(t,
		browse(t, s, "/oriel/session", nil)); got != `200 {"tenant":"local","role":"call","signed_in":false}`+"\n" {
		t.Error(got)
	}
	if resp := signIn(t, s, "whatever", nil); resp.StatusCode != 200 || len(resp.Cookies()) > 0 {
		t.Errorf("%d %v", resp.StatusCode, resp.Cookies())
	}
}

func TestStreamsEndWhenTheServerShutsDown(t *testing.T) {
	begun := make(chan struct{})
	console := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(200)
		http.NewResponseController(w).Flush()
		close(begun)
		<-r.Context().Done()
	})
	s := start(t, proxy.Options{Console: console}, nil)
	resp := browse(t, s, "/oriel/api/events", nil)
	<-begun
	s.stop()
	if _, err := io.ReadAll(resp.Body); err != nil && err != context.Canceled {
		t.Errorf("the stream broke: %v", err)
	}
}
