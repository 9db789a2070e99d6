package timeline_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/internal/test/histories"
	"github.com/oriel-context/oriel/internal/test/protocols"
	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/wire"
)

// message reads one message of a protocol.
func message(t testing.TB, f wire.Format, raw string) *chat.Message {
	t.Helper()
	list := "messages"
	if f == wire.Responses {
		list = "input"
	}
	b, err := wire.Read([]byte(`{"`+list+`":[`+raw+`]}`), f, wire.Limits{})
	if err != nil {
		t.Fatalf("%v\n%s", err, raw)
	}
	return &b.Messages[0]
}

func TestSaysTheSame(t *testing.T) {
	for _, c := range []struct {
		name   string
		format wire.Format
		forms  []string
	}{
		{"string or list, cache mark, key order, white space, escapes", wire.Anthropic, []string{
			`{"role":"user","content":"caf\u00e9 a/b"}`,
			`{"content":"café a\/b","role":"user"}`,
			`{ "role" : "user" , "content" : [ { "text":"café a/b","type":"text" } ] }`,
			`{"role":"user","content":[{"type":"text","text":"caf\u00E9 a/b","cache_control":{"type":"ephemeral"}}]}`,
			`{"role":"user","content":[{"type":"text","text":""},{"type":"text","text":"café a/b","citations":null}]}`,
		}},
		{"one text or several", wire.Anthropic, []string{
			`{"role":"user","content":"one two"}`,
			`{"role":"user","content":[{"type":"text","text":"one"},{"type":"text","text":" two"}]}`,
			`{"role":"user","content":[{"type":"text","text":"one"},{"type":"text","text":""},{"type":"text","text":" two"}]}`,
		}},
		{"a reply in parts, with thinking between them", wire.Anthropic, []string{
			`{"role":"assistant","content":"one two"}`,
			`{"role":"assistant","content":[{"type":"text","text":"one"},{"type":"thinking","thinking":"hm","signature":"s"},{"type":"text","text":" two"}]}`,
		}},
		{"calls", wire.Anthropic, []string{
			`{"role":"assistant","content":[{"type":"tool_use","id":"t1","name":"read","input":{"a":1.0,"b":["x",{"c":null}]}}]}`,
			`{"role":"assistant","content":[{"input":{ "b" : [ "\u0078" , {"c":null} ] , "a" : 1.0 },"name":"read","id":"t1","type":"tool_use","cache_control":{"type":"ephemeral"}}]}`,
			`{"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"s"},{"type":"tool_use","id":"t1","name":"read","input":{"a":2,"a":1.0,"b":["x",{"c":null}]}}]}`,
		}},
		{"results", wire.Anthropic, []string{
			`{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"ok"}]}`,
			`{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","is_error":false,"content":[{"type":"text","text":"ok"}],"cache_control":{"type":"ephemeral"}}]}`,
		}},
		{"unknown parts", wire.Anthropic, []string{
			`{"role":"user","content":[{"type":"hologram","rays":[1,{"z":1,"y":2}]}]}`,
			`{"role":"user","content":[{"rays":[1, {"y":2,"z":1,"cache_control":1}],"cache_control":{"type":"ephemeral"},"type":"hologram"}]}`,
		}},
		{"arguments in a string", wire.Chat, []string{
			`{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{\"a\":1,\"b\":\"\\u00e9\"}"}}]}`,
			`{"role":"assistant","content":"","tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":" { \"b\" : \"é\", \"a\" : 1 } "}}]}`,
			`{"role":"assistant","reasoning_content":"hm","tool_calls":[{"type":"function","function":{"arguments":"{\"a\":1,\"b\":\"é\"}","name":"f"},"id":"c1"}]}`,
		}},
		{"no arguments", wire.Chat, []string{
			`{"role":"assistant","tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":""}}]}`,
			`{"role":"assistant","tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{}"}}]}`,
			`{"role":"assistant","tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":" { } "}}]}`,
		}},
		{"items with and without their own id and state", wire.Responses, []string{
			`{"type":"message","id":"msg_1","status":"completed","role":"assistant","content":[{"type":"output_text","text":"hi","annotations":[]}]}`,
			`{"role":"assistant","content":"hi"}`,
		}},
		{"hosted calls", wire.Responses, []string{
			`{"type":"web_search_call","id":"ws_1","status":"completed","action":{"type":"search","query":"q"}}`,
			`{"action":{"query":"q","type":"search"},"type":"web_search_call","extra":null}`,
		}},
		{"encrypted thinking alone", wire.Responses, []string{
			`{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"abc"}`,
			`{"type":"reasoning","summary":[],"encrypted_content":"abc"}`,
		}},
		{"images with slashes escaped", wire.Chat, []string{
			`{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,ab/cd=="}}]}`,
			`{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,ab\/cd==","detail":"low"}}]}`,
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			want := timeline.Identity(message(t, c.format, c.forms[0]))
			for _, raw := range c.forms[1:] {
				if timeline.Identity(message(t, c.format, raw)) != want {
					t.Errorf("another identity: %s", raw)
				}
			}
		})
	}
}

