package wire_test

import (
	"strings"
	"testing"

	"github.com/oriel-context/oriel/wire"
)

// The answers are the providers' own words as people have reported them. SPEC E4.
func TestIsOverflow(t *testing.T) {
	for _, c := range []struct {
		name   string
		status int
		body   string
		want   bool
		limit  int
	}{
		{"Anthropic", 400,
			`{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 207791 tokens > 200000 maximum"},"request_id":"req_1"}`, true, 200000},
		{"Anthropic with output", 400,
			"{\"type\":\"error\",\"error\":{\"type\":\"invalid_request_error\",\"message\":\"input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000, decrease input length or `max_tokens` and try again\"}}", true, 200000},
		{"Anthropic by bytes", 413,
			`{"type":"error","error":{"type":"request_too_large","message":"Request exceeds the maximum size"}}`, true,
			0},
		{"OpenAI", 400, `{"error":{"message":"This model's maximum context length is 128000 tokens. However, your messages resulted in 202868 tokens (202767 in the messages, 101 in the functions). Please reduce the length of the messages or functions.","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}`, true, 128000},
		{"OpenAI Responses", 400,
			`{"error":{"message":"Your input exceeds the context window of this model. Please adjust your input and try again.","type":"invalid_request_error","param":"input","code":"context_length_exceeded"}}`, true, 0},
		{"OpenAI input limit", 400,
			`{"error":{"message":"Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in 289650 tokens. Please reduce the length of the messages."}}`, true, 272000},
		{"OpenAI string", 400,
			`{"error":{"message":"Invalid 'input[3].output': string too long. Expected a string with maximum length 10485760, but got a string with length 12000000 instead.","code":"string_above_max_length"}}`, true, 0},
		{"Azure, old", 400,
			`{"error":{"message":"This model's maximum context length is 8191 tokens, however you requested 8238 tokens (8238 in your prompt; 0 for the completion). Please reduce your prompt; or completion length."}}`, true, 8191},
		{"OpenRouter", 400,
			`{"error":{"message":"This endpoint's maximum context length is 131,072 tokens. However, you requested about 140000 tokens","code":400}}`, true, 131072},
		{"OpenRouter wrapping", 0,
			`{"error":{"message":"Provider returned error","code":502,"metadata":{"raw":"{\"error\":{\"code\":\"400\",\"message\":\"prompt is too long: 3 tokens > 2 maximum\"}}"}}}`, true, 2},
		{"Gemini", 400, `[{"error":{"code":400,"message":"The input token count (1200293) exceeds the maximum number of tokens allowed (1048576).","errors":[{"message":"x","domain":"global","reason":"badRequest"}],"status":"INVALID_ARGUMENT"}}]`, true, 1048576},
		{"Vertex", 400, `{"error":{"code":400,"message":"Unable to submit request because the input token count is 32787 but model only supports up to 32768. Reduce the input token count and try again."}}`, true, 32768},
		{"Grok", 400, `{"code":"Client specified an invalid argument","error":"This model's maximum prompt length is 131072 but the request contains 537812 tokens."}`, true, 131072},
		{"Groq", 400, `{"error":{"message":"Please reduce the length of the messages or completion.","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}`, true, 0},
		{"Cerebras", 400,
			`{"message":"Please reduce the length of the messages or completion. Current length is 42328 while limit is 40000","code":"context_length_exceeded"}`, true, 40000},
		{"Fireworks", 400,
			`{"error":{"message":"The prompt is too long: 137652, model maximum context length: 131071"}}`, true,
			131071},
		{"Mistral", 400,
			`{"object":"error","message":"Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length","type":"invalid_request_error","code":3051}`, true, 32768},
		{"Bedrock", 400, `{"message":"Input is too long for requested model."}`, true, 0},
		{"Bedrock, of Claude", 400, `{"message":"The model returned the following errors: prompt is too long: 208310 tokens > 200000 maximum"}`, true, 200000},
		{"Cohere", 400, `{"message":"too many tokens: total number of tokens in the prompt cannot exceed 4081 tokens - received 9000"}`, true, 4081},
		{"Copilot", 400,
			`{"error":{"message":"prompt token count of 140000 exceeds the limit of 128000","code":"model_max_prompt_tokens_exceeded"}}`, true, 128000},
		{"GitHub Models", 413,
			`{"error":{"code":"tokens_limit_reached","message":"Request body too large for gpt-4o model. Max size: 8000 tokens.","details":"x"}}`, true, 8000},
		{"Kimi", 400, `{"error":{"message":"Invalid request: Your request exceeded model token limit: 131072 (requested: 140001)","type":"invalid_request_error"}}`, true, 131072},
		{"Qwen", 400, `{"error":{"message":"<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 204800]","code":"invalid_parameter_error"}}`, true, 204800},
		{"MiniMax", 400,
			`{"type":"error","error":{"type":"bad_request_error","message":"invalid params, context window exceeds limit (2013)","http_code":"400"}}`, true, 0},
		{"text-generation-inference", 422,
			"{\"error\":\"Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4097. Given: 5000 `inputs` tokens and 10 `max_new_tokens`\",\"error_type\":\"validation\"}", true, 4097},
		{"vLLM", 400, `{"object":"error","message":"This model's maximum context length is 16384 tokens. However, you requested 122946 tokens (112946 in the messages, 10000 in the completion). Please reduce the length of the messages or completion. None","type":"BadRequestError","param":null,"code":400}`, true, 16384},
		{"vLLM's engine", 400,
			`{"object":"error","message":"The decoder prompt (length 40961) is longer than the maximum model length of 40960. Make sure that ` + "`max_model_len`" + ` is no smaller than the number of text tokens.","type":"BadRequestError","code":400}`, true, 40960},
		{"vLLM's engine, another", 400,
			`{"object":"error","message":"Prompt length of 5016 is longer than the maximum model length of 4096.","type":"BadRequestError","code":400}`, true, 4096},
		{"vLLM's engine, with images", 400,
			`{"object":"error","message":"The prompt (total length 25938) is too long to fit into the model (context length 4096).","type":"BadRequestError","code":400}`, true, 4096},
		{"vLLM's scheduler", 400, `{"message":"Input prompt (9762 tokens) is too long and exceeds limit of 8192"}`,
			true, 8192},
		{"SGLang, older", 400,
			`{"object":"error","message":"The input (61709 tokens) is longer than the model's context length (40960 tokens).","type":"BadRequestError","param":null,"code":400}`, true, 40960},
		{"vLLM, newer", 400,
			`{"error":{"message":"You passed 202753 input tokens and requested 0 output tokens. However, the model's context length is only 202752 tokens, resulting in a maximum input length of 202752 tokens."}}`, true, 202752},
		{"SGLang", 400, `{"object":"error","message":"The input (61709 tokens) is longer than the model's context length (40960 tokens).","type":"BadRequestError","param":null,"code":400}`, true, 40960},
		{"SGLang, length", 400,
			`{"message":"Input length (160062 tokens) exceeds the maximum allowed length (59862 tokens). Use a shorter input or enable --allow-auto-truncate."}`, true, 59862},
		{"llama.cpp", 400,
			`{"error":{"code":400,"message":"the request exceeds the available context size. try increasing the context size or enable context shift","type":"exceed_context_size_error","n_prompt_tokens":14429,"n_ctx":8192}}`, true, 8192},
		{"llama.cpp, words", 400,
			`{"error":{"message":"request (9000 tokens) exceeds the available context size (4096 tokens), try increasing it"}}`, true, 4096},
		{"llama.cpp with status 200", 200,
			`{"error":{"code":400,"message":"the request exceeds the available context size","n_ctx":8192}}`, true,
			8192},
		{"llama-cpp-python", 400, `{"error":{"message":"Requested tokens (516) exceed context window of 512"}}`, true,
			512},
		{"LM Studio", 400,
			`{"error":"Trying to keep the first 111490 tokens when context the overflows. However, the model is loaded with context length of only 32768 tokens, which is not enough."}`, true, 32768},
		{"LM Studio, newer", 400,
			`{"error":"The number of tokens to keep from the initial prompt is greater than the context length. Try to load the model with a larger context length"}`, true, 0},
		{"Ollama", 400, `{"error":"prompt too long; exceeded max context length by 4200 tokens"}`, true, 0},
		{"LiteLLM", 400,
			`{"error":{"message":"litellm.ContextWindowExceededError: litellm.BadRequestError: AnthropicError - b'{\"type\":\"error\",\"error\":{\"type\":\"invalid_request_error\",\"message\":\"prompt is too long: 205668 tokens > 200000 maximum\"}}'"}}`, true, 200000},
		{"plain text", 400, "Prompt is too long", true, 0},
		{"a proxy", 413, "<html><head><title>413 Request Entity Too Large</title></head></html>", true, 0},
		{"413 with nothing said", 413, "", true, 0},
		{"Anthropic stream", 200,
			"event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"invalid_request_error\",\"message\":\"prompt is too long: 5 tokens > 4 maximum\"}}\n\n", true, 4},
		{"Responses stream", 200,
			"event: response.failed\ndata: {\"type\":\"response.failed\",\"response\":{\"status\":\"failed\",\"error\":{\"code\":\"context_length_exceeded\",\"message\":\"Your input exceeds the context window of this model.\"}}}\n\n", true, 0},

		{"OpenAI's SDK behind a gateway", 400,
			`{"error":{"name":"LengthFinishReasonError","message":"Could not parse response content as the length limit was reached"}}`, true, 0},
		{"a figure alone", 400, `{"error":{"type":"invalid_request_error","message":"maximum 200,000 tokens"}}`, true,
			0},
		{"the context", 400, `{"error":{"type":"invalid_request_error","message":"context is too long"}}`, true, 0},
		{"a figure for the reply", 400,
			`{"error":{"type":"invalid_request_error","message":"max_tokens: 9000 is over the maximum of 8192 tokens"}}`, false, 0},

		{"status in the error", 0, `{"error":{"status":400,"message":"Input tokens exceed model limit"}}`, true, 0},
		{"no status at all", 0,
			`{"error":{"error":{"type":"invalid_request_error","message":"prompt is too long: 150000 tokens > 100000 maximum"}}}`, true, 100000},
		{"code as a string", 0,
			`{"kind":"openai_api_error","code":"400","message":"maximum context length is 4096 tokens"}`, true, 4096},
		{"bad key with a code", 0, `{"kind":"openai_api_error","code":"400","message":"Invalid API key"}`, false, 0},
		{"bad request", 0, `{"status":400,"message":"Invalid request format"}`, false, 0},
		{"status 500 in the error", 0, `{"error":{"status":500,"message":"maximum context length is 4096 tokens"}}`,
			false, 4096},

		{"what the request said is quoted", 400,
			`{"error":{"message":"Invalid item","output":"prompt is too long"},"input":"too many tokens","messages":["maximum context"]}`, false, 0},
		{"server failure", 500, `{"error":{"message":"prompt is too long: 5 tokens > 4 maximum"}}`, false, 4},
		{"bad key", 401, `{"error":{"message":"Invalid API key"}}`, false, 0},
		{"not allowed", 403, `{"error":{"message":"Your plan's maximum context length is 8192 tokens"}}`, false, 8192},
		{"tokens a minute", 429,
			`{"error":{"message":"Request too large for gpt-4o in organization org-x on tokens per min (TPM): Limit 30000, Requested 31538. The input or output tokens must be reduced in order to run successfully.","type":"tokens","param":null,"code":"rate_limit_exceeded"}}`, false, 0},
		{"tokens a minute as 413", 413,
			"{\"error\":{\"message\":\"Request too large for model `llama-3.1-70b-versatile` in organization `org` on tokens per minute (TPM): Limit 6000, Requested 14368, please reduce your message size and try again.\",\"type\":\"tokens\",\"code\":\"rate_limit_exceeded\"}}", false, 0},
		{"Bedrock throttling", 429, `{"message":"Too many tokens, please wait before trying again."}`, false, 0},
		{"Bedrock throttling as 400", 400, `{"message":"Too many tokens, please wait before trying again."}`, false, 0},
		{"Bedrock throttling, relayed", 0, `{"message":"Too many tokens","$metadata":{"httpStatusCode":429}}`, false,
			0},
		{"call without result", 400,
			"{\"error\":{\"type\":\"invalid_request_error\",\"message\":\"messages.4: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_1. Each `tool_use` block must have a corresponding `tool_result` block in the next message.\"}}", false, 0},
		{"result without call", 400,
			"{\"error\":{\"message\":\"messages.2.content.0: unexpected `tool_use_id` found in `tool_result` blocks: toolu_1.\"}}", false, 0},
		{"Chat call without result", 400,
			`{"error":{"message":"An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: call_1"}}`, false, 0},
		{"thinking changed", 400,
			"{\"error\":{\"message\":\"messages.1.content.0: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified.\"}}", false, 0},
		{"output too large", 400,
			`{"error":{"message":"max_tokens: 64000 > 8192, which is the maximum allowed number of output tokens for claude-x"}}`, false, 0},
		{"output too large, OpenAI", 400,
			`{"error":{"message":"max_tokens is too large: 6000. This model supports at most 4096 completion tokens, whereas you provided 6000."}}`, false, 0},
		{"output too large, other", 400, `{"error":{"message":"max_tokens exceeds the model's limit"}}`, false, 0},
		{"an id too long", 400,
			`{"error":{"message":"Invalid 'messages[1].tool_calls[0].id': string too long. Expected a string with maximum length 40, but got a string with length 51 instead.","code":"string_above_max_length"}}`, false, 0},
		{"a repeated request", 422,
			`{"detail":[{"type":"missing","loc":["body","model"],"msg":"Field required","input":{"messages":[{"role":"user","content":"what does 'prompt is too long: 5 tokens > 4 maximum' mean?"}]}}]}`, false, 0},
		{"a reply", 200, `{"role":"assistant","content":[{"type":"text","text":"The prompt is too long."}]}`, false, 0},
		{"a Responses reply", 200, `{"status":"completed","error":null,"text":"prompt is too long"}`, false, 0},
		{"nothing", 400, "", false, 0},
		{"nothing known", 0, "", false, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			o, got := wire.ReadOverflow(c.status, []byte(c.body))
			if got != c.want {
				t.Errorf("%v, want %v", got, c.want)
			}
			if got && (o.Limit != c.limit || !o.Known) {
				t.Errorf("%+v, want %d", o, c.limit)
			}
		})
	}
}

