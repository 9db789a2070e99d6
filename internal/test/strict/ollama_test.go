package strict

import "testing"

func called(calls ...string) string {
	return `{"role":"assistant","content":"","tool_calls":[` + join(calls) + `]}`
}

func TestOllamaAccepts(t *testing.T) {
	f, g := `{"function":{"name":"f","arguments":{}}}`, `{"id":"b","function":{"name":"g","arguments":{"x":1}}}`
	runRules(t, Ollama, []ruleTest{
		{"roles", chatBody(system("s"), user("u"), assistant("a"), user("u")), nil},
		{"no messages", `{"model":"m"}`, nil},
		{"an empty list", chatBody(), nil},
		{"an empty text", chatBody(user("")), nil},
		{"a picture", chatBody(`{"role":"user","content":"u","images":["iVBORw0K"]}`), nil},
		{"thinking", chatBody(user("u"), `{"role":"assistant","thinking":"t","content":"a"}`), nil},
		{"names", chatBody(user("u"), called(f, g), `{"role":"tool","tool_name":"g","content":"r"}`,
			`{"role":"tool","tool_name":"f","content":"r"}`), nil},
		{"ids", chatBody(user("u"), called(f, g), `{"role":"tool","tool_call_id":"b","content":"r"}`,
			`{"role":"tool","tool_name":"f","content":"r"}`), nil},
		{"places", chatBody(user("u"), called(f, f), `{"role":"tool","content":"r"}`, `{"role":"tool","content":"r"}`),
			nil},
		{"other members", `{"model":"m","stream":null,"think":"low","keep_alive":-1,"options":{"num_ctx":4096},
			"tools":[{"type":"function","function":{"name":"f"}}],"messages":[]}`, nil},
	})
}

func TestOllamaRefuses(t *testing.T) {
	f := `{"function":{"name":"f","arguments":{}}}`
	runRules(t, Ollama, []ruleTest{
		{"no JSON", `[]`, []string{BadJSON}},
		{"no model", `{"messages":[]}`, []string{MissingField}},
		{"messages of another type", `{"model":"m","messages":"hi"}`, []string{BadJSON}},
		{"a message of another type", chatBody(`"hi"`), []string{BadJSON}},
		{"a foreign role", chatBody(`{"role":"developer","content":"x"}`), []string{UnknownRole}},
		{"parts", chatBody(`{"role":"user","content":[{"type":"text","text":"x"}]}`), []string{BadJSON}},
		{"nothing", chatBody(`{"role":"user"}`), []string{EmptyContent}},
		{"a URL for a picture", chatBody(`{"role":"user","content":"u","images":["http://x/y.png"]}`),
			[]string{BadJSON}},
		{"arguments as a string", chatBody(user("u"),
			called(`{"function":{"name":"f","arguments":"{}"}}`), `{"role":"tool","content":"r"}`), []string{BadJSON}},
		{"a call without name", chatBody(user("u"), called(`{"function":{"arguments":{}}}`),
			`{"role":"tool","content":"r"}`), []string{MissingField}},
		{"options of another type", `{"model":"m","messages":[],"options":[]}`, []string{BadJSON}},
		{"a window of another type", `{"model":"m","messages":[],"options":{"num_ctx":"4096"}}`, []string{BadJSON}},
		{"an orphan", chatBody(user("u"), `{"role":"tool","content":"r"}`), []string{OrphanResult}},
		{"a result of another tool", chatBody(user("u"), called(f), `{"role":"tool","tool_name":"g","content":"r"}`),
			[]string{OpenEnd, OrphanResult}},
		{"two results", chatBody(user("u"), called(f), `{"role":"tool","content":"r"}`,
			`{"role":"tool","content":"r"}`),
			[]string{DuplicateResult}},
		{"no result", chatBody(user("u"), called(f), user("u")), []string{UnansweredCall}},
		{"no result yet", chatBody(user("u"), called(f)), []string{OpenEnd}},
	})
}