func TestSaysSomethingElse(t *testing.T) {
	for _, c := range []struct {
		format wire.Format
		forms  []string // all different
	}{
		{wire.Anthropic, []string{
			`{"role":"user","content":"ab"}`,
			`{"role":"assistant","content":"ab"}`,
			`{"role":"user","content":"ab "}`,
			`{"role":"user","content":[{"type":"text","text":"a"},{"type":"image","source":{"type":"url","url":"c"}},{"type":"text","text":"b"}]}`,
			`{"role":"user","content":[{"type":"text","text":"[Oriel: ab]"}]}`,
			`{"role":"user","content":[{"type":"text","text":"[Oriel: ac]"}]}`,
			`{"role":"user","content":[{"type":"text","text":"ab"},{"type":"text","text":"[Orielle]"}]}`,
			`{"role":"user","content":[{"type":"text","text":"ab"},{"type":"text","text":"[Oriel: ab]"}]}`,
			`{"role":"user","content":[{"type":"text","text":"ab"},{"type":"text","text":"[Oriel: ac]"}]}`,
			`{"role":"assistant","content":[{"type":"text","text":"ab"},{"type":"text","text":"[Oriel: ab]"}]}`,
			`{"role":"user","content":[{"type":"tool_result","tool_use_id":"ab"}]}`,
			`{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"b"}]}`,
			`{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"b","is_error":true}]}`,
			`{"role":"user","content":[{"type":"tool_result","tool_use_id":"a"},{"type":"text","text":"b"}]}`,
			`{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":["b"]}]}`,
			`{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":["c"]}]}`,
			`{"role":"user","content":[]}`,
			`{"role":"assistant","content":[{"type":"thinking","thinking":"ab","signature":"s"}]}`,
			`{"role":"assistant","content":[{"type":"thinking","thinking":"","signature":"s"}]}`,
			`{"role":"assistant","content":[{"type":"redacted_thinking","data":"s2"}]}`,
			`{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"b","input":{"x":1}}]}`,
			`{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"b","input":{"x":1.0}}]}`,
			`{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"b","input":{"x":"1"}}]}`,
			`{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"b","input":{"x":null}}]}`,
			`{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"b","input":{"x":[[],[]]}}]}`,
			`{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"b","input":{"x":[[[]]]}}]}`,
			`{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"b","input":{"cache_control":1}}]}`,
			`{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"b","input":{}}]}`,
			`{"role":"assistant","content":[{"type":"tool_use","id":"ab","name":"","input":{}}]}`,
			`{"role":"user","content":[{"type":"image","source":{"type":"url","url":"ab"}}]}`,
			`{"role":"user","content":[{"type":"image","source":{"type":"file","file_id":"ab"}}]}`,
			`{"role":"user","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"abcd"}}]}`,
			`{"role":"user","content":[{"type":"document","source":{"type":"text","media_type":"text/plain","data":"ab"}}]}`,
			`{"role":"user","content":[{"type":"document","title":"t","source":{"type":"text","media_type":"text/plain","data":"ab"}}]}`,
			`{"role":"user","content":[{"type":"document","source":{"type":"content","content":[{"type":"text","text":"ab"}]}}]}`,
			`{"role":"user","content":[{"type":"hologram","text":"ab"}]}`,
			`{"role":"user","content":[{"type":"hologram","text":"ac"}]}`,
		}},
		{wire.Chat, []string{
			`{"role":"user","content":"x"}`,
			`{"role":"user","name":"bob","content":"x"}`,
			`{"role":"assistant","refusal":"x"}`,
			`{"role":"assistant","content":"x"}`,
			`{"role":"assistant","reasoning":"x"}`,
			`{"role":"tool","tool_call_id":"c","content":"x"}`,
			`{"role":"tool","tool_call_id":"d","content":"x"}`,
			`{"role":"tool","tool_call_id":"c","content":null}`,
			`{"role":"assistant","tool_calls":[{"id":"c","type":"custom","custom":{"name":"f","input":"{\"a\":1}"}}]}`,
			`{"role":"assistant","tool_calls":[{"id":"c","type":"custom","custom":{"name":"f","input":"{\"a\": 1}"}}]}`,
			`{"role":"assistant","tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{\"a\":1"}}]}`,
			`{"role":"assistant","tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{\"a\":1}"}}]}`,
		}},
		{wire.Responses, []string{
			`{"type":"custom_tool_call","call_id":"c","name":"f","input":"{\"a\":1}"}`,
			`{"type":"custom_tool_call","call_id":"c","name":"f","input":"{\"a\": 1}"}`,
			`{"type":"web_search_call","id":"ws_1","action":{"type":"search","query":"q"}}`,
			`{"type":"web_search_call","id":"ws_1","action":{"type":"search","query":"r"}}`,
			`{"type":"code_interpreter_call","id":"ci_1","code":"1","outputs":[{"type":"logs","logs":"1"}]}`,
			`{"type":"code_interpreter_call","id":"ci_1","code":"1","outputs":[{"type":"logs","logs":"2"}]}`,
			`{"type":"mcp_approval_response","approval_request_id":"a","approve":true}`,
			`{"type":"mcp_approval_response","approval_request_id":"a","approve":false}`,
			`{"type":"apply_patch_call_output","call_id":"a","status":"completed","output":"x"}`,
			`{"type":"apply_patch_call_output","call_id":"a","status":"failed","output":"x"}`,
			`{"type":"item_reference","id":"a"}`,
			`{"type":"item_reference","id":"b"}`,
			`{"type":"reasoning","id":"rs_1","summary":[]}`,
			`{"type":"reasoning","id":"rs_2","summary":[]}`,
			`{"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"s"}],"encrypted_content":"abc"}`,
			`{"type":"compaction","encrypted_content":"abc"}`,
			`{"type":"compaction","encrypted_content":"abd"}`,
			`{"type":"shell_call_output","call_id":"a","output":[{"stdout":"x","id":"1"}]}`,
			`{"type":"shell_call_output","call_id":"a","output":[{"stdout":"x","id":"2"}]}`,
		}},
	} {
		seen := map[timeline.Hash]string{}
		for _, raw := range c.forms {
			h := timeline.Identity(message(t, c.format, raw))
			if other, twice := seen[h]; twice {
				t.Errorf("the same identity:\n%s\n%s", raw, other)
			}
			seen[h] = raw
		}
	}
}

