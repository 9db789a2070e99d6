package strict

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// good builds an Anthropic body around messages.
func good(messages ...string) string {
	return `{"model":"m","max_tokens":9,"tools":[{"name":"f","input_schema":{}}],"messages":[` + join(messages) + `]}`
}

func user(text string) string      { return `{"role":"user","content":"` + text + `"}` }
func assistant(text string) string { return `{"role":"assistant","content":"` + text + `"}` }
func system(text string) string    { return `{"role":"system","content":"` + text + `"}` }
func says(role string, blocks ...string) string {
	return `{"content":[` + join(blocks) + `],"role":"` + role + `"}`
}

func use(id string) string { return `{"type":"tool_use","id":"` + id + `","name":"f","input":{}}` }
func result(id string) string {
	return `{"tool_use_id":"` + id + `","type":"tool_result","content":"r"}`
}
func text(s string) string { return `{"type":"text","text":"` + s + `"}` }
func search(id string) string {
	return `{"type":"server_tool_use","id":"` + id + `","name":"web_search","input":{}}`
}
func searched(id string) string {
	return `{"type":"web_search_tool_result","tool_use_id":"` + id + `","content":[]}`
}

const thought1 = `{"type":"thinking","thinking":"","signature":"c2ln"}`

func TestAnthropicAccepts(t *testing.T) {
	runRules(t, Anthropic, []ruleTest{
		{"one user message", good(user("hi")), nil},
		{"several user messages in a row", good(user("a"), user("b"), assistant("c"), user("d")), nil},
		{"a tool exchange", good(user("a"), says("assistant", text("t"), use("x")),
			says("user", result("x"), text("more"))), nil},
		{"parallel calls, results in any order and several messages",
			good(user("a"), says("assistant", use("x"), use("y"), use("z")), says("user", result("z"), result("x")),
				says("user", result("y"))), nil},
		{"an assistant turn in pieces", good(user("a"), says("assistant", thought1), says("assistant", use("x")),
			says("user", result("x"))), nil},
		{"a compaction first", good(`{"role":"assistant","content":[{"type":"compaction","content":"y"}]}`, user("b")),
			nil},
		{"a system message after a user message", good(user("a"), system("s"), assistant("b"), user("c"), system("s")),
			nil},
		{"two system messages in a row", good(user("a"), system("s"), system("s"), assistant("b"), user("c")), nil},
		{"a system message after a server tool", good(user("a"), says("assistant", search("s"), searched("s")),
			system("s")), nil},
		{"a directive anywhere", good(user("a"), assistant("b"), `{"role":"system","content":[],"output_config":{}}`,
			user("c")), nil},
		{"a server tool in one turn", good(user("a"), says("assistant", search("s"), searched("s"), text("t")),
			user("b")), nil},
		{"a paused turn at the end", good(user("a"), says("assistant", search("s"))), nil},
		{"a server tool that waits for client tools",
			good(user("a"), says("assistant", search("s"), use("x")), says("user", result("x")),
				says("assistant", searched("s"), text("t"))), nil},
		{"an empty final assistant message", good(user("a"), says("assistant")), nil},
		{"a prefilled answer", good(user("a"), assistant("b")), nil},
		{"a blank text among others", good(user("a"), says("assistant", text(`\n\n`), thought1, text("b")), user("c")),
			nil},
		{"an unknown block type", good(says("user", `{"type":"hologram"}`)), nil},
		{"four breakpoints", withBreakpoints(4), nil},
		{"a result without content", good(user("a"), says("assistant", use("x")),
			says("user", `{"type":"tool_result","tool_use_id":"x"}`)), nil},
	})
}

