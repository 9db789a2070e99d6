package proxy

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/oriel-context/oriel/wire"
)

// vendor is the vendor to whose API a path belongs.
type vendor uint8

const (
	openAI vendor = iota
	anthropic
	gemini
	ollama
	chatGPT
	bedrock
)

// vendors has a row for each vendor.
var vendors = [...]struct {
	// name is the vendor's name in traces and in wire.Protocol, title that in messages.
	name, title string
	// base is the public base URL, as in the vendor's SDK; empty if there is none for everybody.
	base string
	// versioned reports whether a base URL ends with the version: https://host/v1.
	versioned bool
	// form is a protocol in whose form the vendor's SDK reads errors.
	form wire.Format
	// setting is the setting that changes the base URL.
	setting string
}{
	openAI: {"openai", "OpenAI", DefaultOpenAI, true, wire.Chat, "--upstream-openai or $ORIEL_UPSTREAM_OPENAI"},
	anthropic: {"anthropic", "Anthropic", DefaultAnthropic, false, wire.Anthropic,
		"--upstream-anthropic or $ORIEL_UPSTREAM_ANTHROPIC"},
	gemini: {"gemini", "the Gemini API", DefaultGemini, false, wire.Gemini,
		"--upstream-gemini or $ORIEL_UPSTREAM_GEMINI"},
	ollama: {"ollama", "Ollama", DefaultOllama, false, wire.Ollama, "--upstream-ollama or $ORIEL_UPSTREAM_OLLAMA"},
	chatGPT: {"chatgpt", "ChatGPT", DefaultChatGPT, false, wire.Responses,
		"--upstream-chatgpt or $ORIEL_UPSTREAM_CHATGPT"},
	bedrock: {"bedrock", "Amazon Bedrock", "", false, wire.Converse,
		"--upstream-bedrock or $ORIEL_UPSTREAM_BEDROCK"},
}

// String returns the vendor's name as traces have it.
func (v vendor) String() string { return vendors[v].name }

// vendorNamed returns the vendor with a name.
func vendorNamed(name string) vendor {
	for v := range vendors {
		if vendors[v].name == name {
			return vendor(v)
		}
	}
	return openAI
}

// upstream is the destination of a vendor's calls.
type upstream struct {
	vendor vendor
	url    *url.URL
	// path is the URL's escaped path without a trailing slash.
	path string
}

// The vendors' base URLs, as in their SDKs.
const (
	DefaultOpenAI    = "https://api.openai.com/v1"
	DefaultAnthropic = "https://api.anthropic.com"
	DefaultGemini    = "https://generativelanguage.googleapis.com"
	DefaultOllama    = "http://127.0.0.1:11434"
	// DefaultChatGPT is where Codex sends the calls of a ChatGPT login.
	DefaultChatGPT = "https://chatgpt.com"
)

// parseUpstream parses a base URL in the form that the vendor's SDK expects.
func parseUpstream(v vendor, name, text string) (*upstream, error) {
	u, err := url.Parse(text)
	switch {
	case err != nil:
		// The text may contain a password, so the error does not repeat it.
		return nil, fmt.Errorf("the upstream URL for %s cannot be read: give one such as https://host/v1", name)
	case u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return nil, fmt.Errorf("the upstream URL for %s is not http(s)://host…: give one such as https://host/v1", name)
	case u.User != nil:
		return nil, fmt.Errorf(
			"the upstream URL for %s contains a user name: remove it, the client's own key is forwarded", name)
	case u.Fragment != "":
		return nil, fmt.Errorf("the upstream URL for %s has a fragment (#…): remove it", name)
	}
	return &upstream{vendor: v, url: u, path: strings.TrimRight(u.EscapedPath(), "/")}, nil
}

// CheckUpstream returns an error if a vendor's base URL is invalid.
func CheckUpstream(name, text string) error {
	_, err := parseUpstream(openAI, name, text)
	return err
}

// origin returns the upstream's origin for messages.
func (u *upstream) origin() string { return u.url.Scheme + "://" + u.url.Host }

// route is the result of parsing a request's path and headers.
type route struct {
	// path is the client's path with its original escapes, without Oriel's prefixes.
	path string
	// token and profile are from the prefixes.
	token, profile string
	// own reports that the path is Oriel's and is not forwarded.
	own bool
	// format is the format of a call, or Auto if the request is not a call.
	format wire.Format
	// counts is the format of a request that only counts a call's tokens.
	counts wire.Format
	vendor vendor
	// api is the API that has the path alone, or apiShared.
	api api
}

