package recording_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/oriel-context/oriel/internal/importer"
	"github.com/oriel-context/oriel/internal/report/replay/recording"
	"github.com/oriel-context/oriel/wire"
)

// script notes the steps of sessions as text.
type script struct {
	session *recording.Session
	steps   []string
	history []string
	calls   []recording.Call
	at      []int // the length of the history at each call
}

func (s *script) note(format string, args ...any) error {
	s.steps = append(s.steps, fmt.Sprintf(format, args...))
	return nil
}

func (s *script) Says(raw []byte) error {
	s.history = append(s.history, string(raw))
	return s.note("says %s", raw)
}

func (s *script) Calls(c recording.Call, reply [][]byte) error {
	s.calls, s.at = append(s.calls, c), append(s.at, len(s.history))
	return s.note("calls %s %s %d+%d+%d: %s", c.ID, c.Model, c.Usage.Input, c.Usage.CacheRead,
		c.Usage.CacheWrite+c.Usage.CacheWrite1h, strings.Join(strs(reply), " "))
}

func (s *script) Resets() error {
	s.history = nil
	return s.note("resets")
}

func (s *script) Rewinds(told [][]byte) error {
	s.history = strs(told)
	return s.note("rewinds to %d", len(told))
}

func (s *script) Ends() error { return s.note("ends") }

func strs(raws [][]byte) (out []string) {
	for _, r := range raws {
		out = append(out, string(r))
	}
	return out
}

