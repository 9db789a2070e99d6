package window

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/oriel-context/oriel/internal/test/strict"
)

// Fit sends a model that binds its thinking none behind a change, and the plan says what was
// lost. Thinking in front of the change, and that of other models, stays.
//
// SPEC E1
func TestFitRemovesThinkingThatLostItsPlace(t *testing.T) {
	exchange := func(i, words int) string {
		return fmt.Sprintf(`{"role":"assistant","content":[{"type":"thinking","thinking":"hm %d","signature":"c2ln"},`+
			`{"type":"tool_use","id":"t%d","name":"Read","input":{"path":"f%d"}}]},`+
			`{"role":"user","content":[{"type":"tool_result","tool_use_id":"t%d","content":"%s"}]}`,
			i, i, i, i, strings.Repeat("word ", words))
	}
	for _, c := range []struct {
		model  string
		blocks int
		kept   []string
	}{
		{"claude-fable-5-2", 2, []string{"hm 1", "hm 2"}},
		{"claude-opus-4-5", 0, []string{"hm 1", "hm 2", "hm 3", "hm 4"}},
	} {
		data := []byte(`{"model":"` + c.model + `","max_tokens":100,"messages":[{"role":"user","content":"go"},` +
			exchange(1, 10) + "," + exchange(2, 1000) + "," + exchange(3, 10) + "," + exchange(4, 10) + `]}`)
		out, plan, err := Fit(context.Background(), data, Options{Budget: 1500, Policy: "mask", KeepResults: 1})
		if err != nil {
			t.Fatal(err)
		}
		if plan.Action == "none" {
			t.Fatal("nothing was cut: the test shows nothing")
		}
		if n := strings.Count(string(out), `"thinking":"`); n != len(c.kept) {
			t.Errorf("%s: %d blocks of thinking are sent, want %v\n%s", c.model, n, c.kept, out)
		}
		for _, k := range c.kept {
			if !strings.Contains(string(out), k) {
				t.Errorf("%s: %s is missing", c.model, k)
			}
		}
		if got := plan.Thinking; c.blocks == 0 && got != nil ||
			c.blocks > 0 && (got == nil || got.Blocks != c.blocks || got.Tokens <= 0) {
			t.Errorf("%s: %+v, want %d blocks", c.model, got, c.blocks)
		}
		if p := strict.BoundThinking(data, out); c.blocks > 0 && len(p) > 0 {
			t.Errorf("%s: %v", c.model, p)
		}
		if again, _, err := Fit(context.Background(), out, Options{Budget: plan.TokensAfter}); err != nil ||
			string(again) != string(out) {
			t.Errorf("%s: the plan says %d tokens, and it is more: %v", c.model, plan.TokensAfter, err)
		}
	}
}
