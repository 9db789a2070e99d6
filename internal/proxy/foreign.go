package proxy

import (
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/oriel-context/oriel/wire"
)

// api is an API that has paths of its own.
type api uint8

const (
	apiShared api = iota // OpenAI's, Anthropic's, or unknown
	apiGemini
	apiVertex
	apiCodeAssist
	apiOllama
	apiBedrock
	apiChatGPT
)

func (a api) String() string {
	return [...]string{"", "the Gemini API", "Vertex AI", "Gemini Code Assist", "Ollama's own API", "Amazon Bedrock",
		"ChatGPT"}[a]
}

// vendor returns whose upstream gets the requests of an API; openAI if the path does not tell.
func (a api) vendor() vendor {
	switch a {
	case apiGemini, apiVertex, apiCodeAssist:
		return gemini
	case apiOllama:
		return ollama
	case apiChatGPT:
		return chatGPT
	case apiBedrock:
		return bedrock
	}
	return openAI
}

// checkForeign refuses a request for an API that the upstream does not have, and one with a
// key that belongs to another vendor than the upstream.
func (x *exchange) checkForeign() *refusal {
	a := x.route.api
	if x.up.has(a) || x.up.serves(&x.route) {
		owner, ok := x.up.owner()
		if !ok {
			return nil
		}
		if owner != chatGPT && len(x.r.Header["Chatgpt-Account-Id"]) > 0 {
			return &refusal{http.StatusNotFound, "api_not_carried", fmt.Sprintf(
				"the request is one of a ChatGPT login, which was not sent to %s: its base URL at this proxy ends with /backend-api/codex, as Codex's setting openai_base_url",
				x.up.origin())}
		}
		if of := foreignKey(owner, x.r.Header, x.r.URL.RawQuery); of != "" {
			return &refusal{http.StatusNotFound, "api_not_carried", fmt.Sprintf(
				"the request has a key for %s, which was not sent to %s: give the vendor's own URL by %s, or use a key for %s",
				of, x.up.origin(), vendors[x.up.vendor].setting, vendors[owner].title)}
		}
		return nil
	}
	if a == apiBedrock {
		return &refusal{http.StatusNotFound, "api_not_carried", fmt.Sprintf(
			"this is a request for %s, whose key goes to no other vendor: give the URL of your region, such as https://bedrock-runtime.REGION.amazonaws.com, by %s",
			a, vendors[bedrock].setting)}
	}
	if x.up.vendor == gemini {
		return &refusal{http.StatusNotFound, "api_not_carried", fmt.Sprintf(
			"this is a request for %s, and nothing was sent to %s, which does not have it: give the URL of the host that does by %s",
			a, x.up.origin(), vendors[gemini].setting)}
	}
	return &refusal{http.StatusNotFound, "api_not_carried", fmt.Sprintf(
		"this is a request for %s, which this proxy does not carry; nothing was sent to %s, because the key is another vendor's: call %[1]s directly, or use an API compatible with OpenAI's or Anthropic's and set the vendor's URL as the upstream",
		a, x.up.origin())}
}

// has reports whether an upstream has an API, as far as its URL tells. Google's other APIs are
// at hosts of their own.
func (u *upstream) has(a api) bool {
	switch a {
	case apiShared:
		return true
	case apiVertex, apiCodeAssist:
		return u.vendor == gemini && u.origin() != DefaultGemini
	}
	return a.vendor() == u.vendor && u.vendor != openAI
}

// owner returns the vendor whose own server an upstream is, to which no other vendor's key
// belongs.
func (u *upstream) owner() (vendor, bool) {
	switch host := u.url.Hostname(); {
	case u.origin() == "https://api.openai.com":
		return openAI, true
	case u.origin() == DefaultAnthropic:
		return anthropic, true
	case host == "chatgpt.com":
		return chatGPT, true
	case u.url.Scheme == "https" && strings.HasSuffix(host, ".googleapis.com"):
		return gemini, true
	case u.origin() == DefaultOllama && u.vendor == ollama, host == "ollama.com":
		return ollama, true
	case u.url.Scheme == "https" && isBedrock(host):
		return bedrock, true
	}
	return openAI, false
}

