package proxy_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
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

func TestShortTokensAreRefusedBeyondLoopback(t *testing.T) {
	for listen, least := range map[string]int{"127.0.0.1:0": 1, "0.0.0.0:0": 16} {
		for n := 1; n <= 17; n++ {
			_, err := proxy.New(proxy.Options{Listen: listen, Tokens: map[string]string{strings.Repeat("x", n): "a"}})
			if (err == nil) != (n >= least) {
				t.Errorf("%s, %d characters: %v", listen, n, err)
			}
			if err != nil && !strings.Contains(err.Error(), "openssl rand -hex 16") {
				t.Errorf("does not say how to make one: %v", err)
			}
		}
	}
}

// Wrong tokens are answered late, and only so many wait for an address: the next ones are
// refused at once. Who has a right token is served, at the same address too, which everybody
// behind a reverse proxy has.
func TestGuessesAreSlowedAndRightTokensAreNot(t *testing.T) {
	const token = "the-right-token-0"
	store := &team{Store: memory.New()}
	s := start(t, proxy.Options{Tokens: map[string]string{token: "a"}, Stored: store},
		func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "answer") })
	proxy.HoldGuessesForTest(s.server, time.Hour)
	send := func(token string) net.Conn {
		return s.raw(fmt.Sprintf("GET /k/%s/v1/models HTTP/1.1\r\nHost: localhost\r\n\r\n", token))
	}
	status := func(c net.Conn) (int, string) {
		t.Helper()
		res, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil {
			t.Fatal(err)
		}
		return res.StatusCode, res.Header.Get("Retry-After")
	}
	held := func(want int) {
		t.Helper()
		await(t, func() bool { n, _ := proxy.HeldForTest(s.server); return n == want })
	}
	var waiting []net.Conn
	for range 16 {
		waiting = append(waiting, send("the-wrong-token-0"))
	}
	held(16)
	for _, wrong := range []string{"the-wrong-token-0", access.NewToken()} {
		if code, after := status(send(wrong)); code != 429 || after != "1" {
			t.Errorf("one more wrong token: %d, Retry-After %q", code, after)
		}
	}
	stored := store.add(t, "b", timeline.RoleCall, time.Time{}) // the server has not seen it yet
	for _, right := range []string{token, stored, stored} {
		if code, _ := status(send(right)); code != 200 {
			t.Errorf("a right token beside wrong ones: %d", code)
		}
	}
	for _, c := range waiting {
		c.Close()
	}
	held(0) // who leaves is not held
	counts := s.server.Counters().RefusedTokens
	if counts["crowded"] != 2 || counts["unknown"] != 16 || counts["expired"] != 0 || len(counts) != 7 {
		t.Errorf("counted are %v", counts)
	}
}

// However many wrong tokens a crowded address sends, few at a time are looked up in the
// store, and right ones are among them in their turn.
func TestFewTokensOfACrowdedAddressAreLookedUpAtATime(t *testing.T) {
	store := &waiting{team: team{Store: memory.New()}, release: make(chan struct{})}
	right := store.add(t, "ann", timeline.RoleCall, time.Time{})
	s := start(t, proxy.Options{Listen: "0.0.0.0:0", Stored: store, Console: whose}, nil)
	proxy.HoldGuessesForTest(s.server, time.Hour)
	ask := func(token string) *http.Response {
		r := s.request("GET", "/oriel/api/x", "")
		r.Header.Set("X-Oriel-Token", token)
		resp, _ := s.do(r)
		return resp
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for range 16 { // they are of another form, and are not looked up
		r := s.request("GET", "/oriel/api/x", "").WithContext(ctx)
		r.Header.Set("X-Oriel-Token", "wrong")
		go s.client.Do(r)
	}
	await(t, func() bool { n, _ := proxy.HeldForTest(s.server); return n == 16 })
	answers := make(chan int, 40)
	for range 40 {
		go func() { answers <- ask(access.NewToken()).StatusCode }()
	}
	served := make(chan int)
	go func() { served <- ask(right).StatusCode }()
	await(t, func() bool { return store.asking.Load() == 4 })
	close(store.release)
	for range 40 {
		if code := <-answers; code != http.StatusTooManyRequests {
			t.Errorf("a wrong token: %d", code)
		}
	}
	if code := <-served; code != 200 {
		t.Errorf("the right token: %d", code)
	}
	if n := store.most.Load(); n != 4 {
		t.Errorf("%d were looked up at a time", n)
	}
}

// crowd is a server whose clients have addresses of their own.
type crowd struct {
	t      *testing.T
	server *proxy.Server
}

func newCrowd(t *testing.T, o proxy.Options) *crowd {
	t.Helper()
	o.Console = whose
	server, err := proxy.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Close() })
	return &crowd{t, server}
}

