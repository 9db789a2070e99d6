package proxy

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/oriel-context/oriel/wire"
)

// vendor is whose API a path belongs to.
type vendor uint8

const (
	openAI vendor = iota
	anthropic
)

// upstream is where a vendor's calls go.
type upstream struct {
	vendor vendor
	url    *url.URL
	// path is the URL's, escaped, without a slash at the end.
	path string
}

// The vendors' public addresses, as their SDKs have them.
const (
	DefaultOpenAI    = "https://api.openai.com/v1"
	DefaultAnthropic = "https://api.anthropic.com"
)

// parseUpstream reads a base URL as people give it to the vendor's SDK.
func parseUpstream(v vendor, name, text string) (*upstream, error) {
	u, err := url.Parse(text)
	switch {
	case err != nil:
		// The text may hold a password: it is not repeated.
		return nil, fmt.Errorf("the upstream URL for %s cannot be read: give one such as https://host/v1", name)
	case u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return nil, fmt.Errorf("the upstream URL for %s is not http(s)://host…: give one such as https://host/v1", name)
	case u.User != nil:
		return nil, fmt.Errorf("the upstream URL for %s holds a user's name: leave it out, the client's own key is passed on", name)
	case u.Fragment != "":
		return nil, fmt.Errorf("the upstream URL for %s has a fragment (#…): leave it out", name)
	}
	return &upstream{vendor: v, url: u, path: strings.TrimRight(u.EscapedPath(), "/")}, nil
}

// CheckUpstream tells what is wrong with the base URL of a vendor.
func CheckUpstream(name, text string) error {
	_, err := parseUpstream(openAI, name, text)
	return err
}

// origin names the upstream for people.
func (u *upstream) origin() string { return u.url.Scheme + "://" + u.url.Host }

// route is what a request's path and headers say.
type route struct {
	// path is the client's, escaped as it came, without Oriel's prefixes.
	path string
	// token and profile are those of the prefixes.
	token, profile string
	// own: the path is Oriel's and goes nowhere.
	own bool
	// format is that of a call; Auto: the request is no call.
	format wire.Format
	// counts is the form of a request that only asks how large a call would be.
	counts wire.Format
	vendor vendor
}

// readRoute reads a request's path.
func readRoute(r *http.Request) route {
	// RawPath is the path as it came where EscapedPath would write it otherwise.
	path := r.URL.RawPath
	if path == "" {
		path = r.URL.EscapedPath()
	}
	if !strings.HasPrefix(path, "/") {
		path = "/" + path // "*", or no path at all
	}
	t := route{path: path}
	for range 2 {
		if rest, ok := cutPrefix(t.path, "/k/", &t.token); ok && t.token != "" {
			t.path = rest
		} else if rest, ok := cutPrefix(t.path, "/p/", &t.profile); ok && t.profile != "" {
			t.path = rest
		}
	}
	if t.path == "/oriel" || strings.HasPrefix(t.path, "/oriel/") {
		t.own = true
		return t
	}
	if r.Method == http.MethodPost {
		t.format = callFormat(t.path)
		t.counts = countFormat(t.path)
	}
	t.vendor = vendorOf(t.path, t.format, r.Header)
	return t
}

// cutPrefix takes /k/VALUE or /p/VALUE off a path, if value has none yet.
func cutPrefix(path, prefix string, value *string) (rest string, ok bool) {
	rest, ok = strings.CutPrefix(path, prefix)
	if !ok || *value != "" {
		return path, false
	}
	segment, rest, more := strings.Cut(rest, "/")
	v, err := url.PathUnescape(segment)
	if err != nil {
		return path, false
	}
	*value = v
	if more {
		rest = "/" + rest
	}
	return rest, true
}

// callFormat is the form of a call by its path: with /v1, without it, or behind a
// provider's own prefix.
func callFormat(path string) wire.Format {
	at := func(resource string, prefixes ...string) bool {
		rest, ok := strings.CutSuffix(path, resource)
		return ok && (rest == "" || slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasSuffix(rest, p) }))
	}
	switch {
	case strings.HasSuffix(path, "/chat/completions"):
		return wire.Chat
	case at("/responses", "/v1", "/openai"):
		return wire.Responses
	case at("/messages", "/v1"): // not /v1/threads/ID/messages
		return wire.Anthropic
	}
	return wire.Auto
}

