package report_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/oriel-context/oriel/internal/report"
	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/timeline/memory"
	"github.com/oriel-context/oriel/token"
)

// add appends messages of one format to a conversation. A message is its role and its bytes.
func add(t *testing.T, s timeline.Store, name, format string, messages ...[2]string) {
	t.Helper()
	var at timeline.Place
	if c, err := s.Conversation(ctx, timeline.Local, name); err == nil {
		at = c.Head
	}
	change := timeline.Change{Conversation: name, At: at, Now: noon}
	for _, m := range messages {
		change.Messages = append(change.Messages, timeline.Message{Identity: timeline.HashOf([]byte(m[1])),
			Raw: []byte(m[1]), Format: format, Role: m[0], Time: noon})
	}
	if _, err := s.Apply(ctx, timeline.Local, change); err != nil {
		t.Fatal(err)
	}
}

func describer(s timeline.Store) *report.Describer {
	return &report.Describer{Store: s, Tenant: timeline.Local, Models: token.Builtin()}
}

func TestTitlesAreWhatPeopleSaidFirst(t *testing.T) {
	s := memory.New()
	const code = timeline.FormatClaudeCode
	add(t, s, "plain", timeline.FormatOpenAI, [2]string{"user", `{"role":"user","content":"  What is\n the port? "}`},
		[2]string{"user", `{"role":"user","content":"later"}`})
	add(t, s, "tagged", timeline.FormatAnthropic,
		[2]string{"user", `{"role":"user","content":[{"type":"text","text":"<system-reminder>x</system-reminder>"}]}`},
		[2]string{"user",
			`{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"no words of a person"}]}`},
		[2]string{"user", `{"role":"user","content":"[Request interrupted by user]"}`},
		[2]string{"user", `{"role":"user","content":"<command-name>/exit</command-name>"}`},
		[2]string{"user", `{"role":"user","content":"fix it \u001b[31mnow"}`})
	add(t, s, "compacted", timeline.FormatAnthropic,
		[2]string{"user",
			`{"role":"user","content":"This session is being continued from a previous conversation that ran out of context."}`},
		[2]string{"user", `{"role":"user","content":"go on with the port"}`})
	add(t, s, "named", code,
		[2]string{"user", `{"type":"user","message":{"role":"user","content":"first"}}`},
		[2]string{timeline.RoleMeta, `{"type":"custom-title","customTitle":"My own name"}`})
	codex := func(text string) [2]string {
		raw, _ := json.Marshal(map[string]any{"type": "message", "role": "user",
			"content": []any{map[string]string{"type": "input_text", "text": text}}})
		return [2]string{"user", string(raw)}
	}
	add(t, s, "codex", timeline.FormatResponses,
		codex("<user_instructions>\n\nAlways run the tests.\n\n</user_instructions>"),
		codex("# AGENTS.md instructions for /src/shop\n\n<INSTRUCTIONS>\nAlways run the tests.\n</INSTRUCTIONS>"),
		codex("<environment_context>\n  <cwd>/src/shop</cwd>"), // cut off
		codex("# Context from my IDE setup:\n\n## Open tabs:\n- a.go\n\n## My request for Codex:\nrename the button\n"))
	for range 20 {
		add(t, s, "renamed", code, [2]string{"user", `{"type":"user","message":{"role":"user","content":"first"}}`})
	}
	add(t, s, "renamed", code, [2]string{timeline.RoleMeta, `{"type":"custom-title","customTitle":"Named at the end"}`})
	late := slices.Repeat([][2]string{{"assistant", `{"role":"assistant","content":"Hello?"}`}}, 256)
	add(t, s, "late", timeline.FormatAnthropic,
		append(late, [2]string{"user", `{"role":"user","content":"At last!"}`})...)
	add(t, s, "late name", timeline.FormatAnthropic,
		append(late[:17], [2]string{"user", `{"role":"user","content":"now"}`})...)
	add(t, s, "late name", code,
		[2]string{timeline.RoleMeta, `{"type":"custom-title","customTitle":"Of another program"}`})
	add(t, s, "title", timeline.FormatAnthropic,
		[2]string{"user",
			`{"role":"user","content":[{"type":"text","text":"<session>\nRead all parts\n</session>\n\nWrite the title in the language the user wrote in."}]}`})
	add(t, s, "silent", timeline.FormatOpenAI, [2]string{"assistant", `{"role":"assistant","content":"Hello?"}`})
	list, err := report.Conversations(ctx, s, timeline.Local)
	if err != nil {
		t.Fatal(err)
	}
	all, err := describer(s).All(ctx, list)
	got := map[string]string{}
	for _, a := range all {
		got[a.ID] = a.Title
	}
	for i := range list { // every screen has the same title
		about, err := report.ReadAbout(ctx, s, timeline.Local, &list[i], token.Builtin())
		if err != nil || about.Title != got[list[i].Name] {
			t.Errorf("%s: Title is %q; About has %+v, %v", list[i].Name, got[list[i].Name], about, err)
		}
	}
	want := map[string]string{"plain": "What is the port?", "tagged": "fix it [31mnow",
		"compacted": "go on with the port", "named": "My own name", "renamed": "Named at the end", "silent": "",
		"title": "", "codex": "rename the button",
		"late": "", "late name": "now"}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	found, err := describer(s).All(ctx, list, "PORT", "go")
	if err != nil || len(found) != 1 || found[0].ID != "compacted" {
		t.Errorf("%v %v", found, err)
	}
}