// ask sends a token from an address, with a request or to sign in.
func (c *crowd) ask(from, token string, signIn bool) (status int, body string) {
	r := httptest.NewRequest("GET", "http://127.0.0.1:8780/oriel/api/x", nil)
	if signIn {
		r = httptest.NewRequest("POST", "http://127.0.0.1:8780/oriel/session",
			strings.NewReader(`{"token":"`+token+`"}`))
		r.Header.Set("Content-Type", "application/json")
	} else {
		r.Header.Set("X-Oriel-Token", token)
	}
	r.RemoteAddr = from + ":1"
	w := httptest.NewRecorder()
	c.server.ServeHTTP(w, r)
	return w.Code, w.Body.String()
}

// fill sends wrong tokens from an address until the server delays no more answers to it.
func (c *crowd) fill(from string) {
	for range 16 {
		go c.ask(from, "wrong-0123456789", false)
	}
	synctest.Wait()
}

// fillAll fills so many addresses that the limit of all addresses is reached.
func (c *crowd) fillAll() {
	c.t.Helper()
	for i := range 64 {
		c.fill(fmt.Sprintf("127.1.0.%d", i))
	}
	if n, _ := proxy.HeldForTest(c.server); n != 1024 {
		c.t.Fatalf("%d answers are delayed", n)
	}
}

// A reverse proxy on the same machine passes on what anybody sends. A token that is short
// enough to be guessed is refused like a wrong one while too many wrong ones come.
func TestShortTokensAreGuessedNoFasterThanWrongOnesAreDelayed(t *testing.T) {
	for _, signIn := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			c := newCrowd(t, proxy.Options{Tokens: map[string]string{"hunter2": "ann", "own-0123456789abc": "ops"},
				Stored: &team{Store: memory.New()}})
			expect := func(from, token string, want int) {
				t.Helper()
				if got, body := c.ask(from, token, signIn); got != want {
					t.Errorf("%s from %s, sign-in %v: %d %s, want %d", token, from, signIn, got, body, want)
				}
			}
			expect("127.0.0.1", "hunter2", 200)
			c.fill("127.0.0.1")
			_, wrong := c.ask("127.0.0.1", "hunter3", signIn)
			if code, right := c.ask("127.0.0.1", "hunter2", signIn); code != 429 || right != wrong {
				t.Errorf("a right token: %d %s, a wrong one: %s", code, right, wrong)
			}
			expect("127.0.0.1", "own-0123456789abc", 200)
			expect("127.0.0.2", "hunter2", 200)
			time.Sleep(time.Minute)
			expect("127.0.0.1", "hunter2", 200)
			// Where no wrong answer is delayed any more, a right one must not differ either.
			c.fillAll()
			expect("127.0.0.3", "hunter3", 429)
			expect("127.0.0.3", "hunter2", 429)
			expect("127.0.0.3", "own-0123456789abc", 200)
			time.Sleep(time.Minute)
		})
	}
}

// stuck is a store that does not answer about wrong tokens.
type stuck struct{ team }

func (s *stuck) Token(ctx context.Context, hash timeline.TokenHash) (timeline.AccessToken, error) {
	found, err := s.team.Token(ctx, hash)
	if err != nil {
		<-ctx.Done()
	}
	return found, err
}

// Wrong tokens of many addresses do not take the turns of another: a token that the server
// has not seen yet is looked up at once.
func TestWrongTokensOfManyAddressesDoNotDelayOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &stuck{team{Store: memory.New()}}
		right, other := store.add(t, "ann", timeline.RoleCall, time.Time{}),
			store.add(t, "ben", timeline.RoleCall, time.Time{})
		c := newCrowd(t, proxy.Options{Listen: "0.0.0.0:0", Stored: store})
		c.fillAll()
		for i := range 40 {
			go c.ask(fmt.Sprintf("127.1.0.%d", i%4), access.NewToken(), false)
		}
		synctest.Wait()
		if n := store.asked.Load(); n != 16 {
			t.Errorf("%d tokens of four addresses are looked up at a time", n)
		}
		before := time.Now()
		for i, token := range []string{right, other} {
			if code, body := c.ask("192.0.2.9", token, i == 1); code != 200 || time.Since(before) > 0 {
				t.Errorf("a right token of another address: %d %s after %v", code, body, time.Since(before))
			}
		}
		time.Sleep(time.Minute)
		if n := proxy.TurnsForTest(c.server); n != 0 {
			t.Errorf("%d addresses are remembered", n)
		}
	})
}

