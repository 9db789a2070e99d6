package transcript

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/oriel-context/oriel/internal/test/strict"
)

// history gives the messages or input of a body, as written.
func history(t *testing.T, body []byte) string {
	t.Helper()
	var b struct {
		Messages, Input json.RawMessage
	}
	if err := json.Unmarshal(body, &b); err != nil {
		t.Fatalf("%v in %s", err, body)
	}
	return string(b.Messages) + string(b.Input)
}

func open(t *testing.T, path string) []*Session {
	t.Helper()
	sessions, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	return sessions
}

const (
	listFiles = `{"role":"user","content":"List the files, caf\u00e9 first"}`
	bothCalls = `{"role":"assistant","content":[{"type":"text","text":"\n\n"},{"type":"thinking","thinking":"hm","signature":""},` +
		`{"type":"tool_use","id":"t1","name":"Bash","input":{"n":1.0}},{"type":"tool_use","id":"t2","name":"Skill","input":{}}]}`
	bothResults = `{"role":"user","content":[{"tool_use_id":"t1","type":"tool_result","content":"a.go"},` +
		`{"tool_use_id":"t2","type":"tool_result","content":[{"type":"text","text":"on"}]},{"type":"text","text":"What the skill says"}]}`
	done = `{"role":"assistant","content":[{"type":"text","text":"Done."}]}`
)