// JSON within JSON within JSON is read as far as gateways go, and no answer makes
// the reader fail.
func TestOverflowOfOddAnswers(t *testing.T) {
	for _, body := range []string{
		strings.Repeat("[", 5000), strings.Repeat(`{"error":`, 900) + `1` + strings.Repeat("}", 900),
		`{"error":{"code":99999999999999999999,"status":-400,"n_ctx":-1,"message":null}}`,
		`"prompt"`, "data: {", "data:\n\n", "\xff\xfe",
		`{"message":"maximum context length is 99999999999999999999999 tokens","error":"{\"error\":\"[{}]\"}"}`,
	} {
		if o, _ := wire.ReadOverflow(0, []byte(body)); o.Limit > 0 {
			t.Errorf("%.40s: limit %d", body, o.Limit)
		}
	}
}

func FuzzOverflow(f *testing.F) {
	f.Add(400, []byte(`{"error":{"message":"prompt is too long: 5 tokens > 4 maximum","code":"400"}}`))
	f.Add(0, []byte("event: error\ndata: {\"error\":\"{\\\"n_ctx\\\":5}\"}"))
	f.Fuzz(func(t *testing.T, status int, body []byte) {
		if isOverflow(status, body) && status >= 500 {
			t.Fatalf("a server's failure %d is called an overflow", status)
		}
		if o, ok := wire.ReadOverflow(status, body); o.Limit < 0 || o.Size < 0 || !ok && (o.Known || o.Limit > 0) {
			t.Fatalf("%+v", o)
		}
	})
}

