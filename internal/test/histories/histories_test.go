package histories

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/oriel-context/oriel/internal/test/strict"
)

var formats = []struct {
	name  string
	draw  func(*rapid.T, Options) []byte
	judge func([]byte) []strict.Problem
}{
	{"anthropic", Anthropic, strict.Anthropic},
	{"chat", Chat, strict.Chat},
	{"responses", Responses, strict.Responses},
	{"gemini", Gemini, strict.Gemini},
	{"ollama", Ollama, strict.Ollama},
	{"interactions", Interactions, strict.Interactions},
	{"converse", Converse, strict.Converse},
}

// sample draws n bodies apart from rapid's own runs, the same ones every time.
func sample(t *testing.T, n int, draw func(*rapid.T, Options) []byte, opt Options) [][]byte {
	t.Helper()
	if testing.Short() {
		n /= 10
	}
	gen := rapid.Custom(func(rt *rapid.T) []byte { return draw(rt, opt) })
	var bodies [][]byte
	for i := range n {
		bodies = append(bodies, gen.Example(i))
	}
	return bodies
}

func TestValidHistoriesObeyTheirVendor(t *testing.T) {
	for _, f := range formats {
		t.Run(f.name, func(t *testing.T) {
			for i, body := range sample(t, 1000, f.draw, Options{Valid: true}) {
				if got := f.judge(body); len(got) > 0 {
					t.Fatalf("body %d: %v\n%s", i, got, body)
				}
			}
		})
		t.Run(f.name+" shrinking", func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				body := f.draw(t, Options{Valid: true})
				if got := f.judge(body); len(got) > 0 {
					t.Fatalf("%v\n%s", got, body)
				}
			})
		})
	}
}

func TestEveryBodyIsAJSONObject(t *testing.T) {
	for _, f := range formats {
		t.Run(f.name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				body := f.draw(t, Options{Valid: rapid.Bool().Draw(t, "valid"), Plain: rapid.Bool().Draw(t, "plain")})
				var o map[string]json.RawMessage
				if err := json.Unmarshal(body, &o); err != nil || !utf8.Valid(body) {
					t.Fatalf("%v\n%s", err, body)
				}
			})
		})
	}
}

func TestDamageBreaksEveryPairingRule(t *testing.T) {
	for _, f := range formats {
		t.Run(f.name, func(t *testing.T) {
			count := make(map[string]int)
			const n = 400
			for _, body := range sample(t, n, f.draw, Options{}) {
				for _, code := range strict.Codes(f.judge(body)) {
					count[code]++
				}
			}
			t.Log(count)
			for _, code := range []string{strict.OrphanResult, strict.UnansweredCall, strict.OpenEnd,
				strict.DuplicateResult} {
				if count[code] == 0 && !testing.Short() {
					t.Errorf("%s in none of %d bodies", code, n)
				}
			}
		})
	}
}

func TestBodiesCoverWhatClientsSend(t *testing.T) {
	everywhere := []string{"\r\n", "\t", ".0", "e2", `\u00e9`, `\/`, `\ud83d\ude00`, "日本語", "x_first",
		"x_last", `:""`, `null`}
	want := map[string][]string{
		"anthropic": {`"server_tool_use"`, `"web_search_tool_result"`, `"mcp_tool_use"`, `"mcp_tool_result"`,
			`"redacted_thinking"`, `"thinking"`,
			`"cache_control"`, `"1h"`, `"base64"`, `"url"`, `"file"`, `"document"`, `"tool_reference"`, `"system"`,
			`"content":[]`, `"clear_at"`, "x_hologram"},
		"chat": {`"developer"`, `"function_call"`, `"refusal"`, `"audio"`, `"input_audio"`, `"name"`, `"content":null`,
			`"custom"`, `"image_url"`, "x_hologram"},
		"responses": {`"encrypted_content"`, `"custom_tool_call_output"`, `"local_shell_call_output"`,
			`"web_search_call"`, `"mcp_list_tools"`,
			`"mcp_call"`, `"mcp_approval_response"`, `"compaction"`, `"item_reference"`, `"output_text"`,
			`"input_text"`, `"input_image"`, `"input_file"`, `"developer"`,
			"x_hologram"},
		"gemini": {`"functionCall"`, `"function_call"`, `"functionResponse"`, `"thoughtSignature"`, `"thought":true`,
			`"inlineData"`, `"inline_data"`, `"fileData"`, `"function"`, `"executableCode"`, `"toolCall"`,
			`"systemInstruction"`, `"system_instruction"`, "x_hologram"},
		"ollama": {`"images"`, `"thinking"`, `"tool_name"`, `"tool_call_id"`, `"index"`, `"num_ctx"`, `"keep_alive"`,
			`"think"`, `"content":null`},
		"interactions": {`"user_input"`, `"model_output"`, `"thought"`, `"signature"`, `"function_call"`,
			`"function_result"`, `"google_search_call"`, `"is_error"`, `"previous_interaction_id"`, "x_hologram"},
		"converse": {`"toolUse"`, `"toolResult"`, `"reasoningText"`, `"redactedContent"`, `"cachePoint"`, `"1h"`,
			`"guardContent"`, `"citationsContent"`, `"s3Location"`, `"json"`, `"error"`, `"server_tool_use"`,
			`"anthropic_beta"`, `"content":[]`, "x_hologram"},
	}
	for _, f := range formats {
		t.Run(f.name, func(t *testing.T) {
			all := bytes.Join(sample(t, 500, f.draw, Options{Valid: true}), nil)
			for _, s := range slices.Concat(everywhere, want[f.name]) {
				if !bytes.Contains(all, []byte(s)) && !testing.Short() {
					t.Errorf("no body has %q", s)
				}
			}
		})
	}
}

func TestKeysComeTwiceAndInAnyOrder(t *testing.T) {
	twice, resultFirst := false, false
	for _, body := range sample(t, 300, Anthropic, Options{Valid: true}) {
		d := json.NewDecoder(bytes.NewReader(body))
		twice = twice || hasTwice(t, d)
		s := string(body)
		resultFirst = resultFirst ||
			strings.Contains(s, `"content"`) && strings.Index(s, `"content"`) < strings.Index(s, `"role"`)
	}
	if (!twice || !resultFirst) && !testing.Short() {
		t.Errorf("keys twice %v, content before role %v", twice, resultFirst)
	}
}

// hasTwice reports whether any object of the next value has a key twice.
func hasTwice(t *testing.T, d *json.Decoder) bool {
	t.Helper()
	tok, err := d.Token()
	if err != nil {
		t.Fatal(err)
	}
	open, ok := tok.(json.Delim)
	if !ok {
		return false
	}
	found := false
	keys := make(map[any]bool)
	for d.More() {
		if open == '{' {
			key, err := d.Token()
			if err != nil {
				t.Fatal(err)
			}
			found = found || keys[key]
			keys[key] = true
		}
		found = hasTwice(t, d) || found
	}
	if _, err := d.Token(); err != nil {
		t.Fatal(err)
	}
	return found
}

func TestPlainBodiesAreCompact(t *testing.T) {
	for _, f := range formats {
		rapid.Check(t, func(t *rapid.T) {
			body := f.draw(t, Options{Valid: true, Plain: true, Turns: 2})
			if bytes.ContainsAny(body, "\r\n\t") {
				t.Fatalf("%s", body)
			}
		})
	}
}
