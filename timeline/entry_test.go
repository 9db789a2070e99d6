package timeline_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/timeline"
)

func TestEveryFormatIsReadAsAMessage(t *testing.T) {
	for _, tc := range []struct {
		name, format, role, raw string
		wantRole                chat.Role
		wantName, wantText      string
	}{
		{"anthropic", timeline.FormatAnthropic, "user", `{"role":"user","content":[{"type":"text","text":"hi"}]}`,
			"user", "", "hi"},
		{"anthropic call", timeline.FormatAnthropic, "assistant",
			`{"role":"assistant","content":[{"type":"text","text":"look"},{"type":"tool_use","id":"t1","name":"Bash","input":{"command":"ls -l","timeout":5}}]}`, "assistant", "", "look\n→ Bash(ls -l, 5)"},
		{"anthropic result", timeline.FormatAnthropic, "user",
			`{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","is_error":true,"content":[{"type":"text","text":"no such file"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AAAA"}}]}]}`, "user", "", "← (error) no such file\n(image)"},
		{"thinking alone", timeline.FormatAnthropic, "assistant",
			`{"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"s"}]}`, "assistant", "",
			"(thinking) hm"},
		{"openai", timeline.FormatOpenAI, "assistant",
			`{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"ls","arguments":"{\"path\":\"/\"}"}}]}`, "assistant", "", "→ ls(/)"},
		{"openai result", timeline.FormatOpenAI, "tool", `{"role":"tool","tool_call_id":"c","content":"a b"}`, "tool",
			"", "← a b"},
		{"responses", timeline.FormatResponses, "user", `"plain input"`, "user", "", "plain input"},
		{"responses call", timeline.FormatResponses, "assistant",
			`{"type":"function_call","call_id":"c","name":"ls","arguments":"not json"}`, "assistant", "",
			"→ ls(not json)"},
		{"claude-code", timeline.FormatClaudeCode, "user",
			`{"type":"user","uuid":"u","message":{"role":"user","content":"hello"}}`, "user", "", "hello"},
		{"half a surrogate pair", timeline.FormatClaudeCode, "user",
			`{"type":"user","message":{"role":"user","content":"a\ud83dz \\ud83d \ud83d\ude00"}}`, "user", "",
			"a\ufffdz \\ud83d 😀"},
		{"not UTF-8", timeline.FormatClaudeCode, "user",
			"{\"type\":\"user\",\"message\":{\"role\":\"user\",\"content\":\"a\xffz\"}}", "user", "", "a\ufffdz"},
		{"byte order mark", timeline.FormatGeneric, "user", "\ufeff{\"text\":\"x\"}", "user", "", "x"},
		{"NUL", timeline.FormatGeneric, "user", `{"text":"a\u0000b"}`, "user", "", "a\x00b"},
		{"generic", timeline.FormatGeneric, "bot", `{"role":"bot","name":"Ann","text":"t"}`, "bot", "Ann", "t"},
		{"locomo", timeline.FormatLocomo, "user",
			`{"speaker":"Ann","dia_id":"D1:1","text":"look","blip_caption":"a cat"}`, "user", "Ann",
			"look\n(picture: a cat)"},
		{"beam", timeline.FormatBeam, "user", `{"role":"user","id":0,"content":"when? ->-> 1,12"}`, "user", "",
			"when?"},
		{"beam without mark", timeline.FormatBeam, "assistant", `{"role":"assistant","id":1,"content":"a ->-> b"}`,
			"assistant", "", "a ->-> b"},
		{"item", timeline.FormatItem, "file", `{"source":"file","content":"short","full":"the whole"}`, "user", "",
			"the whole"},
		{"item of bytes", timeline.FormatItem, "user", `{"source":"user","content":"caf\u00c3\u00a9","bytes":true}`,
			"user", "", "café"},
		{"item of plain text", timeline.FormatItem, "tool", "just\ntext", "tool", "", "just\ntext"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			m := timeline.Message{Format: tc.format, Role: tc.role, Raw: []byte(tc.raw)}
			c, err := m.Chat()
			if err != nil {
				t.Fatal(err)
			}
			if c.Role != tc.wantRole || c.Name != tc.wantName {
				t.Errorf("got role %q name %q", c.Role, c.Name)
			}
			if diff := cmp.Diff(tc.wantText, m.Text()); diff != "" {
				t.Error(diff)
			}
			if string(m.Raw) != tc.raw {
				t.Error("the bytes were changed")
			}
		})
	}
}

func TestMetaLinesAreNoMessages(t *testing.T) {
	for raw, want := range map[string]string{
		`{"type":"summary","summary":"Fix the tests","leafUuid":"u"}`:                       "(summary) Fix the tests",
		`{"type":"system","subtype":"turn_duration","content":"took 3 s"}`:                  "(system turn_duration) took 3 s",
		`{"type":"user","isSidechain":true,"message":{"role":"user","content":"sub task"}}`: "(user) sub task",
		`{"a":1}`: `{"a":1}`,
		`[1]`:     `[1]`,
		`broken`:  `broken`,
	} {
		m := timeline.Message{Format: timeline.FormatClaudeCode, Role: timeline.RoleMeta, Raw: []byte(raw)}
		if _, err := m.Chat(); !errors.Is(err, timeline.ErrNoMessage) {
			t.Errorf("%s: %v", raw, err)
		}
		if got := m.Text(); got != want {
			t.Errorf("%s: %q, want %q", raw, got, want)
		}
	}
}

func TestWhatCannotBeReadIsAnErrorWithItsFormat(t *testing.T) {
	for _, m := range []timeline.Message{
		{Format: "telex", Role: "user", Raw: []byte(`{}`)},
		{Format: timeline.FormatAnthropic, Role: "user", Raw: []byte(`{"role":"user","content":7}`)},
		{Format: timeline.FormatGeneric, Role: "user", Raw: []byte(`{`)},
	} {
		_, err := m.Chat()
		if err == nil || !strings.Contains(err.Error(), m.Format) {
			t.Errorf("%s: %v", m.Raw, err)
		}
		if m.Text() == "" {
			t.Errorf("%s: nothing to show", m.Raw)
		}
	}
}
