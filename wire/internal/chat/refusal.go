package chat

// tooLong and tooLongCodes are the refusals of OpenAI and of the many servers that
// speak its protocol.
var (
	tooLong = []string{
		// OpenAI, Azure, vLLM, DeepSeek, OpenRouter and others.
		`this (?:model|endpoint)'s maximum context length is <limit>(?: tokens)?\.?,? (?:however|but|and),? (?:you|your)[^0-9]{1,60}<size>`,
		`(?:this (?:model|endpoint)'s )?maximum context length is <limit>(?: tokens)?(?:\. please reduce (?:your prompt|the length of the (?:prompt|input|messages(?: or (?:the )?completion)?)))?`,
		`'max_tokens' or 'max_completion_tokens' is too large: <reply>\. this model's maximum context length is <limit> tokens and your request has <size> input tokens`,
		`input tokens exceed the configured limit of <limit> tokens\. your messages resulted in <prompt> tokens`,
		`input tokens exceed(?: (?:the )?model(?:'s)? (?:context |token )?limit)?`,
		// Groq, Cerebras
		`please reduce the length of the messages(?: or (?:the )?(?:completion|functions))?\.(?: current length is <size> while limit is <limit>)?`,
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
	}
	tooLongCodes = []string{
		"context_length_exceeded",    // OpenAI and those who follow it
		"exceed_context_size_error",  // llama.cpp
		"contextwindowexceedederror", // LiteLLM
		"context_window_exceeded",
		"tokens_limit_reached",             // GitHub Models
		"model_max_prompt_tokens_exceeded", // Copilot
		"lengthfinishreasonerror",          // OpenAI's SDKs, passed on by gateways
	}
)