// Calls that were recorded have their own usage; what a session says of itself is then left
// out, because it is about the same calls.
func TestCostsAreCountedOnce(t *testing.T) {
	s := memory.New()
	add(t, s, "both", timeline.FormatClaudeCode,
		[2]string{"assistant",
			`{"type":"assistant","message":{"role":"assistant","id":"m1","model":"claude-opus-4-5","content":"x","usage":{"input_tokens":1000000,"output_tokens":0}}}`})
	_, err := s.Apply(ctx, timeline.Local, timeline.Change{Conversation: "both", Stay: true, Now: noon,
		Put: []timeline.Record{
			{Kind: "call", Key: "import 1", At: timeline.Place{}, Data: []byte(`{"v":1,"model":"gpt-4o"}`)},
			{Kind: "call", Key: "c1", At: timeline.Place{},
				Data: []byte(`{"v":1,"model":"claude-sonnet-4-5","usage":{"input":1000,"output":1000}}`)},
			{Kind: "call", Key: "c2", At: timeline.Place{},
				Data: []byte(`{"v":1,"model":"house","usage":{"input":1000,"output":1000}}`)},
		}})
	if err != nil {
		t.Fatal(err)
	}
	list, _ := report.Conversations(ctx, s, timeline.Local)
	all, err := describer(s).All(ctx, list)
	if err != nil {
		t.Fatal(err)
	}
	a := all[0]
	if want := token.Builtin().Lookup("claude-sonnet-4-5").Prices.Cost(token.Usage{Input: 1000,
		Output: 1000}); a.Calls != 2 || a.Cost != want || a.Model != "house" || len(a.UnknownModels) != 1 ||
		a.Imported != 0 {
		t.Errorf("%d calls for %v, model %q, unpriced %q; want 2 for %v", a.Calls, a.Cost, a.Model, a.UnknownModels,
			want)
	}
}

// An imported conversation has the title and the model that its file gives it.
// A conversation that is deleted after it was listed has no title, and no error.
func TestTitleOfADeletedConversation(t *testing.T) {
	s := storeOf(t, "a")
	c, err := s.Conversation(ctx, timeline.Local, "a")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Delete(ctx, timeline.Local, "a", nil); err != nil {
		t.Fatal(err)
	}
	if title, err := report.Title(ctx, s, timeline.Local, &c); title != "" || err != nil {
		t.Errorf("%q, %v", title, err)
	}
}

func TestImportedConversationsHaveTheirOwnTitleAndModel(t *testing.T) {
	s := memory.New()
	add(t, s, "c", timeline.FormatOpenCode,
		[2]string{"user", `{"info":{"role":"user"},"parts":[{"type":"text","text":"Why?"}]}`},
		[2]string{"assistant",
			`{"info":{"role":"assistant","modelID":"house-1"},"parts":[{"type":"text","text":"So."}]}`})
	add(t, s, "aider", timeline.FormatAider,
		[2]string{timeline.RoleMeta, "> Main model: gpt-4o with diff edit format  "}, [2]string{"user", "#### Why?  "})
	title, err := timeline.TitleRecord(" A cause\n ")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Apply(ctx, timeline.Local, timeline.Change{Conversation: "c", Stay: true, Now: noon,
		Put: []timeline.Record{title}}); err != nil {
		t.Fatal(err)
	}
	list, _ := report.Conversations(ctx, s, timeline.Local)
	all, err := describer(s).All(ctx, list)
	got := map[string][2]string{}
	for i := range all {
		about, err := report.ReadAbout(ctx, s, timeline.Local, &list[i], token.Builtin())
		if err != nil || about.Title != all[i].Title {
			t.Errorf("the title is %+v or %q, %v", about, all[i].Title, err)
		}
		got[all[i].ID] = [2]string{all[i].Title, all[i].Model}
	}
	if diff := cmp.Diff(map[string][2]string{"c": {"A cause", "house-1"}, "aider": {"Why?", "gpt-4o"}},
		got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}
