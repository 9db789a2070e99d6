package wire_test

import (
	"testing"

	"github.com/oriel-context/oriel/wire"
)

func TestMarksAreTakenAndPut(t *testing.T) {
	for _, c := range []struct{ name, raw, bare, mark, put string }{
		{"string", `{"role":"user","content":"hi"}`, `{"role":"user","content":"hi"}`, ``, `{"role":"user","content":[{"type":"text","text":"hi","cache_control":{"type":"ephemeral"}}]}`},
		{"last", `{"role":"user","content":[{"type":"text","text":"hi"}, {"type":"text","text":"ho","cache_control":{"type":"ephemeral"}}]}`, `{"role":"user","content":[{"type":"text","text":"hi"}, {"type":"text","text":"ho"}]}`, `{"type":"ephemeral"}`, ``},
		{"first member", `{"role":"user","content":[{ "cache_control":{"type":"ephemeral"}, "type":"text","text":"hi"}]}`, `{"role":"user","content":[{ "type":"text","text":"hi"}]}`, `{"type":"ephemeral"}`, `{"role":"user","content":[{ "type":"text","text":"hi","cache_control":{"type":"ephemeral"}}]}`},
		{"twice", `{"content":[{"cache_control":1,"cache_control":{"ttl":"1h"},"type":"text","text":"a"}],"role":"user"}`, `{"content":[{"type":"text","text":"a"}],"role":"user"}`, `{"ttl":"1h"}`, `{"content":[{"type":"text","text":"a","cache_control":{"ttl":"1h"}}],"role":"user"}`},
		{"result", `{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"x","cache_control":{"type":"ephemeral"}}]}`, `{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"x"}]}`, `{"type":"ephemeral"}`, ``},
		{"thinking takes none", `{"role":"assistant","content":[{"type":"thinking","thinking":"x","signature":"s"}]}`, `{"role":"assistant","content":[{"type":"thinking","thinking":"x","signature":"s"}]}`, ``, `-`},
	} {
		t.Run(c.name, func(t *testing.T) {
			bare, mark, err := wire.TakeMarks(wire.Anthropic, []byte(c.raw))
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
