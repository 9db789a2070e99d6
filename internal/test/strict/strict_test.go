package strict

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// ruleTest is a body that breaks the given rules and no others.
type ruleTest struct {
	name string
	body string
	want []string
}

func runRules(t *testing.T, judge func([]byte) []Problem, tests []ruleTest) {
	t.Helper()
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := judge([]byte(tt.body))
			if diff := cmp.Diff(tt.want, Codes(got)); diff != "" {
				t.Errorf("codes (-want +got):\n%s\nproblems: %v\nbody: %s", diff, got, tt.body)
			}
		})
	}
}

func TestProblemNamesItsPlace(t *testing.T) {
	if got := (Problem{OpenEnd, 3, "x"}).String(); got != "open-end at 3: x" {
		t.Errorf("got %q", got)
	}
	if got := (Problem{BadJSON, -1, "x"}).String(); got != "bad-json: x" {
		t.Errorf("got %q", got)
	}
}

func TestKeysAreMatchedExactly(t *testing.T) {
	body := `{"Model":"m","MESSAGES":[]}`
	if got := Codes(Chat([]byte(body))); !cmp.Equal(got, []string{MissingField}) {
		t.Errorf("got %v", got)
	}
}

func TestNoBodyMakesTheJudgePanic(t *testing.T) {
	pieces := []string{`null`, `1`, `""`, `"x"`, `[]`, `[1]`, `{}`, `[null]`, `[[]]`, `[{}]`, `[{"role":1}]`,
		`[{"role":"assistant","content":[null,1,{}]}]`, `[{"type":"reasoning"}]`,
		`[{"role":"assistant","tool_calls":[null]}]`,
		`[{"role":"assistant","content":[]},{"role":"user","content":[{"type":"tool_result"}]}]`}
	for _, p := range pieces {
		for _, body := range []string{p, `{"messages":` + p + `}`, `{"input":` + p + `}`,
			`{"model":"m","thinking":{"type":"enabled"},"tools":` + p + `,"system":` + p + `,"messages":` + p + `}`} {
			for _, judge := range []func([]byte) []Problem{Anthropic, Chat, Responses, Ollama} {
				judge([]byte(body))
			}
			SameThinking([]byte(body), []byte(body))
			BoundThinking([]byte(body), []byte(body))
			KeptReasoning([]byte(body), []byte(body))
		}
	}
}

func FuzzJudgesNeverPanic(f *testing.F) {
	f.Add([]byte(good(user("hi"))))
	f.Add([]byte(chatBody(`{"role":"user","content":"hi"}`)))
	f.Add([]byte(`{"input":[{"type":"reasoning","summary":[]}]}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		Anthropic(body)
		Chat(body)
		Responses(body)
		Ollama(body)
		if got := SameThinking(body, body); len(got) > 0 {
			t.Errorf("a body differs from itself: %v", got)
		}
		if got := KeptReasoning(body, body); len(got) > 0 {
			t.Errorf("a body differs from itself: %v", got)
		}
	})
}

func join(parts []string) string { return strings.Join(parts, ",") }
