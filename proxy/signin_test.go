package proxy_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/oriel-context/oriel/internal/access"
	"github.com/oriel-context/oriel/proxy"
	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/timeline/memory"
)

// A browser that signs in again has one session: nobody could end the former one by the page.
func TestANewSignInEndsTheFormerSession(t *testing.T) {
	store := &team{Store: memory.New()}
	var clock atomic.Int64
	clock.Store(time.Now().UnixNano())
	now := func() time.Time { return time.Unix(0, clock.Load()) }
	ann, ben := store.add(t, "ann", timeline.RoleCall, time.Time{}), store.add(t, "ben", timeline.RoleRead, time.Time{})
	s := start(t, proxy.Options{Listen: "0.0.0.0:0", Stored: store, Tokens: map[string]string{"own-0123456789abc": "ops", "own-0123456789xyz": "dev"}, Console: whose, Now: now}, nil)
	sessions := func() (n int) {
		t.Helper()
		all, err := store.Tokens(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range all {
			if found.Role == timeline.RoleConsole {
				n++
			}
		}
		return n
	}
	other := signIn(t, s, ann, nil).Cookies() // of another browser
	var cookies []*http.Cookie
	for _, tc := range []struct{ token, want string }{
		{ann, "200 ann call"}, {ben, "200 ben read"}, {"own-0123456789abc", "200 ops call"}, {"own-0123456789xyz", "200 dev call"}, {ann, "200 ann call"},
	} {
		former := cookies
		cookies = signIn(t, s, tc.token, former).Cookies()
		if got := read(t, browse(t, s, "/oriel/api/x", cookies)); got != tc.want {
			t.Errorf("%s, want %s", got, tc.want)
		}
		clock.Add(int64(access.Lifetime))
		if former != nil {
			if resp := browse(t, s, "/oriel/api/x", former); resp.StatusCode != http.StatusUnauthorized {
				t.Errorf("the former session before %s: %d", tc.want, resp.StatusCode)
			}
		}
		if n := sessions(); n != 2 {
			t.Errorf("the store has %d sessions of two browsers", n)
		}
	}
	if got := read(t, browse(t, s, "/oriel/api/x", other)); got != "200 ann call" {
		t.Errorf("the other browser: %s", got)
	}
	// A token that is refused leaves the session as it is.
	if resp := signIn(t, s, "wrong-0123456789", cookies); resp.StatusCode != http.StatusUnauthorized {
		t.Error(resp.StatusCode)
	}
	if got := read(t, browse(t, s, "/oriel/api/x", cookies)); got != "200 ann call" {
		t.Errorf("after a wrong token: %s", got)
	}
}

// A reverse proxy that asks for a password sends it on with every request.
func TestAPasswordOfAReverseProxyIsNoToken(t *testing.T) {
	const basic = "Basic YW5uOnNlY3JldA=="
	s := start(t, proxy.Options{Listen: "0.0.0.0:0", Tokens: map[string]string{"own-0123456789abc": "ann"}, Console: whose}, nil)
	resp := signIn(t, s, "own-0123456789abc", nil, "Authorization", basic)
	cookies := resp.Cookies()
	if len(cookies) != 1 {
		t.Fatal(read(t, resp))
	}
	if got := read(t, browse(t, s, "/oriel/api/x", cookies, "Authorization", basic)); got != "200 ann call" {
		t.Errorf("a session: %s", got)
	}
	if got := read(t, browse(t, s, "/oriel/session", cookies, "Authorization", basic)); got != `200 {"tenant":"ann","role":"call","signed_in":true}`+"\n" {
		t.Errorf("whose it is: %s", got)
	}
	if got := read(t, browse(t, s, "/oriel/api/x", nil, "Authorization", basic, "X-Oriel-Token", "own-0123456789abc")); got != "200 ann call" {
		t.Errorf("a token: %s", got)
	}
	if got := read(t, browse(t, s, "/oriel/api/x", nil, "Authorization", "bearer own-0123456789abc")); got != "200 ann call" {
		t.Errorf("a bearer in small letters: %s", got)
	}
	r := s.request("GET", "/oriel/api/x", "")
	r.Header["Authorization"] = []string{basic, "Bearer own-0123456789abc"}
	if got := read(t, roundTrip(t, s, r, nil, nil)); got != "200 ann call" {
		t.Errorf("a password and a token: %s", got)
	}
	if got := read(t, browse(t, s, "/oriel/api/x", nil, "Authorization", basic)); !strings.HasPrefix(got, "401 ") || !strings.Contains(got, "wants a token") {
		t.Errorf("a password alone: %s", got)
	}
}

func TestSignInsAreLimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &team{Store: memory.New()}
		token := store.add(t, "ann", timeline.RoleCall, time.Time{})
		server, err := proxy.New(proxy.Options{Listen: "0.0.0.0:0", Stored: store, Console: whose})
		if err != nil {
			t.Fatal(err)
		}
		defer server.Close()
		post := func(from, token string) *http.Response {
			r := httptest.NewRequest("POST", "http://192.0.2.1:8780/oriel/session", strings.NewReader(`{"token":"`+token+`"}`))
			r.Header.Set("Content-Type", "application/json")
			r.RemoteAddr = from
			w := httptest.NewRecorder()
			server.ServeHTTP(w, r)
			return w.Result()
		}
		limited := func(resp *http.Response) int {
			t.Helper()
			seconds, err := strconv.Atoi(resp.Header.Get("Retry-After"))
			if body := read(t, resp); resp.StatusCode != http.StatusTooManyRequests || err != nil || resp.Header.Get("Content-Type") != "application/problem+json" || !strings.Contains(body, "try again in") {
				t.Fatalf("%s after %q, %s", body, resp.Header.Get("Retry-After"), resp.Header.Get("Content-Type"))
			}
			return seconds
		}
		for i := range proxy.MaxSignIns {
			if resp := post(fmt.Sprintf("[2001:db8::%d]:1", i), token); resp.StatusCode != 200 { // one network
				t.Fatalf("sign-in %d: %s", i, read(t, resp))
			}
		}
		asked := store.asked.Load()
		wait := limited(post("[2001:db8::ffff]:1", token))
		if wait != 60/proxy.MaxSignIns {
			t.Errorf("wait %d s", wait)
		}
		limited(post("[2001:db8::ffff]:1", access.NewToken())) // not looked up
		if n := store.asked.Load() - asked; n > 0 {
			t.Errorf("the store was asked %d times", n)
		}
		if resp := post("198.51.100.1:1", token); resp.StatusCode != 200 {
			t.Errorf("another address: %d", resp.StatusCode)
		}
		time.Sleep(time.Duration(wait) * time.Second)
		if resp := post("[2001:db8::1]:1", token); resp.StatusCode != 200 {
			t.Errorf("after the wait: %d", resp.StatusCode)
		}
		limited(post("[2001:db8::1]:1", token))

		// All addresses together.
		time.Sleep(time.Minute)
		for i := range proxy.MaxAllSignIns {
			if resp := post(fmt.Sprintf("10.0.%d.%d:1", i/200, i%200), token); resp.StatusCode != 200 {
				t.Fatalf("sign-in %d: %s", i, read(t, resp))
			}
		}
		time.Sleep(time.Duration(limited(post("10.9.9.9:1", token))) * time.Second)
		if resp := post("10.9.9.9:1", token); resp.StatusCode != 200 {
			t.Errorf("after the wait: %d", resp.StatusCode)
		}
		time.Sleep(time.Minute) // until the store is asked no more
	})
}