// However many addresses come, what is remembered about them is bounded.
func TestTurnsAreBoundedAndSurviveAPanic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd(t, proxy.Options{Listen: "0.0.0.0:0", Stored: &team{Store: memory.New()}})
		c.fillAll()
		from := netip.MustParseAddr("127.1.0.1")
		for range 8 {
			func() {
				defer func() { recover() }()
				proxy.LookForTest(c.server, from, func() { panic("a fault of the store") })
			}()
		}
		if !proxy.LookForTest(c.server, from, func() {}) {
			t.Error("a panic took a turn away")
		}
		release := make(chan struct{})
		for i := range 3000 {
			go proxy.LookForTest(c.server, netip.AddrFrom4([4]byte{10, 0, byte(i >> 8), byte(i)}), func() { <-release })
		}
		synctest.Wait()
		if n := proxy.TurnsForTest(c.server); n != 1025 {
			t.Errorf("%d turns are remembered", n)
		}
		close(release)
		time.Sleep(time.Minute)
		if n := proxy.TurnsForTest(c.server); n != 0 {
			t.Errorf("%d turns remain", n)
		}
	})
}

// await waits, for a minute at most, until something holds.
func await(t *testing.T, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !holds(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("it did not happen within a minute")
		}
	}
}

// waiting is a store whose lookups wait until they are released.
type waiting struct {
	team
	release      chan struct{}
	asking, most atomic.Int64
}

func (s *waiting) Token(ctx context.Context, hash timeline.TokenHash) (timeline.AccessToken, error) {
	n := s.asking.Add(1)
	defer s.asking.Add(-1)
	for most := s.most.Load(); n > most && !s.most.CompareAndSwap(most, n); most = s.most.Load() {
	}
	<-s.release
	return s.team.Token(ctx, hash)
}

// A token in the wrong place is told only to those who have one in the right place: the
// answer finds no token.
func TestNoPathFindsAToken(t *testing.T) {
	const token = "the-right-token-0"
	s := start(t, proxy.Options{Tokens: map[string]string{token: "a"}},
		func(http.ResponseWriter, *http.Request) { t.Error("went upstream") })
	for _, path := range []string{"/v1/" + token, "/v1/the-wrong-token-0"} {
		if res, body := s.do(s.request("GET", path, "")); res.StatusCode != 401 ||
			!strings.Contains(body, "token_missing") {
			t.Errorf("%s: %d %s", path, res.StatusCode, body)
		}
	}
	if strings.Contains(s.log.String(), token) {
		t.Error("the log has the token")
	}
}

// The connection of a request with Transfer-Encoding ends with its answer: it may have had
// a Content-Length, too (RFC 9112, 6.1). An obsolete line folding is one space (5.2).
func TestAConnectionWithTwoLengthsIsClosed(t *testing.T) {
	var folded string
	s := start(t, proxy.Options{}, func(w http.ResponseWriter, r *http.Request) {
		folded = r.Header.Get("X-Folded")
		w.WriteHeader(http.StatusProcessing)
		body, _ := io.ReadAll(r.Body)
		w.Write(body)
	})
	const chunked = "Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n"
	for name, tc := range map[string]struct {
		request string
		closed  bool
	}{
		"both":       {"Content-Length: 6\r\n" + chunked, true},
		"both, call": {"Content-Length: 6\r\n" + chunked, true},
		"chunked":    {chunked, true},
		"a length":   {"Content-Length: 2\r\n\r\n{}", false},
		"HTTP/1.0, both": {"Connection: keep-alive\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n{}",
			true},
		"HTTP/1.0":        {"Connection: keep-alive\r\nContent-Length: 2\r\n\r\n{}", true},
		"a folded header": {"X-Folded: a\r\n b\r\nContent-Length: 2\r\n\r\n{}", false},
	} {
		path := "/v1/files"
		if strings.Contains(name, "call") {
			path = "/v1/chat/completions"
		}
		protocol := "HTTP/1.1"
		if strings.HasPrefix(name, "HTTP/1.0") {
			protocol = "HTTP/1.0"
		}
		c := s.raw("POST " + path + " " + protocol + "\r\nHost: localhost\r\n" + tc.request)
		in := bufio.NewReader(c)
		for {
			res, err := http.ReadResponse(in, nil)
			if err != nil {
				t.Fatal(name, err)
			}
			if res.StatusCode == http.StatusProcessing {
				continue
			}
			body, err := io.ReadAll(res.Body)
			if err != nil || res.StatusCode != 200 || string(body) != "{}" || res.Close != tc.closed {
				t.Fatalf("%s: %d %q, closed %v, %v", name, res.StatusCode, body, res.Close, err)
			}
			break
		}
		if tc.closed {
			if _, err := in.ReadByte(); err != io.EOF {
				t.Errorf("%s: the connection is open: %v", name, err)
			}
		}
		if strings.Contains(name, "folded") && folded != "a b" {
			t.Errorf("%q", folded)
		}
	}
}
