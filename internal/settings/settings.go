package settings

import (
	"time"

	"github.com/oriel-context/oriel/internal/proxy"
	"github.com/oriel-context/oriel/recall"
	"github.com/oriel-context/oriel/window"
)

// Settings holds all settings. The comments of its fields are written for users.
//
// Tags: toml is the key, flag the flag of oriel serve, env a variable whose name is not
// ORIEL_SECTION_KEY. A secret is never shown. A change of a restart setting needs a
// restart. A running server refuses a file that has lost a protects setting.
type Settings struct {
	// Address to listen at, HOST:PORT; port 0 takes a free one. Beyond 127.0.0.1 a
	// token is needed.
	Listen string `toml:"listen" flag:"listen" restart:"yes" protects:"yes" server:"yes"`
	// Token of Oriel's own that clients must send, as the header X-Oriel-Token or as
	// /k/TOKEN before the path in their base URL. Beyond 127.0.0.1 it has at least 16
	// characters: openssl rand -hex 16 prints one. Empty: none, for 127.0.0.1 only.
	Token string `toml:"token" flag:"token" secret:"yes" protects:"yes" server:"yes"`
	// Origins of web pages that may send requests without a token, such as
	// "https://chat.example", beside pages of this machine.
	Origins []string `toml:"origins" flag:"origin" server:"yes"`
	// Folder of the history. Empty: the user's data folder.
	Data string `toml:"data" flag:"data" restart:"yes" server:"yes"`
	// URL of a PostgreSQL database for the history, which several servers can share:
	// "postgres://user:password@host:5432/database". Its parameters set TLS, the pool and
	// time limits; see docs/postgres.md. Empty: the history is in the folder.
	Store string `toml:"store" flag:"store" secret:"yes" restart:"yes" server:"yes"`
	// Folder for calls that the history does not accept, until it does: because its disk is
	// full or read-only, or its server is gone. At most 1 GiB. Empty: a folder of the user's
	// state.
	Spool string `toml:"spool" flag:"spool" restart:"yes" server:"yes"`
	// How much of the history survives a power failure: "normal" (all but the last
	// moments) or "full" (everything).
	Sync string `toml:"sync" flag:"sync" restart:"yes" server:"yes"`
	// How much of a request is sent unless the call names a profile: "balanced" (100,000
	// tokens, and all that people wrote), "full" (as much as the model accepts), "thrifty"
	// (64,000 tokens), "chat" (for talk rather than tools), "off" (everything, whatever
	// its size), "observe" (everything; what "full", "balanced" and "thrifty" would send is
	// recorded) or one of [profiles]. The newest turn, and requests that continue no
	// conversation, are sent whole if the model accepts them.
	Profile string `toml:"profile" flag:"profile"`
	// Share of the budget that remains after a cut, between 0 and 1. A lower value cuts
	// deeper and less often. 0: a half; of the budget of a profile by the price of cached
	// tokens: 0.42 where they cost a tenth of others or more, a half from a fortieth.
	LowMark float64 `toml:"low_mark"`
	// Names of tools whose results are never replaced by a stub, such as "read_file". The
	// results are still removed with their exchange.
	KeepTools []string `toml:"keep_tools"`
	// Share of a model's window that stays free, because counts are estimates: at least
	// 0 and less than 1.
	Margin float64 `toml:"margin"`
	// File to which every event is appended as a line of JSON. Empty: none.
	Events string `toml:"events" flag:"events" restart:"yes" server:"yes"`
	// JSON file of models, merged into the built-in table; [models] overrides it.
	ModelsFile string `toml:"models_file" flag:"models" env:"ORIEL_MODELS" server:"yes"`

	// Where calls go.
	Upstream Upstream `toml:"upstream"`
	// Percents of the model's window at which cutting begins. A value outside the bounds
	// is not used, with a warning.
	Thresholds Thresholds `toml:"thresholds"`
	// Recall of messages that were removed from the window.
	Recall Recall `toml:"recall"`
	// Vectors for recall by meaning, made by a server. Without a server the model in this
	// program makes them.
	Embed Embed `toml:"embed"`
	// Summaries of what was removed, written by a model. Without a model Oriel writes a
	// digest.
	Condense Condense `toml:"condense"`
	// Your own profiles, each under its name: letters, digits, - and _. Calls name them
	// like the built-in ones. They can be set in the file only.
	Profiles map[string]Profile `toml:"profiles"`
	// Figures of models that the table lacks or has wrong, each under its name. 0 leaves
	// a figure unchanged. They can be set in the file only.
	Models map[string]Model `toml:"models"`
	// Limits of tenants, whom tokens name, each under the tenant's name; "*" is for all
	// that are not listed. They can be set in the file only.
	Tenants map[string]Tenant `toml:"tenants"`
}

