package proxy_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
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

// team is a store with tokens. gone makes it fail.
type team struct {
	*memory.Store
	gone  atomic.Bool
	asked atomic.Int64
}

func (s *team) Token(ctx context.Context, hash timeline.TokenHash) (timeline.AccessToken, error) {
	s.asked.Add(1)
	if s.gone.Load() {
		return timeline.AccessToken{}, errors.New("gone")
	}
	return s.Store.Token(ctx, hash)
}

// add returns a new token.
func (s *team) add(t *testing.T, tenant, role string, expires time.Time) string {
	t.Helper()
	token := access.NewToken()
	if err := s.AddToken(t.Context(), timeline.AccessToken{Hash: timeline.HashToken(token), Tenant: tenant, Role: role,
		Created: time.Now(), Expires: expires}); err != nil {
		t.Fatal(err)
	}
	return token
}

// whose answers with the access of the request.
var whose = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
	a := proxy.AccessOf(r.Context())
	fmt.Fprintf(w, "%s %s", a.Tenant, a.Role)
})

// What a stored token admits to depends on its tenant, its role and its state alone,
// however it is sent.
func TestStoredTokensAdmitByTenantAndRole(t *testing.T) {
	store := &team{Store: memory.New()}
	ann, bob := store.add(t, "ann", timeline.RoleCall, time.Time{}), store.add(t, "bob", timeline.RoleRead, time.Time{})
	expired, revoked := store.add(t, "ann", timeline.RoleCall, time.Now().Add(-time.Hour)),
		store.add(t, "ann", timeline.RoleCall, time.Time{})
	if err := store.RevokeToken(t.Context(), timeline.HashToken(revoked), time.Now()); err != nil {
		t.Fatal(err)
	}
	k := &keeper{}
	var got seen
	s := startWith(t, k, proxy.Options{Listen: "0.0.0.0:0", Stored: store, Console: whose},
		func(w http.ResponseWriter, r *http.Request) { got = see(r) })
	for _, tc := range []struct {
		name, token, method, path string
		status                    int
		want                      string // in the body
	}{
		{"none", "", "POST", "/v1/messages", 401, "token"},
		{"unknown", access.NewToken(), "POST", "/v1/messages", 401, "does not know"},
		{"of another form", "wrong", "POST", "/v1/messages", 401, "does not know"},
		{"expired", expired, "POST", "/v1/messages", 401, "has expired"},
		{"revoked", revoked, "POST", "/v1/messages", 401, "was revoked"},
		{"call", ann, "POST", "/v1/messages", 200, ""},
		{"call", ann, "POST", "/oriel/api/conversations/x/pins", 200, "ann call"},
		{"call", ann, "GET", "/oriel/api/conversations", 200, "ann call"},
		{"read calls", bob, "POST", "/v1/messages", 403, "make no calls"},
		{"read forwards", bob, "GET", "/v1/models", 403, "make no calls"},
		{"read reads", bob, "GET", "/oriel/api/conversations", 200, "bob read"},
		{"read measures", bob, "GET", "/oriel/metrics", 200, "bob read"},
		{"read recalls", bob, "POST", "/oriel/api/recall", 200, "bob read"},
		{"read fits", bob, "POST", "/oriel/api/fit", 200, "bob read"},
		{"read by MCP", bob, "POST", "/oriel/mcp", 200, "bob read"},
		{"read pins", bob, "POST", "/oriel/api/conversations/x/pins", 403, "change nothing"},
		{"read unpins", bob, "DELETE", "/oriel/api/conversations/x/pins/17", 403, "change nothing"},
		{"read undoes", bob, "POST", "/oriel/api/conversations/recall/undo", 403, "change nothing"},
		{"read patches", bob, "PATCH", "/oriel/api/recall", 403, "change nothing"},
	} {
		for way, change := range map[string]func(*http.Request){
			"header": func(r *http.Request) { r.Header.Set("X-Oriel-Token", tc.token) },
			"path": func(r *http.Request) {
				if tc.token != "" {
					r.URL.Path = "/k/" + tc.token + r.URL.Path
				}
			},
			"bearer": func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+tc.token) },
		} {
			if way == "bearer" && !strings.HasPrefix(tc.path, "/oriel/") {
				continue
			}
			r := s.request(tc.method, tc.path, "{}")
			change(r)
			res, body := s.do(r)
			if res.StatusCode != tc.status || !strings.Contains(body, tc.want) {
				t.Errorf("%s %s %s by %s: %d %s", tc.name, tc.method, tc.path, way, res.StatusCode, body)
			}
		}
	}
	r := s.request("POST", "/v1/messages", "{}")
	r.Header.Set("X-Oriel-Token", ann)
	s.do(r)
	if call := k.calls[len(k.calls)-1]; call.Tenant != "ann" || strings.Contains(fmt.Sprint(got), ann) {
		t.Errorf("tenant %q, seen %v", call.Tenant, got)
	}
	if strings.Contains(s.log.String(), "oriel_") {
		t.Error("a token is in the log:", s.log)
	}
}

