package main

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/oriel-context/oriel/internal/browse"
	"github.com/oriel-context/oriel/timeline"
)

// plainScreen is a terminal without colours.
func plainScreen(width int) screen { return screen{width: width} }

func TestMarkdownIsDrawnWithinTheWidth(t *testing.T) {
	text := "# A **heading**\n\nWords that go on `code here` and **on and on**.\n\n- an item that is longer than a line\n```go\nfunc main() {}\n```\n| a | table |\n\tx\x1b[31mred"
	want := []string{
		"A heading", "",
		"Words that go on `code",
		"here` and **on and on**.", "",
		"- an item that is longer",
		"  than a line",
		"  go",
		"  func main() {}",
		"| a | table |",
		"    x [31mred",
	}
	if diff := cmp.Diff(want, markdown(text, plainScreen(24))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	coloured := strings.Join(markdown("say **this `one` and that** `twice`", screen{style{on: true}, 80}), "\n")
	if want := "say \x1b[1mthis \x1b[36mone\x1b[39m and that\x1b[22m \x1b[36mtwice\x1b[39m"; coloured != want {
		t.Errorf("%q, want %q", coloured, want)
	}
	if got := markdown("as **it** stands\nhere", screen{}); got[0] != "as **it** stands" {
		t.Errorf("without a terminal: %q", got)
	}
}

// The head of a message is one line on a terminal of any width.
func TestTheHeadOfAMessageFitsTheWidth(t *testing.T) {
	m := &browse.Message{ID: 1234, Role: "assistant", Tokens: 12345, Pinned: true, Time: time.Date(2026, 11, 16, 15, 4, 5, 0, time.Local)}
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

// A terminal is shown the first and last lines of a result; --full and pipes all of them.
func TestLongResultsAreFolded(t *testing.T) {
	var lines []string
	for i := range 100 {
		lines = append(lines, fmt.Sprintf("line %d", i+1))
	}
	raw := fmt.Sprintf(`{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":%q}]}`, strings.Join(lines, "\n"))
	stored := timeline.Message{Format: timeline.FormatAnthropic, Role: "user", Raw: []byte(raw)}
	c, err := stored.Chat()
	if err != nil {
		t.Fatal(err)
	}
	m := &browse.Message{ID: 7, Role: "user", Chat: &c}
	for _, k := range []struct {
		name   string
		screen screen
		full   bool
		want   int // lines of the result
	}{{"terminal", plainScreen(80), false, headLines + tailLines}, {"--full", plainScreen(80), true, 100}, {"pipe", screen{}, false, 100}} {
		var b bytes.Buffer
		if err := wholeMessage(&b, m, k.screen, k.full); err != nil {
			t.Fatal(err)
		}
		out := b.String()
		if got := strings.Count(out, "  line "); got != k.want || !strings.Contains(out, "line 100\n") || !strings.HasPrefix(out, "7  tool  ") {
			t.Errorf("%s: %d lines of the result, want %d:\n%s", k.name, got, k.want, out)
		}
		if k.want < 100 && !strings.Contains(out, "… 85 lines more, --full shows them") {
			t.Errorf("%s: nothing tells of the rest:\n%s", k.name, out)
		}
	}
}
