package transcript

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/oriel-context/oriel/internal/test/strict"
)

func signed(t *testing.T) *Session {
	t.Helper()
	s, err := open(t, "testdata/session.jsonl")[0].Signed()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestSignedBodiesPassWithoutLeniency(t *testing.T) {
	blank := open(t, "testdata/session.jsonl")[0]
	var refused int
	for r := range blank.Requests() {
		refused += len(strict.Anthropic(r.Body))
	}
	if refused == 0 {
		t.Fatal("the recording has no blank signature: this test shows nothing")
	}
	s := signed(t)
	if got, want := s.Calls(), blank.Calls(); got != want {
		t.Errorf("%d calls, want %d", got, want)
	}
	for r := range s.Requests() {
		for _, p := range strict.Anthropic(r.Body) {
			t.Errorf("%s: %v", r.ID, p)
		}
	}
}

// Bodies of one history begin with the last one's messages in every translation.
func TestTranslatedBodiesAreValidAndGrow(t *testing.T) {
	asChat, err := signed(t).AsChat()
	if err != nil {
		t.Fatal(err)
	}
	items, err := asChat.AsResponses()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		s     *Session
		judge func([]byte) []strict.Problem
	}{{asChat, strict.Chat}, {items, strict.Responses}} {
		t.Run(string(c.s.Format), func(t *testing.T) {
			n := 0
			for r := range c.s.Requests() {
				n++
				for _, p := range c.judge(r.Body) {
					t.Errorf("call %d: %v", n, p)
				}
				if r.Reply != nil && bytes.Contains(r.Body, r.Reply) {
					t.Errorf("call %d: the body has its own reply", n)
				}
			}
			if n != signed(t).Calls() {
				t.Errorf("%d calls, want %d", n, signed(t).Calls())
			}
		})
	}
}

func TestChatHasCallsResultsPicturesAndReasoning(t *testing.T) {
	s := &Session{Name: "s", Format: Anthropic, System: "Be brief.", steps: []step{
		{kind: says, raw: []byte(`{"role":"user","content":"hi"}`)},
		{kind: says, raw: []byte(`{"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"x"},{"type":"text","text":"Looking."},{"type":"tool_use","id":"t1","name":"Read","input":{"a":1}}]}`)},
		{kind: says, raw: []byte(`{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":[{"type":"text","text":"seen"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AA=="}}]},{"type":"text","text":"go on"}]}`)},
		{kind: calls},
	}}
	c, err := s.AsChat()
	if err != nil {
		t.Fatal(err)
	}
	want := `[{"role":"system","content":"Be brief."},{"role":"user","content":"hi"},` +
		`{"role":"assistant","content":"Looking.","reasoning_content":"hm","tool_calls":[{"id":"t1","type":"function","function":{"name":"Read","arguments":"{\"a\":1}"}}]},` +
		`{"role":"tool","content":"seen","tool_call_id":"t1"},` +
		`{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,AA=="}},{"type":"text","text":"go on"}]}]`
	for r := range c.Requests() {
		if diff := cmp.Diff(want, history(t, r.Body)); diff != "" {
			t.Errorf("chat (-want +got)\n%s", diff)
		}
	}
	items, err := c.AsResponses()
	if err != nil {
		t.Fatal(err)
	}
	for r := range items.Requests() {
		got := history(t, r.Body)
		for _, part := range []string{`"type":"reasoning","id":"rs_`, `"type":"function_call","id":"fc_`,
			`"type":"input_image","image_url":"data:`, `"type":"function_call_output","call_id":"t1"`} {
			if !strings.Contains(got, part) {
				t.Errorf("no %s in %s", part, got)
			}
		}
	}
}