// Upstream is where calls are sent.
type Upstream struct {
	// Base URL for OpenAI's API, as its SDKs expect it; any compatible server will do.
	OpenAI string `toml:"openai" flag:"upstream-openai" protects:"yes"`
	// Base URL for Anthropic's API, as its SDKs expect it.
	Anthropic string `toml:"anthropic" flag:"upstream-anthropic" protects:"yes"`
	// Base URL for Google's Gemini API, as its SDKs expect it, or for Vertex AI:
	// "https://LOCATION-aiplatform.googleapis.com".
	Gemini string `toml:"gemini" flag:"upstream-gemini" protects:"yes"`
	// Base URL of an Ollama server.
	Ollama string `toml:"ollama" flag:"upstream-ollama" protects:"yes"`
	// Base URL for the calls of Codex with a ChatGPT login, which come to /backend-api/codex.
	ChatGPT string `toml:"chatgpt" flag:"upstream-chatgpt" protects:"yes"`
	// Base URL of Amazon Bedrock in your region for its own API, InvokeModel and Converse:
	// "https://bedrock-runtime.REGION.amazonaws.com". Empty: such requests are refused.
	Bedrock string `toml:"bedrock" flag:"upstream-bedrock" protects:"yes"`
	// Set this if the upstreams cache plain prefixes, as vLLM and local servers do. The
	// part of Claude Code's billing line that changes with every call is then sent as
	// zeros, under every profile but "off" and "observe".
	PlainCache bool `toml:"plain_cache" protects:"yes"`
	// Set this to refuse calls over WebSocket, which the upstream may have for Responses:
	// clients are told to use HTTP.
	HTTPOnly bool `toml:"http_only"`
	// Set this to have Anthropic's API cache the prompts of clients that do not ask for it
	// (no cache_control in the request), under every profile but "off" and "observe". Writing
	// to the cache costs a quarter more than reading the tokens once, and every later call of
	// a conversation reads them for a tenth: single calls cost more, conversations less.
	MarkCache bool `toml:"mark_cache"`
}

// Thresholds are percents. For a profile, -1 means the threshold for all.
type Thresholds struct {
	// For all profiles without their own.
	All float64 `toml:"all" flag:"threshold"`
	// For the profile full; -1: that for all.
	Full float64 `toml:"full" flag:"threshold"`
	// For the profile balanced; -1: that for all.
	Balanced float64 `toml:"balanced" flag:"threshold"`
	// For the profile thrifty; -1: that for all.
	Thrifty float64 `toml:"thrifty" flag:"threshold"`
	// For the profile chat; -1: that for all.
	Chat float64 `toml:"chat" flag:"threshold"`
	// The lowest percent that is accepted.
	Min float64 `toml:"min"`
	// The highest percent that is accepted.
	Max float64 `toml:"max"`
}

// Recall bounds what is recalled into a request.
type Recall struct {
	// The most tokens that are recalled at a time, and never more than half of the
	// budget. Most questions bring a quarter of it or less.
	Tokens int `toml:"tokens"`
	// The longest that a call waits for recall. With embed.url the default is 1s, because
	// that server embeds the query.
	Wait time.Duration `toml:"wait"`
	// How far recall looks: "conversation", or "project", where the first call of a new
	// conversation also brings what earlier conversations in the same folder say about
	// its words. Conversations that are private (oriel private) are left out.
	Scope string `toml:"scope"`
}

// Embed configures the server that makes vectors.
type Embed struct {
	// Base URL of a server that speaks OpenAI's embeddings format, such as
	// "http://127.0.0.1:11434/v1". The texts of the history are sent to it. Empty: no
	// server is asked.
	URL string `toml:"url" restart:"yes"`
	// Model to ask. Vectors of different models or servers are never compared: after a
	// change the history is embedded again.
	Model string `toml:"model" restart:"yes"`
	// Key for that server. It is sent over plain http only to this machine or a private
	// network.
	Key string `toml:"key" secret:"yes" restart:"yes"`
}