func TestAnthropicRefuses(t *testing.T) {
	runRules(t, Anthropic, []ruleTest{
		{"no JSON", `{"a":`, []string{BadJSON}},
		{"messages of the wrong type", `{"model":"m","max_tokens":1,"messages":{}}`, []string{BadJSON}},
		{"no max_tokens", `{"model":"m","messages":[` + user("a") + `]}`, []string{MissingField}},
		{"no messages", good(), []string{EmptyContent}},
		{"no content", good(`{"role":"user"}`), []string{MissingField}},
		{"a foreign role", good(user("a"), `{"role":"tool","content":"x"}`), []string{UnknownRole}},
		{"an assistant message first", good(assistant("a"), user("b")), []string{FirstRole}},
		{"an answer before a compaction",
			good(`{"role":"assistant","content":[{"type":"text","text":"x"},{"type":"compaction","content":"y"}]}`,
				user("b")),
			[]string{FirstRole}},
		{"a system message first", good(system("a"), user("b")), []string{FirstRole}},
		{"a system message before a user message", good(user("a"), system("s"), user("b")), []string{SystemPlace}},
		{"a system message after an answer", good(user("a"), assistant("b"), system("s")), []string{SystemPlace}},
		{"an empty string", good(user("a"), assistant("b"), user("")), []string{EmptyContent}},
		{"an empty array", good(says("user")), []string{EmptyContent}},
		{"an empty text block", good(says("user", text(""))), []string{EmptyContent}},
		{"a blank message", good(says("user", text(` \n`))), []string{EmptyContent}},
		{"an empty system block", strings.Replace(good(user("a")), `"tools"`,
			`"system":[{"type":"text","text":""}],"tools"`, 1), []string{EmptyContent}},
		{"a final answer that ends in space", good(user("a"), assistant("b ")), []string{TrailingSpace}},
		{"a result without a call", good(says("user", result("x"))), []string{OrphanResult}},
		{"a result one turn too late",
			good(user("a"), says("assistant", use("x")), user("b"), assistant("c"), says("user", result("x"))),
			[]string{OrphanResult, UnansweredCall}},
		{"a call without a result", good(user("a"), says("assistant", use("x")), user("b")), []string{UnansweredCall}},
		{"half of a batch answered", good(user("a"), says("assistant", use("x"), use("y")),
			says("user", result("x"), text("t"))), []string{UnansweredCall}},
		{"the end while the agent runs", good(user("a"), says("assistant", use("x"))), []string{OpenEnd}},
		{"the end in the middle of a batch", good(user("a"), says("assistant", use("x"), use("y")),
			says("user", result("x"))), []string{OpenEnd}},
		{"two results", good(user("a"), says("assistant", use("x")), says("user", result("x"), result("x"))),
			[]string{DuplicateResult}},
		{"an id used twice",
			good(user("a"), says("assistant", use("x")), says("user", result("x")), says("assistant", use("x")),
				says("user", result("x"))), []string{DuplicateCall}},
		{"text before a result", good(user("a"), says("assistant", use("x")), says("user", text("t"), result("x"))),
			[]string{ResultNotFirst}},
		{"a call id with a colon", good(user("a"), says("assistant", use("x:1")), says("user", result("x:1"))),
			[]string{BadID}},
		{"a call without input", good(user("a"), says("assistant", strings.Replace(use("x"), `{}`, `"{}"`, 1)),
			says("user", result("x"))), []string{MissingField}},
		{"a call by the user", good(says("user", use("x"))), []string{WrongRole}},
		{"no tools", strings.Replace(good(user("a"), says("assistant", use("x")), says("user", result("x"))), `"tools"`,
			`"no"`, 1), []string{MissingTools}},
		{"a server tool without result", good(user("a"), says("assistant", search("s")), user("b")),
			[]string{UnansweredCall}},
		{"a server result without call", good(user("a"), says("assistant", searched("s"))), []string{OrphanResult}},
		{"two server results", good(user("a"), says("assistant", search("s"), searched("s"), searched("s"))),
			[]string{DuplicateResult}},
		{"five breakpoints", withBreakpoints(5), []string{TooManyBreakpoints}},
		{"four breakpoints and automatic caching", strings.Replace(withBreakpoints(4), `{`,
			`{"cache_control":{"type":"ephemeral"},`, 1), []string{TooManyBreakpoints}},
		{"a breakpoint on thinking",
			good(user("a"), says("assistant", strings.Replace(thought1, `{`, `{"cache_control":{"type":"ephemeral"},`,
				1), text("b"))), []string{BadBreakpoint}},
		{"an hour after five minutes",
			good(says("user", `{"type":"text","text":"a","cache_control":{"type":"ephemeral"}}`,
				`{"type":"text","text":"a","cache_control":{"type":"ephemeral","ttl":"1h"}}`)),
			[]string{TTLOrder}},
		{"thinking without signature",
			good(user("a"), says("assistant", `{"type":"thinking","thinking":"t"}`, text("b"))),
			[]string{MissingField}},
		{"a blank signature", good(user("a"), says("assistant", `{"type":"thinking","thinking":"t","signature":""}`,
			text("b"))), []string{MissingField}},
		{"thinking at the end of the last turn", good(user("a"), says("assistant", text("b"), thought1), user("c")),
			[]string{ThinkingLast}},
		{"thinking by the user", good(says("user", thought1, text("b"))), []string{WrongRole}},
	})
}

