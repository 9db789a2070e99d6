package token

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/wire"
)

// body puts one message or item into a request.
func body(f wire.Format, item string) []byte {
	if f == wire.Responses {
		return []byte(`{"model":"m","input":[` + item + `]}`)
	}
	return []byte(`{"model":"m","max_tokens":9,"messages":[` + item + `]}`)
}

// countItem counts an item as wire reads it.
func countItem(t interface{ Fatalf(string, ...any) }, c *Counter, f wire.Format, item string) int {
	b, err := wire.Read(body(f, item), f, wire.Limits{})
	if err != nil {
		t.Fatalf("%.300s: %v", item, err)
	}
	return c.Message(&b.Messages[0]).Tokens + c.Overhead(&b.Messages[0]).Tokens
}

// noise is base64 of which nothing can be read.
func noise(n int) string {
	b := make([]byte, n)
	rnd := rand.NewChaCha8([32]byte{1})
	_, _ = rnd.Read(b)
	return base64.StdEncoding.EncodeToString(b)
}

// SPEC B6: what a reader did not understand is sent, and so it counts.
func TestNothingThatIsSentCountsNothing(t *testing.T) {
	words := strings.Repeat("plain words that a tool gave back ", 5_000/7)
	c := counter("gpt-4o")
	own := c.Text(words).Tokens
	for name, tc := range map[string]struct {
		format wire.Format
		item   string // W is the text
	}{
		"mcp_call output": {wire.Responses,
			`{"type":"mcp_call","id":"mcp_1","server_label":"s","name":"n","arguments":"{}","output":"W"}`},
		"mcp_call error": {wire.Responses,
			`{"type":"mcp_call","id":"mcp_1","server_label":"s","name":"n","arguments":"{}","error":{"content":[{"text":"W"}]}}`},
		"file_search_call results": {wire.Responses,
			`{"type":"file_search_call","id":"fs_1","status":"completed","queries":["q"],"results":[{"file_id":"f","text":"W"}]}`},
		"web_search_call sources": {wire.Responses,
			`{"type":"web_search_call","id":"ws_1","status":"completed","action":{"type":"search","query":"q"},"results":["W"]}`},
		"code_interpreter_call code": {wire.Responses,
			`{"type":"code_interpreter_call","id":"ci_1","container_id":"c","code":"W","outputs":[]}`},
		"code_interpreter_call outputs": {wire.Responses,
			`{"type":"code_interpreter_call","id":"ci_1","container_id":"c","code":"x","outputs":[{"type":"logs","logs":"W"}]}`},
		"mcp_approval_response reason": {wire.Responses,
			`{"type":"mcp_approval_response","approval_request_id":"a","approve":false,"reason":"W"}`},
		"function_call_output": {wire.Responses, `{"type":"function_call_output","call_id":"c","output":"W"}`},
		"output of strings": {wire.Responses,
			`{"type":"function_call_output","call_id":"c","output":["W"]}`},
		"tool call of unknown type": {wire.Chat,
			`{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"grammar","grammar":{"input":"W"}}]}`},
		"tool message of strings": {wire.Chat, `{"role":"tool","tool_call_id":"c","content":["W"]}`},
		"unknown field of a message": {wire.Chat,
			`{"role":"assistant","content":"hi","reasoning_details":[{"type":"reasoning.text","text":"W"}]}`},
		"tool_result of strings": {wire.Anthropic,
			`{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":["W"]}]}`},
		"document context": {wire.Anthropic,
			`{"role":"user","content":[{"type":"document","source":{"type":"text","media_type":"text/plain","data":"d"},"context":"W"}]}`},
		"document title": {wire.Anthropic,
			`{"role":"user","content":[{"type":"document","source":{"type":"text","media_type":"text/plain","data":"d"},"title":"W"}]}`},
		"document of blocks": {wire.Anthropic,
			`{"role":"user","content":[{"type":"document","source":{"type":"content","content":[{"type":"text","text":"W"}]}}]}`},
		"web_search_tool_result": {wire.Anthropic,
			`{"role":"assistant","content":[{"type":"web_search_tool_result","tool_use_id":"t","content":[{"type":"web_search_result","title":"W","url":"u","encrypted_content":"x"}]}]}`},
	} {
		got := countItem(t, c, tc.format, strings.Replace(tc.item, "W", words, 1))
		t.Logf("%-30s %6d of %d", name, got, own)
		if got < own || got > own+own/20+100 {
			t.Errorf("%s: %d tokens for a text of %d", name, got, own)
		}
	}
}

