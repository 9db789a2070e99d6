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
		"a turn of Gemini": {body: `{"contents":[{"role":"user","parts":[{"text":"Go on."}]}],` +
			`"tools":[{"functionDeclarations":[{"name":"read_part"}]}]}`, want: turn},
		"the question to Gemini":  {body: `{"contents":[{"role":"user","parts":[{"text":"` + question + `"}]}]}`, want: asks},
		"the question as a text":  {body: `{"input":"` + question + `"}`, want: asks},
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
		`{"name":"read_part","parameters":{"required":["k"]}}`:                    `{"k":1}`,
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
}

func TestRowsAreWhole(t *testing.T) {
	seen := map[string]bool{}
	for _, p := range slices.Concat(programs, others) {
		if seen[p.name] || p.title == "" || p.api == "" || p.set == "" || (p.bin == "") == (p.script == "") {
			t.Errorf("%s: the row is not whole, or there are two: %+v", p.name, p)
		}
		seen[p.name] = true
		if v := p.version(); v == "" || strings.ContainsAny(v, "@=/") {
			t.Errorf("%s: version %q", p.name, v)
		}
		if file, _, _ := strings.Cut(p.script, " "); file != "" {
			if _, err := scripts.ReadFile("matrix/" + file); err != nil {
				t.Errorf("%s: %v", p.name, err)
			}
		}
	}
}

func TestPackagesAreSplit(t *testing.T) {
	for one, want := range map[string][2]string{
		"@scope/name@1.2": {"@scope/name", "1.2"}, "name[a,b]==1.2": {"name", "1.2"}, "@scope/name": {"@scope/name", ""},
		"name[a]": {"name", ""},
	} {
		if name, version := splitPackage(one); name != want[0] || version != want[1] {
			t.Errorf("%s: %q, %q, want %q", one, name, version, want)
		}
	}
	p := program{npm: "a@1 @b/c@2"}.of("@b/c")
	if v := p.version(); v != "2" {
		t.Errorf("version %q, want that of the main package", v)
	}
}

// TestTheModelEndsAsProgramsAsk checks the ways in which agents want to hear that the work is done.
func TestTheModelEndsAsProgramsAsk(t *testing.T) {
	for _, c := range []struct{ tool, text, want string }{
		{tool: "read_part", want: "Ready."},
		{tool: "final_answer", want: `{"answer":"Ready."}`},
		{tool: "bash", text: "COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT",
			want: `{"command":"echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"}`},
		{tool: "none", text: "[[ ## completed ## ]]", want: "[[ ## answer ## ]]\nReady.\n\n[[ ## completed ## ]]"},
	} {
		raw := fmt.Sprintf(`{"model":"gpt-5","messages":[{"role":"system","content":%q},{"role":"user","content":%q}],`+
			`"tools":[{"type":"function","function":{"name":%q}}]}`, c.text, another, c.tool)
		body, err := wire.Read([]byte(raw), wire.Chat, wire.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		a := (&talk{}).answer(&fakemodel.Request{Body: body})
		got := a.Text
		if len(a.Calls) > 0 {
			got = a.Calls[0].Arguments
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", c.tool, got, c.want)
		}
	}
}

func TestJudgeOfPrefixesAndReplies(t *testing.T) {
	body := func(texts ...string) []byte {
		var all []map[string]string
		for _, text := range texts {
			all = append(all, map[string]string{"role": "user", "content": strings.Repeat(text+" ", 300)})
		}
		raw, _ := json.Marshal(map[string]any{"messages": all})
		return raw
	}
	heard := func(text string) *watched {
		w := &watched{}
		_, _ = w.Write([]byte(text))
		return w
	}
	calls := []programCall{
		{kind: turn, came: body("a", "b"), sent: body("a", "b"), conversation: "x", said: heard("one"), heard: heard("one")},
		{kind: turn, came: body("a", "b", "c"), sent: body("b", "c"), conversation: "x", said: heard("two"),
			heard: heard("tw")},
	}
	s := &seat{program: &program{budget: 10_000}, model: &talk{}, calls: calls}
	s.judge(continued{})
	if s.breaks != 1 || s.own != 0 || s.replies != 2 || s.same != 2 ||
		!strings.Contains(fmt.Sprint(s.problems), "the beginning of a prompt changed 1 times") {
		t.Errorf("%+v: %q", s.results, s.problems)
	}
	calls[1].heard = heard("to")
	s = &seat{program: &program{budget: 10_000}, model: &talk{}, calls: calls, results: results{cuts: 1}}
	s.judge(continued{})
	if s.same != 1 || strings.Contains(fmt.Sprint(s.problems), "beginning") ||
		!strings.Contains(fmt.Sprint(s.problems), "call 2: the reply of 3 bytes") {
		t.Errorf("%+v: %q", s.results, s.problems)
	}
}

func TestProblemsAreExplainedTogether(t *testing.T) {
	s := &seat{program: &program{known: "is 2|a budget"}, problems: []string{"one is 2", "over a budget of 1"}}
	if !s.explained() {
		t.Error("known problems are not explained")
	}
	if s.problems = append(s.problems, "refused: all"); s.explained() {
		t.Error("an unknown problem is explained")
	}
	if s.program.known = ""; s.explained() {
		t.Error("without known problems, something is explained")
	}
}

func TestThePageSaysWhatWasSeen(t *testing.T) {
	text := string(page(map[string]row{
		"claude": {Name: "claude", Title: "Claude Code", Version: "2", API: "Messages", Set: "X", Calls: 3, Sessions: 1,
			Came: 9000, Sent: 7000, Budget: 8000, Cuts: 1, Breaks: 1, Asked: 1, Recalled: 1, Replies: 3, Same: 3,
			Usage: "yes", Date: "2026-11-20"},
		"codex": {Name: "codex", Title: "Codex", API: "Responses", Sessions: 2, Problems: []string{"refused: all"},
			Summaries: 2, Whole: 1},
		"goose": {Name: "goose", Title: "Goose", API: "Chat", Skipped: "no\nnetwork"},
	}))
	for _, want := range []string{
		"\n|Claude Code|2|Messages|`X`|3|yes|yes|9.0k→7.0k (1)|yes|yes|yes|–|yes|2026-11-20|\n",
		"\n|Codex||Responses|``|0|**no**|**no**|", "|1/2|", "- Codex (Responses) failed: refused: all.\n",
		"- Goose (Chat): no network.\n", "- Kilo CLI (Messages): was not run.\n", "\n2 programs and ways",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the page lacks %q:\n%s", want, text)
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
