package wire_test

import (
	"testing"

	"github.com/oriel-context/oriel/wire"
)

func TestMarksAreTakenAndPut(t *testing.T) {
	for _, c := range []struct{ name, raw, bare, mark, put string }{
		{"string", `{"role":"user","content":"hi"}`, `{"role":"user","content":"hi"}`, ``,
			`{"role":"user","content":[{"type":"text","text":"hi","cache_control":{"type":"ephemeral"}}]}`},
		{"last", `{"role":"user","content":[{"type":"text","text":"hi"}, {"type":"text","text":"ho","cache_control":{"type":"ephemeral"}}]}`, `{"role":"user","content":[{"type":"text","text":"hi"}, {"type":"text","text":"ho"}]}`, `{"type":"ephemeral"}`, ``},
		{"first member",
			`{"role":"user","content":[{ "cache_control":{"type":"ephemeral"}, "type":"text","text":"hi"}]}`,
			`{"role":"user","content":[{ "type":"text","text":"hi"}]}`, `{"type":"ephemeral"}`,
			`{"role":"user","content":[{ "type":"text","text":"hi","cache_control":{"type":"ephemeral"}}]}`},
		{"twice", `{"content":[{"cache_control":1,"cache_control":{"ttl":"1h"},"type":"text","text":"a"}],"role":"user"}`, `{"content":[{"type":"text","text":"a"}],"role":"user"}`, `{"ttl":"1h"}`, `{"content":[{"type":"text","text":"a","cache_control":{"ttl":"1h"}}],"role":"user"}`},
		{"result", `{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"x","cache_control":{"type":"ephemeral"}}]}`, `{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"x"}]}`, `{"type":"ephemeral"}`, ``},
		{"within a result",
			`{"role":"user","content":[{"type":"tool_result","cache_control":{"ttl":"1h"},"tool_use_id":"a","content":[{"type":"text","text":"x","cache_control":{"type":"ephemeral"}}]}]}`, `{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":[{"type":"text","text":"x"}]}]}`, `{"ttl":"1h"}`, `{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":[{"type":"text","text":"x"}],"cache_control":{"ttl":"1h"}}]}`},
		{"null is no mark", `{"role":"user","content":[{"type":"text","text":"a","cache_control":null}]}`,
			`{"role":"user","content":[{"type":"text","text":"a"}]}`, ``,
			`{"role":"user","content":[{"type":"text","text":"a","cache_control":{"type":"ephemeral"}}]}`},
		{"an empty text takes none", `{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":""}]}`,
			`{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":""}]}`, ``,
			`{"role":"user","content":[{"type":"text","text":"a","cache_control":{"type":"ephemeral"}},{"type":"text","text":""}]}`},
		{"thinking takes none", `{"role":"assistant","content":[{"type":"thinking","thinking":"x","signature":"s"}]}`,
			`{"role":"assistant","content":[{"type":"thinking","thinking":"x","signature":"s"}]}`, ``, `-`},
	} {
		t.Run(c.name, func(t *testing.T) {
			bare, mark, err := wire.WithoutCacheMarks(wire.Anthropic, []byte(c.raw))
			if err != nil || string(bare) != c.bare || string(mark) != c.mark {
				t.Errorf("%s, %s, %v", bare, mark, err)
			}
			if mark == nil {
				mark = []byte(`{"type":"ephemeral"}`)
			}
			put, ok, err := wire.PutMark(wire.Anthropic, bare, mark)
			want := c.put
			if want == "" {
				want = c.raw
			}
			if err != nil || ok != (c.put != "-") || ok && string(put) != want {
				t.Errorf("%s, %v, %v", put, ok, err)
			}
		})
	}
}

func TestThinkingIsTaken(t *testing.T) {
	for _, c := range []struct{ name, raw, want string }{
		{"first", `{"role":"assistant","content":[ {"type":"thinking","thinking":"x","signature":"s"}, {"type":"text","text":"a"} ,{"type":"redacted_thinking","data":"d"},{"type":"text","text":"b"}],"x":1}`, `{"role":"assistant","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}],"x":1}`},
		{"none", `{"role":"assistant","content":[ {"type":"text","text":"a"}]}`,
			`{"role":"assistant","content":[ {"type":"text","text":"a"}]}`},
		{"nothing else", `{"role":"assistant","content":[{"type":"thinking","thinking":"x","signature":"s"}]}`,
			`{"role":"assistant","content":[{"type":"thinking","thinking":"x","signature":"s"}]}`},
		{"plain", `{"role":"assistant","content":"a"}`, `{"role":"assistant","content":"a"}`},
	} {
		if got, err := wire.WithoutThinking(wire.Anthropic, []byte(c.raw)); err != nil || string(got) != c.want {
			t.Errorf("%s: %s, %v", c.name, got, err)
		}
	}
}

func TestTheBillingLineIsSteady(t *testing.T) {
	for _, c := range []struct{ raw, want string }{
		{`{"messages":[{"role":"user","content":"cch=9;"}],"system":[{"type":"text","text":"x-anthropic-billing-header: cc_version=2.1; cch=a9f; y"}]}`, `{"messages":[{"role":"user","content":"cch=9;"}],"system":[{"type":"text","text":"x-anthropic-billing-header: cc_version=2.1; cch=000; y"}]}`},
		{`{"messages":[{"role":"user","content":"a"}],"system":"x-anthropic-billing-header: cch=a9f"}`,
			`{"messages":[{"role":"user","content":"a"}],"system":"x-anthropic-billing-header: cch=000"}`},
		{`{"messages":[{"role":"user","content":"a"}],"system":"no header: cch=a9f"}`,
			`{"messages":[{"role":"user","content":"a"}],"system":"no header: cch=a9f"}`},
		{`{"messages":[{"role":"user","content":"a"}],"system":"x-anthropic-billing-header: none"}`,
			`{"messages":[{"role":"user","content":"a"}],"system":"x-anthropic-billing-header: none"}`},
	} {
		b, err := wire.Read([]byte(c.raw), wire.Anthropic, wire.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		if got := b.Steady(b.Data()); string(got) != c.want || string(b.Data()) != c.raw {
			t.Errorf("%s", got)
		}
	}
}