// SPEC B6: a picture inside a call costs what pictures do, encrypted text what
// its length says; neither is prose.
func TestMediaAndSealedTextInARestAreNotProse(t *testing.T) {
	blob := noise(75_000) // 100,000 characters
	png := base64.StdEncoding.EncodeToString(append(pngHead(640, 480), make([]byte, 60_000)...))
	c := counter("gpt-4o")
	for name, tc := range map[string]struct {
		format   wire.Format
		item     string
		min, max int
	}{
		"image_generation_call": {wire.Responses,
			`{"type":"image_generation_call","id":"ig_1","status":"completed","result":"` + blob + `"}`,
			blindImage(100_000), blindImage(100_000) + 20},
		"picture of known size": {wire.Responses,
			`{"type":"image_generation_call","id":"ig_1","status":"completed","result":"` + png + `"}`,
			425, 445},
		"code interpreter's plot": {wire.Responses,
			`{"type":"code_interpreter_call","id":"ci_1","container_id":"c","code":"x","outputs":[{"type":"image","url":"data:image/png;base64,` + png + `"}]}`,
			425, 460},
		"picture in a document": {wire.Anthropic,
			`{"role":"user","content":[{"type":"document","source":{"type":"content","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"` + png + `"}}]}}]}`,
			425, 470},
		"encrypted search result": {wire.Anthropic,
			`{"role":"assistant","content":[{"type":"web_search_tool_result","tool_use_id":"t","content":[{"type":"web_search_result","encrypted_content":"` + blob + `"}]}]}`,
			18_750, 18_790},
		"reasoning": {wire.Responses,
			`{"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"short"}],"encrypted_content":"` +
				blob + `"}`,
			18_750, 18_760},
	} {
		if got := countItem(t, c, tc.format, tc.item); got < tc.min || got > tc.max {
			t.Errorf("%s: %d tokens, want %d to %d", name, got, tc.min, tc.max)
		}
	}
}

