package settings

import (
	"time"

	"github.com/oriel-context/oriel/proxy"
	"github.com/oriel-context/oriel/recall"
	"github.com/oriel-context/oriel/window"
)

// Settings are all of them. The comments below are for those who set them.
//
// Tags: toml is the key, flag that of oriel serve, env a variable whose name is not
// ORIEL_SECTION_KEY. A secret is never shown; restart says that a running server does
// not take a change; protects that it does not take a file that has lost the key.
type Settings struct {
	// Address to listen at, HOST:PORT; port 0 takes a free one. Beyond 127.0.0.1 a
	// token is needed.
	Listen string `toml:"listen" flag:"listen" restart:"yes" protects:"yes"`
	// Token of Oriel's own that clients must send, as the header X-Oriel-Token or as
	// /k/TOKEN before the path in their base URL. Beyond 127.0.0.1 it has at least 16
	// characters: openssl rand -hex 16 prints one. Empty: none, for 127.0.0.1 only.
	Token string `toml:"token" flag:"token" secret:"yes" protects:"yes"`
	// Origins of web pages that may send requests without a token, such as
	// "https://chat.example", beside pages of this machine.
	Origins []string `toml:"origins" flag:"origin"`
	// Folder of the history. Empty: the user's data folder.
	Data string `toml:"data" flag:"data" restart:"yes"`
	// What of the history survives the loss of power: "normal" (all but the last
	// moments) or "full" (everything).
	Sync string `toml:"sync" flag:"sync" restart:"yes"`
	// How much of a request is sent where the call does not say: "full" (as much as the
	// model takes), "balanced" (100,000 tokens, and all that people wrote), "thrifty"
	// (64,000), "chat" (for talk rather than tools), "off" (all of it, whatever its
	// size) or one of [profiles]. The newest turn, and what continues nothing, go whole if
	// the model takes them.
	Profile string `toml:"profile" flag:"profile"`
	// Share of the budget that a cut goes down to, between 0 and 1. Lower cuts deeper
	// and less often.
	LowMark float64 `toml:"low_mark"`
	// Names of tools whose results are not replaced by a stub to make room, such as
	// "read_file". They leave with their exchange all the same.
	KeepTools []string `toml:"keep_tools"`
	// Share of a model's window that is left free, since counts are estimates: 0 or
	// more, and less than 1.
	Margin float64 `toml:"margin"`
	// File to add a line of JSON to for everything that happens. Empty: none.
	Events string `toml:"events" flag:"events" restart:"yes"`
	// JSON file of models, laid over the built-in table; [models] goes before it.
	ModelsFile string `toml:"models_file" flag:"models" env:"ORIEL_MODELS"`

	// Where calls go.
	Upstream Upstream `toml:"upstream"`
	// Percents of the model's window at which something leaves. What is outside the
	// bounds warns and is not used.
	Thresholds Thresholds `toml:"thresholds"`
	// What comes back of what has left.
	Recall Recall `toml:"recall"`
	// Summaries by a model of what has left. Without one a digest is made here.
	Condense Condense `toml:"condense"`
	// Profiles of your own, each under its name: letters, digits, - and _. Calls name them as
	// they name the built-in ones. All have to be in the file: there are no variables.
	Profiles map[string]Profile `toml:"profiles"`
	// Figures of models that the table has wrong, or does not have, each under its name.
	// 0 leaves a figure as it is. All have to be in the file: there are no variables.
	Models map[string]Model `toml:"models"`
}

// Upstream is where calls go.
type Upstream struct {
	// Base URL for OpenAI's API, as its SDKs take it; any server that speaks it will do.
	OpenAI string `toml:"openai" flag:"upstream-openai" protects:"yes"`
	// Base URL for Anthropic's API, as its SDKs take it.
	Anthropic string `toml:"anthropic" flag:"upstream-anthropic" protects:"yes"`
	// The upstreams cache plain prefixes, as vLLM and local servers do: then the part of
	// Claude Code's billing line that is another with every call is sent as zeros, under
	// every profile but "off".
	PlainCache bool `toml:"plain_cache" protects:"yes"`
}

