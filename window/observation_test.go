package window_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/oriel-context/oriel/window"
	"github.com/oriel-context/oriel/wire"
)

// textAgent is the history of an agent whose tools answer as a user's text.
func textAgent(steps, size int, result string) []byte {
	list := []string{`{"role":"user","content":"New task: read all the parts and tell me what they say."}`}
	for i := range steps {
		list = append(list,
			fmt.Sprintf(`{"role":"assistant","content":"Calling tools: read_part(%d)"}`, i),
			fmt.Sprintf(`{"role":"user","content":[{"type":"text","text":%q}]}`,
				result+strings.Repeat(fmt.Sprintf("line %d. ", i), size)))
	}
	return fmt.Appendf(nil, `{"model":"gpt-4o","max_tokens":1000,"messages":[%s]}`, strings.Join(list, ","))
}

// Results that agents send as a user's text are bounded by the profile, like other results.
// What people wrote is bounded by the model alone, and the plan says so; where one text is
// the whole history, its middle leaves, before the question at its end.
//
// SPEC E2
func TestHistoriesOfUserTextAreBounded(t *testing.T) {
	table, err := window.NewProfiles(window.Profile{Name: "small", Budget: 8000})
	if err != nil {
		t.Fatal(err)
	}
	one := fmt.Appendf(nil, `{"model":"gpt-4o","max_tokens":1000,"messages":[{"role":"user","content":%q}]}`,
		"[[ ## question ## ]]\nWhich port?\n\n[[ ## trajectory ## ]]\n"+
			strings.Repeat("[[ ## observation ## ]]\nnothing new at all\n", 30_000)+
			"\nRespond with the field `[[ ## next_thought ## ]]`.")
	const model = 128_000*9/10 - 1000
	for _, c := range []struct {
		name   string
		body   []byte
		most   int
		grew   string
		trims  bool
		keeps  []string
		before int
	}{
		{"smolagents", textAgent(40, 300, "Observation:\n"), 8000, "", false, []string{"New task:", "line 39."},
			30_000},
		{"a person", textAgent(40, 300, "Look at this: "), model, window.ForWords, false,
			[]string{"New task:", "line 0.", "line 39."}, 30_000},
		{"a person beyond the model", textAgent(200, 300, "Look at this: "), model, window.ForWords, false,
			[]string{"line 199."}, model},
		{"one text beyond the model", one, model, window.ForNewest, true, []string{"Which port?", "next_thought"},
			model},
	} {
		out, plan, err := window.Fit(context.Background(), c.body, window.Options{Profile: "small", Profiles: table})
		if err != nil {
			t.Fatal(err)
		}
		grew, trims := "", false
		if plan.Grown != nil {
			grew = plan.Grown.For
		}
		for _, b := range plan.Blocks {
			trims = trims || b.Verdict == window.Trim
		}
		if plan.TokensAfter > c.most || plan.TokensBefore < c.before || grew != c.grew || trims != c.trims {
			t.Errorf("%s: %d of %d tokens, at most %d; grew for %q, trims %t", c.name, plan.TokensAfter,
				plan.TokensBefore, c.most, grew, trims)
		}
		if _, err := wire.Read(out, wire.Chat, wire.Limits{}); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		for _, text := range c.keeps {
			if !strings.Contains(string(out), text) {
				t.Errorf("%s: %q is not there", c.name, text)
			}
		}
	}
}
