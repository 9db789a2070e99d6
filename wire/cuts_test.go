package wire_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/internal/test/protocols"
	"github.com/oriel-context/oriel/internal/test/strict"
	"github.com/oriel-context/oriel/wire"
)

func anthropicBody(msgs ...string) string {
	return `{"model":"m","max_tokens":9,"tools":[{"name":"f"}],"messages":[` + strings.Join(msgs, ",") + `]}`
}

func responsesBody(items ...string) string {
	return `{"model":"m","input":[` + strings.Join(items, ",") + `]}`
}

func says(role, text string) string { return fmt.Sprintf(`{"role":%q,"content":%q}`, role, text) }

func call(id string) string {
	return fmt.Sprintf(`{"type":"function_call","call_id":%q,"name":"f","arguments":"{}"}`, id)
}

func output(id string) string {
	return fmt.Sprintf(`{"type":"function_call_output","call_id":%q,"output":"x"}`, id)
}

// Every legal set of the exchanges of histories that are unusual and sound makes a
// request that the provider takes, and what must stay is in all of them. SPEC E1.
func TestEveryLegalSetOfUnusualHistories(t *testing.T) {
	ptc := func(id, within string) string {
		return fmt.Sprintf(
			`{"type":"tool_use","id":%q,"name":"f","input":{},"caller":{"type":"code_execution_20250825","tool_id":%q}}`, id, within)
	}
	result := func(id string) string {
		return fmt.Sprintf(`{"role":"user","content":[{"type":"tool_result","tool_use_id":%q,"content":"r"}]}`, id)
	}
	says3 := []string{says("assistant", "a"), says("user", "b"), says("assistant", "c"), says("user", "d")}
	for _, c := range []struct {
		name   string
		format wire.Format
		body   string
		// stays are texts that every set has.
		stays []string
		// together are texts of which a set has all or none.
		together []string
	}{
		{"a tool search that the client answers late", wire.Responses, responsesBody(append([]string{says("user", "q"),
			`{"type":"tool_search_call","call_id":"s1","execution":"client","arguments":{}}`, call("2"), output("2"),
			`{"type":"tool_search_output","call_id":"s1","execution":"client","tools":[]}`}, says3...)...),
			[]string{"tool_search_output"}, []string{"tool_search_call", "tool_search_output"}},
		{"a shell call answered by id alone", wire.Responses, responsesBody(append([]string{says("user", "q"),
			`{"type":"local_shell_call","call_id":"c1","action":{"type":"exec","command":["ls"],"env":{}},"status":"completed"}`, call("2"), output("2"),
			`{"type":"local_shell_call_output","id":"c1","output":"x"}`}, says3...)...),
			nil, []string{`"local_shell_call"`, "local_shell_call_output"}},
		{"an approval and the call that it allowed", wire.Responses, responsesBody(append([]string{says("user", "q"),
			`{"type":"mcp_approval_request","id":"r1","name":"f","arguments":"{}","server_label":"s"}`,
			`{"type":"mcp_approval_response","approval_request_id":"r1","approve":true}`,
			`{"type":"mcp_call","id":"m1","approval_request_id":"r1","name":"f","arguments":"{}","output":"o","server_label":"s"}`}, says3...)...),
			nil, []string{"mcp_approval_request", "mcp_approval_response", `"mcp_call"`}},
		{"tools that the provider's search found", wire.Anthropic, anthropicBody(append([]string{says("user", "q"),
			`{"role":"assistant","content":[{"type":"server_tool_use","id":"srvtoolu_1","name":"tool_search_tool_regex","input":{}},{"type":"tool_search_tool_result","tool_use_id":"srvtoolu_1","content":{"type":"tool_search_tool_search_result","tool_references":[{"type":"tool_reference","tool_name":"f"}]}},{"type":"tool_use","id":"t1","name":"f","input":{}}]}`,
			result("t1")}, says3...)...),
			[]string{"tool_references"}, nil},
		{"tools called by code that the provider runs, over several rounds", wire.Anthropic,
			anthropicBody(append([]string{says("user", "q"),
				`{"role":"assistant","content":[{"type":"server_tool_use","id":"srvtoolu_1","name":"code_execution","input":{}},` + ptc("t1", "srvtoolu_1") + `]}`, result("t1"),
				`{"role":"assistant","content":[` + ptc("t2", "srvtoolu_1") + `]}`, result("t2"),
				`{"role":"assistant","content":[{"type":"code_execution_tool_result","tool_use_id":"srvtoolu_1","content":{"type":"code_execution_result","stdout":"","stderr":"","return_code":0,"content":[]}},{"type":"text","text":"done"}]}`,
				says("user", "b")}, says3[2:]...)...),
			nil, []string{`"server_tool_use"`, `"t1"`, `"t2"`, `"code_execution_tool_result"`}},
		{"the same while it still runs", wire.Anthropic, anthropicBody(says("user", "q"),
			`{"role":"assistant","content":[{"type":"server_tool_use","id":"srvtoolu_1","name":"code_execution","input":{}},`+ptc("t1", "srvtoolu_1")+`]}`, result("t1"),
			`{"role":"assistant","content":[`+ptc("t2", "srvtoolu_1")+`]}`, result("t2")),
			[]string{`"server_tool_use"`, `"t2"`}, nil},
		{"words behind a reminder", wire.Anthropic, anthropicBody(says("user", "old"), says("assistant", "x"),
			says("user", "<system-reminder>ctx</system-reminder>\n\nFix the bug"),
			`{"role":"assistant","content":[{"type":"tool_use","id":"t1","name":"f","input":{}}]}`, result("t1"),
			`{"role":"assistant","content":[{"type":"tool_use","id":"t2","name":"f","input":{}}]}`, result("t2")),
			[]string{"Fix the bug"}, nil},
		{"a reminder of its own, escaped as Go escapes", wire.Anthropic, anthropicBody(says("user", "Fix the bug"),
			`{"role":"assistant","content":[{"type":"tool_use","id":"t1","name":"f","input":{}}]}`,
			`{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"r"},{"type":"text","text":"\n\u003csystem-reminder\u003edo\u003c/system-reminder\u003e\n"}]}`,
			`{"role":"assistant","content":[{"type":"tool_use","id":"t2","name":"f","input":{}}]}`, result("t2")),
			[]string{"Fix the bug"}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := protocols.Of(c.format)
			if problems := p.Judge([]byte(c.body)); len(problems) > 0 && problems[0].Code != strict.OpenEnd {
				t.Fatalf("the history itself: %v", problems)
			}
			b, err := wire.Read([]byte(c.body), wire.Auto, wire.Limits{})
			if err != nil || b.Format != c.format {
				t.Fatalf("%v, format %v", err, b.Format)
			}
			cuts := chat.NewCuts(b.Messages, b.Rules())
			if len(cuts.Problems) > 0 {
				t.Fatalf("called broken: %v\n%s", cuts.Problems, list(cuts.Exchanges))
			}
			n := len(cuts.Exchanges)
			for set := range 1 << n {
				want := make([]bool, n)
				for i := range want {
					want[i] = set>>i&1 == 1
				}
				keep := cuts.Keep(want)
				raw, err := b.Write(b.Select(cuts.Messages(keep)))
				if err != nil {
					t.Fatal(err)
				}
				out := string(raw)
				if problems := p.Judge(raw); len(problems) > 0 {
					t.Fatalf("%v: %v\n%s", keep, problems[0], list(cuts.Exchanges))
				}
				for _, s := range c.stays {
					if !strings.Contains(out, s) {
						t.Fatalf("%v: %s left\n%s", keep, s, list(cuts.Exchanges))
					}
				}
				found := 0
				for _, s := range c.together {
					if strings.Contains(out, s) {
						found++
					}
				}
				if found != 0 && found != len(c.together) {
					t.Fatalf("%v: only %d of %v", keep, found, c.together)
				}
			}
		})
	}
}

