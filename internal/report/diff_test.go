package report_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/oriel-context/oriel/internal/report"
)

// differences writes the changes between two bodies, one a line.
func differences(t *testing.T, before, after string) (out []string) {
	t.Helper()
	changes, err := report.Diff([]byte(before), []byte(after))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range changes {
		out = append(out, strings.TrimSpace(fmt.Sprintf("%s %s %s %d→%d %s", c.Op, c.Role, c.Name, c.TokensBefore,
			c.Tokens, c.Text)))
		for _, l := range c.Lines {
			out = append(out, fmt.Sprintf("  %s %s", l.Op, l.Text))
		}
	}
	return out
}

// Every member of the body is compared: fields by name, with both values.
func TestDiffComparesEveryField(t *testing.T) {
	got := differences(t,
		`{"model":"gpt-4o","temperature":0.2,"seed":1,"max_tokens":5,"messages":[{"role":"user","content":"hi"}]}`,
		`{"model":"gpt-4o-mini","max_tokens":5,"temperature":0.7,"user":"me","messages":[{"role":"user","content":"hi"}]}`)
	want := []string{
		`changed field model 0→0 "gpt-4o-mini"`, `  removed "gpt-4o"`, `  added "gpt-4o-mini"`,
		`removed field seed 0→0 1`,
		`changed field temperature 0→0 0.7`, `  removed 0.2`, `  added 0.7`,
		`added field user 0→0 "me"`,
		`same user  0→1 hi`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// The system prompt is compared by parts and tools by name, without their cache marks, line by
// line and with their tokens.
func TestDiffOfSystemPromptAndTools(t *testing.T) {
	body := func(system, tools string) string {
		return `{"model":"claude-sonnet-4-5","max_tokens":5,"system":[` + system + `],"tools":[` + tools +
			`],"messages":[{"role":"user","content":"hi"}]}`
	}
	foo := `{"name":"Foo","description":"Reads.\nOne file.","input_schema":{"type":"object"}`
	got := differences(t,
		body(`{"type":"text","text":"You are A.\nBe brief."},{"type":"text","text":"The end."}`,
			foo+`},{"name":"Old","input_schema":{}},{"name":"Bar","input_schema":{}}`),
		body(`{"type":"text","text":"You are B.\nBe brief."},{"type":"text","text":"The end.","cache_control":{"type":"ephemeral"}}`,
			strings.Replace(foo, "One file", "Two files", 1)+
				`},{"name":"Bar","input_schema":{},"cache_control":{"type":"ephemeral"}}`))
	want := []string{
		`changed system 1 7→7 You are B. Be brief.`, `  removed You are A.`, `  added You are B.`,
		`changed tool Foo 17→17 Reads. Two files.`, `  removed One file.",`, `  added Two files.",`,
		`removed tool Old 0→10`,
		`same user  0→1 hi`,
	}
	numbers := func(lines []string) (out []string) { // how a tool counts is not the subject
		for _, l := range lines {
			if fields := strings.Fields(l); strings.HasPrefix(l, "changed tool") ||
				strings.HasPrefix(l, "removed tool") {
				if strings.HasSuffix(fields[3], "→0") {
					t.Errorf("no tokens: %s", l)
				}
				l = strings.Replace(l, fields[3], "n", 1)
			}
			out = append(out, l)
		}
		return out
	}
	if diff := cmp.Diff(numbers(want), numbers(got)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A message that was shortened is one change, with the lines that changed. One with another
// call is another message.
func TestDiffOfChangedMessages(t *testing.T) {
	body := func(text, id string) string {
		return fmt.Sprintf(`{"model":"claude-sonnet-4-5","max_tokens":5,"messages":[{"role":"user","content":"Read it."},{"role":"assistant","content":[{"type":"tool_use","id":%[2]q,"name":"Read","input":{}}]},`+
			`{"role":"user","content":[{"type":"tool_result","tool_use_id":%[2]q,"content":%[1]q}]}]}`, text, id)
	}
	got := differences(t, body("one\ntwo\nthree\nfour", "t1"), body("one\n[Oriel left out 2 lines]\nfour", "t1"))
	want := []string{
		"same user  0→5 Read it.", "changed tool  7→12 ← one\n[Oriel left out 2 lines]\nfour",
		"  removed two", "  removed three", "  added [Oriel left out 2 lines]",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, line := range differences(t, body("one", "t1"), body("one", "t2")) {
		if strings.HasPrefix(line, "changed") {
			t.Error(line)
		}
	}
}

// White space between values makes no difference, a comma in a text does, and a message that
// was changed at its beginning is known by its end.
func TestDiffOfSmallChanges(t *testing.T) {
	got := differences(t,
		`{"model":"m","max_tokens":5,"metadata":{"a":1},"system":"Reply in French,","messages":[{"role":"user","content":"alpha, beta,\nand all the words that follow it"},{"role":"assistant","content":"yes"}]}`,
		`{"model":"m","max_tokens":5,"metadata":{ "a": 1 },"system":"Reply in French","messages":[{"role":"user","content":"alpha, beta\nand all the words that follow it"},{"role": "assistant", "content": "yes"}]}`)
	want := []string{
		"changed system  4→3 Reply in French", "  removed Reply in French,", "  added Reply in French",
		"changed user  11→11 alpha, beta\nand all the words that follow it", `  removed   "content": "alpha, beta,`,
		`  added   "content": "alpha, beta`,
		"same assistant  0→1 yes",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
