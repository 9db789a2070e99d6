package proxy

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"net/netip"
	"time"

	"github.com/oriel-context/oriel/internal/forward"
)

// What tests replace an engine by.
type (
	Engine = forward.Engine
	Call   = forward.Call
)

// NewWith is New with another engine; nil: calls are only relayed.
func NewWith(e Engine, o Options) (*Server, error) {
	s, err := New(o)
	if err == nil {
		s.setEngine(e, &o)
	}
	return s, err
}

// TrustForTest has a server trust a test's certificate.
func TrustForTest(s *Server, c *tls.Config) { s.transport.TLSClientConfig = c.Clone() }

// HoldGuessesForTest sets how long the answer to a wrong token or cookie is held back.
func HoldGuessesForTest(s *Server, d time.Duration) { s.guesses.delay, s.cookies.delay = d, d }

// HeldForTest returns how many answers to wrong tokens and to wrong cookies are held back.
func HeldForTest(s *Server) (tokens, cookies int) {
	count := func(g *guesses) int {
		g.mu.Lock()
		defer g.mu.Unlock()
		return g.total
	}
	return count(&s.guesses), count(&s.cookies)
}

// LookForTest looks something up that a client sent, as a token that the server does not know.
func LookForTest(s *Server, from netip.Addr, find func()) bool {
	return s.guesses.look(context.Background(), from, find)
}

// TurnsForTest returns how many addresses have requests that wait for a lookup or make one.
func TurnsForTest(s *Server) int {
	s.guesses.mu.Lock()
	defer s.guesses.mu.Unlock()
	return len(s.guesses.turns)
}

// SettleForTest sets how long requests that were cut off may take to notice it.
func SettleForTest(s *Server, d time.Duration) { s.settling = d }

// RouteForTest returns where a request goes; Google is at https://g, Ollama at http://l/gw.
func RouteForTest(openAIBase, anthropicBase string,
	r *http.Request) (uri, format, token, profile string, own bool, err error) {
	s, err := New(Options{OpenAI: openAIBase, Anthropic: anthropicBase, Gemini: "https://g", Ollama: "http://l/gw",
		ChatGPT: "https://c/backend-api"})
	if err != nil {
		return
	}
	t := readRoute(r)
	u := s.routing.Load().upstreamOf(&t)
	return u.origin() + u.target(t.path, r.URL.RawQuery, r.URL.ForceQuery).RequestURI(), t.format.String(), t.token,
		t.profile, t.own, nil
}

// ForeignForTest returns why a request is refused as one of another vendor, or "".
func ForeignForTest(o Options, r *http.Request) string {
	s, err := New(o)
	if err != nil {
		return err.Error()
	}
	x := &exchange{r: r, route: readRoute(r)}
	x.up = s.routing.Load().upstreamOf(&x.route)
	if f := x.checkForeign(); f != nil {
		return f.message
	}
	return ""
}

// MaxBehind is forward.MaxBehind.
const MaxBehind = forward.MaxBehind

// MemoriesForTest are calls of these tenants under one limit.
func MemoriesForTest(limit int64, tenants ...string) (all []*forward.Memory) {
	b := forward.NewBudget(limit)
	for _, tenant := range tenants {
		m := b.NewMemory(&clientBody{})
		m.Tenant, m.Shared = tenant, tenant != tenants[0] || tenant != tenants[len(tenants)-1]
		all = append(all, m)
	}
	return all
}

// DialForTest has providers reached by connections of a test's own.
func DialForTest(s *Server, dial func(ctx context.Context, network, address string) (net.Conn, error)) {
	s.transport.DialContext = dial
}

// WaitForLeaveForTest sets how long a provider may take to ask for a body before it gets
// it unasked.
func WaitForLeaveForTest(s *Server, d time.Duration) { s.transport.ExpectContinueTimeout = d }

// Rates counts calls.
type Rates struct{ rates }

func (r *Rates) Take(tenant string, perMinute int, now time.Time) (time.Duration, bool) {
	return r.count(tenant, perMinute, now)
}

// MaxSignIns is the limit of sign-ins a minute with one token.
const MaxSignIns = maxSignIns

// OwnForTest marks memory as that of Oriel's own paths.
func OwnForTest(all ...*forward.Memory) {
	for _, m := range all {
		m.Own = true
	}
}

// LimitConnections sets how many connections may be open.
func (s *Server) LimitConnections(most int) {
	s.connections.mu.Lock()
	defer s.connections.mu.Unlock()
	s.connections.most = most
}
