package agents

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/oriel-context/oriel/internal/test/fakemodel"
	"github.com/oriel-context/oriel/wire"
)

func TestKindsOfCalls(t *testing.T) {
	const (
		tools    = `"tools":[{"name":"Bash","input_schema":{}}]`
		more     = `{"role":"user","content":"Go on."}`
		asked    = `{"role":"user","content":"` + question + `"}`
		wanted   = `{"role":"user","content":"Please create a detailed summary of it."}`
		rules    = `{"role":"system","content":"Rules."}`
		note     = `{"role":"user","content":"<info-msg>12:00</info-msg>"}`
		briefly  = `{"role":"system","content":"*Briefly* summarize this partial conversation about programming."}`
		remember = `{"role":"system","content":"You are a managed memory extraction subagent."}`
	)
	for name, c := range map[string]struct {
		chat bool
		body string
		want kind
	}{
		"a turn": {body: `{"messages":[` + more + `],` + tools + `}`, want: turn},
		"a turn of Chat": {body: `{"messages":[` + more +
			`],"tools":[{"type":"function","function":{"name":"bash"}}]}`, want: turn},
		"a title":                     {body: `{"messages":[` + more + `]}`, want: aside},
		"talk":                        {chat: true, body: `{"messages":[` + more + `]}`, want: turn},
		"the question":                {body: `{"messages":[` + more + `,` + asked + `],` + tools + `}`, want: asks},
		"the question, rules behind":  {chat: true, body: `{"messages":[` + asked + `,` + rules + `]}`, want: asks},
		"the question, a note behind": {body: `{"input":[` + asked + `,` + note + `],` + tools + `}`, want: asks},
		"a question asked before":     {body: `{"messages":[` + asked + `,` + more + `],` + tools + `}`, want: turn},
		"another session": {body: `{"messages":[{"role":"user","content":"` + another + `"}],` + tools +
			`}`, want: other},
		"a summary": {body: `{"messages":[` + more + `,` + more + `,` + wanted + `],` + tools + `}`,
			want: summary},
		"a summary of a text": {body: `{"messages":[` + briefly + `,` + more + `]}`, want: summary},
		"a summary before a reminder": {body: `{"messages":[` + more + `,` + more + `,` + wanted +
			`,{"role":"system","content":"Be brief."}],` + tools + `}`, want: summary},
		"a summary asked for before": {body: `{"messages":[` + wanted + `,` + more + `,` + more + `],` + tools + `}`,
			want: turn},
		"a compaction of Codex": {body: `{"input":[` + more + `,` + more + `,{"type":"compaction_trigger"}]}`,
			want: summary},
		"an agent that remembers": {body: `{"messages":[` + remember + `,` + more + `,` + more + `],` + tools + `}`,
			want: aside},
		"not a body":              {body: `[]`, want: aside},
		"a body without messages": {body: `{"model":"gpt-5"}`, want: aside},
	} {
		model := talk{chat: c.chat}
		if got := model.kind([]byte(c.body)); got != c.want {
			t.Errorf("%s: kind %d, want %d", name, got, c.want)
		}
	}
}

