package wire_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/wire"
)

const flat = `{
  "question": "Will it rain in Troms\u00f8?", "seed": 1.0,
  "thought_1": "look", "tool_1": "weather", "tool_args_1": {"city": "Troms\u00f8"}, "tool_result_1": "sun",
  "thought_3": "sure?", "tool_3": "radar", "tool_args_3": {}, "tool_result_3": {"mm": 0},
  "tool_result_2": "cloud", "thought_2": "again", "tool_2": "weather", "tool_args_2": "{}",
  "context_note": "[Note: 4 earlier]", "extra_9": true
}`

const dspy = `{"thought_0":"look","tool_name_0":"search","tool_args_0":{"q":"x"},"observation_0":"one",
 "thought_1":"done","tool_name_1":"finish","tool_args_1":{},"observation_1":"Completed."}`

func readTrajectory(t *testing.T, data string) *wire.Trajectory {
	t.Helper()
	tr, err := wire.ReadTrajectory([]byte(data), wire.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

// SPEC C4: both forms are read, in the order of their numbers.
func TestTrajectoryFormsAreRead(t *testing.T) {
	f := readTrajectory(t, flat)
	if f.Form != wire.Flat || f.Question.String() != "Will it rain in Tromsø?" ||
		f.Note.String() != "[Note: 4 earlier]" {
		t.Errorf("form %v, question %q, note %q", f.Form, f.Question, f.Note)
	}
	var got []string
	for i := range f.Steps {
		s := &f.Steps[i]
		got = append(got, string(s.Thought())+" "+string(s.Tool())+" "+string(s.Args())+" "+string(s.Result()))
	}
	want := []string{
		`"look" "weather" {"city": "Troms\u00f8"} "sun"`,
		`"again" "weather" "{}" "cloud"`,
		`"sure?" "radar" {} {"mm": 0}`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("steps (-want +got)\n%s", diff)
	}
	d := readTrajectory(t, dspy)
	if d.Form != wire.DSPy || len(d.Steps) != 2 || string(d.Steps[1].Result()) != `"Completed."` {
		t.Errorf("dspy: %v, %d steps", d.Form, len(d.Steps))
	}
	if f.Form.String() != "flat" || d.Form.String() != "dspy" {
		t.Errorf("names %q, %q", f.Form, d.Form)
	}
}

// SPEC C4: what is not changed is written as it came.
func TestTrajectoryUnchangedIsByteIdentical(t *testing.T) {
	for _, data := range []string{flat, dspy, `{"question":"q"}`, `{ "question" : "q" , "context_note":"n"}`} {
		tr := readTrajectory(t, data)
		if got := tr.Write(tr.Steps, nil); string(got) != data {
			t.Errorf("%s\nbecame\n%s", data, got)
		}
	}
}

// SPEC C2, C4: kept interactions are numbered anew in the base of the form that
// came in; everything else stays.
func TestTrajectoryIsRenumbered(t *testing.T) {
	f := readTrajectory(t, flat)
	steps := append(f.Steps[:1:1], f.Steps[2])
	got := f.Write(steps, chat.Quote("[Note: 5 earlier]"))
	var m map[string]any
	if err := json.Unmarshal(got, &m); err != nil {
		t.Fatalf("%v\n%s", err, got)
	}
	want := map[string]any{
		"question": "Will it rain in Tromsø?", "seed": 1.0, "extra_9": true, "context_note": "[Note: 5 earlier]",
		"thought_1": "look", "tool_1": "weather", "tool_args_1": map[string]any{"city": "Tromsø"},
		"tool_result_1": "sun",
		"thought_2":     "sure?", "tool_2": "radar", "tool_args_2": map[string]any{},
		"tool_result_2": map[string]any{"mm": 0.0},
	}
	if diff := cmp.Diff(want, m); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if !bytes.Contains(got, []byte(`"seed": 1.0`)) || !bytes.Contains(got, []byte(`Troms\u00f8`)) {
		t.Errorf("values were re-encoded: %s", got)
	}
	d := readTrajectory(t, dspy)
	if got := d.Write(d.Steps[1:], nil); !bytes.Contains(got, []byte(`"observation_0": "Completed."`)) {
		t.Errorf("dspy counts from 0: %s", got)
	}
	one := d.Steps[0]
	one.SetResult([]byte(`"cut"`))
	if got := d.Write([]wire.Step{one, d.Steps[1]}, nil); !bytes.Contains(got, []byte(`"observation_0": "cut"`)) ||
		string(d.Steps[0].Result()) != `"one"` {
		t.Errorf("SetResult: %s, original %s", got, d.Steps[0].Result())
	}
}

// A trajectory counts as the conversation that it was.
func TestTrajectoryAsConversation(t *testing.T) {
	r := readTrajectory(t, flat).Request()
	var got []string
	for i := range r.Messages {
		m := &r.Messages[i]
		line := string(m.Role)
		for j := range m.Parts {
			line += part(&m.Parts[j])
		}
		got = append(got, line)
	}
	want := []string{
		`user [text "Will it rain in Tromsø?"]`, `user [text "[Note: 4 earlier]"]`,
		`assistant [text "look"] [call id=step_1 name=weather args={"city": "Troms\u00f8"}]`,
		`tool [result id=step_1 "sun"]`,
		`assistant [text "again"] [call id=step_2 name=weather args={}]`, `tool [result id=step_2 "cloud"]`,
		`assistant [text "sure?"] [call id=step_3 name=radar args={}]`, `tool [result id=step_3 "{\"mm\": 0}"]`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if _, problems := chat.Split(r.Messages, chat.Rules{ResultsFollow: true}); len(problems) > 0 {
		t.Errorf("problems: %v", problems)
	}
}

// SPEC C4: DSPy's loop begins with nothing.
func TestAnEmptyTrajectoryIsRead(t *testing.T) {
	for _, data := range []string{`{}`, " { }\n"} {
		tr := readTrajectory(t, data)
		if out := tr.Write(tr.Steps, nil); len(tr.Steps) != 0 || string(out) != data {
			t.Errorf("%q: %d steps, written as %q", data, len(tr.Steps), out)
		}
	}
}

func TestBadTrajectoriesAreRefused(t *testing.T) {
	for data, want := range map[string]string{
		`{"messages":[]}`:                    "not a trajectory",
		`{"question":7}`:                     "question: want a string",
		`{"question":"q","context_note":[]}`: "context_note: want a string",
		`{"tool_1":"a","observation_0":"b"}`: "two forms",
		`{"question":"q"`:                    "not JSON",
		`["question"]`:                       "want an object",
		`[]`:                                 "want an object",
	} {
		if _, err := wire.ReadTrajectory([]byte(data), wire.Limits{}); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", data, err, want)
		}
	}
	// Numbers that nobody writes are names.
	tr := readTrajectory(t, `{"question":"q","thought_01":"x","thought_99999999999":"y","_1":"z","thought_1":"t"}`)
	if len(tr.Steps) != 1 || tr.Steps[0].Number != 1 {
		t.Errorf("steps %+v", tr.Steps)
	}
}
