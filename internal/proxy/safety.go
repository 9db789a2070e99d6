package proxy

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/oriel-context/oriel/internal/forward"
	"github.com/oriel-context/oriel/internal/proxy/access"
)

// isLoopback reports whether a listen address, host:port, is reachable from this
// machine only. It looks up names other than localhost.
func isLoopback(address string) (bool, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return false, fmt.Errorf("invalid listen address %q: give HOST:PORT, such as 127.0.0.1:8780", address)
	}
	if isLocalName(host) {
		return true, nil
	}
	if _, err := netip.ParseAddr(host); err == nil || host == "" {
		return false, nil // another machine can reach it
	}
	found, err := net.LookupHost(host)
	if err != nil {
		return false, fmt.Errorf("look up the listen address %q: %w", host, err)
	}
	for _, a := range found {
		if !isLocalName(a) {
			return false, nil
		}
	}
	return true, nil
}

// isLocalName reports whether a host name or address can only be this machine's.
func isLocalName(host string) bool {
	if strings.EqualFold(strings.TrimSuffix(host, "."), "localhost") {
		return true
	}
	a, err := netip.ParseAddr(host)
	return err == nil && a.Unmap().IsLoopback()
}

// hostOf returns the name in a Host header without its port.
func hostOf(host string) string {
	if h, _, err := net.SplitHostPort(host); err == nil {
		return h
	}
	return strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
}

// checkHost refuses host names that are not this machine's. A web page can point its
// own name at 127.0.0.1 and would then be served as if it were local, but it cannot
// choose the Host header.
func (s *Server) checkHost(r *http.Request) *refusal {
	if !s.loopback {
		return nil // the token decides
	}
	host := hostOf(r.Host)
	if isLocalName(host) || host != "" && strings.EqualFold(host, s.listenHost) {
		return nil
	}
	return &refusal{http.StatusForbidden, "host_not_allowed", fmt.Sprintf(
		"the request is for the host %.100q, and this proxy serves its own machine only: use http://127.0.0.1 or http://localhost as the base URL, or have it listen on another address with a token", host)}
}

// checkOrigin refuses requests of foreign web pages to Oriel's own paths.
func checkOrigin(r *http.Request) *refusal {
	foreign := &refusal{http.StatusForbidden, "origin_not_allowed",
		"a web page of another origin asks for a path of Oriel's: open Oriel's own page instead"}
	if origin := r.Header.Get("Origin"); origin != "" {
		if u, err := url.Parse(origin); err != nil || !strings.EqualFold(u.Host, r.Host) {
			return foreign
		}
	}
	switch r.Header.Get("Sec-Fetch-Site") {
	case "", "same-origin", "none":
		return nil
	}
	if r.Method == http.MethodGet && r.Header.Get("Sec-Fetch-Mode") == "navigate" {
		return nil // a link to the page; the other page cannot read it
	}
	return foreign
}

// checkPage keeps foreign web pages from sending requests without a token: a local
// provider may need no key, and a page may send requests whose answers it cannot read.
func (cur *routing) checkPage(r *http.Request) *refusal {
	origins := r.Header["Origin"]
	for _, origin := range origins {
		if !cur.allowsOrigin(origin, r.Host) {
			return &refusal{http.StatusForbidden, "origin_not_allowed", fmt.Sprintf(
				"a web page of %.100q sends a request through this proxy, which serves pages of its own machine only: if the page may, start oriel serve with --origin and this origin", origin)}
		}
	}
	if len(origins) == 0 && r.Header.Get("Sec-Fetch-Site") == "cross-site" {
		return &refusal{http.StatusForbidden, "origin_not_allowed",
			"a web page of another site sends a request through this proxy, which serves pages of its own machine only: send the request from a program, or have the page use fetch in the mode cors and start oriel serve with --origin and its origin"}
	}
	return nil
}

// allowsOrigin reports whether pages of an origin may send requests to host, which is
// known to be this server's.
func (cur *routing) allowsOrigin(origin, host string) bool {
	if slices.ContainsFunc(cur.origins, func(o string) bool { return strings.EqualFold(o, origin) }) {
		return true
	}
	u, err := url.Parse(origin)
	return err == nil && u.Host != "" && (isLocalName(u.Hostname()) || strings.EqualFold(u.Host, host))
}