// What providers say of the request's size, by themselves and through gateways.
func TestOverflowSize(t *testing.T) {
	for text, want := range map[string]wire.Overflow{
		`{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 208310 tokens > 200000 maximum"}}`: {Limit: 200000, Size: 208310, Prompt: true, Known: true},
		`{"type":"error","error":{"type":"invalid_request_error","message":"input length and ` + "`max_tokens`" +
			` exceed context limit: 1081 + 199900 > 200000"}}`: {Limit: 200000, Size: 200981, Known: true},
		`{"error":{"message":"This model's maximum context length is 8192 tokens."}}`:                                                                                                                  {Limit: 8192, Known: true},
		`{"error":{"message":"This model's maximum context length is 131072 tokens. However, you requested 133034 tokens (125034 in the messages, 8000 in the completion)."}}`:                         {Limit: 131072, Size: 133034, Known: true},
		`{"error":{"message":"This model's maximum context length is 16384 tokens. However, your prompt contains at least 16385 input tokens."}}`:                                                      {Limit: 16384, Size: 16385, Known: true},
		`{"error":{"message":"'max_tokens' or 'max_completion_tokens' is too large: 8192. This model's maximum context length is 65536 tokens and your request has 57879 input tokens."}}`:             {Limit: 65536, Size: 66071, Known: true},
		`{"error":{"message":"litellm.BadRequestError: OpenAIException - Error code: 400 - {'error': {'message': \"This model's maximum context length is 4096 tokens. However, you requested 5000"}}`: {Limit: 4096, Size: 5000, Known: true},
		`{"error":{"message":"the request exceeds the available context size","type":"exceed_context_size_error","n_prompt_tokens":14429,"n_ctx":8192}}`:                                               {Limit: 8192, Size: 14429, Known: true},
		`{"error":{"message":"our window is full, sorry: context length exceeded by far"}}`:                                                                                                            {},
	} {
		if got, ok := wire.ReadOverflow(400, []byte(text)); got != want || !ok {
			t.Errorf("%s: %+v %v, want %+v", text, got, ok, want)
		}
	}
}