// Whatever comes from wherever whenever, no address and not all together sign in more often
// than the limits allow.
func TestTheLimitsOfSignInsHold(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var l proxy.SignIns
		began := time.Date(2026, 11, 16, 12, 0, 0, 0, time.UTC)
		now, all, from := began, 0, map[netip.Addr]int{}
		for range rapid.IntRange(1, 600).Draw(t, "attempts") {
			now = now.Add(time.Duration(rapid.IntRange(0, 2000).Draw(t, "ms")) * time.Millisecond)
			a := netip.AddrFrom4([4]byte{10, 0, 0, byte(rapid.IntRange(0, 5).Draw(t, "address"))})
			wait, ok := l.Take(a, now)
			if ok != (wait == 0) {
				t.Fatal(wait, ok)
			}
			if !ok && rapid.Bool().Draw(t, "waits") {
				now = now.Add(wait + time.Microsecond)
				if _, ok = l.Take(a, now); !ok {
					t.Fatalf("none after %v", wait)
				}
			}
			if !ok {
				continue
			}
			all++
			from[a]++
			minutes := now.Sub(began).Minutes()
			if float64(all) > proxy.MaxAllSignIns*(1+minutes)+1 || float64(from[a]) > proxy.MaxSignIns*(1+minutes)+1 {
				t.Fatalf("%d of all, %d of %v after %.2f minutes", all, from[a], a, minutes)
			}
		}
	})
}
