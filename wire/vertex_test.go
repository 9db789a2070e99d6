package wire_test

import (
	"strings"
	"testing"

	"github.com/oriel-context/oriel/wire"
)

// Claude on Vertex AI is Anthropic's protocol with the model, and whether the reply is streamed, in
// the path, whatever the body says.
func TestClaudeOnVertexIsReadFromThePath(t *testing.T) {
	const at = "/v1/projects/p/locations/l/publishers/anthropic/models/"
	for _, tc := range []struct {
		path   string
		call   wire.Format
		count  wire.Format
		model  string
		stream bool
	}{
		{at + "claude-opus-4-8:rawPredict", wire.Anthropic, wire.Auto, "claude-opus-4-8", false},
		{at + "claude-opus-4-8:streamRawPredict", wire.Anthropic, wire.Auto, "claude-opus-4-8", true},
		{at[3:] + "claude-haiku-4-5%4020251001:rawPredict", wire.Anthropic, wire.Auto, "claude-haiku-4-5@20251001",
			false},
		{at + "claude-opus-4-8%3AstreamRawPredict", wire.Anthropic, wire.Auto, "claude-opus-4-8", true},
		{at + "count-tokens:rawPredict", wire.Auto, wire.Anthropic, "of the body", true},
		{at + "count-tokens:streamRawPredict", wire.Auto, wire.Auto, "of the body", true},
		{at + "claude-opus-4-8:predict", wire.Auto, wire.Auto, "of the body", true},
		{at + "claude-opus-4-8", wire.Auto, wire.Auto, "of the body", true},
		{at + ":rawPredict", wire.Auto, wire.Auto, "of the body", true},
		{at + "%zz:rawPredict", wire.Auto, wire.Auto, "of the body", true},
		{strings.Replace(at, "anthropic", "mistralai", 1) + "m:rawPredict", wire.Auto, wire.Auto, "of the body", true},
		{"/v1/models/claude:rawPredict", wire.Auto, wire.Auto, "of the body", true},
		{"/v1/messages", wire.Anthropic, wire.Auto, "of the body", true},
		{"/v1/messages/count_tokens", wire.Auto, wire.Anthropic, "of the body", true},
	} {
		body, err := wire.Read([]byte(`{"model":"of the body","stream":true,"messages":[]}`), wire.Anthropic,
			wire.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		body.At(tc.path)
		named := ""
		if tc.model != "of the body" {
			named = tc.model
		}
		if got := wire.PathModel(tc.call, tc.path); got != named {
			t.Errorf("%s names the model %q", tc.path, got)
		}
		call, count := wire.CallFormat(tc.path), wire.CountFormat(tc.path)
		if call != tc.call || count != tc.count || body.Model != tc.model || body.Stream != tc.stream {
			t.Errorf("%s: call %s, count %s, model %q, streamed %v", tc.path, call, count, body.Model, body.Stream)
		}
	}
}

// The field that has thinking dropped is put where the vendor reads it, into requests that may
// have it.
func TestThinkingIsToBeDroppedWhereThatCanBeAsked(t *testing.T) {
	const field = `"block_binding":{"prefix_mismatch_behavior":"drop_block"}`
	for body, want := range map[string]string{
		`{"model":"m","messages":[]}`:                                        `{"thinking":{"type":"adaptive",` + field + `},"model":"m","messages":[]}`,
		`{"messages":[],"thinking":{"type":"adaptive"}}`:                     `{"messages":[],"thinking":{` + field + `,"type":"adaptive"}}`,
		`{"messages":[],"thinking":{"type":"adaptive","block_binding":{}}}`:  "",
		`{"messages":[],"thinking":{"type":"enabled","budget_tokens":1024}}`: "",
		`{"messages":[],"thinking":{"type":"disabled"}}`:                     "",
		`{"messages":[],"thinking":{}}`:                                      "",
		`{"anthropic_version":"vertex-2023-10-16","messages":[]}`:            "",
	} {
		b, err := wire.Read([]byte(body), wire.Anthropic, wire.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		got, beta := b.AskDrop([]byte(body))
		if want == "" && (string(got) != body || beta != "") || want != "" && (string(got) != want || beta == "") {
			t.Errorf("%s: %s, %q", body, got, beta)
		}
	}
}

// A cloud is not asked to cache a prompt by a field that only Anthropic's own server has.
func TestCloudsAreNotAskedToCache(t *testing.T) {
	for body, asks := range map[string]bool{
		`{"model":"m","messages":[]}`:                                      true,
		`{"anthropic_version":"vertex-2023-10-16","messages":[]}`:          false,
		`{"model":"m","messages":[],"cache_control":{"type":"ephemeral"}}`: false,
	} {
		b, err := wire.Read([]byte(body), wire.Anthropic, wire.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		if got := string(b.AskCache([]byte(body))) != body; got != asks {
			t.Errorf("%s: asks %v", body, got)
		}
	}
}