// An error that quotes a sentence of the conversation says nothing of the model: whatever
// repeats the input, and wherever. SPEC E4
func TestQuotedSentencesAreNoOverflow(t *testing.T) {
	for _, sentence := range []string{
		"This model's maximum context length is 9000 tokens. However, your messages resulted in 90000 tokens.",
		"prompt is too long: 90000 tokens > 9000 maximum",
		"context_length_exceeded",
		"request (90000 tokens) exceeds the available context size (9000 tokens), try increasing it",
		"litellm.ContextWindowExceededError: the context window is exceeded",
	} {
		for _, form := range []string{
			`{"error":{"message":"Content blocked by guardrail: %s","type":"guardrail"}}`,
			`{"error":{"message":"litellm.BadRequestError: GuardrailRaisedException - Guardrail raised an exception, Guardrail: pii, Message: %s","code":"400"}}`,
			`{"error":{"message":"litellm.ContentPolicyViolationError: AzureException - %s","code":"400"}}`,
			`{"error":{"message":"The response was filtered due to the prompt triggering a policy: '%s'","code":"content_filter"}}`,
			`{"error":{"message":"Violated guardrail policy","bedrock_guardrail_response":{"outputs":[{"text":"%s"}]}}}`,
			`{"error":{"message":"1 validation error for ChatCompletionRequest\nmessages.3.content\n  Input should be a valid string [type=string_type, input_value='%s', input_type=str]"}}`,
			`{"object":"error","message":"[{'type': 'value_error', 'loc': ('body', 'messages'), 'msg': 'Value error', 'input': '%s'}]","code":400}`,
			`{"detail":[{"type":"string_type","loc":["body","messages",3,"content"],"msg":"Input should be a valid string","input":"%s"}]}`,
			`{"error":{"message":"Invalid value: '%s'. Supported values are: 'text'.","param":"messages[3].content","code":"invalid_value"}}`,
			`{"error":{"message":"messages.3: tool result \"%s\" has no tool use"}}`,
			`{"error":{"message":"Moderation flagged the input: %s","type":"moderation"}}`,
			`{"error":{"message":"Invalid request","metadata":{"flagged_input":"%s","reasons":["jailbreak"]}}}`,
			`{"error":{"message":"Could not parse the request body near ...%s..."},"request":{"messages":[{"content":"%s"}]}}`,
			`{"error":{"message":"bad request","param":"%s"}}`,
			`{"error":{"message":"bad request"},"echo":"%s","input":{"type":"%s","code":"%s"}}`,
			`<html><body>Blocked by the web application firewall: %s</body></html>`,
		} {
			body := strings.ReplaceAll(form, "%s", sentence)
			if o, ok := wire.ReadOverflow(400, []byte(body)); ok {
				t.Errorf("%s: %+v", body, o)
			}
		}
	}
}

