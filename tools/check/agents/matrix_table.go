package agents

// The packages of the other programs. The first one of a row is pinned.
const (
	opencode  = "opencode-ai@1.18.33"
	kilo      = "@kilocode/cli@7.7.7"
	pi        = "@mariozechner/pi-coding-agent@0.73.1"
	gemini    = "@google/gemini-cli@0.61.0"
	langchain = "langchain==1.4.7 langgraph==1.2.22 langchain-openai==1.7.3 langchain-anthropic==1.7.7 " +
		"langchain-google-genai==4.4.2 langchain-ollama==1.1.0"
	openAIPy   = "openai-agents==0.24.0 openai"
	pydanticAI = "pydantic-ai-slim[openai,anthropic,google]==2.66.0"
	llamaIndex = "llama-index-core==0.14.25 llama-index-llms-openai==0.8.3 llama-index-llms-google-genai==0.11.3 " +
		"llama-index-llms-ollama==0.11.0"
	strands     = "strands-agents[openai,anthropic,ollama,gemini]==1.62.0"
	agnoPy      = "agno==3.1.10 openai anthropic"
	crewAI      = "crewai[anthropic]==1.15.30"
	autogen     = "autogen-agentchat==0.7.5 autogen-ext[openai,ollama]==0.7.5"
	haystack    = "haystack-ai==3.4.0 anthropic-haystack"
	openHands   = "openhands-sdk==1.58.0 openhands-tools==1.58.0"
	liteLLM     = "litellm==1.106.2 mcp"
	vendorsPy   = "openai==3.51.0 anthropic==2.10.0 google-genai==3.3.0 ollama==0.6.3"
	vendorsNode = "openai@7.55.0 @anthropic-ai/sdk@1.10.0 @google/genai@3.1.0 ollama@0.6.4 zod"
	aiSDK       = "ai@7.0.170 @ai-sdk/openai @ai-sdk/anthropic @ai-sdk/google zod"
	mastra      = "@mastra/core@1.71.0 @ai-sdk/openai @ai-sdk/anthropic zod"
	openAINode  = "@openai/agents@0.20.0 openai zod"
)

// The settings of the rows below: turns of a framework, whose tools are small, and of an agent.
const (
	frameworkParts, frameworkBudget = 35, 8_000
	agentParts                      = 40
)