func TestItemsSayWhatMessagesSay(t *testing.T) {
	for _, text := range []string{"", "plain", "é\n\"\\\x00", strings.Repeat("long ", 1<<18)} {
		m := &chat.Message{Role: chat.User, Parts: []chat.Part{{Kind: chat.Text, Text: chat.Quote(text)}}}
		if timeline.TextIdentity("user", text) != timeline.Identity(m) {
			t.Errorf("%.20q", text)
		}
	}
	if timeline.TextIdentity("user", "x") == timeline.TextIdentity("use", "rx") {
		t.Error("role and text run together")
	}
}

// Identities are kept on disk: they may never change. SPEC D1
func TestIdentitiesStay(t *testing.T) {
	for raw, want := range map[string]string{
		`{"role":"user","content":"hello"}`: "619bb742815e1c5953854147fa89ad86",
		`{"role":"assistant","content":[{"type":"text","text":"é"},{"type":"tool_use","id":"t","name":"n","input":{"b":[1,true,null],"a":"x"}}]}`:                    "adba93134115e2fba35f24ddeb5f6917",
		`{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","is_error":true,"content":[{"type":"image","source":{"type":"base64","data":"AAAA"}}]}]}`: "bed85e873776de8d7fa48ee2a7b97d2a",
	} {
		if got := timeline.Identity(message(t, wire.Anthropic, raw)).String(); got != want {
			t.Errorf("%s\nis %s, was %s", raw, got, want)
		}
	}
}

