package proxy_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strconv"
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

// A browser that signs in again has one session: nobody could end the former one by the page.
func TestANewSignInEndsTheFormerSession(t *testing.T) {
	store := &team{Store: memory.New()}
	var clock atomic.Int64
	clock.Store(time.Now().UnixNano())
	now := func() time.Time { return time.Unix(0, clock.Load()) }
	ann, ben := store.add(t, "ann", timeline.RoleCall, time.Time{}), store.add(t, "ben", timeline.RoleRead, time.Time{})
	s := start(t, proxy.Options{Listen: "0.0.0.0:0", Stored: store,
		Tokens: map[string]string{"own-0123456789abc": "ops", "own-0123456789xyz": "dev"}, Console: whose, Now: now},
		nil)
	sessions := func() (n int) {
		t.Helper()
		all, err := store.Tokens(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range all {
			if found.Role == timeline.RoleConsole && found.Revoked.IsZero() {
				n++
			}
		}
		return n
	}
	other := signIn(t, s, ann, nil).Cookies() // of another browser
	var cookies []*http.Cookie
	for _, tc := range []struct{ token, want string }{
		{ann, "200 ann call"}, {ben, "200 ben read"}, {"own-0123456789abc", "200 ops call"},
		{"own-0123456789xyz", "200 dev call"}, {ann, "200 ann call"},
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
	s := start(t, proxy.Options{Listen: "0.0.0.0:0", Tokens: map[string]string{"own-0123456789abc": "ann"},
		Console: whose}, nil)
	resp := signIn(t, s, "own-0123456789abc", nil, "Authorization", basic)
	cookies := resp.Cookies()
	if len(cookies) != 1 {
		t.Fatal(read(t, resp))
	}
	if got := read(t, browse(t, s, "/oriel/api/x", cookies, "Authorization", basic)); got != "200 ann call" {
		t.Errorf("a session: %s", got)
	}
	if got := read(t, browse(t, s, "/oriel/session", cookies, "Authorization",
		basic)); got != `200 {"tenant":"ann","role":"call","signed_in":true}`+"\n" {
		t.Errorf("whose it is: %s", got)
	}
	if got := read(t, browse(t, s, "/oriel/api/x", nil, "Authorization", basic, "X-Oriel-Token",
		"own-0123456789abc")); got != "200 ann call" {
		t.Errorf("a token: %s", got)
	}
	if got := read(t, browse(t, s, "/oriel/api/x", nil, "Authorization",
		"bearer own-0123456789abc")); got != "200 ann call" {
		t.Errorf("a bearer in small letters: %s", got)
	}
	r := s.request("GET", "/oriel/api/x", "")
	r.Header["Authorization"] = []string{basic, "Bearer own-0123456789abc"}
	if got := read(t, roundTrip(t, s, r, nil, nil)); got != "200 ann call" {
		t.Errorf("a password and a token: %s", got)
	}
	if got := read(t, browse(t, s, "/oriel/api/x", nil, "Authorization", basic)); !strings.HasPrefix(got, "401 ") ||
		!strings.Contains(got, "needs its own token") {
		t.Errorf("a password alone: %s", got)
	}
}

// Everybody behind a reverse proxy has one address. Wrong tokens of one person must not use up
// the sign-ins of others; with one token only so many browsers sign in a minute.
func TestARightTokenSignsInWhateverOthersTry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &team{Store: memory.New()}
		ann, ben := store.add(t, "ann", timeline.RoleCall, time.Time{}),
			store.add(t, "ben", timeline.RoleRead, time.Time{})
		server, err := proxy.New(proxy.Options{Listen: "0.0.0.0:0", Stored: store,
			Tokens: map[string]string{"own-0123456789abc": "ops"}, Console: whose})
		if err != nil {
			t.Fatal(err)
		}
		defer server.Close()
		post := func(token string) *http.Response {
			r := httptest.NewRequest("POST", "http://192.0.2.1:8780/oriel/session",
				strings.NewReader(`{"token":"`+token+`"}`))
			r.Header.Set("Content-Type", "application/json")
			r.RemoteAddr = "192.0.2.7:1"
			w := httptest.NewRecorder()
			server.ServeHTTP(w, r)
			return w.Result()
		}
		guess := func(n int) {
			for range n {
				go post("wrong-0123456789")
			}
			synctest.Wait()
		}
		guess(100)
		for token, want := range map[string]string{ann: "ann", ben: "ben", "own-0123456789abc": "ops"} {
			if resp := post(token); resp.StatusCode != 200 || len(resp.Cookies()) != 1 {
				t.Errorf("%s beside wrong tokens: %s", want, read(t, resp))
			}
		}
		time.Sleep(time.Minute)
		counts := server.Counters()
		if c := counts.RefusedSignIns; c["unknown"] != 16 || c["crowded"] != 84 ||
			counts.RefusedTokens["unknown"] != 0 {
			t.Errorf("counted are %v and %v", c, counts.RefusedTokens)
		}
		for i := range proxy.MaxSignIns {
			if resp := post(ann); resp.StatusCode != 200 {
				t.Fatalf("sign-in %d: %s", i, read(t, resp))
			}
		}
		resp := post(ann)
		if body := read(t, resp); resp.StatusCode != http.StatusTooManyRequests ||
			resp.Header.Get("Retry-After") != strconv.Itoa(60/proxy.MaxSignIns) ||
			resp.Header.Get("Content-Type") != "application/problem+json" || !strings.Contains(body, "try again in") {
			t.Errorf("%s after %q", body, resp.Header.Get("Retry-After"))
		}
		if resp := post(ben); resp.StatusCode != 200 {
			t.Errorf("with another token: %s", read(t, resp))
		}
		time.Sleep(60 / proxy.MaxSignIns * time.Second)
		if resp := post(ann); resp.StatusCode != 200 {
			t.Errorf("after the wait: %s", read(t, resp))
		}
		if c := server.Counters().RefusedSignIns; c["limit"] != 1 {
			t.Errorf("counted are %v", c)
		}
		time.Sleep(time.Minute) // until the store is asked no more
	})
}