// Thresholds are percents; those of profiles are -1 where that of all holds.
type Thresholds struct {
	// For all profiles that have none of their own.
	All float64 `toml:"all" flag:"threshold"`
	// For the profile full; -1: that for all.
	Full float64 `toml:"full" flag:"threshold"`
	// For the profile balanced; -1: that for all.
	Balanced float64 `toml:"balanced" flag:"threshold"`
	// For the profile thrifty; -1: that for all.
	Thrifty float64 `toml:"thrifty" flag:"threshold"`
	// For the profile chat; -1: that for all.
	Chat float64 `toml:"chat" flag:"threshold"`
	// The least percent that is used.
	Min float64 `toml:"min"`
	// The highest percent that is used.
	Max float64 `toml:"max"`
}

// Recall is what comes back of what has left.
type Recall struct {
	// The most tokens that are brought back at a time, and never more than a tenth of
	// the budget.
	Tokens int `toml:"tokens"`
	// The longest that a call waits for it.
	Wait time.Duration `toml:"wait"`
}

// Condense is who writes summaries.
type Condense struct {
	// Base URL of a server that speaks OpenAI's chat format. Empty: no model is asked.
	URL string `toml:"url" flag:"condense-url"`
	// Model that is asked there.
	Model string `toml:"model" flag:"condense-model"`
	// Key for that server.
	Key string `toml:"key" secret:"yes"`
	// File with instructions of your own; {tokens} stands for the limit.
	Prompt string `toml:"prompt" flag:"condense-prompt"`
	// "behind" (calls never wait, the summary is used by the next cut) or "inline" (the
	// call that cuts waits).
	When string `toml:"when" flag:"condense"`
	// The longest that a summary may take. 0s: 2 minutes, inline 20 seconds.
	Wait time.Duration `toml:"wait" flag:"condense-wait"`
}

// Profile is a profile of one's own.
type Profile struct {
	// The most tokens of a request's history; it grows as those of the built-in profiles do.
	// 0: as many as the model takes.
	Budget int `toml:"budget"`
	// Share of the budget that a cut goes down to, between 0 and 1. 0: that of low_mark.
	LowMark float64 `toml:"low_mark"`
	// What leaves: "ladder", "mask", "fifo", "slide", "halve", "condense" or "relevance".
	// Empty: "ladder".
	Policy string `toml:"policy"`
	// Percent of the model's window at which something leaves. -1 and 0: that for all.
	Threshold float64 `toml:"threshold"`
	// The most tokens that are brought back at a time. 0: those of recall.tokens, -1:
	// nothing is brought back.
	Recall int `toml:"recall"`
}

// Model is what is known of a model, over what the table has.
type Model struct {
	// Model of the table that a new one starts from. Empty: careful figures.
	Like string `toml:"like"`
	// The most tokens of input and output together.
	Window int `toml:"window"`
	// The most tokens of input, where that is less.
	MaxInput int `toml:"max_input"`
	// The most tokens of a reply.
	MaxOutput int `toml:"max_output"`
	// US dollars for a million tokens of input that is not cached.
	Input float64 `toml:"input"`
	// The same of output.
	Output float64 `toml:"output"`
	// The same of input that is read from the provider's cache.
	CacheRead float64 `toml:"cache_read"`
	// The same of input that is written to it.
	CacheWrite float64 `toml:"cache_write"`
	// The same, for an hour.
	CacheWrite1h float64 `toml:"cache_write_1h"`
}

// Default is what holds where nothing is set.
func Default() Settings {
	return Settings{
		Listen:     "127.0.0.1:8780",
		Sync:       "normal",
		Profile:    "full",
		LowMark:    0.5,
		Margin:     window.DefaultMargin,
		Upstream:   Upstream{OpenAI: proxy.DefaultOpenAI, Anthropic: proxy.DefaultAnthropic},
		Thresholds: Thresholds{All: 100, Full: -1, Balanced: -1, Thrifty: -1, Chat: -1, Min: 5, Max: 100},
		Recall:     Recall{Tokens: recall.DefaultBudget, Wait: 50 * time.Millisecond},
		Condense:   Condense{When: "behind"},
	}
}

// WindowMargin is the margin in the form of those who use it, for whom 0 is the default.
func (s *Settings) WindowMargin() float64 {
	if s.Margin == 0 {
		return window.NoMargin
	}
	return s.Margin
}

// Percents are the thresholds in the form of those who use them.
func (t Thresholds) Percents() window.Thresholds {
	return window.Thresholds{
		Global: t.All, Min: t.Min, Max: t.Max,
		Profiles: map[string]float64{"full": t.Full, "balanced": t.Balanced, "thrifty": t.Thrifty, "chat": t.Chat},
	}
}
