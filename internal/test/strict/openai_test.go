package strict

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func chatBody(messages ...string) string {
	return `{"model":"m","messages":[` + join(messages) + `]}`
}

func calls(ids ...string) string {
	var list []string
	for _, id := range ids {
		list = append(list, `{"id":"`+id+`","type":"function","function":{"name":"f","arguments":"{}"}}`)
	}
	return `{"role":"assistant","content":null,"tool_calls":[` + join(list) + `]}`
}

func tool(id string) string {
	return `{"role":"tool","tool_call_id":"` + id + `","content":"r"}`
}

func TestChatAccepts(t *testing.T) {
	runRules(t, Chat, []ruleTest{
		{"roles", chatBody(system("s"), `{"role":"developer","content":"d"}`, user("u"), assistant("a"), user("u")),
			nil},
		{"a batch in any order", chatBody(user("u"), calls("a", "b"), tool("b"), tool("a"), user("u")), nil},
		{"ids that come again", chatBody(user("u"), calls("c0"), tool("c0"), calls("c0"), tool("c0")), nil},
		{"an empty string", chatBody(user(""), assistant("")), nil},
		{"a refusal", chatBody(user("u"), `{"role":"assistant","content":null,"refusal":"no"}`), nil},
		{"audio", chatBody(user("u"), `{"role":"assistant","audio":{"id":"x"}}`), nil},
		{"functions", chatBody(user("u"),
			`{"role":"assistant","content":null,"function_call":{"name":"f","arguments":"{}"}}`,
			`{"role":"function","name":"f","content":null}`), nil},
		{"parts", chatBody(`{"role":"user","content":[{"type":"text","text":"a"},{"type":"hologram"}]}`), nil},
		{"a custom call",
			chatBody(user("u"),
				`{"role":"assistant","tool_calls":[{"id":"a","type":"custom","custom":{"name":"f","input":"x"}}]}`,
				tool("a")), nil},
	})
}

func TestChatRefuses(t *testing.T) {
	runRules(t, Chat, []ruleTest{
		{"no JSON", `[]`, []string{BadJSON}},
		{"no messages", `{"model":"m"}`, []string{MissingField}},
		{"no model", `{"messages":[` + user("u") + `]}`, []string{MissingField}},
		{"an empty list", chatBody(), []string{EmptyContent}},
		{"a foreign role", chatBody(`{"role":"robot","content":"x"}`), []string{UnknownRole}},
		{"no content", chatBody(`{"role":"user","content":null}`), []string{EmptyContent}},
		{"empty parts", chatBody(`{"role":"user","content":[]}`), []string{EmptyContent}},
		{"an assistant that says nothing", chatBody(user("u"), `{"role":"assistant","content":null}`),
			[]string{EmptyContent}},
		{"an empty batch", chatBody(user("u"), `{"role":"assistant","content":"a","tool_calls":[]}`),
			[]string{EmptyContent}},
		{"arguments that are no string",
			chatBody(user("u"),
				`{"role":"assistant","tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":{}}}]}`, tool("a")), []string{MissingField}},
		{"a function without name", chatBody(user("u"), `{"role":"function","content":"r"}`), []string{MissingField}},
		{"a result first", chatBody(tool("a"), user("u")), []string{OrphanResult}},
		{"a result of another batch", chatBody(user("u"), calls("a"), tool("a"), tool("b")), []string{OrphanResult}},
		{"a result after a user message", chatBody(user("u"), calls("a"), user("u"), tool("a")),
			[]string{OrphanResult, UnansweredCall}},
		{"half of a batch", chatBody(user("u"), calls("a", "b"), tool("a"), user("u")), []string{UnansweredCall}},
		{"the end while the agent runs", chatBody(user("u"), calls("a")), []string{OpenEnd}},
		{"the end in the middle of a batch", chatBody(user("u"), calls("a", "b"), tool("a")), []string{OpenEnd}},
		{"two results", chatBody(user("u"), calls("a"), tool("a"), tool("a")), []string{DuplicateResult}},
	})
}

func input(items ...string) string { return `{"model":"m","input":[` + join(items) + `]}` }

func fcall(id string) string {
	return `{"type":"function_call","call_id":"` + id + `","name":"f","arguments":"{}"}`
}

func fout(id string) string {
	return `{"type":"function_call_output","call_id":"` + id + `","output":"r"}`
}

func reason(id string) string {
	return `{"type":"reasoning","id":"` + id + `","summary":[],"encrypted_content":"eA=="}`
}

func TestResponsesAccepts(t *testing.T) {
	runRules(t, Responses, []ruleTest{
		{"a string", `{"model":"m","input":"hi"}`, nil},
		{"messages with and without type",
			input(user("u"), `{"type":"message","role":"assistant","content":[{"type":"output_text","text":"a"}]}`),
			nil},
		{"a call", input(user("u"), reason("rs_1"), fcall("a"), fcall("b"), fout("b"), fout("a"), assistant("x")), nil},
		{"two reasoning items in a row", input(user("u"), reason("rs_1"), reason("rs_2"), assistant("a")), nil},
		{"an output whose call is stored", `{"previous_response_id":"r","input":[` + fout("a") + `]}`, nil},
		{"an output whose call is referenced", input(`{"type":"item_reference","id":"fc_1"}`, fout("a")), nil},
		{"a reference without type", input(`{"id":"fc_1"}`, fout("a")), nil},
		{"calls the vendor runs", input(user("u"), `{"type":"web_search_call","id":"ws_1"}`,
			`{"type":"mcp_call","name":"f","arguments":"{}"}`, assistant("a")), nil},
		{"an approval", input(`{"type":"mcp_approval_request","id":"q","name":"f","arguments":"{}","server_label":"s"}`,
			`{"type":"mcp_approval_response","approval_request_id":"q","approve":true}`), nil},
		{"a shell call answered by id", input(`{"type":"local_shell_call","id":"lsh","call_id":"a","action":{}}`,
			`{"type":"local_shell_call_output","id":"a","output":"r"}`), nil},
		{"an unknown item", input(user("u"), `{"type":"hologram"}`), nil},
		{"a stored prompt", `{"model":"m","prompt":{"id":"p"}}`, nil},
	})
}

