package main

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/oriel-context/oriel/internal/report"
	"github.com/oriel-context/oriel/internal/term"
	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/window"
)

// plainScreen is a terminal without colours.
func plainScreen(width int) term.Screen { return term.Screen{Width: width} }

// The head of a message is one line on a terminal of any width.
func TestTheHeadOfAMessageFitsTheWidth(t *testing.T) {
	m := &report.Message{ID: 1234, Role: "assistant", By: "assistant", Tokens: 12345, Pinned: true,
		Time: time.Date(2026, 11, 16, 15, 4, 5, 0, time.Local)}
	for width, want := range map[int]string{
		0:  "1234  assistant  16 Nov 2026 15:04:05  12,345 tokens, pinned",
		80: "1234  assistant  16 Nov 2026 15:04:05  12,345 tokens, pinned",
		56: "1234  assistant  16 Nov 15:04  12,345 tokens, pinned",
		40: "1234  assistant  16 Nov 15:04, pinned",
		30: "1234  assistant, pinned",
		12: "1234  assis…",
	} {
		if got := messageHead(m, width); got != want {
			t.Errorf("at %d columns: %q, want %q", width, got, want)
		}
	}
}

// shownMessage returns a message of the Messages API as wholeMessage draws it.
func shownMessage(t *testing.T, raw string, sc term.Screen, full bool) string {
	t.Helper()
	stored := timeline.Message{Format: timeline.FormatAnthropic, Role: "assistant", Raw: []byte(raw)}
	c, err := stored.Chat()
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := wholeMessage(&b, &report.Message{ID: 7, Role: "assistant", By: "assistant", Chat: &c}, sc,
		full); err != nil {
		t.Fatal(err)
	}
	for line := range strings.SplitSeq(b.String(), "\n") {
		if sc.Width > 0 && term.Cells(line) > sc.Width {
			t.Errorf("%d columns of %d: %q", term.Cells(line), sc.Width, line)
		}
	}
	return b.String()
}

// What people and the model say is shown whole, thinking too; results and arguments of tools
// are folded by the lines that they take on the screen, however few lines they have.
func TestOnlyWhatToolsGetAndReturnIsFolded(t *testing.T) {
	var words []string
	for i := range 400 {
		words = append(words, fmt.Sprintf("w%03d", i))
	}
	for _, k := range []struct {
		what, raw string
		folded    bool
	}{
		{"text", `{"role":"assistant","content":[{"type":"text","text":%q}]}`, false},
		{"thinking", `{"role":"assistant","content":[{"type":"thinking","thinking":%q,"signature":"s"}]}`, false},
		{"arguments", `{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"Write","input":{"content":%q}}]}`, true},
		{"result", `{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":%q}]}`, true},
	} {
		raw := fmt.Sprintf(k.raw, strings.Join(words, " "))
		for _, full := range []bool{false, true} {
			out := shownMessage(t, raw, plainScreen(40), full)
			n := 0
			for _, w := range words {
				n += strings.Count(out, w)
			}
			folded := strings.Contains(out, " lines more, --full shows them\n")
			if folded != (k.folded && !full) || folded != (n < len(words)) || !strings.Contains(out, words[0]) ||
				!strings.Contains(out, words[399]) {
				t.Errorf("%s, --full %v: %d of %d words, folded %v:\n%s", k.what, full, n, len(words), folded, out)
			}
		}
	}
}

// A terminal is shown the first and last lines of a result; --full and pipes all of them.
func TestLongResultsAreFolded(t *testing.T) {
	var lines []string
	for i := range 100 {
		lines = append(lines, fmt.Sprintf("line %d", i+1))
	}
	raw := fmt.Sprintf(`{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":%q}]}`,
		strings.Join(lines, "\n"))
	stored := timeline.Message{Format: timeline.FormatAnthropic, Role: "user", Raw: []byte(raw)}
	c, err := stored.Chat()
	if err != nil {
		t.Fatal(err)
	}
	m := &report.Message{ID: 7, Role: "user", By: "tool", Chat: &c}
	for _, k := range []struct {
		name   string
		screen term.Screen
		full   bool
		want   int // lines of the result
	}{{"terminal", plainScreen(80), false, foldResult.head + foldResult.tail}, {"--full", plainScreen(80), true, 100},
		{"pipe", term.Screen{}, false, 100}} {
		var b bytes.Buffer
		if err := wholeMessage(&b, m, k.screen, k.full); err != nil {
			t.Fatal(err)
		}
		out := b.String()
		if got := strings.Count(out, "  line "); got != k.want || !strings.Contains(out, "line 100\n") ||
			!strings.HasPrefix(out, "7  tool  ") {
			t.Errorf("%s: %d lines of the result, want %d:\n%s", k.name, got, k.want, out)
		}
		if k.want < 100 && !strings.Contains(out, "… 85 lines more, --full shows them") {
			t.Errorf("%s: nothing tells of the rest:\n%s", k.name, out)
		}
	}
}

// What a plan changed is said in figures that add up, and what no message accounts for is
// not said to be thinking alone.
func TestAPlanInWordsAddsUp(t *testing.T) {
	const put, rest = "; 120 tokens were put in",
		"; another 17 tokens are not sent: thinking, the client's own notes, or rounding"
	for want, p := range map[string]report.Plan{
		"":                              {},
		rest:                            {PlanRow: report.PlanRow{AddedTokens: -17}},
		put:                             {PlanRow: report.PlanRow{AddedTokens: 120}, Inserted: inserted(100, 20)},
		put + rest:                      {PlanRow: report.PlanRow{AddedTokens: 103}, Inserted: inserted(100, 20)},
		put + "; rounding adds 1 token": {PlanRow: report.PlanRow{AddedTokens: 121}, Inserted: inserted(100, 20)},
	} {
		if got := besides(&p); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func inserted(tokens ...int) (all []report.Insertion) {
	for _, n := range tokens {
		all = append(all, report.Insertion{Insertion: window.Insertion{Tokens: n}})
	}
	return all
}

// A plan that took thinking out of messages that are sent says so, in both listings.
func TestPlansShowLostThinking(t *testing.T) {
	p := window.NewPlan("ladder", "claude-fable-5-2", 1000, 500)
	p.Thinking = &window.LostThinking{Messages: 2, Blocks: 3, Tokens: 1234}
	want := "3 blocks of thinking, 1,234 tokens, not sent: the model accepts it only behind what it saw (2 messages)"
	var drawn, detail bytes.Buffer
	if err := drawPlan(&drawn, p, plainScreen(0).Style); err != nil {
		t.Fatal(err)
	}
	planDetails(&detail, &report.Plan{Thinking: p.Thinking}, nil, plainScreen(0), false)
	for name, got := range map[string]string{"fit": drawn.String(), "show --plan": detail.String()} {
		if !strings.Contains(got, want) {
			t.Errorf("%s: %s", name, got)
		}
	}
}