// A stored token in a place where the provider would see it is refused.
func TestStoredTokensAreNeverForwarded(t *testing.T) {
	store := &team{Store: memory.New()}
	ann, other := store.add(t, "ann", timeline.RoleCall, time.Time{}), access.NewToken()
	forwarded := 0
	s := start(t, proxy.Options{Listen: "0.0.0.0:0", Stored: store},
		func(http.ResponseWriter, *http.Request) { forwarded++ })
	for _, stray := range []string{ann, other} {
		for name, change := range map[string]func(*http.Request){
			"key":    func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+stray) },
			"header": func(r *http.Request) { r.Header.Set("X-Api-Key", stray) },
			"query":  func(r *http.Request) { r.URL.RawQuery = "key=" + stray },
			"path":   func(r *http.Request) { r.URL.Path = "/v1/models/" + stray },
		} {
			r := s.request("POST", "/v1/messages", "{}")
			r.Header.Set("X-Oriel-Token", ann)
			change(r)
			if res, body := s.do(r); res.StatusCode != 400 || strings.Contains(body, stray) {
				t.Errorf("%s: %d %s", name, res.StatusCode, body)
			}
		}
	}
	if forwarded > 0 {
		t.Errorf("%d requests reached the provider", forwarded)
	}
}

// On loopback a request without a token is the local user's; one with a token is its
// tenant's, or refused.
func TestStoredTokensOnLoopback(t *testing.T) {
	store := &team{Store: memory.New()}
	ann := store.add(t, "ann", timeline.RoleCall, time.Time{})
	s := start(t, proxy.Options{Stored: store, Console: whose}, func(http.ResponseWriter, *http.Request) {})
	for token, want := range map[string]string{"": "local call", "of another server": "local call", ann: "ann call",
		access.NewToken(): "does not know"} {
		r := s.request("GET", "/oriel/api/x", "")
		r.Header.Set("X-Oriel-Token", token)
		if _, body := s.do(r); !strings.Contains(body, want) {
			t.Errorf("%q: %s", token, body)
		}
	}
	page := s.request("POST", "/v1/messages", "{}")
	page.Header.Set("Origin", "https://evil.example")
	if res, _ := s.do(page); res.StatusCode != 403 {
		t.Error("a page without a token:", res.Status)
	}
	page = s.request("POST", "/v1/messages", "{}")
	page.Header.Set("Origin", "https://ours.example")
	page.Header.Set("X-Oriel-Token", ann)
	if res, _ := s.do(page); res.StatusCode != 200 {
		t.Error("a page with a token:", res.Status)
	}
}

// While the store does not answer, a token that was used before goes on working, and any
// other is refused as unchecked.
func TestTokensWhileTheirStoreIsGone(t *testing.T) {
	store := &team{Store: memory.New()}
	ann, bob := store.add(t, "ann", timeline.RoleCall, time.Time{}), store.add(t, "bob", timeline.RoleCall, time.Time{})
	s := start(t, proxy.Options{Listen: "0.0.0.0:0", Stored: store}, func(http.ResponseWriter, *http.Request) {})
	status := func(token string) int {
		r := s.request("POST", "/v1/messages", "{}")
		r.Header.Set("X-Oriel-Token", token)
		res, _ := s.do(r)
		return res.StatusCode
	}
	if got := status(ann); got != 200 {
		t.Fatal(got)
	}
	store.gone.Store(true)
	if a, b := status(ann), status(bob); a != 200 || b != 503 {
		t.Errorf("known %d, other %d", a, b)
	}
	store.gone.Store(false)
	if got := status(bob); got != 200 {
		t.Error(got)
	}
}

