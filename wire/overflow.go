package wire

import (
	"bytes"
	"net/http"
	"regexp"
	"strconv"
	"strings"

	"github.com/oriel-context/oriel/internal/rawjson"
)

// IsOverflow reports whether a provider's error answer means that the request was
// too long for the model, so that a shorter one may be taken. Body is the answer as
// it came: JSON of any nesting, a stream's first events or plain text. SPEC E4.
//
// Only a refusal of the request itself counts: a server's own failure (5xx) with
// the same words does not, nor does a refusal of the caller (401, 403), nor a limit
// on tokens in a time, whatever its status. Status 0 means that the caller does not
// know; a status within the body decides then, the innermost if there are several,
// and where there is none the words alone do. Status 2xx is treated in the same way
// if the body has an error in it, as streams do.
func IsOverflow(status int, body []byte) bool {
	a := readAnswer(body)
	if status == 0 || status/100 == 2 && a.failed {
		status = a.status
		if status == 0 {
			status = http.StatusBadRequest
		}
	}
	if !refused(status) || a.status == http.StatusTooManyRequests || containsAny(a.words, rateWords) {
		return false
	}
	if status == http.StatusRequestEntityTooLarge && len(strings.TrimSpace(a.words)) == 0 {
		return true // some servers say no more than that
	}
	return containsAny(a.words, overflowWords) || tokensExceed.MatchString(a.words) ||
		maximumTokens.MatchString(a.words) && !containsAny(a.words, replyWords) ||
		containsAny(a.words, windowWords) && containsAny(a.words, excessWords)
}

// OverflowLimit is the number of tokens that a provider says it takes at most, in
// an answer for which IsOverflow holds. Many answers have none. Most providers mean
// input and output together; Gemini, Grok and OpenAI's "configured limit" mean the
// input alone.
func OverflowLimit(body []byte) (limit int, ok bool) {
	a := readAnswer(body)
	if a.window > 0 {
		return a.window, true
	}
	for _, re := range limits {
		if m := re.FindStringSubmatch(a.words); m != nil {
			n, err := strconv.Atoi(strings.NewReplacer(",", "", "_", "").Replace(m[1]))
			if err == nil && n > 0 {
				return n, true
			}
		}
	}
	return 0, false
}

// OverflowPrompt is the number of tokens that a provider says the prompt has by itself,
// in an answer for which IsOverflow holds; few say it.
func OverflowPrompt(body []byte) (tokens int, ok bool) {
	m := promptTokens.FindStringSubmatch(readAnswer(body).words)
	if m == nil {
		return 0, false
	}
	n, err := strconv.Atoi(strings.NewReplacer(",", "", "_", "").Replace(m[1]))
	return n, err == nil && n > 0
}

// promptTokens is Anthropic's "prompt is too long: 150000 tokens > 100000 maximum".
var promptTokens = regexp.MustCompile(`prompt is too long: ([0-9][0-9,_]*) tokens > `)

// refused reports whether a status lays the fault with the request.
func refused(status int) bool {
	switch status {
	case http.StatusUnauthorized, http.StatusPaymentRequired, http.StatusForbidden, http.StatusNotFound,
		http.StatusMethodNotAllowed, http.StatusProxyAuthRequired, http.StatusRequestTimeout, http.StatusTooManyRequests:
		return false
	}
	return status/100 == 4
}