// failing is a store that cannot add tokens, or not revoke them.
type failing struct {
	*team
	add, revoke atomic.Bool
}

func (s *failing) AddToken(ctx context.Context, t timeline.AccessToken) error {
	if s.add.Load() {
		return errors.New("the disk is full")
	}
	return s.team.AddToken(ctx, t)
}

func (s *failing) RevokeToken(ctx context.Context, hash timeline.TokenHash, at time.Time) error {
	if s.revoke.Load() {
		return errors.New("the disk is full")
	}
	return s.team.RevokeToken(ctx, hash, at)
}

// A sign-in that the store cannot keep leaves the browser with the session that it has.
func TestAFailedSignInKeepsTheFormerSession(t *testing.T) {
	store := &failing{team: &team{Store: memory.New()}}
	ann, ben := store.team.add(t, "ann", timeline.RoleCall, time.Time{}),
		store.team.add(t, "ben", timeline.RoleRead, time.Time{})
	var clock atomic.Int64
	clock.Store(time.Now().UnixNano())
	s := start(t, proxy.Options{Listen: "0.0.0.0:0", Stored: store, Console: whose,
		Now: func() time.Time { return time.Unix(0, clock.Load()) }}, nil)
	cookies := signIn(t, s, ann, nil).Cookies()
	for _, fails := range []*atomic.Bool{&store.add, &store.revoke} {
		fails.Store(true)
		if resp := signIn(t, s, ben, cookies); resp.StatusCode != http.StatusServiceUnavailable ||
			len(resp.Cookies()) > 0 {
			t.Errorf("a sign-in that cannot be kept: %d %v", resp.StatusCode, resp.Cookies())
		}
		fails.Store(false)
		clock.Add(int64(access.Lifetime))
		if got := read(t, browse(t, s, "/oriel/api/x", cookies)); got != "200 ann call" {
			t.Errorf("the former session: %s", got)
		}
	}
	if c := s.server.Counters().RefusedSignIns; c["unchecked"] != 2 {
		t.Errorf("counted are %v", c)
	}
}