// CheckOrigins returns an error for an origin that no browser sends.
func CheckOrigins(origins []string) error {
	for _, o := range origins {
		u, err := url.Parse(o)
		if o != "null" && (err != nil || u.Scheme == "" || u.Host == "" ||
			!strings.EqualFold(o, u.Scheme+"://"+u.Host)) {
			return fmt.Errorf("invalid origin %q: give SCHEME://HOST or SCHEME://HOST:PORT without a slash at the end, such as https://chat.example, or null", o)
		}
	}
	return nil
}

// tokens are Oriel's own tokens, by hash, so that all comparisons take the same time.
type tokens []ownToken

type ownToken struct {
	hash   [sha256.Size]byte
	text   string // to find it in the wrong place
	tenant string
}

func newTokens(byToken map[string]string) (tokens, error) {
	var all tokens
	for token, tenant := range byToken {
		if strings.TrimSpace(token) == "" || tenant == "" {
			return nil, fmt.Errorf("a token or its tenant is empty or blank: give both")
		}
		all = append(all, ownToken{sha256.Sum256([]byte(token)), token, tenant})
	}
	return all, nil
}

// tenant returns the tenant of a token.
func (t tokens) tenant(token string) (string, bool) {
	hash := sha256.Sum256([]byte(token))
	found := -1
	for i := range t {
		if subtle.ConstantTimeCompare(hash[:], t[i].hash[:]) == 1 {
			found = i
		}
	}
	if found < 0 {
		return "", false
	}
	return t[found].tenant, true
}

// inPath reports whether a path contains a token, or a text in the form of a stored one,
// however often it is escaped.
func (t tokens) inPath(path string) bool {
	for segment := range strings.SplitSeq(path, "/") {
		for range maxEscapes {
			if _, ok := t.tenant(segment); ok || access.InText(segment) != "" {
				return true
			}
			plain, err := url.PathUnescape(segment)
			if err != nil || plain == segment {
				break
			}
			segment = plain
		}
	}
	return false
}

// maxEscapes is how often a token may be escaped and still be found.
const maxEscapes = 5

// shortest is the length in bytes of the shortest token searched for in forwarded data:
// a shorter one may be an ordinary word.
const shortest = 6

// within reports whether a text contains a token, or a text in the form of a stored one,
// however often escaped, or base64-encoded as in Basic authentication.
func (t tokens) within(text string) bool {
	for range maxEscapes {
		if access.InText(text) != "" ||
			slices.ContainsFunc(t, func(known ownToken) bool {
				return len(known.text) >= shortest &&
					strings.Contains(text, known.text)
			}) {
			return true
		}
		plain, err := url.QueryUnescape(strings.ReplaceAll(text, "+", "%2B"))
		if scheme, rest, ok := strings.Cut(text, " "); ok && strings.EqualFold(scheme, "basic") {
			var decoded []byte
			decoded, err = base64.StdEncoding.DecodeString(strings.TrimSpace(rest))
			plain = string(decoded)
		}
		if err != nil || plain == text {
			return false
		}
		text = plain
	}
	return false
}

// checkForwarded refuses a request that would reveal Oriel's token to the provider.
func (s *Server) checkForwarded(cur *routing, r *http.Request) *refusal {
	if !s.hasTokens(cur) {
		return nil
	}
	for pair := range strings.SplitSeq(r.URL.RawQuery, "&") {
		if cur.tokens.within(pair) {
			return &refusal{http.StatusBadRequest, "token_in_query",
				"the query has a token of this proxy's, and would show it to the provider: send it as the header X-Oriel-Token, or put /k/TOKEN before the path in the base URL"}
		}
	}
	forwarded := maps.Clone(r.Header)
	forward.DropOwn(forwarded)
	for name, values := range forwarded {
		if slices.ContainsFunc(values, cur.tokens.within) {
			return &refusal{http.StatusBadRequest, "token_in_header", fmt.Sprintf(
				"the header %.100q has a token of this proxy's, and would show it to the provider: send the token as X-Oriel-Token and the provider's key as %[1]s", name)}
		}
	}
	return nil
}