// drawHistory draws a body and its messages, decoded.
func drawHistory(t *rapid.T, f wire.Format) (body *wire.Body, list []any) {
	data := protocols.Of(f).Draw(t, histories.Options{Plain: true, Valid: rapid.Bool().Draw(t, "valid")})
	body, err := wire.Read(data, f, wire.Limits{})
	if err != nil {
		t.Skip(err)
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var top map[string]any
	if err := d.Decode(&top); err != nil {
		t.Fatal(err)
	}
	list, _ = top[f.Protocol().List].([]any)
	if len(list) != len(body.Messages) || len(list) == 0 {
		t.Skip("no list of messages")
	}
	return body, list
}

func readList(f wire.Format, list []byte) (*wire.Body, error) {
	return wire.Read(slices.Concat([]byte(`{"`+f.Protocol().List+`":`), list, []byte(`}`)), f, wire.Limits{})
}

func TestIdentityIsThatOfEveryWriting(t *testing.T) {
	for _, f := range wire.Protocols() {
		t.Run(f.String(), func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				body, list := drawHistory(t, f)
				w := &rewriter{rand: rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "writing"), 1)), format: f}
				w.value(list, "", "")
				again, err := readList(f, w.Bytes())
				if err != nil {
					t.Fatalf("%v\n%s", err, w.Bytes())
				}
				for i := range body.Messages {
					if timeline.Identity(&body.Messages[i]) != timeline.Identity(&again.Messages[i]) {
						t.Fatalf("another identity:\n%s\n%s", body.Messages[i].Raw, again.Messages[i].Raw)
					}
				}
			})
		})
	}
}

// rewriter writes decoded JSON in another of its forms.
type rewriter struct {
	bytes.Buffer
	rand   *rand.Rand
	format wire.Format
}

func (w *rewriter) space() { w.WriteString([]string{"", "", " ", "\n\t"}[w.rand.IntN(4)]) }

// value writes the value of a key, in an object of a type (or role).
func (w *rewriter) value(v any, key, of string) {
	w.space()
	defer w.space()
	switch v := v.(type) {
	case nil:
		w.WriteString("null")
	case bool:
		fmt.Fprint(w, v)
	case json.Number:
		w.WriteString(v.String())
	case string:
		w.text(v, key, of)
	case []any:
		w.WriteByte('[')
		for i, e := range v {
			if i > 0 {
				w.WriteByte(',')
			}
			w.value(e, "", "")
		}
		w.WriteByte(']')
	case map[string]any:
		w.object(v, key)
	}
}

func (w *rewriter) object(v map[string]any, key string) {
	kind, _ := v["type"].(string)
	if role, ok := v["role"].(string); ok && (kind == "" || kind == "message") {
		kind = "role " + role
	}
	keys := slices.Sorted(maps.Keys(v))
	w.rand.Shuffle(len(keys), func(i, j int) { keys[i], keys[j] = keys[j], keys[i] })
	w.WriteByte('{')
	for i, k := range keys {
		if i > 0 {
			w.WriteByte(',')
		}
		w.space()
		w.quote(k)
		w.space()
		w.WriteByte(':')
		if k == "input" || k == "action" || k == "operation" {
			kind = ""
		}
		w.value(v[k], k, kind)
	}
	// A cache mark goes on texts and results of any message.
	if kind == "text" && v["text"] != nil || kind == "tool_result" && v["tool_use_id"] != nil {
		if _, has := v["cache_control"]; !has && w.rand.IntN(3) == 0 {
			w.WriteString(`,"cache_control":{"type":"ephemeral"}`)
		}
	}
	w.WriteByte('}')
}

func (w *rewriter) text(s, key, of string) {
	if key == "arguments" && of != "" && s != "" {
		d := json.NewDecoder(strings.NewReader(s))
		d.UseNumber()
		var args any
		if json.Valid([]byte(s)) && d.Decode(&args) == nil {
			inner := &rewriter{rand: w.rand}
			inner.value(args, "", "")
			s = inner.String()
		}
	}
	part := ""
	switch {
	case s == "" || w.rand.IntN(2) == 0:
	case w.format.Protocol().Joint != "": // a content is one text
	case w.format == wire.Responses && key == "content" && of == "role assistant":
		part = "output_text"
	case w.format == wire.Responses && (key == "content" && strings.HasPrefix(of, "role ") ||
		key == "output" && of == "function_call_output"):
		part = "input_text"
	case w.format != wire.Responses && key == "content" && (strings.HasPrefix(of, "role ") || of == "tool_result"):
		part = "text"
	}
	if part == "" {
		w.quote(s)
		return
	}
	w.value([]any{map[string]any{"type": part, "text": s}}, "", "")
}

// quote writes a string with needless escapes; of data: URLs, which no client escapes
// and wire does not decode, only the slashes.
func (w *rewriter) quote(s string) {
	w.WriteByte('"')
	needless := !strings.HasPrefix(s, "data:")
	for _, r := range s {
		if r == '/' && w.rand.IntN(2) == 0 {
			w.WriteString(`\/`)
		} else if r < 0x10000 && (r < 0x20 || r == '"' || r == '\\' || needless && w.rand.IntN(6) == 0) {
			fmt.Fprintf(w, `\u%04x`, r)
		} else {
			w.WriteRune(r)
		}
	}
	w.WriteByte('"')
}