// A sentence that gives no size may be the beginning of a quotation: where it goes on, and
// no code stands beside it, a smaller request is tried, and nothing is to be learnt. SPEC E4
func TestASentenceWithoutASizeIsKnownOnlyWhole(t *testing.T) {
	for body, want := range map[string]wire.Overflow{
		`{"error":{"message":"Maximum context length is 9000 tokens, says the page of zebra"}}`:                                                        {Limit: 9000},
		`{"error":{"message":"This model's maximum context length is 9000 tokens. Ask the page of zebra."}}`:                                           {Limit: 9000},
		`{"error":{"message":"Your request exceeded model token limit: 9000, the page says"}}`:                                                         {Limit: 9000},
		`{"error":{"message":"Range of input length should be [1, 9000] in the page"}}`:                                                                {Limit: 9000},
		`{"error":{"message":"Input is too long, says the page"}}`:                                                                                     {},
		`{"error":{"message":"Prompt is too long. So says the page"}}`:                                                                                 {},
		`{"error":{"message":"The request exceeds the available context size, the page says"}}`:                                                        {},
		`{"error":{"message":"Prompt too long; exceeded max context length by 4200 tokens, the page says"}}`:                                           {},
		`{"error":{"message":"Maximum context length is 9000 tokens, says the page","details":"Maximum context length is 8000 tokens, says another"}}`: {Limit: 9000},
		`{"error":{"message":"Maximum context length is 9000 tokens, says the page","details":"prompt is too long: 9 tokens > 8 maximum"}}`:            {Limit: 8, Size: 9, Prompt: true, Known: true},

		`{"error":{"message":"Maximum context length is 9000 tokens."}}`:                                                                    {Limit: 9000, Known: true},
		`{"error":{"message":"This model's maximum context length is 9000"}}`:                                                               {Limit: 9000, Known: true},
		`{"error":{"message":"This model's maximum context length is 9000 tokens. Please reduce the length of the messages."}}`:             {Limit: 9000, Known: true},
		`{"error":{"message":"Error code: 400 - {'error': {'message': \"This model's maximum context length is 9000 tokens.\"}}"}}`:         {Limit: 9000, Known: true},
		`{"error":{"message":"Maximum context length is 9000 tokens, as documented","code":"context_length_exceeded"}}`:                     {Limit: 9000, Known: true},
		`{"error":{"message":"litellm.ContextWindowExceededError: This model's maximum context length is 9000 tokens; see the documents"}}`: {Limit: 9000, Known: true},
		`{"error":{"message":"Prompt is too long."}}`:                                                                                       {Known: true},
		`{"message":"Input is too long for requested model."}`:                                                                              {Known: true},
	} {
		if got, ok := wire.ReadOverflow(400, []byte(body)); got != want || !ok {
			t.Errorf("%s: %+v %v, want %+v", body, got, ok, want)
		}
	}
}

