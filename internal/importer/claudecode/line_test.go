package claudecode

import (
	"testing"
	"time"
)

func TestReadsWhatALineSays(t *testing.T) {
	l, err := Parse(
		[]byte(`{"type":"assistant","uuid":"u2","parentUuid":"u1","sessionId":"s","cwd":"/w","timestamp":"2025-03-14T12:00:00Z","isSidechain":false,` +
			`"message":{"id":"m1","model":"claude","content":[{"type":"text","text":"half \ud83d"}],` +
			`"usage":{"input_tokens":3,"cache_read_input_tokens":40,"cache_creation_input_tokens":50,"cache_creation":{"ephemeral_1h_input_tokens":20},"output_tokens":7}}}`))
	if err != nil {
		t.Fatal(err)
	}
	if l.UUID != "u2" || l.Parent != "u1" || l.Session != "s" || l.Folder != "/w" ||
		!l.Time.Equal(time.Date(2025, 3, 14, 12, 0, 0, 0, time.UTC)) || !l.Said(false) || l.Said(true) {
		t.Errorf("%+v", l)
	}
	if got := string(l.Message.Content); got != `[{"type":"text","text":"half \ufffd"}]` || l.Message.ID != "m1" ||
		l.Message.Model != "claude" {
		t.Errorf("%s, %+v", got, l.Message)
	}
	if want := (Usage{true, 3, 40, 30, 20, 7}); l.Message.Usage != want {
		t.Errorf("usage %+v, want %+v", l.Message.Usage, want)
	}
}

func TestMembersOfOtherTypesAreEmpty(t *testing.T) {
	l, err := Parse(
		[]byte(`{"type":"system","subtype":"compact_boundary","timestamp":12,"isSidechain":"yes","message":null}`))
	if err != nil || !l.Compacts() || l.Said(false) || !l.Time.IsZero() || l.Message.Content != nil ||
		l.Message.Usage.Known {
		t.Errorf("%+v, %v", l, err)
	}
	for _, raw := range []string{`[1]`, `{"type":`, ``} {
		if _, err := Parse([]byte(raw)); err == nil {
			t.Errorf("%q was read", raw)
		}
	}
}

func TestTitles(t *testing.T) {
	for raw, want := range map[string][2]string{
		`{"type":"custom-title","customTitle":"mine"}`:           {"mine"},
		`{"type":"ai-title","aiTitle":"its"}`:                    {"its"},
		`{"type":"summary","summary":"short","leafUuid":"u9"}`:   {"short", "u9"},
		`{"type":"user","message":{"role":"user","content":""}}`: {},
	} {
		if l, err := Parse([]byte(raw)); err != nil || [2]string{l.Title, l.Leaf} != want {
			t.Errorf("%s: %q %q, %v", raw, l.Title, l.Leaf, err)
		}
	}
}