// read reads a file and returns what its sessions said, and the problems.
func read(t *testing.T, path string) (all []*script, broken []importer.Problem) {
	t.Helper()
	files, _, err := importer.Files(t.Context(), []string{path}, importer.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range files {
		err := recording.Read(context.Background(), &files[i], recording.Options{
			Open: func(s *recording.Session) (recording.Sink, error) {
				all = append(all, &script{session: s})
				return all[len(all)-1], nil
			},
			Broken: func(p importer.Problem) { broken = append(broken, p) },
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return all, broken
}

func write(t *testing.T, name string, lines ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(strings.Join(lines, "\n")), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// What the programs recorded themselves: each call reports a prompt of one token more than
// the call before.
func TestCallsOfEveryAgentAreRebuilt(t *testing.T) {
	for _, c := range []struct {
		file   string
		format wire.Format
		calls  int
		prompt int // of the first call; 0 if the program keeps no usage
		model  string
	}{
		{"claude-code.jsonl", wire.Anthropic, 4, 1001, "claude-opus-4-8"},
		{"codex.jsonl", wire.Responses, 4, 1001, "gpt-5"},
		{"gemini-cli/chats/session.jsonl", wire.Chat, 4, 1001, "gemini-2.5-pro"},
		{"qwen-code.jsonl", wire.Chat, 4, 1001, "scripted"},
		{"opencode.json", wire.Chat, 4, 1002, "scripted"},
		{"cline/1794855053498_j688f/1794855053498_j688f.messages.json", wire.Chat, 3, 1001, "scripted"},
		{"pi.jsonl", wire.Chat, 4, 1001, "claude-sonnet-4-5"},
		{"copilot-cli/events.jsonl", wire.Chat, 4, 0, "claude-sonnet-4-5"},
		{"continue.json", wire.Chat, 4, 1001, "claude-sonnet-4-5"},
		{"task-1714550400000/api_conversation_history.json", wire.Chat, 1, 0, ""},
	} {
		t.Run(c.file, func(t *testing.T) {
			all, broken := read(t, filepath.Join("../../../importer/testdata", c.file))
			if len(all) != 1 || len(broken) > 0 {
				t.Fatalf("%d sessions, broken: %v", len(all), broken)
			}
			s := all[0]
			if s.session.Format != c.format || len(s.calls) != c.calls {
				t.Fatalf("format %s, %d calls, want %s, %d:\n%s", s.session.Format, len(s.calls), c.format, c.calls,
					strings.Join(s.steps, "\n"))
			}
			for i, call := range s.calls {
				if call.Model != c.model || call.Reported != (c.prompt > 0) {
					t.Errorf("call %d: model %q, reported %v", i, call.Model, call.Reported)
				}
				if c.prompt > 0 && call.Usage.Prompt() != c.prompt+i {
					t.Errorf("call %d: a prompt of %d tokens", i, call.Usage.Prompt())
				}
				if i > 0 && s.at[i] <= s.at[i-1] {
					t.Errorf("call %d: a history of %d messages after %d", i, s.at[i], s.at[i-1])
				}
				if _, err := wire.Read(body(s, i), c.format, wire.Limits{}); err != nil {
					t.Errorf("call %d: %v", i, err)
				}
			}
			if last := s.steps[len(s.steps)-1]; last != "ends" {
				t.Errorf("the last step is %q", last)
			}
		})
	}
}

// body returns the request of a call of a session that only grew.
func body(s *script, call int) []byte {
	list := "messages"
	if s.session.Format == wire.Responses {
		list = "input"
	}
	return []byte(`{"model":"m","` + list + `":[` + strings.Join(s.history[:s.at[call]], ",") + `]}`)
}

const (
	asks    = `{"type":"user","uuid":"u1","message":{"content":"one"}}`
	first   = `{"type":"assistant","uuid":"a1","parentUuid":"u1","message":{"id":"m1","model":"c","content":[{"type":"tool_use","id":"t1","name":"Read","input":{}}],"usage":{"input_tokens":1,"cache_read_input_tokens":2,"cache_creation_input_tokens":3}}}`
	result  = `{"type":"user","uuid":"u2","parentUuid":"a1","message":{"content":[{"type":"tool_result","tool_use_id":"t1","content":"r"}]}}`
	piece   = `{"type":"assistant","uuid":"a2","parentUuid":"a1","message":{"id":"m1","model":"c","content":[{"type":"text","text":"and"}],"usage":{"input_tokens":1,"cache_read_input_tokens":2,"cache_creation_input_tokens":3}}}`
	second  = `{"type":"assistant","uuid":"a3","parentUuid":"u2","message":{"id":"m2","model":"c","content":[{"type":"text","text":"2"}]}}`
	back    = `{"type":"user","uuid":"u3","parentUuid":"a2","message":{"content":"no"}}`
	third   = `{"type":"assistant","uuid":"a4","parentUuid":"u3","message":{"id":"m3","model":"c","content":[{"type":"text","text":"3"}]}}`
	compact = `{"type":"system","subtype":"compact_boundary","uuid":"s1"}`
)

func TestStepsOfASessionOfClaudeCode(t *testing.T) {
	call := `{"role":"assistant","content":[{"type":"tool_use","id":"t1","name":"Read","input":{}},{"type":"text","text":"and"}]}`
	results := `{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"r"}]}`
	opened := []string{`says {"role":"user","content":"one"}`, "calls m1 c 1+2+3: " + call, "says " + call,
		"says " + results}
	for _, c := range []struct {
		name  string
		lines []string
		want  []string
	}{
		{"pieces of a reply around a result", []string{asks, first, result, piece, second}, append(opened[:4:4],
			`calls m2 c 0+0+0: {"role":"assistant","content":[{"type":"text","text":"2"}]}`,
			`says {"role":"assistant","content":[{"type":"text","text":"2"}]}`, "ends")},
		{"broken and repeated lines", []string{asks, "{", asks, first, `{"type":"assistant","message":5}`, first,
			result, piece, "[]", second, second}, append(opened[:4:4],
			`calls m2 c 0+0+0: {"role":"assistant","content":[{"type":"text","text":"2"}]}`,
			`says {"role":"assistant","content":[{"type":"text","text":"2"}]}`, "ends")},
		{"a person goes back", []string{asks, first, piece, result, second, back, third}, append(opened[:4:4],
			`calls m2 c 0+0+0: {"role":"assistant","content":[{"type":"text","text":"2"}]}`,
			`says {"role":"assistant","content":[{"type":"text","text":"2"}]}`, "rewinds to 2",
			`says {"role":"user","content":"no"}`,
			`calls m3 c 0+0+0: {"role":"assistant","content":[{"type":"text","text":"3"}]}`,
			`says {"role":"assistant","content":[{"type":"text","text":"3"}]}`, "ends")},
		{"a compaction", []string{asks, second, compact, back, third}, []string{`says {"role":"user","content":"one"}`,
			`calls m2 c 0+0+0: {"role":"assistant","content":[{"type":"text","text":"2"}]}`,
			`says {"role":"assistant","content":[{"type":"text","text":"2"}]}`, "resets",
			`says {"role":"user","content":"no"}`,
			`calls m3 c 0+0+0: {"role":"assistant","content":[{"type":"text","text":"3"}]}`,
			`says {"role":"assistant","content":[{"type":"text","text":"3"}]}`, "ends"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			all, _ := read(t, write(t, "s.jsonl", c.lines...))
			if diff := cmp.Diff(c.want, all[0].steps); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// Each body is a call. What the second begins with is the first one's, whatever marks the
// client moved.
func TestBodiesAreCalls(t *testing.T) {
	mark := `,"cache_control":{"type":"ephemeral"}`
	asked := func(mark string) string {
		return `{"role":"user","content":[{"type":"text","text":"one"` + mark + `}]}`
	}
	reply := `{"role":"assistant","content":"1"}`
	request := func(messages ...string) string {
		return `{"model":"c","max_tokens":9,"system":"Be brief.","messages":[` + strings.Join(messages, ",") + `]}`
	}
	all, broken := read(t, write(t, "b.jsonl", request(asked(mark)), "{",
		request(asked(""), reply, `{"role":"user","content":"two"}`),
		request(asked(""), reply, `{"role":"user","content":"other"}`)))
	if len(all) != 1 || len(broken) != 1 {
		t.Fatalf("%d sessions, broken: %v", len(all), broken)
	}
	want := []string{"says " + asked(""), "calls  c 0+0+0: " + reply, "says " + reply,
		`says {"role":"user","content":"two"}`, "calls  c 0+0+0: ", "rewinds to 2",
		`says {"role":"user","content":"other"}`, "calls  c 0+0+0: ", "ends"}
	if diff := cmp.Diff(want, all[0].steps); diff != "" {
		t.Error(diff)
	}
	if got := string(all[0].session.System); got != `"Be brief."` {
		t.Errorf("system %s", got)
	}
}

func TestCodexCompactsItsHistory(t *testing.T) {
	item := func(role, text string) string {
		b, _ := json.Marshal(text)
		return fmt.Sprintf(`{"type":"message","role":%q,"content":[{"type":"input_text","text":%s}]}`, role, b)
	}
	line := func(kind, payload string) string {
		return fmt.Sprintf(`{"timestamp":"2026-11-16T18:45:13Z","type":%q,"payload":%s}`, kind, payload)
	}
	all, _ := read(t, write(t, "rollout.jsonl", line("session_meta", `{"id":"s"}`),
		line("turn_context", `{"model":"gpt-5"}`), line("response_item", item("user", "a")),
		line("response_item", item("assistant", "b")),
		line("event_msg", `{"type":"token_count","info":{"last_token_usage":{"input_tokens":9,"cached_input_tokens":4}}}`),
		line("compacted", `{"message":"","replacement_history":[`+item("user", "short")+`]}`),
		line("response_item", item("assistant", "c"))))
	want := []string{"says " + item("user", "a"), "calls  gpt-5 5+4+0: " + item("assistant", "b"),
		"says " + item("assistant", "b"), "resets", "says " + item("user", "short"),
		"calls  gpt-5 0+0+0: " + item("assistant", "c"), "says " + item("assistant", "c"), "ends"}
	if diff := cmp.Diff(want, all[0].steps); diff != "" {
		t.Error(diff)
	}
}

func TestRunsOfTauBenchAreSessions(t *testing.T) {
	all, broken := read(t, write(t, "runs.json", `[{"task_id":0,"traj":[{"role":"system","content":"Rules."},`+
		`{"role":"user","content":"one"},{"role":"assistant","content":"1"},{"role":7}]},`+
		`{"task_id":1,"traj":[{"role":"user","content":"two"},{"role":"assistant","content":"2"}]}]`))
	if len(all) != 2 || len(broken) != 1 {
		t.Fatalf("%d sessions, broken: %v", len(all), broken)
	}
	want := []string{`says {"role":"system","content":"Rules."}`, `says {"role":"user","content":"one"}`,
		`calls   0+0+0: {"role":"assistant","content":"1"}`, `says {"role":"assistant","content":"1"}`, "ends"}
	if diff := cmp.Diff(want, all[0].steps); diff != "" || all[0].session.Name != "runs#0" {
		t.Error(all[0].session.Name, diff)
	}
}