// Condense configures the model that writes summaries.
type Condense struct {
	// Base URL of a server that speaks OpenAI's chat format. Empty: no model is asked.
	URL string `toml:"url" flag:"condense-url"`
	// Model to ask.
	Model string `toml:"model" flag:"condense-model"`
	// Key for that server. It is sent over plain http only to this machine or a private
	// network.
	Key string `toml:"key" secret:"yes"`
	// File with your own instructions; {tokens} stands for the limit.
	Prompt string `toml:"prompt" flag:"condense-prompt" server:"yes"`
	// "behind" (calls never wait, the summary is used by the next cut) or "inline" (the
	// call that cuts waits).
	When string `toml:"when" flag:"condense"`
	// The longest that a summary may take. 0s: 2 minutes, inline 20 seconds.
	Wait time.Duration `toml:"wait" flag:"condense-wait"`
}

// Profile is a user's own profile.
type Profile struct {
	// The most tokens of a request's history; it grows like those of the built-in
	// profiles. 0: as many as the model accepts.
	Budget int `toml:"budget"`
	// Share of the budget that remains after a cut, between 0 and 1. 0: low_mark.
	LowMark float64 `toml:"low_mark"`
	// Policy that decides what is removed: "ladder", "mask", "fifo", "slide", "halve",
	// "condense" or "relevance". Empty: "ladder".
	Policy string `toml:"policy"`
	// Percent of the model's window at which cutting begins. -1 and 0: thresholds.all.
	Threshold float64 `toml:"threshold"`
	// The most tokens that are recalled at a time. 0: recall.tokens; -1: no recall.
	Recall int `toml:"recall"`
	// How far recall looks: "conversation" or "project". Empty: recall.scope.
	Scope string `toml:"scope"`
}

// Model holds figures of a model that override the table's.
type Model struct {
	// Model of the table from which a new one starts. Empty: cautious figures.
	Like string `toml:"like"`
	// The most tokens of input and output together.
	Window int `toml:"window"`
	// The most tokens of input, if that is less.
	MaxInput int `toml:"max_input"`
	// The most tokens of a reply.
	MaxOutput int `toml:"max_output"`
	// US dollars for a million tokens of input that is not cached.
	Input float64 `toml:"input"`
	// US dollars for a million tokens of output.
	Output float64 `toml:"output"`
	// US dollars for a million tokens of input read from the provider's cache.
	CacheRead float64 `toml:"cache_read"`
	// US dollars for a million tokens of input written to it.
	CacheWrite float64 `toml:"cache_write"`
	// The same, if it is kept for an hour.
	CacheWrite1h float64 `toml:"cache_write_1h"`
}

// Tenant holds the limits of a tenant.
type Tenant struct {
	// The most calls in a minute; further ones are refused with 429. Each server counts its
	// own. 0: any number.
	CallsPerMinute int `toml:"calls_per_minute"`
	// The most bytes that the tenant's history takes, compressed. Beyond it calls go on
	// and are not recorded. 0: any number.
	StoredBytes int `toml:"stored_bytes"`
}

// Default returns the default settings.
func Default() Settings {
	return Settings{
		Listen:  "127.0.0.1:8780",
		Sync:    "normal",
		Profile: "balanced",
		Margin:  window.DefaultMargin,
		Upstream: Upstream{OpenAI: proxy.DefaultOpenAI, Anthropic: proxy.DefaultAnthropic,
			Gemini: proxy.DefaultGemini, Ollama: proxy.DefaultOllama, ChatGPT: proxy.DefaultChatGPT},
		Thresholds: Thresholds{All: 100, Full: -1, Balanced: -1, Thrifty: -1, Chat: -1, Min: 5, Max: 100},
		Recall: Recall{Tokens: recall.DefaultBudget, Wait: 100 * time.Millisecond,
			Scope: string(recall.ReachConversation)},
		Condense: Condense{When: "behind"},
	}
}

// WindowMargin returns the margin in package window's form, in which 0 means the default.
func (s *Settings) WindowMargin() float64 {
	if s.Margin == 0 {
		return window.NoMargin
	}
	return s.Margin
}

// Percents converts the thresholds to package window's form.
func (t Thresholds) Percents() window.Thresholds {
	return window.Thresholds{
		Global: t.All, Min: t.Min, Max: t.Max,
		Profiles: map[string]float64{"full": t.Full, "balanced": t.Balanced, "thrifty": t.Thrifty, "chat": t.Chat},
	}
}