// overflowWords are what providers say, in lower case. Each is enough by itself.
var overflowWords = []string{
	// Codes and types.
	"context_length_exceeded",   // OpenAI and those who follow it
	"contextwindowexceeded",     // LiteLLM
	"exceed_context_size_error", // llama.cpp
	"tokens_limit_reached",      // GitHub Models
	"request_too_large",         // Anthropic, by bytes
	"lengthfinishreasonerror",   // OpenAI's SDKs, passed on by gateways

	"prompt is too long",                       // Anthropic, Fireworks
	"prompt too long",                          // Ollama
	"prompt exceeds max length",                // Z.ai
	"input is too long",                        // Bedrock
	"input length and `max_tokens` exceed",     // Anthropic
	"input length and max_tokens exceed",       // Anthropic through others
	"input and output tokens exceed",           // Bedrock
	"input length exceeds",                     // Bedrock
	"too many total text bytes",                // Bedrock
	"maximum context",                          // OpenAI, vLLM, DeepSeek, OpenRouter, Mistral
	"max context",                              // Ollama
	"too many tokens",                          // Cohere
	"reduce the length of",                     // OpenAI, Groq, Cerebras
	"reduce your prompt",                       // OpenAI, older
	"exceeds the available context size",       // llama.cpp
	"exceeds the maximum number of tokens",     // Gemini
	"input token count",                        // Vertex
	"prompt token count",                       // Copilot
	"maximum prompt length",                    // Grok
	"exceeds the maximum allowed input length", // vLLM
	"longer than the maximum model length",     // vLLM
	"is too long and exceeds limit of",         // vLLM, older
	"is too long to fit into the model",        // vLLM, older
	"exceeds the maximum allowed length",       // SGLang
	"exceeded model token limit",               // Kimi
	"token limit exceeded",                     // several
	"context is too long",                      // several
	"range of input length should be",          // Qwen
	"`inputs` tokens + `max_new_tokens` must",  // text-generation-inference
	"`inputs` must have less than",             // text-generation-inference
	"request body too large",                   // GitHub Models
	"request exceeds the maximum size",         // Anthropic, by bytes
	"request entity too large",                 // proxies
	"payload too large",                        // proxies
	"content too large",                        // proxies
	// One string of a message; other fields have far smaller limits of their own.
	"string too long. expected a string with maximum length 1048576", // OpenAI: 1048576 and 10485760
}

// tokensExceed leaves out "max_tokens exceeds …", which is about the reply.
var tokensExceed = regexp.MustCompile(`(?:^|[^\w])tokens? exceed`)

// maximumTokens is "maximum 200000 tokens"; replyWords beside it mean the reply's.
var (
	maximumTokens = regexp.MustCompile(`\bmaximum (?:of )?[0-9][0-9,_]* tokens`)
	replyWords    = []string{"max_tokens", "max_output_tokens", "max_completion_tokens", "output", "completion"}
)

// windowWords need one of excessWords beside them.
var (
	windowWords = []string{"context length", "context window", "context size", "context limit", "n_ctx"}
	excessWords = []string{"exceed", "too long", "too large", "too small", "longer", "greater", "larger", "overflow", "maximum", "only", "n_keep"}
)

// rateWords tell a limit on tokens in a time from one on the request.
var rateWords = []string{
	" per min", " per day", " per hour", " per second", "(tpm)", "(tpd)", "rate limit", "rate_limit", "rate-limit", "ratelimit",
	"throttl", "quota", "too many requests", "please wait", "try again later", "try again in", "resource_exhausted",
}

// limits find the number in the words; the first that matches counts.
var limits = func() []*regexp.Regexp {
	const n = `([0-9][0-9,_]*)\b` // 200k is no figure
	// What may stand between the name of a limit and its number.
	const is = `(?:\s|is|are|of|only|allowed|limit|for this model|[:=(])*`
	var out []*regexp.Regexp
	for _, p := range []string{
		`\+ [0-9,_]+ > ` + n,   // Anthropic: 188240 + 21333 > 200000
		`tokens > ` + n,        // Anthropic: 150000 tokens > 100000 maximum
		n + ` maximum context`, // Mistral
		`max(?:imum)? (?:context|prompt|input)(?: length| window| size)?` + is + n,
		`maximum (?:number of (?:input )?tokens|allowed (?:input )?length)` + is + n, // Gemini, SGLang
		`maximum model length` + is + n,                                              // vLLM
		`context (?:length|window|size|limit)` + is + n,
		`n_ctx: ` + n,                      // LM Studio
		`limit (?:of|is) ` + n,             // Copilot, OpenAI, Cerebras, vLLM
		`token limit: ` + n,                // Kimi
		`supports up to ` + n,              // Vertex
		`max size: ` + n + ` tokens`,       // GitHub Models
		"`max_new_tokens` must be <= " + n, // text-generation-inference
		"`inputs` must have less than " + n,
		`cannot exceed ` + n + ` tokens`,                         // Cohere
		`range of input length should be \[[0-9]+, ?` + n + `\]`, // Qwen
	} {
		out = append(out, regexp.MustCompile(p))
	}
	return out
}()