// A run in which the provider runs the tools itself can be cut between its steps.
// SPEC E1.
func TestLongHostedLoopIsCuttable(t *testing.T) {
	items := []string{says("user", "q")}
	for i := range 200 {
		items = append(items, fmt.Sprintf(`{"type":"reasoning","id":"rs_%d","summary":[]}`, i),
			fmt.Sprintf(`{"type":"mcp_call","id":"m%d","name":"f","arguments":"{}","output":"o","server_label":"s"}`,
				i))
	}
	items = append(items, `{"type":"message","role":"assistant","content":[{"type":"output_text","text":"done"}]}`,
		says("user", "next"))
	data := []byte(responsesBody(items...))
	b, err := wire.Read(data, wire.Responses, wire.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	cuts := chat.NewCuts(b.Messages, b.Rules())
	if len(cuts.Exchanges) < 200 {
		t.Fatalf("%d exchanges", len(cuts.Exchanges))
	}
	want := make([]bool, len(cuts.Exchanges))
	for i := range want {
		want[i] = i%7 == 0
	}
	out, err := b.Write(b.Select(cuts.Messages(cuts.Keep(want))))
	if err != nil {
		t.Fatal(err)
	}
	if problems := strict.Responses(out); len(problems) > 0 || len(out) > len(data)/2 {
		t.Fatalf("%v, %d bytes of %d", problems, len(out), len(data))
	}
}

// Servers take each other's fields; a call has only one form.
func TestDetectGoesByTheMessages(t *testing.T) {
	for body, want := range map[string]wire.Format{
		`{"model":"glm-4.6","thinking":{"type":"enabled"},"messages":[{"role":"assistant","tool_calls":[]}]}`: wire.Chat,
		`{"model":"x","stop":["a"],"messages":[{"role":"user","content":[{"type":"tool_result"}]}]}`:          wire.Anthropic,
		`{"model":"claude-x","messages":[{"role":"user","content":"a"}]}`:                                     wire.Anthropic,
		`{"model":"x","system":"s","messages":[{"role":"user","content":"a"}]}`:                               wire.Anthropic,
		`{"model":"x","messages":[{"role":"user","content":"a"}]}`:                                            wire.Chat,
		`{"prompt":"x"}`:        wire.Auto,
		`{"prompt":{"id":"p"}}`: wire.Responses,
		`{"conversation":null}`: wire.Auto,
		`{"question":"q"}`:      wire.Trajectories,
	} {
		if got, err := wire.Detect([]byte(body), wire.Limits{}); err != nil || got != want {
			t.Errorf("%s: %v, %v, want %v", body, got, err, want)
		}
	}
}

// Batches and ids of any number are paired in time that follows their length.
func TestHugeBatchesArePaired(t *testing.T) {
	if testing.Short() {
		t.Skip("computes for long, and nothing beside it")
	}
	const n = 100_000
	msgs := []chat.Message{{Role: chat.User, Parts: []chat.Part{{Kind: chat.Text, Text: chat.Quote("q")}}},
		{Role: chat.Assistant}, {Role: chat.User}}
	for i := range n {
		id := fmt.Sprint(i)
		msgs[1].Parts = append(msgs[1].Parts, chat.Part{Kind: chat.Call, ID: id})
		msgs[2].Parts = append(msgs[2].Parts, chat.Part{Kind: chat.Result, ID: id})
	}
	for i := range n { // calls in a run, results in a run
		msgs = append(msgs, chat.Message{Role: chat.Assistant,
			Parts: []chat.Part{{Kind: chat.Call, ID: fmt.Sprint("b", i)}}})
	}
	for i := range n {
		msgs = append(msgs,
			chat.Message{Role: chat.User, Parts: []chat.Part{{Kind: chat.Result, ID: fmt.Sprint("b", i)}}})
	}
	for range n { // the provider's own, never answered
		msgs = append(msgs, chat.Message{Role: chat.Assistant,
			Parts: []chat.Part{{Kind: chat.Call, ID: "h", Hosted: true}}},
			chat.Message{Role: chat.User, Parts: []chat.Part{{Kind: chat.Text, Text: chat.Quote("q")}}})
	}
	ex, problems := chat.Split(msgs, chat.Rules{ResultsFollow: true, RunsMerge: true})
	if len(ex) != 2*n+3 || len(problems) != n {
		t.Errorf("%d exchanges, %d problems", len(ex), len(problems))
	}
}
