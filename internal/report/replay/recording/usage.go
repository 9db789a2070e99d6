package recording

import (
	"bytes"

	"github.com/oriel-context/oriel/internal/rawjson"
	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/token"
)

// fields are the places of a provider's counts in an entry.
type fields struct {
	at                         []string
	input, output, read, write string
	more                       string // output that is counted apart
	// whole reports that input has what was read from and written to the cache, too.
	whole bool
}

// usages lists where programs keep what a provider reported.
var usages = map[string]fields{
	timeline.FormatQwenCode: {at: []string{"usageMetadata"}, input: "promptTokenCount", output: "candidatesTokenCount",
		read: "cachedContentTokenCount", more: "thoughtsTokenCount", whole: true},
	timeline.FormatGeminiCLI: {at: []string{"tokens"}, input: "input", output: "output", read: "cached",
		more: "thoughts", whole: true},
	timeline.FormatOpenCode: {at: []string{"info", "tokens"}, input: "input", output: "output", more: "reasoning"},
	timeline.FormatCline: {at: []string{"metrics"}, input: "inputTokens", output: "outputTokens",
		read: "cacheReadTokens", write: "cacheWriteTokens"},
	timeline.FormatPi: {at: []string{"message", "usage"}, input: "input", output: "output", read: "cacheRead",
		write: "cacheWrite"},
	timeline.FormatContinue: {at: []string{"message", "usage"}, input: "prompt_tokens", output: "completion_tokens",
		whole: true},
	timeline.FormatCodex: {at: []string{"payload", "info", "last_token_usage"}, input: "input_tokens",
		output: "output_tokens", read: "cached_input_tokens", write: "cache_write_input_tokens", whole: true},
}

// usageOf returns what an entry says that its call used.
func usageOf(m *timeline.Message) (u token.Usage, ok bool) {
	f, ok := usages[m.Format]
	if !ok || !bytes.Contains(m.Raw, []byte(f.at[len(f.at)-1])) {
		return u, false
	}
	v, err := rawjson.ParseLenient(m.Raw, timeline.MaxContent)
	if err != nil {
		return u, false
	}
	for _, key := range f.at {
		v = v.Get(key)
	}
	if v.Kind() != rawjson.Object {
		return u, false
	}
	count := func(v rawjson.Value) int {
		n, ok := v.Int()
		if !ok || n < 0 || n > 1<<31 {
			return 0
		}
		return int(n)
	}
	u = token.Usage{Input: count(v.Get(f.input)), Output: count(v.Get(f.output)) + count(v.Get(f.more)),
		CacheRead: count(v.Get(f.read)), CacheWrite: count(v.Get(f.write))}
	switch m.Format {
	case timeline.FormatOpenCode:
		u.CacheRead, u.CacheWrite = count(v.Get("cache").Get("read")), count(v.Get("cache").Get("write"))
	case timeline.FormatContinue:
		details := v.Get("prompt_tokens_details")
		u.CacheRead = max(count(details.Get("cached_tokens")), count(details.Get("cache_read_tokens")))
		u.CacheWrite = count(details.Get("cache_write_tokens"))
	}
	if f.whole {
		u.Input = max(0, u.Input-u.CacheRead-u.CacheWrite)
	}
	return u, u.Prompt() > 0
}

// note takes an entry that is not a message: what Codex says of the call before, and of its
// own compaction.
func (p *plain) note(m *timeline.Message) error {
	if m.Format != timeline.FormatCodex {
		return nil
	}
	if u, ok := usageOf(m); ok && p.open != nil {
		p.open.call.Usage, p.open.call.Reported = u, true
		return nil
	}
	if !bytes.Contains(m.Raw, []byte(`"compacted"`)) {
		return nil
	}
	root, err := rawjson.ParseLenient(m.Raw, timeline.MaxContent)
	if err != nil || !root.Get("type").EqualStr("compacted") {
		return nil
	}
	if err := p.flush(); err != nil {
		return err
	}
	if err := p.sink.Resets(); err != nil {
		return err
	}
	for item := range root.Get("payload").Get("replacement_history").Elems() {
		if err := p.sink.Says(bytes.Clone(item.Raw())); err != nil {
			return err
		}
	}
	return nil
}