// What every request has around its words stays free, so that OpenAI's counts
// stay exact.
func TestFramesCostNothing(t *testing.T) {
	c := counter("gpt-4o")
	for _, tc := range []struct {
		format wire.Format
		item   string
	}{
		{wire.Responses,
			`{"type":"message","id":"msg_1","status":"completed","role":"assistant","content":[{"type":"output_text","text":"hi there","annotations":[],"logprobs":[{"token":"hi","logprob":-0.1}]}]}`},
		{wire.Responses, `{"role":"user","content":[{"type":"input_text","text":"hi there"}]}`},
		{wire.Responses,
			`{"type":"function_call_output","id":"fco_1","call_id":"call_abcdefghijklmnopqrstuvwxyz","status":"completed","output":"hi there"}`},
		{wire.Chat, `{"role":"tool","tool_call_id":"call_abcdefghijklmnopqrstuvwxyz0123456789","content":"hi there"}`},
		{wire.Chat, `{"role":"tool","tool_call_id":"call_abcdefghijklmnopqrstuvwxyz0123456789","content":[{"type":"text","text":"hi there"}]}`},
		{wire.Chat, `{"role":"assistant","content":"hi there","refusal":null,"annotations":[],"audio":null,"function_call":null,"tool_calls":null}`},
		{wire.Chat, `{"role":"user","name":"a_rather_long_name_of_a_participant","content":[{"type":"text","text":"hi there","cache_control":{"type":"ephemeral"}}]}`},
		{wire.Chat, "{\n  \"content\": [\n    {\n      \"text\": \"hi there\",\n      \"type\": \"text\"\n    }\n  ],\n  \"role\": \"user\"\n}"},
	} {
		b, err := wire.Read(body(tc.format, tc.item), tc.format, wire.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		if got, want := c.Message(&b.Messages[0]), c.Text("hi there"); got != want {
			t.Errorf("%s: %+v, want %+v", tc.item, got, want)
		}
	}
}

// A call with name and arguments is these and its structure, in each protocol.
func TestCallsAreCountedOnce(t *testing.T) {
	c := counter("gpt-4o")
	want := c.Part(&chat.Part{Kind: chat.Call, Name: "run", Args: []byte(`{"cmd":"ls -la /srv/data"}`)})
	for f, item := range map[wire.Format]string{
		wire.Responses: `{"type":"function_call","id":"fc_1","call_id":"call_abcdefghijkl","status":"completed","name":"run","arguments":"{\"cmd\":\"ls -la /srv/data\"}"}`,
		wire.Chat:      `{"role":"assistant","tool_calls":[{"id":"call_abcdefghijkl","type":"function","function":{"name":"run","arguments":"{\"cmd\":\"ls -la /srv/data\"}"}}],"content":null}`,
		wire.Anthropic: `{"role":"assistant","content":[{"type":"tool_use","id":"toolu_abcdefghijkl","name":"run","input":{"cmd":"ls -la /srv/data"},"cache_control":{"type":"ephemeral","ttl":"1h"}}]}`,
	} {
		b, err := wire.Read(body(f, item), f, wire.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		if got := c.Message(&b.Messages[0]); got != want {
			t.Errorf("%v: %+v, want %+v", f, got, want)
		}
	}
}

// items are items with every kind of field that the protocols have.
var items = map[wire.Format][]string{
	wire.Responses: {
		`{"type":"message","id":"i","role":"user","status":"completed","extra":"e","content":[{"type":"input_text","text":"t","extra":{"deep":["e"]}},{"type":"input_image","detail":"high","image_url":"https://a/b"},{"type":"input_file","filename":"f","file_id":"i","file_url":"https://a/b"},{"type":"input_audio","input_audio":{"format":"wav","data":"AAAA"}}]}`,
		`{"type":"message","id":"i","role":"assistant","content":[{"type":"output_text","text":"t","annotations":[{"type":"url_citation","title":"t","url":"u"}]},{"type":"refusal","refusal":"r"}]}`,
		`{"type":"function_call","id":"i","call_id":"c","name":"n","arguments":"{}","status":"completed","namespace":"x"}`,
		`{"type":"function_call_output","id":"i","call_id":"c","output":"o","status":"s"}`,
		`{"type":"function_call_output","call_id":"c","output":[{"type":"input_text","text":"t"},{"type":"input_image","image_url":"u"}]}`,
		`{"type":"custom_tool_call","call_id":"c","name":"n","input":"i"}`,
		`{"type":"mcp_call","id":"i","server_label":"s","name":"n","arguments":"{}","output":"o","error":"e"}`,
		`{"type":"mcp_list_tools","id":"i","server_label":"s","tools":[{"name":"n","description":"d","input_schema":{"type":"object"}}]}`,
		`{"type":"mcp_approval_request","id":"i","server_label":"s","name":"n","arguments":"{}"}`,
		`{"type":"mcp_approval_response","approval_request_id":"i","approve":true,"reason":"r"}`,
		`{"type":"file_search_call","id":"i","status":"s","queries":["q"],"results":[{"file_id":"f","filename":"n","text":"t","attributes":{"k":"v"}}]}`,
		`{"type":"web_search_call","id":"i","status":"s","action":{"type":"search","query":"q","sources":[{"type":"url","url":"u"}]}}`,
		`{"type":"code_interpreter_call","id":"i","container_id":"c","code":"x","outputs":[{"type":"logs","logs":"l"},{"type":"image","url":"u"}]}`,
		`{"type":"image_generation_call","id":"i","status":"s","revised_prompt":"p","result":"AAAA"}`,
		`{"type":"computer_call","id":"i","call_id":"c","action":{"type":"type","text":"t"},"pending_safety_checks":[{"id":"i","message":"m"}]}`,
		`{"type":"computer_call_output","call_id":"c","output":{"type":"computer_screenshot","image_url":"u"},"acknowledged_safety_checks":[{"id":"i","message":"m"}]}`,
		`{"type":"local_shell_call","id":"i","call_id":"c","action":{"type":"exec","command":["c"],"env":{"k":"v"}}}`,
		`{"type":"shell_call_output","call_id":"c","output":[{"stdout":"o","stderr":"e","outcome":{"type":"exit"}}]}`,
		`{"type":"reasoning","id":"i","summary":[{"type":"summary_text","text":"t"}],"content":[{"type":"reasoning_text","text":"t"}],"encrypted_content":"AAAA"}`,
		`{"type":"compaction","id":"i","encrypted_content":"AAAA","note":"n"}`,
		`{"type":"item_of_next_year","id":"i","value":{"a":["b"]}}`,
	},
	wire.Chat: {
		`{"role":"user","name":"n","content":"c","extra":"e"}`,
		`{"role":"user","content":[{"type":"text","text":"t"},{"type":"image_url","image_url":{"url":"u","detail":"low"}},{"type":"file","file":{"filename":"f","file_id":"i"}},{"type":"input_audio","input_audio":{"format":"mp3","data":"AAAA"}},{"type":"video_url","video_url":{"url":"u"}}]}`,
		`{"role":"assistant","tool_calls":[{"id":"i","type":"function","function":{"name":"n","arguments":"{}","extra":"e"}},{"id":"i","type":"custom","custom":{"name":"n","input":"i"}},{"id":"i","type":"odd","odd":{"x":"y"}}],"content":"c","refusal":"r","reasoning_content":"r","reasoning_details":[{"type":"reasoning.text","text":"t","signature":"s"}]}`,
		`{"role":"assistant","content":null,"function_call":{"name":"n","arguments":"{}"},"audio":{"id":"i","transcript":"t"}}`,
		`{"role":"tool","tool_call_id":"i","name":"n","content":"c","extra":"e"}`,
		`{"role":"tool","tool_call_id":"i","content":[{"type":"text","text":"t"}]}`,
		`{"role":"tool","tool_call_id":"i","content":["s","t"]}`,
		`{"role":"function","name":"n","content":"c"}`,
	},
	wire.Anthropic: {
		`{"role":"user","content":"c","extra":{"e":"f"}}`,
		`{"role":"user","content":[{"type":"text","text":"t","cache_control":{"type":"ephemeral"},"citations":[{"type":"char_location","cited_text":"c","document_title":"d"}]},{"type":"image","source":{"type":"url","url":"u"}},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AAAA"}}]}`,
		`{"role":"user","content":[{"type":"document","title":"t","context":"c","citations":{"enabled":true},"source":{"type":"text","media_type":"text/plain","data":"some text"}},{"type":"document","source":{"type":"content","content":[{"type":"text","text":"t"}]}},{"type":"document","title":"t","source":{"type":"base64","media_type":"application/pdf","data":"AAAA"}}]}`,
		`{"role":"assistant","content":[{"type":"thinking","thinking":"t","signature":"s"},{"type":"text","text":"t"},{"type":"tool_use","id":"i","name":"n","input":{"a":{"b":["c"]}},"caller":{"type":"direct"}}]}`,
		`{"role":"user","content":[{"type":"tool_result","tool_use_id":"i","content":"c"},{"type":"tool_result","tool_use_id":"i","content":[{"type":"text","text":"t"},{"type":"search_result","source":"s","title":"t","content":[{"type":"text","text":"t"}]}]},{"type":"tool_result","tool_use_id":"i","content":["s"]}]}`,
		`{"role":"assistant","content":[{"type":"server_tool_use","id":"i","name":"n","input":{"query":"q"}},{"type":"web_search_tool_result","tool_use_id":"i","content":[{"type":"web_search_result","url":"u","title":"t","encrypted_content":"AAAA","page_age":"p"}]},{"type":"code_execution_tool_result","tool_use_id":"i","content":{"type":"code_execution_result","stdout":"s","stderr":"e","content":[]}},{"type":"container_upload","file_id":"i"},{"type":"odd","a":"b"}]}`,
		`{"role":"assistant","content":[{"type":"compaction","content":"c"},{"type":"tool_reference","tool_name":"n"}]}`,
	},
}

// place is where a string stands in an item.
type place struct {
	path string
	set  func(string)
}

// places finds the strings of decoded JSON that are text: no ids, signatures,
// cache marks, encrypted text or base64.
func places(v any, path string, out *[]place) {
	visit := func(key string, v any, set func(any)) {
		at := path + "." + key
		switch {
		case isID(key), key == "cache_control", strings.HasSuffix(key, "signature"),
			strings.HasPrefix(key, "encrypted_"), v == "AAAA":
		default:
			if _, ok := v.(string); ok {
				*out = append(*out, place{at, func(s string) { set(s) }})
			}
			places(v, at, out)
		}
	}
	switch v := v.(type) {
	case map[string]any:
		for k, e := range v {
			visit(k, e, func(s any) { v[k] = s })
		}
	case []any:
		for i, e := range v {
			visit(fmt.Sprint(i), e, func(s any) { v[i] = s })
		}
	}
}

// target is a place in an item.
type target struct {
	format     wire.Format
	item, path string
}

// with is the item with that text.
func (tg target) with(text string) []byte {
	var tree any
	_ = json.Unmarshal([]byte(tg.item), &tree)
	var all []place
	places(tree, "", &all)
	for _, p := range all {
		if p.path == tg.path {
			p.set(text)
		}
	}
	out, _ := json.Marshal(tree)
	return out
}

var drawProse = rapid.Custom(func(t *rapid.T) string {
	words := rapid.SliceOfN(rapid.SampledFrom([]string{
		"the", "context", "of a window", "func main() {\n", "\t\"quoted\"", "été", "你好世界", "0x1f", "=>", "\\d+", "🙂",
		"error: no such file",
	}), 20, 60).Draw(t, "words")
	// Longer than any word or address of a protocol.
	return strings.Repeat(strings.Join(words, " ")+" ", 2*quietURL/len(words))
})

// SPEC B6: wherever a long text stands in a request, it counts.
func TestALongTextCountsWhereverItStands(t *testing.T) {
	var targets []target
	for f, list := range items {
		for _, item := range list {
			var tree any
			if err := json.Unmarshal([]byte(item), &tree); err != nil {
				t.Fatalf("%s: %v", item, err)
			}
			var all []place
			places(tree, "", &all)
			for _, p := range all {
				targets = append(targets, target{f, item, p.path})
			}
		}
	}
	models := []string{"gpt-4o", "claude-opus-5", "gemini-3-pro", "unheard-of"}
	try := func(t interface{ Fatalf(string, ...any) }, tg target, model, text string, escaped bool) {
		without, with := tg.with("x"), tg.with(text)
		if escaped { // as Python's json.dumps writes it
			with = asciiOnly(with)
		}
		if _, err := wire.Read(body(tg.format, string(without)), tg.format, wire.Limits{}); err != nil {
			return // not a request any more
		}
		c := counter(model)
		before, after := countItem(t, c, tg.format, string(without)), countItem(t, c, tg.format, string(with))
		if own := c.Text(text).Tokens; after-before < own/2 {
			t.Fatalf("%s: a text of %d tokens at %s of %s made %d of %d", model, own, tg.path, tg.item, after, before)
		}
	}
	text := strings.Repeat("a few plain words ", 500)
	for _, tg := range targets { // each once, whatever rapid draws
		try(t, tg, "claude-opus-5", text, false)
	}
	rapid.Check(t, func(t *rapid.T) {
		try(t, rapid.SampledFrom(targets).Draw(t, "target"), rapid.SampledFrom(models).Draw(t, "model"),
			drawProse.Draw(t, "text"), rapid.Bool().Draw(t, "escaped"))
	})
}

func asciiOnly(b []byte) []byte {
	var out strings.Builder
	for _, r := range string(b) {
		switch {
		case r < 0x80:
			out.WriteRune(r)
		case r < 0x10000:
			fmt.Fprintf(&out, `\u%04x`, r)
		default:
			r -= 0x10000
			fmt.Fprintf(&out, `\u%04x\u%04x`, 0xd800+r>>10, 0xdc00+r&0x3ff)
		}
	}
	return []byte(out.String())
}

// However many members and parts a message has, reading it takes time that
// grows with its length alone.
func TestARestIsReadInLinearTime(t *testing.T) {
	var content, extra strings.Builder
	for i := range 20_000 {
		fmt.Fprintf(&content, `{"type":"text","text":"%d"},`, i)
		fmt.Fprintf(&extra, `"k%d":["%d"],`, i, i)
	}
	item := `{"role":"user",` + extra.String() + `"content":[` + strings.TrimSuffix(content.String(), ",") + `]}`
	c := counter("gpt-4o")
	if n := countItem(t, c, wire.Chat, item); n < 100_000 {
		t.Errorf("%d tokens", n)
	}
}