// readRoute parses a request's path.
func readRoute(r *http.Request) route {
	// RawPath is set if the original path differs from what EscapedPath would write.
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
		t.format = wire.CallFormat(t.path)
		t.counts = wire.CountFormat(t.path)
	}
	t.api = apiOf(t.path, r.Header, r.URL.RawQuery)
	t.vendor = vendorOf(t.path, t.format, t.api, r.Header)
	return t
}

// cutPrefix removes /k/VALUE or /p/VALUE from a path unless value is already set.
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

// vendorOf returns the vendor of a request. A path that only Google, Ollama, ChatGPT or Bedrock has
// goes there, whatever the key: checkForeign looks at that. Otherwise a key that identifies its
// vendor goes to no other, even for calls in OpenAI's format, which Anthropic accepts too.
// Otherwise the path decides or, if both vendors or neither have that path, the headers.
func vendorOf(path string, format wire.Format, a api, h http.Header) vendor {
	if a == apiChatGPT || a == apiBedrock {
		return a.vendor()
	}
	if v := a.vendor(); v != openAI && (!format.IsProtocol() || format.Protocol().Vendor == vendors[v].name) {
		return v
	}
	if a == apiVertex && wire.PathModel(format, path) != "" { // another vendor's model on Vertex AI
		return gemini
	}
	if hasAnthropicKey(h) {
		return anthropic
	}
	if format.IsProtocol() {
		return vendorNamed(format.Protocol().Vendor)
	}
	if path == "/" && len(h["Authorization"]) == 0 { // Claude Code asks for it when it starts, without a key
		return anthropic
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

// hasAnthropicKey reports whether a request has a key that is clearly Anthropic's.
// OpenAI's keys cannot be recognised: many servers' keys begin alike.
func hasAnthropicKey(h http.Header) bool {
	const prefix = "sk-ant-"
	return slices.ContainsFunc(h["X-Api-Key"], func(v string) bool { return strings.HasPrefix(v, prefix) }) ||
		slices.ContainsFunc(h["Authorization"], func(v string) bool {
			scheme, key, _ := strings.Cut(v, " ")
			return strings.EqualFold(scheme, "Bearer") && strings.HasPrefix(strings.TrimSpace(key), prefix)
		})
}

// form returns the protocol in whose form the client reads errors: that of its SDK,
// wherever the request goes.
func (t *route) form() wire.Format {
	if t.format.IsProtocol() && t.api != apiBedrock {
		return t.format
	}
	return vendors[t.vendor].form
}

// versionless returns a path without a leading /v1.
func versionless(path string) (rest string, had bool) {
	rest, had = strings.CutPrefix(path, "/v1")
	if had && (rest == "" || rest[0] == '/') {
		return rest, true
	}
	return path, false
}

// resources lists what clients request without /v1 if their base URL lacks it.
var resources = []string{"batches", "chat", "completions", "embeddings", "files", "messages", "models", "responses"}

func isResource(path string) bool {
	first, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	return slices.Contains(resources, first)
}

// target returns the URL of a request. The base URL means what it means to the vendor's
// SDK: OpenAI's ends before the resource (https://host/v1, …/api/v1), those of the others before
// /v1 (/v1beta, /api, /backend-api), which is not doubled. A bare OpenAI host gets /v1. A path that
// begins with the base's own path is used whole.
func (u *upstream) target(path, query string, forceQuery bool) *url.URL {
	rest, versioned := versionless(path)
	base := u.path
	switch {
	case u.vendor == gemini || u.vendor == ollama || u.vendor == chatGPT ||
		u.vendor == bedrock:
		rest = path
		first, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
		if base = strings.TrimSuffix(base, "/"+first); base != "" && strings.HasPrefix(path, base+"/") {
			base = ""
		}
		if first == "projects" && base == "" { // base URLs of SDKs for Vertex AI end with the version
			base = "/v1"
		}
	case base != "" && base != "/v1" && strings.HasPrefix(path, base+"/"):
		rest = path[len(base):]
	case !versioned && !isResource(path):
	case vendors[u.vendor].versioned && base != "":
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

// setPath sets a path that is sent exactly as written, even if url.URL would escape
// more.
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
