package wire_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/internal/test/histories"
	"github.com/oriel-context/oriel/internal/test/protocols"
	"github.com/oriel-context/oriel/internal/test/strict"
	"github.com/oriel-context/oriel/wire"
)

// SPEC E5: a result or a text is replaced in its place, and nothing else is.
func TestReplace(t *testing.T) {
	for _, c := range []struct {
		name, raw, want string
		format          wire.Format
		texts           bool // texts, not results
		part            int
	}{
		{"a string", `{ "role":"user", "content":[{"type":"tool_result" , "tool_use_id":"t","content": "old" ,"is_error":true,"x":1.0}] }`,
			`{ "role":"user", "content":[{"type":"tool_result" , "tool_use_id":"t","content": "n\"w" ,"is_error":true,"x":1.0}] }`, wire.Anthropic, false, 0},
		{"a list, as a whole",
			`{"content":[{"type":"text","text":"a"},{"content":[{"type":"text","text":"b"},{"type":"image"}],"type":"tool_result","cache_control":{"type":"ephemeral"}}],"role":"user"}`,
			`{"content":[{"type":"text","text":"a"},{"content":"n\"w","type":"tool_result","cache_control":{"type":"ephemeral"}}],"role":"user"}`, wire.Anthropic, false, 1},
		{"no content", `{"role":"user","content":[{"type":"tool_result","tool_use_id":"t" }]}`,
			`{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"n\"w" }]}`, wire.Anthropic,
			false, 0},
		{"a key that comes twice",
			`{"role":"user","content":[{"type":"tool_result","content":"a","\u0063ontent":"b"}]}`,
			`{"role":"user","content":[{"type":"tool_result","content":"a","\u0063ontent":"n\"w"}]}`, wire.Anthropic,
			false, 0},
		{"two contents",
			`{"content":[{"type":"tool_result","content":"a"}],"role":"user","content":[{"type":"tool_result","content":"b"}]}`,
			`{"content":[{"type":"tool_result","content":"a"}],"role":"user","content":[{"type":"tool_result","content":"n\"w"}]}`, wire.Anthropic, false, 0},
		{"an MCP server's", `{"role":"assistant","content":[{"type":"mcp_tool_result","content":[]}]}`,
			`{"role":"assistant","content":[{"type":"mcp_tool_result","content":"n\"w"}]}`, wire.Anthropic, false, 0},
		{"string content", `{"role":"user","content":"old\n"}`, `{"role":"user","content":"n\"w"}`, wire.Anthropic,
			true, 0},
		{"a text of a list",
			`{"role":"user","content":[{"type":"image"}, {"text":"old","type":"text","cache_control":{"type":"ephemeral"}} ]}`,
			`{"role":"user","content":[{"type":"image"}, {"text":"n\"w","type":"text","cache_control":{"type":"ephemeral"}} ]}`, wire.Anthropic, true, 1},

		{"a tool's message", `{"role":"tool","tool_call_id":"c","content":"old","name":"f"}`,
			`{"role":"tool","tool_call_id":"c","content":"n\"w","name":"f"}`, wire.Chat, false, 0},
		{"a tool's list", `{"role":"tool","tool_call_id":"c","content":[ {"type":"text","text":"a"} ]}`,
			`{"role":"tool","tool_call_id":"c","content":"n\"w"}`, wire.Chat, false, 0},
		{"a tool that said null", `{"role":"tool","tool_call_id":"c","content":null}`,
			`{"role":"tool","tool_call_id":"c","content":"n\"w"}`, wire.Chat, false, 0},
		{"a tool that said nothing", `{"role":"tool","tool_call_id":"c"}`,
			`{"role":"tool","tool_call_id":"c","content":"n\"w"}`, wire.Chat, false, 0},
		{"a function's message", `{"role":"function","name":"f","content":"old"}`,
			`{"role":"function","name":"f","content":"n\"w"}`, wire.Chat, false, 0},
		{"text behind reasoning",
			`{"role":"assistant","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}],"reasoning_content":"r"}`,
			`{"role":"assistant","content":[{"type":"text","text":"a"},{"type":"text","text":"n\"w"}],"reasoning_content":"r"}`, wire.Chat, true, 2},
		{"string behind reasoning", `{"reasoning":"r","role":"assistant","content":"a","tool_calls":[]}`,
			`{"reasoning":"r","role":"assistant","content":"n\"w","tool_calls":[]}`, wire.Chat, true, 1},

		{"an output", `{"type":"function_call_output","call_id":"c","output":"old","id":"i"}`,
			`{"type":"function_call_output","call_id":"c","output":"n\"w","id":"i"}`, wire.Responses, false, 0},
		{"a list of output",
			`{"type":"custom_tool_call_output","call_id":"c","output":[{"type":"input_text","text":"a"}]}`,
			`{"type":"custom_tool_call_output","call_id":"c","output":"n\"w"}`, wire.Responses, false, 0},
		{"a patch without output", `{"type":"apply_patch_call_output","call_id":"c","status":"completed"}`,
			`{"type":"apply_patch_call_output","call_id":"c","status":"completed","output":"n\"w"}`, wire.Responses,
			false, 0},
		{"a message's text", `{"role":"user","content":[{"type":"input_text","text":"old"}]}`,
			`{"role":"user","content":[{"type":"input_text","text":"n\"w"}]}`, wire.Responses, true, 0},
		{"plain input", `"old"`, `{"role":"user","content":"n\"w"}`, wire.Responses, true, 0},
	} {
		t.Run(c.format.String()+"/"+c.name, func(t *testing.T) {
			replace := wire.ReplaceResults
			if c.texts {
				replace = wire.ReplaceTexts
			}
			got, err := replace(c.format, []byte(c.raw), map[int]string{c.part: `n"w`})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, string(got)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestClearArgumentsLeavesTheProvidersOwnCalls(t *testing.T) {
	raw := `{"role":"assistant","content":[{"type":"server_tool_use","id":"s1","name":"web_search","input":{"query":"x"}},{"type":"text","text":"a"},{"type":"tool_use","id":"t1","name":"Read","input":{"path":"y"}}]}`
	got, err := wire.ClearArguments(wire.Anthropic, []byte(raw), map[int]bool{0: true, 1: true, 2: true, 9: true})
	if want := strings.Replace(raw, `{"path":"y"}`, `{}`, 1); err != nil || string(got) != want {
		t.Errorf("%s, %v", got, err)
	}
}

func TestAddText(t *testing.T) {
	for _, c := range []struct {
		name, raw, appended, prepended string
		format                         wire.Format
	}{
		{"string", `{ "role" : "user","content": "a\u00e9" }`,
			`{ "role" : "user","content": [{"type":"text","text":"a\u00e9"},{"type":"text","text":"+"}] }`,
			`{ "role" : "user","content": [{"type":"text","text":"+"},{"type":"text","text":"a\u00e9"}] }`,
			wire.Anthropic},
		{"list", `{"content":[ {"type":"text","text":"a","cache_control":{"type":"ephemeral"}} ],"role":"user"}`,
			`{"content":[ {"type":"text","text":"a","cache_control":{"type":"ephemeral"}},{"type":"text","text":"+"} ],"role":"user"}`,
			`{"content":[ {"type":"text","text":"+"},{"type":"text","text":"a","cache_control":{"type":"ephemeral"}} ],"role":"user"}`, wire.Anthropic},
		{"results", `{"role":"user","content":[{"type":"tool_result","tool_use_id":"t"}]}`,
			`{"role":"user","content":[{"type":"tool_result","tool_use_id":"t"},{"type":"text","text":"+"}]}`,
			`content[0]: text is not allowed before tool results (byte 26)`, wire.Anthropic},
		{"results behind text",
			`{"role":"user","content":[{"type":"text","text":"a"},{"type":"tool_result","tool_use_id":"t"}]}`,
			`{"role":"user","content":[{"type":"text","text":"a"},{"type":"tool_result","tool_use_id":"t"},{"type":"text","text":"+"}]}`,
			`content[1]: text is not allowed before tool results (byte 53)`, wire.Anthropic},
		{"thinking", `{"role":"assistant","content":[{"type":"thinking","thinking":"h","signature":"s"}]}`,
			`{"role":"assistant","content":[{"type":"thinking","thinking":"h","signature":"s"},{"type":"text","text":"+"}]}`,
			`content[0]: text is not allowed before thinking (byte 31)`, wire.Anthropic},
		{"empty list", `{"role":"user","content":[ ]}`, `{"role":"user","content":[{"type":"text","text":"+"} ]}`,
			`{"role":"user","content":[{"type":"text","text":"+"} ]}`, wire.Anthropic},
		{"empty string", `{"role":"user","content":""}`, `{"role":"user","content":[{"type":"text","text":"+"}]}`,
			`{"role":"user","content":[{"type":"text","text":"+"}]}`, wire.Anthropic},
		{"string twice", `{"role":"user","content":"a","content":"b"}`,
			`{"role":"user","content":"a","content":[{"type":"text","text":"b"},{"type":"text","text":"+"}]}`,
			`{"role":"user","content":"a","content":[{"type":"text","text":"+"},{"type":"text","text":"b"}]}`,
			wire.Anthropic},

		{"string", `{"role":"user","content":"a","name":"n"}`,
			`{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"+"}],"name":"n"}`,
			`{"role":"user","content":[{"type":"text","text":"+"},{"type":"text","text":"a"}],"name":"n"}`, wire.Chat},
		{"null beside calls", `{"role":"assistant","content":null,"tool_calls":[]}`,
			`{"role":"assistant","content":[{"type":"text","text":"+"}],"tool_calls":[]}`,
			`{"role":"assistant","content":[{"type":"text","text":"+"}],"tool_calls":[]}`, wire.Chat},
		{"calls alone", `{"role":"assistant","tool_calls":[] }`,
			`{"role":"assistant","tool_calls":[],"content":[{"type":"text","text":"+"}] }`,
			`{"role":"assistant","tool_calls":[],"content":[{"type":"text","text":"+"}] }`, wire.Chat},
		{"a tool's message", `{"role":"tool","tool_call_id":"c","content":"r"}`,
			`text cannot be added to the result of a tool (byte 0)`,
			`text cannot be added to the result of a tool (byte 0)`, wire.Chat},

		{"plain input", `"a\n"`,
			`{"role":"user","content":[{"type":"input_text","text":"a\n"},{"type":"input_text","text":"+"}]}`,
			`{"role":"user","content":[{"type":"input_text","text":"+"},{"type":"input_text","text":"a\n"}]}`,
			wire.Responses},
		{"string", `{"role":"user","content":"a"}`,
			`{"role":"user","content":[{"type":"input_text","text":"a"},{"type":"input_text","text":"+"}]}`,
			`{"role":"user","content":[{"type":"input_text","text":"+"},{"type":"input_text","text":"a"}]}`,
			wire.Responses},
		{"assistant", `{"type":"message","role":"assistant","content":[{"type":"output_text","text":"a"}],"id":"m"}`,
			`{"type":"message","role":"assistant","content":[{"type":"output_text","text":"a"},{"type":"output_text","text":"+"}],"id":"m"}`,
			`{"type":"message","role":"assistant","content":[{"type":"output_text","text":"+"},{"type":"output_text","text":"a"}],"id":"m"}`, wire.Responses},
		{"a call", `{"type":"function_call","call_id":"c","name":"f","arguments":"{}"}`,
			`text cannot be added to an item of type "function_call" (byte 0)`,
			`text cannot be added to an item of type "function_call" (byte 0)`, wire.Responses},
		{"reasoning", `{"type":"reasoning","id":"r","summary":[],"content":[]}`,
			`text cannot be added to an item of type "reasoning" (byte 0)`,
			`text cannot be added to an item of type "reasoning" (byte 0)`, wire.Responses},
		{"nobody's item", `{"content":[]}`, `text cannot be added to an item of type "" (byte 0)`,
			`text cannot be added to an item of type "" (byte 0)`, wire.Responses},
	} {
		t.Run(c.format.String()+"/"+c.name, func(t *testing.T) {
			for _, add := range []struct {
				want string
				do   func(wire.Format, []byte, string) ([]byte, error)
			}{{c.appended, wire.AppendText}, {c.prepended, wire.PrependText}} {
				got, err := add.do(c.format, []byte(c.raw), "+")
				if err != nil {
					got = []byte(err.Error())
				}
				if diff := cmp.Diff(add.want, string(got)); diff != "" {
					t.Error(diff)
				}
			}
		})
	}
}

// What has no place for the edit is refused with the part and the reason.
func TestEditRefuses(t *testing.T) {
	for _, c := range []struct {
		raw, results, texts string
		format              wire.Format
		part                int
	}{
		{`{"role":"user","content":"a"}`, "parts[0]: not the result of a tool (byte 0)", "", wire.Anthropic, 0},
		{`{"role":"user","content":"a"}`, "parts[1]: no such part: the message has 1 (byte 0)",
			"parts[1]: no such part: the message has 1 (byte 0)", wire.Anthropic, 1},
		{`{"role":"user","content":"a"}`, "parts[-1]: no such part: the message has 1 (byte 0)",
			"parts[-1]: no such part: the message has 1 (byte 0)", wire.Anthropic, -1},
		{`{"role":"user","content":7}`, "content: want a string, an array or null, got a number (byte 25)",
			"content: want a string, an array or null, got a number (byte 25)", wire.Anthropic, 0},
		{`{"role":"user"`, "not JSON: unexpected end of the text (byte 14)",
			"not JSON: unexpected end of the text (byte 14)", wire.Anthropic, 0},
		{`"a"`, "want an object, got a string (byte 0)", "want an object, got a string (byte 0)", wire.Chat, 0},
		{`[]`, "want an object, got an array (byte 0)", "want an object, got an array (byte 0)", wire.Responses, 0},
		{`"a"`, "parts[0]: not the result of a tool (byte 0)", "", wire.Responses, 0},
		{`{"role":"assistant","content":[{"type":"web_search_tool_result","tool_use_id":"t","content":[]}]}`,
			"parts[0]: the content of a web_search_tool_result cannot be a text (byte 31)",
			"parts[0]: not a text (byte 0)", wire.Anthropic, 0},
		{`{"type":"computer_call_output","call_id":"c","output":{"type":"computer_screenshot","image_url":"u"}}`,
			"parts[0]: the output of a computer_call_output cannot be a text (byte 0)", "parts[0]: not a text (byte 0)",
			wire.Responses, 0},
		{`{"type":"shell_call_output","call_id":"c","output":[{"stdout":"a"}]}`,
			"parts[0]: the output of a shell_call_output cannot be a text (byte 0)", "parts[0]: not a text (byte 0)",
			wire.Responses, 0},
		{`{"type":"mcp_approval_response","approval_request_id":"a","approve":true}`,
			"parts[0]: an item of type \"mcp_approval_response\" has no output (byte 0)",
			"parts[0]: not a text (byte 0)", wire.Responses, 0},
		{`{"role":"user","content":"a"}`,
			"format auto has no messages: use anthropic, openai, responses, gemini, ollama, interactions or converse",
			"format auto has no messages: use anthropic, openai, responses, gemini, ollama, interactions or converse", wire.Auto,
			0},
	} {
		for _, edit := range []struct {
			want string
			do   func(wire.Format, []byte, map[int]string) ([]byte, error)
		}{{c.results, wire.ReplaceResults}, {c.texts, wire.ReplaceTexts}} {
			got, err := edit.do(c.format, []byte(c.raw), map[int]string{c.part: "new"})
			msg := ""
			if err != nil {
				msg = err.Error()
			}
			if msg != edit.want || (err != nil) != (got == nil) {
				t.Errorf("%s: error %q, want %q", c.raw, msg, edit.want)
			}
		}
	}
}

// marked is a text that no drawn message has, with all that must be escaped.
const marked = "\u2066new\u2069 \"text\"\n\\\x01\t\xff é😀"

// marks is what is read of it: a byte that is no UTF-8 becomes U+FFFD.
var marks = chat.Quote(marked)

// noted is such a text as Oriel adds: by its beginning it is told apart from a client's text in
// the same string.
const noted = chat.Mark + ": " + marked

// Each replaced span is the old value and nothing more; every other byte of the
// message stays; the message reads as before but for the new text. SPEC E5.
func TestReplaceChangesOneSpan(t *testing.T) {
	each(t, func(t *rapid.T, p protocols.Kit) {
		data := p.Draw(t, histories.Options{Valid: rapid.Bool().Draw(t, "valid")})
		b := read(t, data, p.Format)
		for i := range b.Messages {
			m := &b.Messages[i]
			checkNothingReplaced(t, p.Format, m)
			checkReplace(t, p.Format, m, chat.Result, wire.ReplaceResults)
			checkReplace(t, p.Format, m, chat.Text, wire.ReplaceTexts)
		}
	})
}

func checkNothingReplaced(t *rapid.T, f wire.Format, m *chat.Message) {
	again, err := wire.ReadMessage(f, m.Raw)
	if err != nil {
		t.Fatal(err)
	}
	if diff := compare(*m, again); diff != "" {
		t.Fatalf("ReadMessage reads another message than Read:\n%s", diff)
	}
	for _, replace := range []func(wire.Format, []byte, map[int]string) ([]byte, error){wire.ReplaceResults,
		wire.ReplaceTexts} {
		if out, err := replace(f, m.Raw, nil); err != nil || !bytes.Equal(out, m.Raw) {
			t.Fatalf("%v\n%s\nbecame\n%s", err, m.Raw, out)
		}
	}
}

func checkReplace(t *rapid.T, f wire.Format, m *chat.Message, kind chat.Kind,
	replace func(wire.Format, []byte, map[int]string) ([]byte, error)) {
	all, stepwise := map[int]string{}, m.Raw
	for i := range m.Parts {
		out, err := replace(f, m.Raw, map[int]string{i: marked})
		if err != nil {
			if m.Parts[i].Kind == kind && !shaped(m, &m.Parts[i]) {
				t.Fatalf("part %d of\n%s\n%v", i, m.Raw, err)
			}
			continue
		}
		if m.Parts[i].Kind != kind {
			t.Fatalf("part %d of\n%s\nis replaced but of kind %d", i, m.Raw, m.Parts[i].Kind)
		}
		if !json.Valid(out) {
			t.Fatalf("not JSON: %s", out)
		}
		switch p := &m.Parts[i]; {
		case m.Raw[0] == '"':
		case f.Protocol().AsResult != nil && kind == chat.Result && (p.Text == nil || p.Parts != nil):
			checkResponse(t, f, m.Raw, out, i)
		default:
			checkSpan(t, m.Raw, out, p)
		}
		checkRead(t, f, m, i, out)
		all[i] = marked
		if stepwise, err = replace(f, stepwise, map[int]string{i: marked}); err != nil {
			t.Fatal(err)
		}
	}
	together, err := replace(f, m.Raw, all)
	if err != nil || !bytes.Equal(together, stepwise) {
		t.Fatalf("%v: at once\n%s\none by one\n%s", err, together, stepwise)
	}
}

// checkResponse checks that only the response of part i, an object of Gemini's, or the list of a
// result of Converse's was replaced.
func checkResponse(t *rapid.T, f wire.Format, raw, out []byte, i int) {
	bare := func(message []byte) any {
		var m map[string]any
		if err := json.Unmarshal(message, &m); err != nil {
			t.Fatal(err)
		}
		part := m[f.Protocol().Content].([]any)[i].(map[string]any)
		for _, name := range []string{"functionResponse", "function_response", "toolResult"} {
			if r, ok := part[name].(map[string]any); ok {
				delete(r, "response")
				delete(r, "parts")
				delete(r, "content")
			}
		}
		return m
	}
	if diff := cmp.Diff(bare(raw), bare(out)); diff != "" {
		t.Fatalf("%s\nbecame\n%s\n%s", raw, out, diff)
	}
}

// shaped reports whether the protocol wants something else than another text in the
// result or the text.
func shaped(m *chat.Message, p *chat.Part) bool {
	if p.Type == "tool with pictures" {
		return true
	}
	switch m.Type {
	case "computer_call_output", "shell_call_output", "mcp_approval_response", "tool_search_output":
		return true
	}
	return p.Hosted && p.Type != "mcp_tool_result" || p.Signed && p.Kind == chat.Text
}

// checkSpan finds what the new literal took the place of.
func checkSpan(t *rapid.T, raw, out []byte, p *chat.Part) {
	before, after, found := bytes.Cut(out, marks)
	if !found {
		t.Fatalf("%s\nlacks %s", out, marks)
	}
	if len(before)+len(after) <= len(raw) && bytes.HasPrefix(raw, before) && bytes.HasSuffix(raw, after) {
		old := raw[len(before) : len(raw)-len(after)]
		if p.Text != nil && !bytes.Equal(old, p.Text) {
			t.Fatalf("replaced %s, want %s", old, p.Text)
		}
		if !json.Valid(old) {
			t.Fatalf("replaced %s, which is not one value", old)
		}
		return
	}
	for _, name := range []string{"content", "output", "text"} {
		if before, ok := bytes.CutSuffix(before, []byte(`,"`+name+`":`)); ok &&
			string(before)+string(after) == string(raw) {
			return
		}
	}
	t.Fatalf("other bytes changed:\n%s\nbecame\n%s", raw, out)
}

// compare shows how two messages differ. A list that is empty and one that is
// absent are the same.
func compare(want, got chat.Message) string {
	want.Parts, got.Parts = withoutEmpty(want.Parts), withoutEmpty(got.Parts)
	if reflect.DeepEqual(want, got) {
		return "" // cmp would look at every byte
	}
	return cmp.Diff(want, got)
}

// withoutEmpty gives the parts with nil for every empty list.
func withoutEmpty(parts []chat.Part) []chat.Part {
	var out []chat.Part
	for _, p := range parts {
		p.Parts = withoutEmpty(p.Parts)
		out = append(out, p)
	}
	return out
}

// checkRead compares what is read of the changed message.
func checkRead(t *rapid.T, f wire.Format, m *chat.Message, i int, out []byte) {
	got, err := wire.ReadMessage(f, out)
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if got.Parts[i].Text.String() != marks.String() || got.Parts[i].Parts != nil {
		t.Fatalf("part %d says %q in\n%s", i, got.Parts[i].Text.String(), out)
	}
	want := *m
	want.Parts = append([]chat.Part(nil), m.Parts...)
	want.Raw, got.Raw = nil, nil
	if f == wire.Interactions && m.Raw[0] == '"' { // a part in the place of the text
		want.Parts[i].Type = got.Parts[i].Type
	}
	for _, p := range []*chat.Part{&want.Parts[i], &got.Parts[i]} {
		p.Raw, p.Text, p.Parts = nil, nil, nil
	}
	if diff := compare(want, got); diff != "" {
		t.Fatalf("%s\nreads otherwise:\n%s", out, diff)
	}
}

// A text that is added leaves every byte of a list, and every literal of a string,
// as it was; the message has one part more. SPEC E5.
func TestAddTextInserts(t *testing.T) {
	each(t, func(t *rapid.T, p protocols.Kit) {
		data := p.Draw(t, histories.Options{Valid: rapid.Bool().Draw(t, "valid")})
		b := read(t, data, p.Format)
		for i := range b.Messages {
			m := &b.Messages[i]
			if out, err := wire.AppendText(p.Format, m.Raw, noted); err == nil {
				checkAdded(t, p.Format, m, out, false)
			} else if m.Role == chat.User && !resultsAlone(p.Format, m) {
				t.Fatalf("%v\n%s", err, m.Raw)
			}
			if out, err := wire.PrependText(p.Format, m.Raw, noted); err == nil {
				checkAdded(t, p.Format, m, out, true)
			} else if m.Role == chat.User && !returns(m) {
				t.Fatalf("%v\n%s", err, m.Raw)
			}
		}
	})
}

// resultsAlone reports whether no text may stand beside the results of a message.
func resultsAlone(f wire.Format, m *chat.Message) bool {
	return returns(m) && (f == wire.Gemini || f == wire.Converse && !slices.ContainsFunc(m.Parts, func(p chat.Part) bool {
		return p.Kind != chat.Result && p.Type != chat.Breakpoint
	}))
}

func returns(m *chat.Message) bool {
	for i := range m.Parts {
		if m.Parts[i].Kind == chat.Result {
			return true
		}
	}
	return false
}

func checkAdded(t *rapid.T, f wire.Format, m *chat.Message, out []byte, first bool) {
	got, err := wire.ReadMessage(f, out)
	if err != nil || !json.Valid(out) {
		t.Fatalf("%v\n%s", err, out)
	}
	// The added part stands first or last in the content; an assistant of Chat has
	// parts beside it.
	var rest []chat.Part
	added := -1
	for i, p := range got.Parts {
		if p.Kind == chat.Text && bytes.Equal(p.Text, chat.Quote(noted)) {
			added = i
			continue
		}
		rest = append(rest, p)
	}
	begins := 0 // Ollama has pictures beside the content
	for f.Protocol().Joint != "" && begins < len(got.Parts) && got.Parts[begins].Kind == chat.Image {
		begins++
	}
	if added < 0 || m.Role == chat.User && (first && added != begins || !first && added != len(got.Parts)-1) {
		t.Fatalf("added at %d of %d:\n%s", added, len(got.Parts), out)
	}
	was := append([]chat.Part(nil), m.Parts...)
	for i := range was {
		if p := &was[i]; p.Kind == chat.Text && p.Raw == nil { // string content
			if p.Text.Empty() {
				was = append(was[:i], was[i+1:]...)
			} else {
				p.Type, p.Raw = rest[i].Type, rest[i].Raw
				literal := []byte(p.Text)
				if f.Protocol().Joint != "" {
					literal = literal[1 : len(literal)-1]
				}
				if !bytes.Contains(out, literal) {
					t.Fatalf("the literal %s left: %s", p.Text, out)
				}
			}
			break
		}
	}
	if diff := compare(chat.Message{Parts: was}, chat.Message{Parts: rest}); diff != "" {
		t.Fatalf("%s\nreads otherwise:\n%s", out, diff)
	}
	var msg struct{ Content json.RawMessage }
	if m.Raw[0] == '{' && json.Unmarshal(m.Raw, &msg) == nil && len(msg.Content) > 0 && msg.Content[0] == '[' {
		part := string(got.Parts[added].Raw)
		for _, inserted := range []string{"," + part, part + ",", part} {
			if strings.Replace(string(out), inserted, "", 1) == string(m.Raw) {
				return
			}
		}
		t.Fatalf("other bytes changed:\n%s\nbecame\n%s", m.Raw, out)
	}
}

// A history that the provider takes is still taken when every result is replaced
// and every user's message has a text added, but for those whose turn goes on in
// the next message with more results. SPEC E1, E5.
func TestEditedHistoriesAreValid(t *testing.T) {
	if testing.Short() {
		t.Skip("computes for long, and nothing beside it")
	}
	each(t, func(t *rapid.T, p protocols.Kit) {
		data := p.Draw(t, histories.Options{Valid: true})
		b := read(t, data, p.Format)
		view := b.Whole()
		for i := range b.Messages {
			m := &b.Messages[i]
			texts, raw := map[int]string{}, m.Raw
			for j := range m.Parts {
				if m.Parts[j].Kind == chat.Result && !shaped(m, &m.Parts[j]) {
					texts[j] = "[removed]"
				}
			}
			raw, err := wire.ReplaceResults(p.Format, raw, texts)
			if err != nil {
				t.Fatal(err)
			}
			more := i+1 < len(b.Messages) && b.Messages[i+1].Role == chat.User
			if m.Role == chat.User && !(returns(m) && more || resultsAlone(p.Format, m)) {
				add := wire.AppendText
				if rapid.Bool().Draw(t, "first") && !returns(m) {
					add = wire.PrependText
				}
				if raw, err = add(p.Format, raw, "[note]"); err != nil {
					t.Fatal(err)
				}
			}
			if !bytes.Equal(raw, m.Raw) {
				view[i] = wire.Piece{Raw: raw}
			}
		}
		out, err := b.Write(view)
		if err != nil {
			t.Fatal(err)
		}
		if problems := append(p.Judge(out), strict.SameThinking(data, out)...); len(problems) > 0 {
			t.Fatalf("%v\n%s\nbecame\n%s", problems, data, out)
		}
	})
}

// No message and no text makes an edit panic; what comes out is a message.
func FuzzEdit(f *testing.F) {
	for _, s := range []string{
		`{"role":"user","content":[{"type":"text","text":"a"},{"type":"tool_result","tool_use_id":"t","content":[]}]}`,
		`{"role":"assistant","reasoning":"r","content":[{"type":"text","text":"a"}],"tool_calls":[{"id":"c"}]}`,
		`{"role":"tool","tool_call_id":"c","content":null}`,
		`{"type":"function_call_output","call_id":"c","output":"r"}`,
		`{"role":"user","parts":[{"text":"a"},{"functionResponse":{"name":"f","response":{"a":1},"parts":[]}}]}`,
		`{"role":"user","parts":{"text":"a"}}`,
		`{"role":"user","content":"a"}`, `"a"`, ` { } `, `{"role":"user","content":"a","content":[]}`,
	} {
		for format := byte(1); format < formats; format++ {
			f.Add([]byte(s), format, 0, "new")
			f.Add([]byte(s), format, 1, "\xff\"")
		}
	}
	f.Fuzz(func(t *testing.T, raw []byte, format byte, part int, text string) {
		p := wire.Format(format % formats)
		m, readErr := wire.ReadMessage(p, raw)
		check := func(out []byte, err error) {
			if err != nil {
				var e *wire.Error
				if errors.As(err, &e) && (e.Offset < 0 || e.Offset > len(raw) || e.Msg == "") {
					t.Fatalf("%#v", err)
				}
				return
			}
			if readErr != nil {
				if text == "" {
					return // nothing was asked for
				}
				t.Fatalf("%v, and yet %s", readErr, out)
			}
			if !json.Valid(out) {
				t.Fatalf("not JSON: %s", out)
			}
			if again, err := wire.ReadMessage(p, out); err != nil || again.Role != m.Role {
				t.Fatalf("%v\n%s", err, out)
			}
		}
		check(wire.ReplaceResults(p, raw, map[int]string{part: text}))
		check(wire.ReplaceTexts(p, raw, map[int]string{part: text}))
		check(wire.AppendText(p, raw, text))
		check(wire.PrependText(p, raw, text))
	})
}

// Texts leave by their own place, although reasoning that stands outside the content is a
// part, too.
func TestRemoveTextsBesideReasoning(t *testing.T) {
	raw := `{"role":"assistant","content":[{"type":"text","text":"keep"},{"type":"text","text":"leave"}],"reasoning":"r"}`
	got, err := wire.RemoveTexts(wire.Chat, []byte(raw), func(text string) bool { return text == "leave" })
	if want := strings.Replace(raw, `,{"type":"text","text":"leave"}`, "", 1); err != nil || string(got) != want {
		t.Errorf("%s, %v, want %s", got, err, want)
	}
}

// A text is inserted before the part that was asked for, although reasoning that stands
// outside the content is a part, too.
func TestInsertTextBesideReasoning(t *testing.T) {
	raw := `{"role":"assistant","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}],"reasoning":"r"}`
	got, err := wire.InsertText(wire.Chat, []byte(raw), "new", 2)
	if want := strings.Replace(raw, `{"type":"text","text":"b"}`,
		`{"type":"text","text":"new"},{"type":"text","text":"b"}`, 1); err != nil || string(got) != want {
		t.Errorf("%s, %v, want %s", got, err, want)
	}
}

// A content that is one string is replaced whole where it may be a list, even if it quotes a
// text of Oriel's.
func TestReplaceAStringThatQuotesOriel(t *testing.T) {
	raw := []byte(`{"role":"user","content":"see [Oriel: 3 messages]\u2063\n\nfor this"}`)
	for f, want := range map[wire.Format]string{
		wire.Chat: `{"role":"user","content":"new"}`, wire.Anthropic: `{"role":"user","content":"new"}`,
		wire.Ollama: `{"role":"user","content":"new"}`,
	} {
		out, err := wire.ReplaceTexts(f, raw, map[int]string{0: "new"})
		if err != nil || string(out) != want {
			t.Errorf("%v: %s, %v", f, out, err)
		}
	}
	joined := []byte("{\"role\":\"user\",\"content\":\"[Oriel: 3 messages]\u2063\\n\\nfor this\"}")
	out, err := wire.ReplaceTexts(wire.Ollama, joined, map[int]string{1: "that"})
	if want := strings.Replace(string(joined), "for this", "that", 1); err != nil || string(out) != want {
		t.Errorf("%s, %v, want %s", out, err, want)
	}
}