// upstreamOf returns where a request goes: to its vendor unless an upstream of OpenAI's or
// Anthropic's was set up for its path, as for a gateway that has other APIs beside that path.
func (r *routing) upstreamOf(t *route) *upstream {
	if t.api != apiShared {
		for _, u := range r.upstreams[:gemini] {
			if u.begins(t.path) {
				return u
			}
		}
	}
	if up := r.upstreams[t.vendor]; up != nil {
		return up
	}
	return r.upstreams[openAI] // which does not have the API
}

// isBedrock reports whether a host is one of Amazon Bedrock's, in whichever region or network.
func isBedrock(host string) bool {
	host = strings.TrimSuffix(strings.TrimSuffix(strings.ToLower(host), "."), ".cn")
	return (strings.HasSuffix(host, ".amazonaws.com") || strings.HasSuffix(host, ".api.aws")) &&
		slices.ContainsFunc(strings.Split(host, "."), func(label string) bool {
			return strings.HasPrefix(label, "bedrock")
		})
}

// public reports whether an upstream is OpenAI's or Anthropic's own, to which no other
// vendor's key belongs.
func (u *upstream) public() bool {
	return u.origin() == "https://api.openai.com" || u.origin() == DefaultAnthropic
}

// serves reports whether an upstream was set up for a path that is another vendor's: its
// own path begins alike, or it is not the public host and the call is in a format that
// is read here, as with the compatible APIs of other vendors. Nobody else has Bedrock's paths.
func (u *upstream) serves(t *route) bool {
	return u.begins(t.path) || t.format != wire.Auto && t.api != apiBedrock && !u.public() && u.vendor != gemini
}

// begins reports whether a path begins with that of an upstream, which has more than a version.
func (u *upstream) begins(path string) bool {
	rest, _ := versionless(u.path)
	return rest != "" && strings.HasPrefix(path, u.path+"/")
}

// apiOf returns the API to which a request belongs if that is neither OpenAI's nor
// Anthropic's. Prefixes, escapes, cases, slashes, dots and parameters of the path change
// nothing.
func apiOf(path string, h http.Header, query string) api {
	all := plainSegments(path)
	if len(all) == 0 {
		return apiShared
	}
	last, before := all[len(all)-1], ""
	if len(all) > 1 {
		before = all[len(all)-2]
	}
	_, method, _ := strings.Cut(last, ":")
	switch {
	case all[0] == "backend-api":
		return apiChatGPT
	case slices.Index(all, "model") >= 0 && slices.Index(all, "model") < len(all)-2 &&
		slices.Contains(bedrockActions, last),
		last == "async-invoke", last == "foundation-models", slices.Contains(all, "inference-profiles"), last == "apply" && slices.Contains(all, "guardrail"):
		return apiBedrock
	case before == "api" && slices.Contains(ollamaActions, last), before == "blobs" && slices.Contains(all, "api"):
		return apiOllama
	case slices.Contains(all, "projects") && slices.Contains(all, "locations"), slices.Contains(all, "v1beta1"):
		return apiVertex
	case slices.ContainsFunc(all, func(s string) bool { return strings.HasPrefix(s, "v1internal") }):
		return apiCodeAssist
	case slices.ContainsFunc(all, func(s string) bool { return googleVersion.MatchString(s) }),
		slices.Contains(all, "tunedmodels"),
		slices.Contains(googleMethods, method[strings.LastIndexByte(method, ':')+1:]), len(h["X-Goog-Api-Key"]) > 0,
		slices.ContainsFunc(all, func(s string) bool { return strings.HasPrefix(s, "google.ai.generativelanguage.") }),
		hasGoogleKey(query):
		return apiGemini
	}
	return apiShared
}

// hasGoogleKey reports whether a query has a key in the form of Google's.
func hasGoogleKey(query string) bool {
	return slices.ContainsFunc(keysIn(query), func(key string) bool { return strings.HasPrefix(key, "AIza") })
}

// keysIn returns the values of the parameters "key" of a query, as the most lenient server
// reads it.
func keysIn(query string) (keys []string) {
	for pair := range strings.SplitSeq(strings.ReplaceAll(query, ";", "&"), "&") {
		name, value, _ := strings.Cut(pair, "=")
		if plain, err := url.QueryUnescape(name); err == nil {
			name = plain
		}
		if strings.EqualFold(name, "key") {
			keys = append(keys, value)
		}
	}
	return keys
}