func TestResponsesRefuses(t *testing.T) {
	runRules(t, Responses, []ruleTest{
		{"no JSON", ``, []string{BadJSON}},
		{"no input", `{"model":"m"}`, []string{MissingField}},
		{"an empty input", input(), []string{EmptyContent}},
		{"an item that is none", input(`1`), []string{BadJSON}},
		{"a foreign role", input(`{"role":"tool","content":"x"}`), []string{UnknownRole}},
		{"an item without type", input(`{"content":"x"}`), []string{MissingField}},
		{"arguments that are no string", input(`{"type":"function_call","call_id":"a","name":"f","arguments":{}}`,
			fout("a")), []string{MissingField}},
		{"an output first", input(fout("a"), user("u")), []string{OrphanResult}},
		{"an output before its call", input(fout("a"), fcall("a"), user("u")), []string{OrphanResult}},
		{"an output of another type of call",
			input(user("u"), fcall("a"), `{"type":"custom_tool_call_output","call_id":"a","output":"r"}`),
			[]string{OpenEnd, OrphanResult}},
		{"a call in the middle", input(user("u"), fcall("a"), user("u")), []string{UnansweredCall}},
		{"the end while the agent runs", input(user("u"), fcall("a"), fcall("b"), fout("a")), []string{OpenEnd}},
		{"two outputs", input(user("u"), fcall("a"), fout("a"), user("u"), fout("a")), []string{DuplicateResult}},
		{"an item twice", input(user("u"), reason("rs_1"), assistant("a"), reason("rs_1"), assistant("a")),
			[]string{DuplicateItem}},
		{"reasoning at the end", input(user("u"), reason("rs_1")), []string{ReasoningAlone}},
		{"reasoning before a user message", input(user("u"), reason("rs_1"), user("u")), []string{ReasoningAlone}},
		{"reasoning before an output", input(user("u"), fcall("a"), reason("rs_1"), fout("a")),
			[]string{ReasoningAlone}},
		{"an input part by the assistant", input(`{"role":"assistant","content":[{"type":"input_text","text":"x"}]}`),
			[]string{BadPart}},
	})
}

func TestSameThinkingComparesBytes(t *testing.T) {
	before := good(user("a"), says("assistant", thought1, text("b")), user("c"))
	for _, tt := range []struct {
		name, after string
		want        []string
	}{
		{"the same", before, nil},
		{"one dropped", good(user("c")), nil},
		{"white space added", good(user("a"), says("assistant", thought1[:1]+" "+thought1[1:], text("b")), user("c")),
			[]string{ThinkingChanged}},
		{"one made twice", good(user("a"), says("assistant", thought1, text("b")),
			says("assistant", thought1, text("b")), user("c")), []string{ThinkingChanged}},
	} {
		if got := Codes(SameThinking([]byte(before), []byte(tt.after))); !cmp.Equal(got, tt.want) {
			t.Errorf("%s: got %v, want %v", tt.name, got, tt.want)
		}
	}
	if got := Codes(SameThinking([]byte(input(reason("rs_1"))), []byte(input(reason("rs_2"))))); !cmp.Equal(got,
		[]string{ThinkingChanged}) {
		t.Errorf("reasoning: got %v", got)
	}
}

func TestBoundThinkingFollowsThePrefix(t *testing.T) {
	before := good(user("a"), says("assistant", thought1, text("b")), user("c"), says("assistant", thought1, use("x")),
		says("user", result("x")))
	for _, tt := range []struct {
		name, after string
		want        int // index of the first block that is no longer bound, -1 for none
	}{
		{"the same", before, -1},
		{"string and array form, a breakpoint",
			good(says("user", `{"text":"a","cache_control":{"type":"ephemeral"},"type":"text"}`),
				says("assistant", thought1, text("b"))), -1},
		{"the first exchange gone", good(user("c"), says("assistant", thought1, use("x")), says("user", result("x"))),
			1},
		{"a stub in the first exchange", good(user("a"), says("assistant", thought1, text("z")), user("c"),
			says("assistant", thought1, use("x"))), 3},
		{"earlier thinking dropped", good(user("a"), says("assistant", text("b")), user("c"),
			says("assistant", thought1, use("x"))), -1},
		{"a block dropped", good(user("a"), says("assistant", thought1), user("c"),
			says("assistant", thought1, use("x"))), 3},
	} {
		got := -1
		if p := BoundThinking([]byte(before), []byte(tt.after)); len(p) > 0 {
			got = p[0].Index
		}
		if got != tt.want {
			t.Errorf("%s: got %d, want %d", tt.name, got, tt.want)
		}
	}
}

func TestKeptReasoningFollowsIDs(t *testing.T) {
	call := `{"type":"function_call","id":"fc_1","call_id":"a","name":"f","arguments":"{}"}`
	before := input(user("u"), reason("rs_1"), call, fout("a"))
	if got := KeptReasoning([]byte(before), []byte(before)); len(got) > 0 {
		t.Errorf("the same: %v", got)
	}
	after := input(user("u"), call, fout("a"))
	if got := Codes(KeptReasoning([]byte(before), []byte(after))); !cmp.Equal(got, []string{ReasoningDropped}) {
		t.Errorf("dropped: %v", got)
	}
}