// A server that repeats the request beside its error, as FastAPI's handlers do, says nothing
// by that; a gateway that has another answer there does. SPEC E4
func TestARepeatedBodyIsNoOverflow(t *testing.T) {
	const detail = `{"detail":[{"type":"string_type","loc":["body","messages"],"msg":"Input should be valid"}],"body":`
	for _, sent := range []string{
		`{"message":"This model's maximum context length is 9000 tokens."}`, `"Prompt is too long"`,
		`["Prompt is too long"]`,
		`{"messages":[{"message":"Prompt is too long"}],"detail":"Prompt is too long","code":"context_length_exceeded"}`,
	} {
		if o, ok := wire.ReadOverflow(422, []byte(detail+sent+"}")); ok {
			t.Errorf("%s: %+v", sent, o)
		}
	}
	if o, ok := wire.ReadOverflow(400,
		[]byte(`{"status":400,"body":{"error":{"message":"prompt is too long: 9 tokens > 8 maximum"}}}`)); !ok ||
		o.Limit != 8 {
		t.Errorf("%+v %v", o, ok)
	}
}

// A figure counts only where it can be about the request that was sent.
func TestOverflowAgrees(t *testing.T) {
	for _, c := range []struct {
		o           wire.Overflow
		sent, reply int
		want        bool
	}{
		{wire.Overflow{Limit: 9000, Size: 90000}, 37_363, 0, false},
		{wire.Overflow{Limit: 128_000, Size: 202_868}, 190_000, 0, true},
		{wire.Overflow{Limit: 16_384, Size: 122_946}, 110_000, 10_000, true},
		{wire.Overflow{Limit: 200_000, Size: 208_310, Prompt: true}, 180_000, 0, true},
		{wire.Overflow{Limit: 200_000, Size: 190_000, Prompt: true}, 180_000, 0, false},
		{wire.Overflow{Limit: 200_000, Size: 190_000}, 180_000, 20_000, true},
		{wire.Overflow{Limit: 65_536, Size: 66_071}, 57_000, 8192, true},
		{wire.Overflow{Limit: 9000, Size: 8000}, 8000, 0, false},
		{wire.Overflow{Limit: 8192}, 50_000, 0, true},
		{wire.Overflow{Limit: 200_000}, 9000, 1000, false},
		{wire.Overflow{}, 9000, 0, true},
	} {
		if got := c.o.Agrees(c.sent, c.reply); got != c.want {
			t.Errorf("%+v, %d and %d: %v", c.o, c.sent, c.reply, got)
		}
	}
}

func isOverflow(status int, body []byte) bool {
	_, ok := wire.ReadOverflow(status, body)
	return ok
}