// Calls beyond a tenant's limit are refused in the vendor's own shape, with the time after
// which to try again; other tenants and other requests are not counted.
func TestCallsPerMinute(t *testing.T) {
	store := &team{Store: memory.New()}
	ann, bob, cid := store.add(t, "ann", timeline.RoleCall, time.Time{}),
		store.add(t, "bob", timeline.RoleCall, time.Time{}), store.add(t, "cid", timeline.RoleCall, time.Time{})
	clock := time.Date(2026, 11, 16, 12, 0, 0, 0, time.UTC)
	var limited []string
	s := start(t, proxy.Options{
		Listen: "0.0.0.0:0", Stored: store, CallsPerMinute: map[string]int{"ann": 2, "cid": 0, "*": 1},
		Now:     func() time.Time { return clock },
		OnLimit: func(tenant, call string) { limited = append(limited, tenant) },
	}, func(http.ResponseWriter, *http.Request) {})
	call := func(token, path string) (*http.Response, string) {
		r := s.request("POST", path, "{}")
		r.Header.Set("X-Oriel-Token", token)
		return s.do(r)
	}
	expect := func(token, path string, want int) {
		t.Helper()
		if res, body := call(token, path); res.StatusCode != want {
			t.Errorf("%s: %d %s", path, res.StatusCode, body)
		}
	}
	expect(ann, "/v1/messages", 200)
	expect(ann, "/v1/chat/completions", 200)
	for range 3 {
		expect(ann, "/v1/messages/count_tokens", 200)
		expect(cid, "/v1/messages", 200)
	}
	res, body := call(ann, "/v1/messages")
	var anthropic struct {
		Type  string
		Error struct{ Type, Message string }
	}
	if err := json.Unmarshal([]byte(body), &anthropic); err != nil || res.StatusCode != 429 ||
		res.Header.Get("Retry-After") != "30" ||
		anthropic.Type != "error" || anthropic.Error.Type != "rate_limit_error" ||
		!strings.Contains(anthropic.Error.Message, "2 calls a minute") {
		t.Errorf("%d, retry after %q: %s", res.StatusCode, res.Header.Get("Retry-After"), body)
	}
	res, body = call(ann, "/v1/chat/completions")
	var openAI struct {
		Error struct{ Message, Code string }
	}
	if err := json.Unmarshal([]byte(body), &openAI); err != nil || res.StatusCode != 429 ||
		openAI.Error.Code != "calls_per_minute" {
		t.Errorf("%d %s", res.StatusCode, body)
	}
	expect(bob, "/v1/messages", 200)
	expect(bob, "/v1/messages", 429)
	for _, path := range []string{"/v1/chat/%63ompletions", "/v1/chat%2Fcompletions", "/v1/messages/",
		"/v1/completions", "/v1/Chat/Completions", "/v1/embeddings"} {
		expect(bob, path, 429)
	}
	clock = clock.Add(30 * time.Second)
	expect(ann, "/v1/messages", 200)
	expect(ann, "/v1/messages", 429)
	if n := s.server.Counters().Limited; n != 10 || fmt.Sprint(limited) != "[ann ann bob bob bob bob bob bob bob ann]" {
		t.Errorf("%d refused, %v", n, limited)
	}
	if err := s.server.Change(proxy.Options{OpenAI: s.upstream.URL, Anthropic: s.upstream.URL}); err != nil {
		t.Fatal(err)
	}
	expect(ann, "/v1/messages", 200)
}

// Over any time, no more calls are let through than a minute's at once and its share of
// the time.
func TestRatesHoldOverAnyTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, limit := range []int{1, 7, 60, 6000} {
			began, passed := time.Now(), 0
			var r proxy.Rates
			for i := range 5000 {
				if _, ok := r.Take("ann", limit, time.Now()); ok {
					passed++
				}
				time.Sleep(time.Duration(i%97) * time.Millisecond)
			}
			if most := float64(limit) * (1 + time.Since(began).Minutes()); float64(passed) > most+1 ||
				passed < min(5000, int(most)-1) {
				t.Errorf("%d calls of %d a minute, at most %.0f", passed, limit, most)
			}
		}
	})
}