// others are the programs that only -all runs, in the order of the table.
var others = []program{
	cli("opencode", "opencode", "Messages", "baseURL", opencode, "opencode", 32_000,
		driveOpencode("anthropic/claude-sonnet-4-5")),
	cli("opencode-responses", "opencode", "Responses", "baseURL", opencode, "opencode", 32_000,
		driveOpencode("openai/gpt-5")),
	cli("kilo", "Kilo CLI", "Messages", "baseURL", kilo, "kilo", 32_000, driveKilo),
	cli("pi", "Pi", "Messages", "models.json", pi, "pi", 16_000, drivePi("anthropic/claude-sonnet-4-5")),
	cli("pi-responses", "Pi", "Responses", "models.json", pi, "pi", 16_000, drivePi("openai/gpt-5")),
	cli("gemini", "Gemini CLI", "Gemini", "GOOGLE_GEMINI_BASE_URL", gemini, "gemini", 32_000, driveGemini).
		explained("asks for the fact, which is not",
			"it shortens all results when it resumes a session: the first question then finds none of them, "+
				"later ones what is left of them"),
	apart(cli("grok", "grok-cli (@vibe-kit)", "Chat", "GROK_BASE_URL", "@vibe-kit/grok-cli@0.0.34", "grok",
		16_000, driveGrok)),
	apart(cli("mini-swe-agent", "mini-swe-agent", "Chat", "OPENAI_API_BASE", "mini-swe-agent==2.4.6 mcp", "mini",
		8_000, driveMini)),
	framework("openhands", "OpenHands SDK", "Responses", "base_url", openHands, "openhands_.py").within(16_000),
	framework("openhands-messages", "OpenHands SDK", "Messages", "base_url", openHands, "openhands_.py messages").within(16_000),
	framework("claude-agent-sdk", "Claude Agent SDK, Python", "Messages", "ANTHROPIC_BASE_URL",
		"claude-agent-sdk==0.2.184",
		"claude_agent_sdk_.py").within(48_000),
	framework("claude-agent-sdk-node", "Claude Agent SDK, Node", "Messages", "ANTHROPIC_BASE_URL",
		"@anthropic-ai/claude-agent-sdk@0.3.328 zod", "claude_agent_sdk.mjs").within(48_000),
	framework("openai-agents", "OpenAI Agents SDK", "Responses", "base_url", openAIPy, "openai_agents.py"),
	framework("openai-agents-reasoning", "OpenAI Agents SDK, reasoning, streamed", "Responses", "base_url", openAIPy,
		"openai_agents.py reasoning"),
	framework("openai-agents-chat", "OpenAI Agents SDK", "Chat", "base_url", openAIPy, "openai_agents.py chat"),
	framework("openai-agents-js", "OpenAI Agents SDK, JS", "Responses", "baseURL", openAINode, "openai_agents.mjs"),
	framework("openai-agents-js-chat", "OpenAI Agents SDK, JS", "Chat", "baseURL", openAINode,
		"openai_agents.mjs chat"),
	framework("langchain-chat", "LangGraph, LangChain", "Chat", "base_url", langchain, "langchain_.py chat"),
	framework("langchain-responses", "LangGraph, LangChain", "Responses", "base_url", langchain,
		"langchain_.py responses"),
	framework("langchain-messages", "LangGraph, LangChain", "Messages", "base_url", langchain,
		"langchain_.py messages"),
	framework("langchain-thinking", "LangGraph, LangChain, thinking", "Messages", "base_url", langchain,
		"langchain_.py messages-thinking"),
	framework("langchain-gemini", "LangGraph, LangChain", "Gemini", "base_url", langchain, "langchain_.py gemini"),
	framework("langchain-ollama", "LangGraph, LangChain", "Ollama", "base_url", langchain, "langchain_.py ollama"),
	framework("pydantic-ai", "Pydantic AI", "Responses", "provider", pydanticAI, "pydantic_ai_.py"),
	framework("pydantic-ai-chat", "Pydantic AI", "Chat", "provider", pydanticAI, "pydantic_ai_.py chat"),
	framework("pydantic-ai-messages", "Pydantic AI", "Messages", "provider", pydanticAI, "pydantic_ai_.py messages"),
	framework("pydantic-ai-gemini", "Pydantic AI", "Gemini", "provider", pydanticAI, "pydantic_ai_.py gemini"),
	framework("llama-index", "LlamaIndex", "Chat", "api_base", llamaIndex, "llama_index_.py"),
	framework("llama-index-responses", "LlamaIndex", "Responses", "api_base", llamaIndex,
		"llama_index_.py responses"),
	framework("llama-index-gemini", "LlamaIndex", "Gemini", "http_options", llamaIndex, "llama_index_.py gemini"),
	framework("llama-index-ollama", "LlamaIndex", "Ollama", "base_url", llamaIndex, "llama_index_.py ollama"),
	apart(framework("crewai", "CrewAI", "Chat", "base_url", crewAI, "crewai_.py").within(12_000)),
	apart(framework("crewai-messages", "CrewAI", "Messages", "base_url", crewAI, "crewai_.py messages").within(12_000)),
	framework("strands", "Strands Agents", "Chat", "client_args", strands, "strands_.py"),
	framework("strands-messages", "Strands Agents", "Messages", "client_args", strands, "strands_.py messages"),
	framework("strands-gemini", "Strands Agents", "Gemini", "client_args", strands, "strands_.py gemini"),
	framework("strands-ollama", "Strands Agents", "Ollama", "host", strands, "strands_.py ollama"),
	framework("strands-js", "Strands Agents, JS", "Chat", "baseURL",
		"@strands-agents/sdk@1.19.0 openai @anthropic-ai/sdk zod",
		"strands.mjs"),
	framework("agno", "Agno", "Chat", "base_url", agnoPy, "agno_.py"),
	framework("agno-messages", "Agno", "Messages", "client_params", agnoPy, "agno_.py messages"),
	framework("autogen", "AutoGen", "Chat", "base_url", autogen, "autogen_.py"),
	framework("autogen-ollama", "AutoGen", "Ollama", "host", autogen, "autogen_.py ollama"),
	framework("ag2", "AG2", "Chat", "base_url", "ag2[openai]==1.2.1", "ag2_.py"),
	framework("smolagents", "smolagents", "Chat", "api_base", "smolagents[openai,litellm]==1.26.0", "smolagents_.py").
		explained("asks for the fact, which is not",
			"the search is not sure enough among so many lines that resemble the words of its calls"),
	framework("dspy", "DSPy, History", "Chat", "api_base", "dspy==3.4.1", "dspy_.py").talks(),
	framework("adk", "Google ADK", "Gemini", "base_url", "google-adk==2.13.0", "adk_.py"),
	framework("adk-js", "Google ADK, JS", "Gemini", "GOOGLE_GEMINI_BASE_URL", "@google/adk@2.0.0", "adk.mjs"),
	framework("haystack", "Haystack", "Chat", "api_base_url", haystack, "haystack_.py"),
	framework("haystack-messages", "Haystack", "Messages", "ANTHROPIC_BASE_URL", haystack, "haystack_.py messages"),
	framework("semantic-kernel", "Semantic Kernel", "Chat", "base_url", "semantic-kernel==1.45.0",
		"semantic_kernel_.py"),
	framework("ai-sdk", "Vercel AI SDK", "Responses", "baseURL", aiSDK, "ai_sdk.mjs responses"),
	framework("ai-sdk-chat", "Vercel AI SDK", "Chat", "baseURL", aiSDK, "ai_sdk.mjs chat"),
	framework("ai-sdk-messages", "Vercel AI SDK", "Messages", "baseURL", aiSDK, "ai_sdk.mjs messages"),
	framework("ai-sdk-gemini", "Vercel AI SDK", "Gemini", "baseURL", aiSDK, "ai_sdk.mjs gemini"),
	framework("mastra", "Mastra", "Chat", "baseURL", mastra, "mastra.mjs chat"),
	framework("mastra-messages", "Mastra", "Messages", "baseURL", mastra, "mastra.mjs messages").
		explained("one session is 2|with a budget of",
			"it sends the turns of a session that it loads again in two messages, which are taken for a new session"),
	framework("litellm", "LiteLLM", "Chat", "api_base", liteLLM, "litellm_.py"),
	framework("litellm-messages", "LiteLLM", "Messages", "api_base", liteLLM, "litellm_.py messages"),
	framework("litellm-gemini", "LiteLLM", "Gemini", "api_base", liteLLM, "litellm_.py gemini"),
	framework("litellm-ollama", "LiteLLM", "Ollama", "api_base", liteLLM, "litellm_.py ollama"),
	framework("openai-py", "openai, Python, loop", "Responses", "base_url", vendorsPy, "openai_loop.py"),
	framework("openai-py-chat", "openai, Python, loop", "Chat", "base_url", vendorsPy, "openai_loop.py chat"),
	framework("openai-node", "openai, Node, runTools", "Chat", "baseURL", vendorsNode, "sdk_tools.mjs chat"),
	framework("anthropic-py", "anthropic, Python, tool_runner", "Messages", "base_url", vendorsPy,
		"anthropic_tools.py").of("anthropic"),
	framework("anthropic-node", "@anthropic-ai/sdk, toolRunner", "Messages", "baseURL", vendorsNode,
		"sdk_tools.mjs messages").of("@anthropic-ai/sdk"),
	framework("google-genai-py", "google-genai, Python, chats", "Gemini", "base_url", vendorsPy,
		"google_genai.py").of("google-genai"),
	framework("google-genai-node", "@google/genai, chats, streamed", "Gemini", "baseUrl", vendorsNode,
		"sdk_tools.mjs gemini").of("@google/genai"),
	framework("ollama-py", "ollama, Python", "Ollama", "host", vendorsPy, "ollama_.py").of("ollama"),
	framework("ollama-node", "ollama, Node, streamed", "Ollama", "host", vendorsNode,
		"sdk_tools.mjs ollama").of("ollama"),
}

// unavailable are programs that people use and that cannot be run here, with the reason.
var unavailable = [][2]string{
	{"Amp", "needs an account"},
	{"Crush", "its npm package fetches a binary from github.com"},
	{"Cursor, Windsurf, Zed", "editors, which need a window or an account"},
	{"Droid", "needs an account"},
	{"GitHub Copilot without a key of one's own", "needs an account"},
	{"Kiro, Amazon Q", "need an account"},
}

// cli returns an agent with a command line, which resumes its session for the question.
func cli(name, title, api, set, from, bin string, budget int, drive func(s *seat, do string) error) program {
	p := program{name: name, title: title, api: api, set: set, bin: bin, newNode: true, parts: agentParts,
		budget: budget, asked: 1, drive: drive}
	p.npm, p.pypi = origin(from)
	return p
}

// framework returns a program that a script uses.
func framework(name, title, api, set, from, script string) program {
	p := program{name: name, title: title, api: api, set: set, script: script, newNode: true, parts: frameworkParts,
		budget: frameworkBudget, asked: 1}
	p.npm, p.pypi = origin(from)
	return p
}
