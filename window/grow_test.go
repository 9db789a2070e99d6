package window_test

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/oriel-context/oriel/window"
	"github.com/oriel-context/oriel/wire"
)

// working is a conversation with an agent: each turn has what a person wrote, a result of
// a tool, a reminder and a reply. said is what the person wrote in turn i.
func working(turns, result int, said func(i int) string) []byte {
	var list []string
	for i := range turns {
		list = append(list,
			fmt.Sprintf(`{"role":"user","content":[{"type":"text","text":%q}]}`, said(i)),
			fmt.Sprintf(`{"role":"assistant","content":[{"type":"tool_use","id":"t%d","name":"Read","input":{"file_path":"f%d"}}]}`, i, i),
			fmt.Sprintf(`{"role":"user","content":[{"type":"tool_result","tool_use_id":"t%d","content":%q},{"type":"text","text":"<system-reminder>%s</system-reminder>"}]}`, i, strings.Repeat("result ", result), strings.Repeat("remember ", result)),
			fmt.Sprintf(`{"role":"assistant","content":"reply %d"}`, i))
	}
	list = append(list, `{"role":"user","content":"and now?"}`)
	return fmt.Appendf(nil, `{"model":"claude-sonnet-4-5","max_tokens":1000,"messages":[%s]}`, strings.Join(list, ","))
}

// The budget of a profile is a wish about history: it grows for the newest turn, under
// full and balanced for all that people wrote, and never beyond what the model takes. One
// that is given as a number does not grow.
//
// SPEC E2, B4
func TestProfilesNeverCutWhatPeopleSay(t *testing.T) {
	short := func(i int) string { return fmt.Sprintf("wish number %d.", i) }
	long := func(i int) string { return fmt.Sprintf("wish number %d. ", i) + strings.Repeat("more of it ", 2000) }
	contract := fmt.Appendf(nil,
		`{"model":"claude-sonnet-4-5","max_tokens":1000,"messages":[{"role":"user","content":%q}]}`,
		strings.Repeat("clause ", 100_000))
	for _, c := range []struct {
		name, profile string
		body          []byte
		window        int
		budget        int
		grew          string // why
		words         int    // how many of the wishes must be there
	}{
		{"a pasted contract", "thrifty", contract, 1_000_000, 0, window.ForNewest, 0},
		{"a pasted contract", "balanced", contract, 1_000_000, 0, window.ForNewest, 0},
		{"results", "balanced", working(60, 4000, short), 1_000_000, 0, "", 60},
		{"results", "full", working(60, 4000, short), 200_000, 0, "", 60},
		{"long wishes", "balanced", working(30, 8000, long), 1_000_000, 0, window.ForWords, 30},
		{"long wishes", "full", working(20, 8000, long), 200_000, 0, "", 20},
		{"long wishes", "thrifty", working(30, 8000, long), 1_000_000, 0, "", 0},
		{"more than the model takes", "balanced", working(60, 100, long), 200_000, 0, window.ForWords, 0},
		{"a budget that is asked for", "balanced", working(60, 4000, long), 1_000_000, 50_000, "", 0},
	} {
		t.Run(c.profile+" "+c.name, func(t *testing.T) {
			out, plan, err := window.Fit(context.Background(), c.body,
				window.Options{Profile: c.profile, Window: c.window, Budget: c.budget})
			if err != nil {
				t.Fatal(err)
			}
			grew := ""
			if plan.Grown != nil {
				grew = plan.Grown.For
			}
			if grew != c.grew {
				t.Errorf("it grew for %q, want %q", grew, c.grew)
			}
			if allowed := c.window*9/10 - 1000; plan.TokensAfter > plan.Budget || plan.Budget > allowed ||
				c.budget > 0 && plan.Budget != c.budget {
				t.Errorf("%d tokens, budget %d, the model takes %d", plan.TokensAfter, plan.Budget, allowed)
			}
			if c.words == 0 && grew == window.ForNewest && !bytes.Equal(out, c.body) {
				t.Error("the newest turn is not whole")
			}
			b, err := wire.Read(out, wire.Anthropic, wire.Limits{})
			if err != nil {
				t.Fatal(err)
			}
			shown, reminders := map[string]bool{}, 0
			for i := range b.Messages {
				for j := range b.Messages[i].Parts {
					text := b.Messages[i].Parts[j].Text.String()
					shown[text] = true
					if strings.HasPrefix(text, "<system-reminder>") {
						reminders++
					}
				}
			}
			whole, err := wire.Read(c.body, wire.Anthropic, wire.Limits{})
			if err != nil {
				t.Fatal(err)
			}
			there := 0
			for i := range whole.Messages {
				for j := range whole.Messages[i].Parts {
					if text := whole.Messages[i].Parts[j].Text.String(); strings.HasPrefix(text, "wish") &&
						shown[text] {
						there++
					}
				}
			}
			if there < c.words {
				t.Errorf("%d of %d wishes are there", there, c.words)
			}
			if c.words > 0 && reminders == c.words {
				t.Error("the reminders are taken for words of people")
			}
		})
	}
}

// Pictures and files that a person attached are their words; those that a tool returned
// are not.
//
// SPEC E2
func TestAttachmentsAreWords(t *testing.T) {
	picture := func(name string) string {
		return fmt.Sprintf(`{"type":"image","source":{"type":"base64","media_type":"image/png","data":%q}}`,
			strings.Repeat(name, 3000))
	}
	var list []string
	for i := range 30 {
		list = append(list,
			fmt.Sprintf(`{"role":"user","content":[%s]}`, picture("MINE")),
			fmt.Sprintf(`{"role":"assistant","content":[{"type":"tool_use","id":"t%d","name":"Look","input":{"file_path":"f%d"}}]}`, i, i),
			fmt.Sprintf(`{"role":"user","content":[{"type":"tool_result","tool_use_id":"t%d","content":[%s,{"type":"text","text":%q}]}]}`, i, picture("TOOL"), strings.Repeat("result ", 1000)),
			`{"role":"assistant","content":"seen"}`)
	}
	body := fmt.Appendf(nil,
		`{"model":"claude-sonnet-4-5","max_tokens":1000,"messages":[%s,{"role":"user","content":"so?"}]}`,
		strings.Join(list, ","))
	out, _, err := window.Fit(context.Background(), body, window.Options{Profile: "full", Window: 26_000})
	if err != nil {
		t.Fatal(err)
	}
	if n := bytes.Count(out, []byte(`"data":"MINE`)); n != 30 {
		t.Errorf("%d of 30 pictures are there", n)
	}
	if n := bytes.Count(out, []byte(`"data":"TOOL`)); n > 12 {
		t.Errorf("%d of 30 pictures of tools are there", n)
	}
}

// Where mask finds nothing to mask, the oldest exchanges leave down to the low mark, so
// that the next calls have room.
//
// SPEC E3
func TestMaskEvictsToTheLowMark(t *testing.T) {
	var list []string
	for i := range 40 {
		list = append(list, fmt.Sprintf(`{"role":"user","content":"%d %s"},{"role":"assistant","content":"so be it"}`,
			i, strings.Repeat("word ", 100)))
	}
	body := fmt.Appendf(nil, `{"model":"gpt-4o","messages":[%s,{"role":"user","content":"and now?"}]}`,
		strings.Join(list, ","))
	_, plan, err := window.Fit(context.Background(), body, window.Options{Policy: "mask", Budget: 3000, Low: 1500})
	if err != nil || plan.TokensAfter > 1500 || plan.TokensAfter < 1200 {
		t.Errorf("%d tokens of %d stay, %v", plan.TokensAfter, plan.TokensBefore, err)
	}
}