// A stream of events lasts no longer than the token of its reader.
func TestAStreamEndsWithItsToken(t *testing.T) {
	for _, way := range []string{"revoked", "expired", "valid"} {
		t.Run(way, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := &team{Store: memory.New()}
				expires := time.Time{}
				if way == "expired" {
					expires = time.Now().Add(time.Minute)
				}
				token := store.add(t, "ann", timeline.RoleRead, expires)
				ended := make(chan time.Duration, 1)
				stream := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					w.WriteHeader(http.StatusOK)
					http.NewResponseController(w).Flush()
					began := time.Now()
					<-r.Context().Done()
					ended <- time.Since(began)
				})
				s := startOn(t, nil, proxy.Options{Listen: "0.0.0.0:0", Stored: store, Console: stream}, nil,
					newNetwork())
				ctx, leave := context.WithTimeout(t.Context(), time.Hour)
				defer leave()
				res, err := s.client.Do(s.request("GET", "/oriel/api/events", "", "X-Oriel-Token",
					token).WithContext(ctx))
				if err != nil {
					t.Fatal(err)
				}
				defer res.Body.Close()
				time.Sleep(time.Minute)
				if way == "revoked" {
					if err := store.RevokeToken(t.Context(), timeline.HashToken(token), time.Now()); err != nil {
						t.Fatal(err)
					}
				}
				lasted := <-ended
				if valid := lasted > 59*time.Minute; valid != (way == "valid") ||
					!valid && (lasted < time.Minute || lasted > time.Minute+5*time.Second) {
					t.Errorf("it lasted %v", lasted)
				}
			})
		})
	}
}

// A connection that switched to another protocol lasts no longer than the token of its
// client.
func TestAWebSocketEndsWithItsToken(t *testing.T) {
	for _, way := range []string{"revoked", "revoked amid wrong tokens of its address", "valid"} {
		t.Run(way, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store, n := &team{Store: memory.New()}, newNetwork()
				token := store.add(t, "ann", timeline.RoleCall, time.Time{})
				s := startOn(t, nil, proxy.Options{Listen: "0.0.0.0:0", Stored: store}, echo(t, "websocket"), n)
				c, err := n.proxy.dial(t.Context(), "", "")
				if err != nil {
					t.Fatal(err)
				}
				defer c.Close()
				go io.WriteString(c, strings.Replace(handshake, "Host: localhost\r\n",
					"Host: 127.0.0.1\r\nX-Oriel-Token: "+token+"\r\n", 1))
				b := bufio.NewReader(c)
				if res, err := http.ReadResponse(b, nil); err != nil ||
					res.StatusCode != http.StatusSwitchingProtocols {
					t.Fatal(res, err)
				}
				if _, err := b.Discard(len("hello")); err != nil {
					t.Fatal(err)
				}
				time.Sleep(time.Minute)
				if strings.Contains(way, "amid") {
					proxy.HoldGuessesForTest(s.server, 2*time.Hour)
					for range 16 {
						wrong, err := n.proxy.dial(t.Context(), "", "")
						if err != nil {
							t.Fatal(err)
						}
						defer wrong.Close()
						go io.WriteString(wrong,
							"GET /v1/models HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Oriel-Token: wrong\r\n\r\n")
					}
					synctest.Wait()
				}
				if way != "valid" {
					if err := store.RevokeToken(t.Context(), timeline.HashToken(token), time.Now()); err != nil {
						t.Fatal(err)
					}
				}
				c.SetReadDeadline(time.Now().Add(time.Hour))
				began := time.Now()
				_, err = b.ReadByte()
				if lasted := time.Since(began); (lasted > 59*time.Minute) != (way == "valid") ||
					way != "valid" && lasted > 5*time.Second {
					t.Errorf("it lasted %v: %v", lasted, err)
				}
			})
		})
	}
}

// Health checks and the page that asks for a token come without one: nobody was refused.
func TestRequestsThatNeedNoTokenAreNotCountedAsRefused(t *testing.T) {
	s := start(t, proxy.Options{Listen: "0.0.0.0:0", Tokens: map[string]string{"own-0123456789abc": "ann"},
		Console: whose}, nil)
	proxy.HoldGuessesForTest(s.server, 0)
	for path, want := range map[string]int{"/oriel/healthz": 200, "/oriel/session": 401} {
		if resp := browse(t, s, path, nil); resp.StatusCode != want {
			t.Errorf("%s: %d", path, resp.StatusCode)
		}
	}
	if counts := s.server.Counters().RefusedTokens; counts["missing"] != 0 {
		t.Errorf("counted are %v", counts)
	}
	for _, path := range []string{"/oriel/healthz", "/oriel/session"} { // where guesses are counted
		browse(t, s, path, nil, "X-Oriel-Token", "wrong-0123456789")
	}
	browse(t, s, "/oriel/api/x", nil)
	if counts := s.server.Counters().RefusedTokens; counts["unknown"] != 2 || counts["missing"] != 1 {
		t.Errorf("counted are %v", counts)
	}
}