// plainSegments returns the segments of a path as the most lenient server reads it: without
// escapes, even of escapes, in lower case, and without empty ones, dots and parameters.
func plainSegments(text string) (all []string) {
	for range 4 {
		plain, err := url.PathUnescape(text)
		if err != nil || plain == text {
			break
		}
		text = plain
	}
	for s := range strings.SplitSeq(strings.ToLower(strings.ReplaceAll(text, "\\", "/")), "/") {
		if s, _, _ = strings.Cut(s, ";"); s != "" && s != "." && s != ".." {
			all = append(all, strings.TrimSpace(s))
		}
	}
	return all
}

// foreignKey returns the name of the vendor whose key a request to a vendor's own server has, as
// far as keys tell, or "" if it may be that vendor's.
func foreignKey(to vendor, h http.Header, query string) string {
	if to != gemini && len(keysIn(query)) > 0 {
		return vendors[gemini].title
	}
	for name, values := range h {
		switch strings.ToLower(name) { // reverse proxies of these vendors add others
		case "x-goog-api-key", "x-goog-user-project", "x-goog-api-client":
			if to != gemini {
				return vendors[gemini].title
			}
			if of := foreignValue(to, values); of != "" {
				return of
			}
		case "x-amz-security-token", "x-amz-date", "x-amz-content-sha256":
			if to != bedrock {
				return vendors[bedrock].title
			}
		case "authorization", "x-api-key", "api-key":
			if of := foreignValue(to, values); of != "" {
				return of
			}
		}
	}
	if to == gemini {
		return foreignValue(to, keysIn(query))
	}
	return ""
}

// foreignValue returns the name of the vendor, other than to, that makes a key among values, or
// "".
func foreignValue(to vendor, values []string) string {
	for _, v := range values {
		_, key, found := strings.Cut(strings.TrimSpace(v), " ")
		if key = strings.TrimSpace(key); !found {
			key = v
		}
		if strings.HasPrefix(v, "AWS4-") && to != bedrock {
			return vendors[bedrock].title
		}
		for _, k := range foreignKeys {
			if strings.HasPrefix(key, k.prefix) && k.of != vendors[to].title {
				return k.of
			}
		}
	}
	return ""
}

// foreignKeys are the forms of keys that no other vendor than the named one makes. Many servers'
// keys have none of their own.
var foreignKeys = []struct{ prefix, of string }{
	{"AIza", "the Gemini API"}, {"ya29.", "the Gemini API"}, {"ABSK", "Amazon Bedrock"},
	{"bedrock-api-key-", "Amazon Bedrock"},
	{"sk-or-", "OpenRouter"}, {"gsk_", "Groq"}, {"xai-", "xAI"}, {"pplx-", "Perplexity"}, {"csk-", "Cerebras"},
	{"fw_", "Fireworks"},
	{"hf_", "Hugging Face"}, {"nvapi-", "NVIDIA"}, {"r8_", "Replicate"}, {"dapi", "Databricks"}, {"vck_", "Vercel"},
	{"ghp_", "GitHub"}, {"gho_", "GitHub"}, {"ghu_", "GitHub"}, {"ghs_", "GitHub"}, {"github_pat_", "GitHub"},
	{"sk-ant-", "Anthropic"},
	{"sk-proj-", "OpenAI"}, {"sk-svcacct-", "OpenAI"}, {"sk-admin-", "OpenAI"},
}

// The paths of other vendors' APIs have these, in lower case.
var (
	googleVersion = regexp.MustCompile(`^v\d+(beta|alpha|internal)\d*(:.*)?$`)
	googleMethods = []string{
		"generatecontent", "streamgeneratecontent", "batchgeneratecontent", "counttokens", "computetokens",
		"embedcontent",
		"batchembedcontents", "asyncbatchembedcontent", "predict", "predictlongrunning", "rawpredict",
		"streamrawpredict",
	}
	bedrockActions = []string{"converse", "converse-stream", "invoke", "invoke-with-response-stream",
		"invoke-with-bidirectional-stream", "count-tokens",
		"async-invoke"}
	ollamaActions = []string{"chat", "copy", "create", "delete", "embed", "embeddings", "generate", "ps", "pull",
		"push", "show", "tags", "version",
		"web_fetch", "web_search"}
)
