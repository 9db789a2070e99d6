package wire

import (
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Overflow describes a provider's refusal of a request that is too long. Figures are in
// tokens, 0 if the provider gives none.
type Overflow struct {
	// Limit is the provider's limit. Most providers mean input and output together;
	// Gemini, Grok and OpenAI's "configured limit" mean the input alone.
	Limit int
	// Size is the size of the request as the provider counts it. Prompt reports that Size
	// covers the prompt alone and that the prompt alone exceeds the limit.
	Size   int
	Prompt bool
	// Known reports that the error has a code for an overflow, or that its message is a
	// known sentence of a provider or begins with one that gives the request's size.
	// Other messages only sound like an overflow: callers may try a smaller request, but
	// must not learn a limit from them, because an error may quote the conversation.
	Known bool
}

// ReadOverflow parses a provider's error response. ok is false unless it means that the
// request was too long for the model. body is the response as received: JSON of any
// nesting, the first events of a stream, or plain text. SPEC E4.
//
// Only a refusal of the request itself counts, not a server's failure (5xx) with the same
// words, a refusal of the caller (401, 403), or a rate limit of any status. Status 0
// means unknown: the innermost status in the body decides or, without one, the words
// alone. Status 2xx is treated the same way if the body contains an error, as in streams.
func ReadOverflow(status int, body []byte) (o Overflow, ok bool) {
	a := readAnswer(body)
	if status == 0 || status/100 == 2 && a.failed {
		status = a.status
		if status == 0 {
			status = http.StatusBadRequest
		}
	}
	if !refused(status) || a.status == http.StatusTooManyRequests || a.limited() {
		return o, false
	}
	if status == http.StatusRequestEntityTooLarge && a.bySize() {
		return Overflow{Known: true}, true
	}
	coded := slices.ContainsFunc(a.codes, isTooLong)
	o.Known = coded
	sounds := false
	for _, m := range a.messages {
		said, found := readSentence(m)
		if found {
			said.Known = said.Known || coded
			if said.Known && !o.Known || said.Known == o.Known && o.Limit == 0 {
				o = said
			}
		}
		sounds = sounds || found || soundsLong(m)
	}
	if o.Known && a.window > 0 {
		o.Limit, o.Size = a.window, max(o.Size, a.prompt)
	}
	return o, o.Known || sounds
}

// Agrees reports whether the figures are plausible for a request of sent tokens and a
// reply of reply tokens, as counted by Oriel. Counts for unknown models may be off by
// half.
func (o Overflow) Agrees(sent, reply int) bool {
	const slack = 500 // for tools and templates
	near := func(told, own int) bool { return told <= 2*own+slack && own <= 2*told+slack }
	switch {
	case o.Limit == 0:
		return true
	case o.Size == 0:
		return o.Limit <= 2*(sent+reply)+slack
	case o.Prompt:
		return o.Limit < o.Size && near(o.Size, sent)
	}
	return o.Limit < o.Size+max(reply, 1) && (near(o.Size, sent) || near(o.Size, sent+reply))
}

// refused reports whether a status blames the request.
func refused(status int) bool {
	switch status {
	case http.StatusUnauthorized, http.StatusPaymentRequired, http.StatusForbidden, http.StatusNotFound,
		http.StatusMethodNotAllowed, http.StatusProxyAuthRequired, http.StatusRequestTimeout,
		http.StatusTooManyRequests:
		return false
	}
	return status/100 == 4
}

// limited reports whether an answer is about a rate limit on tokens.
func (a *answer) limited() bool {
	for _, m := range a.messages {
		if containsAny(m, rateWords) {
			return true
		}
	}
	for _, code := range a.codes {
		if containsAny(code, rateWords) {
			return true
		}
	}
	return false
}

// bySize reports whether a 413 is about the size of the body: some servers say only that,
// and proxies send a page.
func (a *answer) bySize() bool {
	if len(a.messages) == 0 {
		return true
	}
	return len(a.messages) < 20 && len(strings.Join(a.messages, "")) < 1000 &&
		containsAny(strings.Join(a.messages, "\n"), []string{"request entity too large", "payload too large",
			"content too large"})
}

// rateWords distinguish a rate limit from a limit on the request.
var rateWords = []string{
	" per min", " per day", " per hour", " per second", "(tpm)", "(tpd)", "rate limit", "rate_limit", "rate-limit",
	"ratelimit",
	"throttl", "quota", "too many requests", "please wait", "try again later", "try again in", "resource_exhausted",
}

// soundsLong reports whether a message without a known sentence sounds like a refusal of
// a long request: a short message in the server's own words.
func soundsLong(m string) bool {
	const longest = 300
	if len(m) > longest || strings.ContainsAny(m, "\"`\n“”«»") || quotes.MatchString(m) ||
		containsAny(m, quotingWords) {
		return false
	}
	return containsAny(m, longWords) || tokensExceed.MatchString(m) ||
		containsAny(m, windowWords) && containsAny(m, excessWords)
}

// quotingWords occur in errors about the content or a field of a request, which may quote
// it.
var quotingWords = []string{
	"guardrail", "policy", "policies", "block", "violat", "filter", "moderation", "unsafe", "safety", "flagged",
	"detected", "pii", "sensitive", "validation error",
	"max_tokens", "max_completion_tokens", "max_output_tokens", "invalid '", "tool_call_id", "invalid type",
	"unexpected", "jailbreak", "prompt attack", "injection", "parse",
}

var longWords = []string{
	"too many tokens", "too many total text bytes", "maximum context", "max context", "reduce the length",
	"reduce your prompt", "maximum prompt length",
	"prompt is too long", "prompt too long", "input is too long", "token limit", "input token count",
	"prompt token count", "request too large", "request body too large",
	"longer than the maximum model length", "maximum number of tokens", "maximum allowed length",
	"maximum allowed input length",
}

// windowWords need one of excessWords beside them.
var (
	// windowWords count only together with one of excessWords.
	windowWords = []string{"context length", "context window", "context size", "context limit", "n_ctx"}
	excessWords = []string{"exceed", "too long", "too large", "too small", "longer", "greater", "larger", "overflow",
		"maximum", "only", "n_keep"}
)

func containsAny(s string, words []string) bool {
	for _, w := range words {
		if strings.Contains(s, w) {
			return true
		}
	}
	return false
}

// figure parses a number as providers write it.
func figure(s string) int {
	n, err := strconv.Atoi(strings.NewReplacer(",", "", "_", "").Replace(s))
	if err != nil || n < 0 || n >= 1<<31 {
		return 0
	}
	return n
}

// tokensExceed does not match "max_tokens exceeds …", which is about the reply.
var tokensExceed = regexp.MustCompile(`(?:^|[^\w])tokens? exceed`)

// quotes matches a single quote that opens a quotation.
var quotes = regexp.MustCompile(`(?:^|[\s:=(\[])'`)

// sentences are the beginnings of vendors' messages about a request that is too long,
// compiled. Few processes need them, and they take two milliseconds.
var sentences = sync.OnceValue(compileSentences)

func compileSentences() (out []*regexp.Regexp) {
	for _, p := range protocols {
		for _, s := range p.TooLong {
			s = group.ReplaceAllString(s, `(?P<$1>[0-9][0-9,_]*)`)
			out = append(out, regexp.MustCompile(`^(?:`+s+`)`))
		}
	}
	return out
}

var group = regexp.MustCompile(`<(size|limit|prompt|reply)>`)

// isTooLong reports whether a code, in lower case, is one for a request that is too long.
func isTooLong(code string) bool {
	return slices.ContainsFunc(protocols, func(p *Protocol) bool { return slices.Contains(p.TooLongCodes, code) })
}

// readSentence parses a message in lower case. The overflow is known if the message gives
// the request's size, which can be compared with what was sent, or if nothing follows the
// sentence. What follows may be a page that the error quotes.
func readSentence(m string) (o Overflow, ok bool) {
	for _, re := range sentences() {
		found := re.FindStringSubmatch(m)
		if found == nil {
			continue
		}
		for i, name := range re.SubexpNames() {
			n := figure(found[i])
			switch name {
			case "limit":
				o.Limit = n
			case "size", "reply":
				o.Size += n
			case "prompt":
				o.Size, o.Prompt = n, n > 0
			}
		}
		o.Known = o.Size > 0 || strings.Trim(m[len(found[0]):], " \t\r\n.,;!'\"`)]}") == ""
		return o, true
	}
	return o, false
}

// wrapping matches the prefixes that gateways and SDKs put before a provider's message.
var wrapping = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?:` +
		`(?:litellm\.)?(?:badrequest|contextwindowexceeded|invalidrequest|apistatus|api|internalserver)error: ` +
		`|[a-z_]{0,30}(?:openai|anthropic|azure|vertex|vertex_ai|bedrock|groq|mistral|together|deepseek|hosted_vllm|vllm|xai|gemini|databricks|fireworks|cerebras|ollama|openrouter)[a-z_]{0,30}(?:error|exception) - ` +
		`|error code: [0-9]{3} - ` +
		`|api error: [0-9]{3}:? ` +
		`|http [0-9]{3}: ` +
		`|<[0-9]{3}> internalerror\.algo\.invalidparameter: ` +
		`|input validation error: ` +
		`|validationexception: ` +
		`|the model returned the following errors: ` +
		`|\{'(?:error': \{'message|message|object': 'error', 'message)': ['"]` +
		`)`)
})