func containsAny(s string, words []string) bool {
	for _, w := range words {
		if strings.Contains(s, w) {
			return true
		}
	}
	return false
}

// answer is what an error answer says, wherever in it.
type answer struct {
	// words are its strings in lower case, one a line, without what it repeats of
	// the request.
	words string
	// status is the innermost HTTP status in it; 0 where there is none.
	status int
	// window is llama.cpp's n_ctx, in tokens.
	window int
	// failed says that it has an error.
	failed bool
}

// nested is how often a string may hold JSON that has a string that holds JSON:
// gateways wrap what they were answered.
const nested = 4

func readAnswer(body []byte) answer {
	r := answerReader{}
	if doc, err := rawjson.Parse(body, Limits{}); err == nil {
		r.value(doc.Root(), "", 0, nested)
	} else {
		for line := range bytes.Lines(body) {
			r.line(line)
		}
	}
	r.words = r.text.String()
	return r.answer
}

type answerReader struct {
	answer
	text  strings.Builder
	depth int // of status
}

// line reads a line of plain text or of a stream of events.
func (r *answerReader) line(line []byte) {
	data, event := bytes.CutPrefix(line, []byte("data:"))
	if event {
		if doc, err := rawjson.Parse(data, Limits{}); err == nil {
			r.value(doc.Root(), "", 0, nested)
			return
		}
	}
	r.failed = r.failed || bytes.HasPrefix(line, []byte("event: error"))
	r.say(string(line))
}

// value reads what stands under a name, depth levels down.
func (r *answerReader) value(v rawjson.Value, name string, depth, nested int) {
	switch v.Kind() {
	case rawjson.Object:
		for k, member := range v.Members() {
			name := string(key(k))
			if repeated(name) {
				continue
			}
			r.failed = r.failed || name == "error" && member.Kind() != rawjson.Null
			r.value(member, name, depth+1, nested)
		}
	case rawjson.Array:
		for e := range v.Elems() {
			r.value(e, name, depth+1, nested)
		}
	case rawjson.Number:
		if n, ok := v.Int(); ok {
			r.number(name, n, depth)
		}
	case rawjson.String:
		s := v.Str()
		if n, err := strconv.ParseInt(s, 10, 64); err == nil {
			r.number(name, n, depth)
		}
		if nested > 0 && (strings.HasPrefix(s, "{") || strings.HasPrefix(s, "[")) {
			if doc, err := rawjson.Parse([]byte(s), Limits{}); err == nil {
				r.value(doc.Root(), name, depth+1, nested-1)
				return
			}
		}
		r.say(s)
	}
}

func (r *answerReader) say(s string) {
	r.text.WriteString(strings.ToLower(s))
	r.text.WriteByte('\n')
}

// number notes an HTTP status or a window. Codes of other kinds are not within
// the range of a status.
func (r *answerReader) number(name string, n int64, depth int) {
	switch name {
	case "status", "code", "statusCode", "status_code", "httpStatusCode", "http_status":
		if n >= 100 && n < 600 && (r.status == 0 || depth > r.depth) {
			r.status, r.depth = int(n), depth
		}
	case "n_ctx":
		if n > 0 && n < 1<<31 {
			r.window = int(n)
		}
	}
}

// repeated reports whether a member is what an answer repeats of the request:
// validators quote it, and a conversation may speak of anything.
func repeated(name string) bool {
	switch name {
	case "input", "inputs", "messages", "prompt", "instructions", "tools", "output":
		return true
	}
	return false
}