// countFormat is the form of a request that counts, by its path.
func countFormat(path string) wire.Format {
	if call, ok := strings.CutSuffix(path, "/count_tokens"); ok && callFormat(call) == wire.Anthropic {
		return wire.Anthropic
	}
	if call, ok := strings.CutSuffix(path, "/input_tokens"); ok && callFormat(call) == wire.Responses {
		return wire.Responses
	}
	return wire.Auto
}

// vendorOf tells where a request goes. A key that says whose it is goes to no other
// vendor, also for the calls in OpenAI's form, which Anthropic takes, too. Else it is
// the path, and where both have that, or neither, the headers.
func vendorOf(path string, format wire.Format, h http.Header) vendor {
	if hasAnthropicKey(h) {
		return anthropic
	}
	switch format {
	case wire.Anthropic:
		return anthropic
	case wire.Chat, wire.Responses:
		return openAI
	}
	if rest, _ := versionless(path); rest == "/messages" || strings.HasPrefix(rest, "/messages/") {
		return anthropic
	}
	for _, name := range []string{"Anthropic-Version", "X-Api-Key", "Anthropic-Beta"} {
		if len(h[name]) > 0 {
			return anthropic
		}
	}
	return openAI
}

// hasAnthropicKey tells whether a request has a key that is plainly Anthropic's. There
// is no such telling of OpenAI's: many servers' keys begin as they do.
func hasAnthropicKey(h http.Header) bool {
	const prefix = "sk-ant-"
	return slices.ContainsFunc(h["X-Api-Key"], func(v string) bool { return strings.HasPrefix(v, prefix) }) ||
		slices.ContainsFunc(h["Authorization"], func(v string) bool {
			scheme, key, _ := strings.Cut(v, " ")
			return strings.EqualFold(scheme, "Bearer") && strings.HasPrefix(strings.TrimSpace(key), prefix)
		})
}

// form is the vendor in whose form a client reads errors: that of its SDK, wherever the
// request goes.
func (t *route) form() vendor {
	switch t.format {
	case wire.Chat, wire.Responses:
		return openAI
	}
	return t.vendor
}

// versionless is a path without /v1 before it.
func versionless(path string) (rest string, had bool) {
	rest, had = strings.CutPrefix(path, "/v1")
	if had && (rest == "" || rest[0] == '/') {
		return rest, true
	}
	return path, false
}

// resources are what clients ask for without /v1 when their base URL lacks it.
var resources = []string{"batches", "chat", "completions", "embeddings", "files", "messages", "models", "responses"}

func isResource(path string) bool {
	first, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	return slices.Contains(resources, first)
}

// target is where a request goes. The base URL means what it means to the vendor's
// SDK: OpenAI's ends before the resource (https://host/v1, …/api/v1), Anthropic's before
// /v1. A bare OpenAI host gets /v1; a /v1 at the end of Anthropic's is not doubled; a
// path that begins with the base's own is taken whole.
func (u *upstream) target(path, query string, forceQuery bool) *url.URL {
	rest, versioned := versionless(path)
	base := u.path
	switch {
	case base != "" && base != "/v1" && strings.HasPrefix(path, base+"/"):
		rest = path[len(base):]
	case !versioned && !isResource(path):
	case u.vendor == openAI && base != "":
	case strings.HasSuffix(base, "/v1"):
	default:
		base += "/v1"
	}
	t := &url.URL{Scheme: u.url.Scheme, Host: u.url.Host, RawQuery: query, ForceQuery: forceQuery}
	if q := u.url.RawQuery; q != "" {
		t.RawQuery = strings.TrimSuffix(q+"&"+query, "&")
	}
	setPath(t, base+rest)
	return t
}

// setPath sets a path that goes out as it is written, also where url.URL would escape
// more of it.
func setPath(u *url.URL, path string) {
	plain, err := url.PathUnescape(path)
	if err != nil {
		plain = path
	}
	u.Path, u.RawPath = plain, path
	if u.EscapedPath() != path && !strings.HasPrefix(path, "//") {
		u.Opaque = path
	}
}