// withBreakpoints has n of them: one in tools, one in system, the rest in a
// message and inside a tool result.
func withBreakpoints(n int) string {
	const cc = `"cache_control":{"type":"ephemeral"}`
	blocks := []string{result("x")}
	if n > 2 {
		blocks[0] = `{"type":"tool_result","tool_use_id":"x","content":[{"type":"text","text":"r",` + cc + `}]}`
	}
	for range n - 3 {
		blocks = append(blocks, `{"type":"text","text":"a",`+cc+`}`)
	}
	blocks = append(blocks, `{"type":"text","text":"z","cache_control":null}`)
	return `{"model":"m","max_tokens":9,"tools":[{"name":"f",` + cc + `}],"system":[{"type":"text","text":"s",` + cc +
		`}],"messages":[` +
		join([]string{user("a"), says("assistant", use("x")), says("user", blocks...)}) + `]}`
}

func TestManualThinkingMustLeadItsLoop(t *testing.T) {
	loop := func(first, second string) string {
		return good(user("a"), says("assistant", first+use("x")), says("user", result("x")),
			says("assistant", second+use("y")), says("user", result("y")))
	}
	manual := func(body string) string {
		return strings.Replace(body, `{`, `{"thinking":{"type":"enabled","budget_tokens":1024},`, 1)
	}
	runRules(t, Anthropic, []ruleTest{
		{"thinking in both messages", manual(loop(thought1+",", thought1+",")), nil},
		{"thinking in the first", manual(loop(thought1+",", "")), nil},
		{"thinking in the last", manual(loop("", thought1+",")), nil},
		{"no thinking", manual(loop("", "")), []string{ThinkingMissing}},
		{"no thinking, adaptive", strings.Replace(loop("", ""), `{`, `{"thinking":{"type":"adaptive"},`, 1), nil},
		{"no loop", manual(good(user("a"), assistant("b"), user("c"))), nil},
	})
}

func TestOptionsChangeTheRules(t *testing.T) {
	scrubbed := good(user("a"), says("assistant", `{"type":"thinking","thinking":"t","signature":""}`,
		`{"type":"redacted_thinking","data":""}`, text("b")))
	if got := (Options{BlankSignatures: true}).Anthropic([]byte(scrubbed)); len(got) > 0 {
		t.Errorf("blank signatures: %v", got)
	}
	if got := Codes(Options{BlankSignatures: true, NoPrefill: true}.Anthropic([]byte(scrubbed))); !cmp.Equal(got,
		[]string{LastRole}) {
		t.Errorf("no prefill: %v", got)
	}
}