func TestIdentityTellsEveryChange(t *testing.T) {
	for _, f := range wire.Protocols() {
		t.Run(f.String(), func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				body, list := drawHistory(t, f)
				i := rapid.IntRange(0, len(list)-1).Draw(t, "message")
				var leaves []leaf
				collect(list[i], &leaves)
				if len(leaves) == 0 {
					t.Skip("it says nothing")
				}
				l := rapid.SampledFrom(leaves).Draw(t, "leaf")
				was := l.value()
				l.set(was + "x")
				raw, err := json.Marshal(list)
				if err != nil {
					t.Fatal(err)
				}
				again, err := readList(f, raw)
				if err != nil {
					t.Skip(err)
				}
				for j := range body.Messages {
					same := timeline.Identity(&body.Messages[j]) == timeline.Identity(&again.Messages[j])
					if same != (j != i) {
						t.Fatalf("%s of message %d changed from %q, message %d has the same identity: %v\n%s", l.key, i,
							was, j, same, again.Messages[j].Raw)
					}
				}
			})
		})
	}
}

// leaf is a string that a message says.
type leaf struct {
	in  map[string]any
	key string
}

func (l leaf) value() string { s, _ := l.in[l.key].(string); return s }
func (l leaf) set(s string)  { l.in[l.key] = s }
func (l leaf) String() string {
	return fmt.Sprintf("%s = %q", l.key, l.value())
}

// says lists the keys whose strings are part of what a message says, with what
// their object is.
var says = map[string]func(kind string) bool{
	"role":         func(kind string) bool { return kind == "role user" },
	"text":         func(kind string) bool { return strings.HasSuffix(kind, "text") || kind == "" },
	"content":      func(kind string) bool { return strings.HasPrefix(kind, "role ") || kind == "tool_result" },
	"name":         func(kind string) bool { return kind == "tool_use" || kind == "function_call" || kind == "" },
	"id":           func(kind string) bool { return kind == "tool_use" || kind == "function" },
	"tool_use_id":  func(kind string) bool { return true },
	"tool_call_id": func(kind string) bool { return kind == "role tool" },
	"call_id":      func(kind string) bool { return strings.HasPrefix(kind, "function_call") },
	"output":       func(kind string) bool { return kind == "function_call_output" },
	"arguments":    func(kind string) bool { return kind == "" || kind == "function_call" },
	"data":         func(kind string) bool { return kind == "base64" },
	"url":          func(kind string) bool { return kind == "url" },
}

func collect(v any, leaves *[]leaf) {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			collect(e, leaves)
		}
	case map[string]any:
		kind, _ := v["type"].(string)
		if role, ok := v["role"].(string); ok && (kind == "" || kind == "message") {
			kind = "role " + role
		}
		if kind == "thinking" || kind == "reasoning" || kind == "redacted_thinking" || v["thought"] == true {
			return
		}
		for _, k := range slices.Sorted(maps.Keys(v)) {
			if s, ok := v[k].(string); ok && s != "" && says[k] != nil && says[k](kind) {
				*leaves = append(*leaves, leaf{v, k})
			}
			if k == "content" || k == "tool_calls" || k == "function" || k == "source" || k == "output" ||
				k == "parts" || k == "functionCall" {
				collect(v[k], leaves)
			}
		}
	}
}

func FuzzSays(f *testing.F) {
	f.Add([]byte(`{"messages":[{"role":"user","content":[{"type":"hologram","a":{"b":[1]}}]}]}`))
	f.Add([]byte(`{"input":[{"type":"mcp_call","id":"x","arguments":"{","output":null}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		b, err := wire.Read(data, wire.Auto, wire.Limits{Bytes: 1 << 16})
		if err != nil {
			t.Skip()
		}
		for i := range b.Messages {
			first := timeline.Identity(&b.Messages[i])
			if again := timeline.Identity(&b.Messages[i]); first != again {
				t.Fatalf("%v, then %v", first, again)
			}
		}
	})
}

func BenchmarkSays(b *testing.B) {
	text := strings.Repeat(`lines of a file\n`, 250)
	m := message(b, wire.Anthropic, `{"role":"assistant","content":[{"type":"text","text":"`+text+
		`"},{"type":"tool_use","id":"t1","name":"edit","input":{"path":"a.go","old":"`+text+`","new":"x"}}]}`)
	b.SetBytes(int64(len(m.Raw)))
	b.ReportAllocs()
	for b.Loop() {
		timeline.Identity(m)
	}
}
