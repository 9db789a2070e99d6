package wire

import (
	"regexp"
	"strings"
	"sync"
)

// overflowCodes are the error codes and types, in lower case, for a request that is too
// long.
var overflowCodes = map[string]bool{
	"context_length_exceeded":          true, // OpenAI and those who follow it
	"exceed_context_size_error":        true, // llama.cpp
	"contextwindowexceedederror":       true, // LiteLLM
	"context_window_exceeded":          true,
	"tokens_limit_reached":             true, // GitHub Models
	"model_max_prompt_tokens_exceeded": true, // Copilot
	"request_too_large":                true, // Anthropic, by bytes
	"lengthfinishreasonerror":          true, // OpenAI's SDKs, passed on by gateways
}

// tokensExceed does not match "max_tokens exceeds …", which is about the reply.
var tokensExceed = regexp.MustCompile(`(?:^|[^\w])tokens? exceed`)

// quotes matches a single quote that opens a quotation.
var quotes = regexp.MustCompile(`(?:^|[\s:=(\[])'`)

// sentences match the beginnings of providers' messages, in lower case. Groups: size and
// limit as the provider counts them; prompt, a size of the prompt alone, which exceeds
// the limit by itself; reply, to be added to size. A sentence without a size is matched
// to its end; see readSentence. Few processes need them, and they take two milliseconds.
var sentences = sync.OnceValue(func() []*regexp.Regexp {
	var out []*regexp.Regexp
	for _, s := range []string{
		// Anthropic.
		`prompt is too long: <prompt> tokens > <limit>`,
		"input length and `?max_tokens`? exceed context limit: <size> \\+ <reply> > <limit>",
		`request exceeds the maximum size`,
		// OpenAI, Azure, vLLM, DeepSeek, OpenRouter and others.
		`this (?:model|endpoint)'s maximum context length is <limit>(?: tokens)?\.?,? (?:however|but|and),? (?:you|your)[^0-9]{1,60}<size>`,
		`(?:this (?:model|endpoint)'s )?maximum context length is <limit>(?: tokens)?(?:\. please reduce (?:your prompt|the length of the (?:prompt|input|messages(?: or (?:the )?completion)?)))?`,
		`'max_tokens' or 'max_completion_tokens' is too large: <reply>\. this model's maximum context length is <limit> tokens and your request has <size> input tokens`,
		`your input exceeds the context window of this model(?:\. please adjust your input and try again)?`,
		`input tokens exceed the configured limit of <limit> tokens\. your messages resulted in <prompt> tokens`,
		`input tokens exceed(?: (?:the )?model(?:'s)? (?:context |token )?limit)?`,
		`please reduce the length of the messages(?: or (?:the )?(?:completion|functions))?\.(?: current length is <size> while limit is <limit>)?`, // Groq, Cerebras
		// One string of a message; other fields have far smaller limits of their own.
		`invalid '[^']{1,100}': string too long\. expected a string with maximum length (?:1048576|10485760), but got a string with length [0-9]+ instead`,
		// Google, xAI, Mistral, Cohere, Amazon, Fireworks, GitHub.
		`the input token count \(<prompt>\) exceeds the maximum number of tokens allowed \(<limit>\)`,
		`unable to submit request because the input token count is <prompt> but model only supports up to <limit>`,
		`this model's maximum prompt length is <limit> but the request contains <prompt> tokens`,
		`prompt contains <size> tokens[^0-9]{1,10}[0-9]+ draft tokens, too large for model with <limit> maximum context length`,
		`prompt contains <size> tokens, too large for model with <limit> maximum context length`,
		`too many tokens: total number of tokens in the prompt cannot exceed <limit> tokens - received <prompt>`,
		`(?:the model returned the following errors: )?input is too long(?: for (?:the )?requested model)?`,
		`(?:the model returned the following errors: )?prompt is too long(?:[.!]|$)`,
		`(?:the model returned the following errors: )?input and output tokens exceed(?: (?:the|your) model(?:'s)? (?:context |token )?(?:length|limit|window))?`,
		`input length exceeds(?: (?:the )?(?:maximum |model )?(?:allowed |context |input )?(?:length|limit|size|window))?`,
		`too many total text bytes(?:: [0-9]+ > [0-9]+)?`,
		`the prompt is too long: <size>, model maximum context length: <limit>`,
		`(?:the )?prompt is too long(?:[.!]|$)`,
		`prompt token count of <prompt> exceeds the limit of <limit>`,
		`request body too large for \S{1,100} model\. max size: <limit> tokens`,
		// Kimi, Qwen, Z.ai, MiniMax.
		`(?:invalid request: )?your request exceeded model token limit: <limit>(?: \(requested: <size>\))?`,
		`range of input length should be \[[0-9]+, ?<limit>\]`,
		`prompt exceeds max length`,
		`invalid params, context window exceeds limit(?: \([0-9]+\))?`,
		// vLLM, SGLang, text-generation-inference.
		`the (?:decoder |encoder )?prompt \((?:total )?length <prompt>\) is longer than the maximum model length of <limit>`,
		`the (?:decoder |encoder )?prompt \((?:total )?length <prompt>\) is too long to fit into the model \(context length <limit>\)`,
		`prompt length of <prompt> is longer than the maximum model length of <limit>`,
		`input prompt \(<prompt> tokens\) is too long and exceeds limit of <limit>`,
		`the input \(<prompt> tokens\) is longer than the model's context length \(<limit>`,
		`input length \(<prompt>(?: tokens)?\) exceeds the maximum allowed (?:input )?length \(<limit>`,
		`you passed <size> input tokens and requested <reply> output tokens\. however, the model's context length is only <limit>`,
		"`inputs` tokens \\+ `max_new_tokens` must be <= <limit>\\. given: <size> `inputs` tokens and <reply>",
		"`inputs` must have less than <limit> tokens\\. given: <prompt>",
		// llama.cpp, LM Studio, Ollama.
		`(?:the )?request \(<prompt> tokens\) exceeds the available context size \(<limit> tokens\)`,
		`(?:the )?request exceeds the available context size(?:[.,] try increasing (?:it|the context size(?: or enable context shift)?))?`,
		`requested tokens \(<size>\) exceed context window of <limit>`,
		`trying to keep the first <prompt> tokens when context the overflows\. however, the model is loaded with context length of only <limit> tokens`,
		`the number of tokens to keep from the initial prompt is greater than the context length(?:\. try to load the model with a larger context length(?:, or provide a shorter input)?)?`,
		`context size has been exceeded`,
		`prompt too long; exceeded max context length by [0-9]+ tokens`,
		`the input length exceeds the (?:maximum )?context length`,
		`(?:the )?context (?:length|window) (?:has been )?exceeded`,
		`(?:the )?context is too long`,
		`maximum (?:of )?[0-9][0-9,_]* tokens$`,
	} {
		s = group.ReplaceAllString(s, `(?P<$1>[0-9][0-9,_]*)`)
		out = append(out, regexp.MustCompile(`^(?:`+s+`)`))
	}
	return out
})

var group = regexp.MustCompile(`<(size|limit|prompt|reply)>`)

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
		`|\{'(?:error': \{'message|message|object': 'error', 'message)': ['"]` +
		`)`)
})
