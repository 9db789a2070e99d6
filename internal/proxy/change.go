package proxy

import (
	"cmp"
	"fmt"
	"net"
)

// routing holds the settings that may change while requests run: where requests go and who
// may send them. Running requests keep their upstream.
type routing struct {
	upstreams [len(vendors)]*upstream // nil: no URL is known, and requests are refused
	tokens    tokens
	tenants   int // number of tenants of the tokens
	origins   []string
	calls     map[string]int // per minute, by tenant
	noSockets bool
}

func newRouting(o Options) (*routing, error) {
	r := &routing{origins: o.Origins, calls: o.CallsPerMinute, noSockets: o.NoSockets}
	var err error
	for v, base := range [len(vendors)]string{openAI: o.OpenAI, anthropic: o.Anthropic,
		gemini: o.Gemini, ollama: o.Ollama, chatGPT: o.ChatGPT, bedrock: o.Bedrock} {
		if base = cmp.Or(base, vendors[v].base); base == "" {
			continue
		}
		r.upstreams[v], err = parseUpstream(vendor(v), vendors[v].title, base)
		if err != nil {
			return nil, err
		}
	}
	if r.tokens, err = newTokens(o.Tokens); err != nil {
		return nil, err
	}
	tenants := map[string]bool{}
	for _, tenant := range o.Tokens {
		tenants[tenant] = true
	}
	r.tenants = len(tenants)
	return r, CheckOrigins(o.Origins)
}

// Change applies the upstreams, tokens, limits, origins and NoSockets of o to later requests; it ignores the
// rest of o. Running requests continue unchanged. On error
// nothing changes.
func (s *Server) Change(o Options) error {
	r, err := newRouting(o)
	if err != nil {
		return err
	}
	if !s.loopback && len(r.tokens) == 0 && s.stored == nil {
		return fmt.Errorf("%w as long as others can reach this proxy: give one with --token or $ORIEL_TOKEN", ErrToken)
	}
	if !s.loopback {
		if err := checkTokens(o.Tokens); err != nil {
			return err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.address != nil {
		if err := s.checkUpstreams(r, s.address); err != nil {
			return err
		}
	}
	s.routing.Store(r)
	return nil
}

// checkUpstreams returns an error if an upstream is this server.
func (s *Server) checkUpstreams(r *routing, address *net.TCPAddr) error {
	for _, u := range r.upstreams {
		if u == nil {
			continue
		}
		port := u.url.Port()
		if port == "" {
			port = map[string]string{"http": "80", "https": "443"}[u.url.Scheme]
		}
		host := u.url.Hostname()
		if port == fmt.Sprint(address.Port) && (isLocalName(host) && (s.loopback || address.IP.IsUnspecified()) ||
			host == address.IP.String()) {
			return fmt.Errorf("the upstream %s is this proxy itself: give the provider's address", u.origin())
		}
	}
	return nil
}
