package view

import (
	"testing"
	"time"

	"github.com/oriel-context/oriel/token"
	"github.com/oriel-context/oriel/wire"
)

// How long a provider keeps a prompt follows what the request asks for, and otherwise the longest
// that the provider may choose by itself.
func TestTheLifetimeOfACacheFollowsTheRequest(t *testing.T) {
	const messages = `"messages":[{"role":"user","content":"hi, \"ttl\": \"12h\""}]`
	for _, c := range []struct {
		format wire.Format
		body   string
		want   time.Duration
	}{
		{wire.Chat, `{"model":"gpt-6.1-terra",` + messages + `}`, 30 * time.Minute},
		{wire.Chat, `{"model":"gpt-6.1-terra","prompt_cache_options":{"ttl":"30m"},` + messages + `}`, 30 * time.Minute},
		{wire.Chat, `{"model":"gpt-6.1-terra","prompt_cache_options":{"mode":"implicit","ttl":"12h"},` + messages + `}`,
			12 * time.Hour},
		{wire.Chat, `{"model":"gpt-5","prompt_cache_retention":"24h",` + messages + `}`, 24 * time.Hour},
		{wire.Anthropic, `{"model":"claude-opus-5-5",` + messages + `}`, 5 * time.Minute},
		{wire.Anthropic, `{"model":"claude-opus-5-5","system":[{"type":"text","text":"x","cache_control":` +
			`{"type":"ephemeral","ttl":"1h"}}],` + messages + `}`, time.Hour},
	} {
		b, err := wire.Read([]byte(c.body), c.format, wire.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		if got := Lifetime(token.Builtin().Lookup(b.Model), b); got != c.want {
			t.Errorf("%s: %s, want %s", c.body, got, c.want)
		}
	}
}