// TestTheModelCallsEveryShell checks the arguments of calls against what tools require.
func TestTheModelCallsEveryShell(t *testing.T) {
	for function, want := range map[string]string{
		`{"name":"run_commands","parameters":{"required":["commands"]}}`:          `{"commands":["cat parts/1.txt"]}`,
		`{"name":"bash","parameters":{"required":["command","description"]}}`:     `{"command":"cat parts/1.txt","description":"Print part 1"}`,
		`{"name":"run_shell_command","parameters":{"properties":{"command":{}}}}`: `{"command":"cat parts/1.txt"}`,
	} {
		raw := `{"model":"gpt-5","messages":[{"role":"user","content":"Go on."}],"tools":[{"type":"function","function":` + function + `}]}`
		body, err := wire.Read([]byte(raw), wire.Chat, wire.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		model := talk{parts: 1}
		a := model.answer(&fakemodel.Request{Body: body})
		if len(a.Calls) != 1 || a.Calls[0].Arguments != want {
			t.Errorf("%s: calls %v, want %s", function, a.Calls, want)
		}
		if a = model.answer(&fakemodel.Request{Body: body}); len(a.Calls) != 0 || a.Text == "" {
			t.Errorf("%s: after the last part: %+v", function, a)
		}
	}
}

// judged returns what judge says about calls; the conversations are those of list.
func judged(p program, calls []programCall, list continued) []string {
	s := &seat{program: &p, model: &talk{parts: p.parts, step: p.parts}, calls: calls}
	for _, c := range calls {
		if c.kind == summary {
			s.model.summaries++
		}
	}
	s.judge(list)
	return s.problems
}

func TestJudgeOfASession(t *testing.T) {
	body := func(text string) []byte {
		raw, _ := json.Marshal(map[string]any{"messages": []any{map[string]string{"role": "user", "content": text}}})
		return raw
	}
	small, large := body("short"), body(strings.Repeat("long ", 1000))
	list := continued{"a": "", "a~2": "a", "b": ""}
	p := program{budget: 1000, asked: 1, compacts: true}
	good := []programCall{
		{kind: turn, came: large, sent: small, conversation: "a"},
		{kind: summary, came: large, sent: large, conversation: "a"},
		{kind: aside, came: small, sent: small, conversation: "b"},
		{kind: asks, came: body(question), sent: body(question + needle), conversation: "a~2"},
		{kind: other, came: small, sent: small, conversation: "b"},
	}
	if problems := judged(p, good, list); len(problems) > 0 {
		t.Errorf("a good session: %q", problems)
	}
	for want, change := range map[string]func(calls []programCall) []programCall{
		"did not arrive":                  func(c []programCall) []programCall { c[0].sent = nil; return c },
		"was not recorded":                func(c []programCall) []programCall { c[0].conversation = ""; return c },
		"asks for a summary":              func(c []programCall) []programCall { c[1].sent = small; return c },
		"asks for the fact, which is not": func(c []programCall) []programCall { c[3].sent = c[3].came; return c },
		"one session is 2":                func(c []programCall) []programCall { c[3].conversation = "b"; return c },
		"tokens, with a budget of":        func(c []programCall) []programCall { c[0].sent = large; return c },
		"asked for the fact 0 times":      func(c []programCall) []programCall { return c[:3] },
		"did not ask for a summary":       func(c []programCall) []programCall { return slices.Delete(c, 1, 2) },
		"a block of thinking that was not th": func(c []programCall) []programCall {
			c[0].sent = []byte(
				`{"messages":[{"role":"assistant","content":[{"type":"thinking","thinking":"Hm.","signature":"eA=="}]}]}`)
			return c
		},
	} {
		problems := judged(p, change(slices.Clone(good)), list)
		if !strings.Contains(fmt.Sprint(problems), want) {
			t.Errorf("want a problem that says %q: %q", want, problems)
		}
	}
}

func TestProgramsAreChosenByTheirBeginning(t *testing.T) {
	chosen, err := choosePrograms([]string{"codex", "qwen"})
	var names []string
	for _, p := range chosen {
		names = append(names, p.name)
	}
	if want := []string{"codex", "codex-compact", "codex-websocket", "codex-websocket-compact", "qwen"}; err != nil ||
		!slices.Equal(names, want) {
		t.Errorf("chosen %q, %v, want %q", names, err, want)
	}
	if _, err := choosePrograms([]string{"code"}); err == nil || !strings.Contains(err.Error(), "goose") {
		t.Errorf("an unknown program: %v, want an error with the known ones", err)
	}
	for _, p := range programs {
		if v := p.version(); v == "" || strings.ContainsAny(v, "@=/") {
			t.Errorf("%s: version %q", p.name, v)
		}
	}
}

func TestAScreenHasWhatIsDrawnBesideASpinner(t *testing.T) {
	w := &watched{}
	w.b.WriteString("\x1b[2;1HThat was in the third      \x1b[3;1H\u2819\x1b[2;24Hpart.\x1b[4;1H16,943")
	if !w.has("third part") || w.has("part third") {
		t.Errorf("%q", w.text())
	}
}