func TestClaudeCodeBodiesAreWhatTheAgentSends(t *testing.T) {
	s := open(t, "testdata/session.jsonl")[0]
	type call struct {
		ID, Model, Messages, Reply string
		Usage                      Usage
		History                    int
	}
	want := []call{
		{"m1", "claude-a", "[" + listFiles + "]", bothCalls, Usage{10, 100, 5, 30}, 0},
		{"m2", "claude-a", "[" + listFiles + "," + bothCalls + "," + bothResults + "]", done, Usage{3, 0, 0, 4}, 0},
		// A reply of nothing but thinking was broken off and is not sent again.
		{"m3", "claude-b", "[" + listFiles + "," + bothCalls + "," + bothResults + "," + done +
			`,{"role":"user","content":"Go on"}]`, "", Usage{}, 0},
		// The person went back to before that and said something else.
		{"m4", "claude-b", "[" + listFiles + "," + bothCalls + "," + bothResults + "," + done +
			`,{"role":"user","content":"Go back and stop"}]`,
			`{"role":"assistant","content":[{"type":"text","text":"Stopped."}]}`, Usage{}, 0},
		{"m5", "claude-b", `[{"role":"user","content":"The summary"}]`,
			`{"role":"assistant","content":[{"type":"text","text":"I see."}]}`, Usage{}, 1},
	}
	var got []call
	for r := range s.Requests() {
		got = append(got, call{r.ID, r.Model, history(t, r.Body), string(r.Reply), r.Usage, r.History})
		if p := (strict.Options{BlankSignatures: true, NoPrefill: true}).Anthropic(r.Body); len(p) > 0 {
			t.Errorf("%s: %v", r.ID, p)
		}
		if !bytes.Contains(r.Body, []byte(`"model":"`+r.Model+`"`)) {
			t.Errorf("%s: the body is for another model", r.ID)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if want := []string{"Bash", "Skill"}; !slices.Equal(s.Tools, want) || s.Calls() != 5 {
		t.Errorf("tools %v, calls %d", s.Tools, s.Calls())
	}
}

func TestAPersonMayGoBackTwice(t *testing.T) {
	lines := []string{
		`{"type":"user","uuid":"u1","message":{"content":"one"}}`,
		`{"type":"assistant","uuid":"a1","parentUuid":"u1","message":{"id":"m1","content":[{"type":"text","text":"1"}]}}`,
		`{"type":"user","uuid":"u2","parentUuid":"a1","message":{"content":"two"}}`,
		`{"type":"assistant","uuid":"a2","parentUuid":"u2","message":{"id":"m2","content":[{"type":"text","text":"2"}]}}`,
		`{"type":"user","uuid":"u3","parentUuid":"a1","message":{"content":"three"}}`,
		`{"type":"assistant","uuid":"a3","parentUuid":"u3","message":{"id":"m3","content":[{"type":"text","text":"3"}]}}`,
		// Back to the branch that was left.
		`{"type":"user","uuid":"u4","parentUuid":"a2","message":{"content":"four"}}`,
		`{"type":"assistant","uuid":"a4","parentUuid":"u4","message":{"id":"m4","content":[{"type":"text","text":"4"}]}}`,
	}
	s, err := ClaudeCode("x", strings.NewReader(strings.Join(lines, "\n")))
	if err != nil {
		t.Fatal(err)
	}
	var prompts []string
	for r := range s.Requests() {
		var b struct{ Messages []struct{ Role, Content any } }
		if err := json.Unmarshal(r.Body, &b); err != nil {
			t.Fatal(err)
		}
		var said []string
		for _, m := range b.Messages {
			if text, ok := m.Content.(string); ok {
				said = append(said, text)
			}
		}
		prompts = append(prompts, strings.Join(said, " "))
	}
	if want := []string{"one", "one two", "one three", "one two four"}; !slices.Equal(prompts, want) {
		t.Errorf("got %q, want %q", prompts, want)
	}
}

func TestBodiesCanBeTakenTwice(t *testing.T) {
	s := open(t, "testdata/session.jsonl")[0]
	var first, second []string
	for r := range s.Requests() {
		first = append(first, string(r.Body))
	}
	for r := range s.Requests() {
		second = append(second, string(r.Body))
		if len(second) == 3 {
			break
		}
	}
	if diff := cmp.Diff(first[:3], second); diff != "" {
		t.Error(diff)
	}
}

func TestOnlyTheLastLineMayBeBroken(t *testing.T) {
	_, err := ClaudeCode("x", strings.NewReader("{\"type\":\"user\"\n{}"))
	if err == nil || !strings.Contains(err.Error(), "line 1") {
		t.Errorf("got %v", err)
	}
	_, err = ClaudeCode("x", strings.NewReader(`{"type":"assistant","message":{"content":5}}`))
	if err == nil {
		t.Error("a content that is none was read")
	}
}

func TestTauBenchRunsInBothFormats(t *testing.T) {
	s := open(t, "testdata/runs.json")[0]
	raw, err := os.ReadFile("testdata/runs.json")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for r := range s.Requests() {
		n++
		if p := strict.Chat(r.Body); len(p) > 0 {
			t.Errorf("call %d: %v", n, p)
		}
		// The messages are the file's bytes.
		if !bytes.Contains(raw, r.Reply) {
			t.Errorf("call %d: reply %s", n, r.Reply)
		}
	}
	if n != 3 {
		t.Errorf("%d calls", n)
	}

	turned, err := s.AsResponses()
	if err != nil {
		t.Fatal(err)
	}
	last := ""
	for r := range turned.Requests() {
		last = history(t, r.Body)
		if p := strict.Responses(r.Body); len(p) > 0 {
			t.Errorf("%v in %s", p, r.Body)
		}
	}
	want := `[{"type":"message","role":"system","content":"Be brief."},` +
		`{"type":"message","role":"user","content":"Where is my parcel? \u00e9"},` +
		`{"type":"function_call","call_id":"c","name":"find","arguments":"{\"id\": 1}"},` +
		`{"type":"function_call_output","call_id":"c","output":"on its way"},` +
		`{"type":"message","role":"assistant","content":[{"type":"output_text","text":"One more look."}]},` +
		`{"type":"function_call","call_id":"c_2","name":"find","arguments":"{}"},` +
		`{"type":"function_call_output","call_id":"c_2","output":"arrived"}]`
	if diff := cmp.Diff(want, last); diff != "" {
		t.Error(diff)
	}
	if _, err := turned.AsResponses(); err == nil {
		t.Error("a Responses session was turned again")
	}
}

func TestOpenFindsRecordingsInFolders(t *testing.T) {
	var names []string
	for _, s := range open(t, "testdata/folder") {
		names = append(names, s.Name)
	}
	if want := []string{"a", "runs#0"}; !slices.Equal(names, want) {
		t.Errorf("got %v, want %v", names, want)
	}
	if _, err := Open(filepath.Join("testdata", "folder", "other.json")); !errors.Is(err, ErrUnknown) {
		t.Errorf("a file that is no recording: %v", err)
	}
	if _, err := Open(t.TempDir()); !errors.Is(err, ErrUnknown) {
		t.Errorf("an empty folder: %v", err)
	}
	if _, err := Open("testdata/none"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
}

func TestTheEndOfAnOpenSessionIsNotLost(t *testing.T) {
	s := open(t, "testdata/folder/a.jsonl")[0]
	if s.Calls() != 2 {
		t.Errorf("%d calls", s.Calls())
	}
}

func FuzzReadersNeverPanic(f *testing.F) {
	for _, file := range []string{"testdata/session.jsonl", "testdata/runs.json"} {
		raw, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(raw)
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		var sessions []*Session
		if s, err := ClaudeCode("x", bytes.NewReader(raw)); err == nil {
			sessions = append(sessions, s)
		}
		if list, err := TauBench("x", bytes.NewReader(raw)); err == nil {
			sessions = append(sessions, list...)
		}
		for _, s := range sessions {
			for r := range s.Requests() {
				if !json.Valid(r.Body) {
					t.Fatalf("not JSON: %s", r.Body)
				}
			}
			if turned, err := s.AsResponses(); err == nil {
				for r := range turned.Requests() {
					if !json.Valid(r.Body) {
						t.Fatalf("not JSON: %s", r.Body)
					}
				}
			}
		}
	})
}

func BenchmarkRequests(b *testing.B) {
	s := &Session{Format: Anthropic}
	message := concat(`{"role":"user","content":"`, bytes.Repeat([]byte("x"), 2000), `"}`)
	for range 500 {
		s.steps = append(s.steps, step{kind: says, raw: message}, step{kind: calls})
	}
	for b.Loop() {
		n := 0
		for r := range s.Requests() {
			n += len(r.Body)
		}
		b.SetBytes(int64(n))
	}
}
