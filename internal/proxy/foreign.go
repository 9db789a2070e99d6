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

// checkForeign refuses a request for an API that the proxy does not carry: its key belongs
// to another vendor than the upstream.
func (x *exchange) checkForeign() *refusal {
	name := foreignAPI(x.route.path, x.r.Header)
	if name != "" && x.up.serves(&x.route) {
		name = ""
	}
	if name == "" && x.up.public() {
		if owner := foreignKey(x.up.vendor, x.r.Header, x.r.URL.RawQuery); owner != "" {
			return &refusal{http.StatusNotFound, "api_not_carried", fmt.Sprintf(
				"the request has a key for %s, which was not sent to %s: give the vendor's own URL by %s, or use a key for %s",
				owner, x.up.origin(), vendors[x.up.vendor].setting, vendors[x.up.vendor].title)}
		}
	}
	if name == "" {
		return nil
	}
	return &refusal{http.StatusNotFound, "api_not_carried", fmt.Sprintf(
		"this is a request for %s, which this proxy does not carry; nothing was sent to %s, because the key is another vendor's: call %s directly, or use an API compatible with OpenAI's or Anthropic's and set the vendor's URL as the upstream",
		name, x.up.origin(), name)}
}

// public reports whether an upstream is OpenAI's or Anthropic's own, to which no other
// vendor's key belongs.
func (u *upstream) public() bool {
	return u.origin() == "https://api.openai.com" || u.origin() == DefaultAnthropic
}

// serves reports whether an upstream was set up for a path that is another vendor's: its
// own path begins alike, or it is not the public host and the call is in a format that
// is read here, as with the compatible APIs of other vendors.
func (u *upstream) serves(t *route) bool {
	if rest, _ := versionless(u.path); rest != "" && strings.HasPrefix(t.path, u.path+"/") {
		return true
	}
	return t.format != wire.Auto && !u.public()
}

// foreignAPI returns the name of the API to which a request belongs if that is neither
// OpenAI's nor Anthropic's, or "". Prefixes, escapes, cases, slashes, dots and parameters of
// the path change nothing.
func foreignAPI(path string, h http.Header) string {
	all := plainSegments(path)
	if len(all) == 0 {
		return ""
	}
	last, before := all[len(all)-1], ""
	if len(all) > 1 {
		before = all[len(all)-2]
	}
	_, method, _ := strings.Cut(last, ":")
	switch {
	case slices.Index(all, "model") >= 0 && slices.Index(all, "model") < len(all)-2 &&
		slices.Contains(bedrockActions, last),
		last == "async-invoke", last == "foundation-models", last == "apply" && slices.Contains(all, "guardrail"):
		return "Amazon Bedrock"
	case before == "api" && slices.Contains(ollamaActions, last), before == "blobs" && slices.Contains(all, "api"):
		return "Ollama's own API"
	case slices.Contains(all, "projects") && slices.Contains(all, "locations"), slices.Contains(all, "v1beta1"):
		return "Vertex AI"
	case slices.ContainsFunc(all, func(s string) bool { return googleVersion.MatchString(s) }),
		slices.Contains(all, "tunedmodels"),
		slices.Contains(googleMethods, method[strings.LastIndexByte(method, ':')+1:]), len(h["X-Goog-Api-Key"]) > 0:
		return "the Gemini API"
	}
	return ""
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

// foreignKey returns the name of the vendor whose key a request to a public upstream has, as far
// as keys tell, or "" if it may be that of the upstream's own vendor.
func foreignKey(to vendor, h http.Header, query string) string {
	for pair := range strings.SplitSeq(strings.ReplaceAll(query, ";", "&"), "&") {
		name, _, _ := strings.Cut(pair, "=")
		if plain, err := url.QueryUnescape(name); err == nil {
			name = plain
		}
		if strings.EqualFold(name, "key") {
			return "the Gemini API"
		}
	}
	for name, values := range h {
		switch strings.ToLower(name) { // reverse proxies of these vendors add others
		case "x-goog-api-key", "x-goog-user-project", "x-goog-api-client":
			return "the Gemini API"
		case "x-amz-security-token", "x-amz-date", "x-amz-content-sha256":
			return "Amazon Bedrock"
		case "authorization", "x-api-key", "api-key":
			for _, v := range values {
				_, key, found := strings.Cut(strings.TrimSpace(v), " ")
				if key = strings.TrimSpace(key); !found {
					key = v
				}
				if strings.HasPrefix(v, "AWS4-") {
					return "Amazon Bedrock"
				}
				for _, k := range foreignKeys {
					if strings.HasPrefix(key, k.prefix) && (k.of != "OpenAI" || to != openAI) {
						return k.of
					}
				}
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
