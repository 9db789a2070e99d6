package term

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestWrapKeepsToTheWidth(t *testing.T) {
	for _, c := range []struct {
		line        string
		width, hang int
		want        []string
	}{
		{"", 10, 0, []string{""}},
		{"short", 10, 2, []string{"short"}},
		{"one two three four", 10, 0, []string{"one two", "three four"}},
		{"one two three four", 10, 2, []string{"one two", "  three", "  four"}},
		{"  - one two three", 12, 4, []string{"  - one two", "    three"}},
		{"abcdefghijklmnop", 8, 0, []string{"abcdefgh", "ijklmnop"}},
		{"日本語日本語日本語", 8, 0, []string{"日本語日", "本語日本", "語"}},
		{"        deeply indented", 10, 0, []string{"        de", "eply", "indented"}},
	} {
		got := Wrap(c.line, c.width, c.hang)
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%q to %d (-want +got):\n%s", c.line, c.width, diff)
		}
		for _, line := range got {
			if Cells(line) > c.width {
				t.Errorf("%q takes %d columns of %d", line, Cells(line), c.width)
			}
		}
	}
}

func TestClippedTextKeepsToTheWidth(t *testing.T) {
	for text, want := range map[string]string{"short": "short", "longer than that": "longer…", "日本語日本語": "日本語…",
		"e\u0301e\u0301e\u0301e\u0301e\u0301e\u0301e\u0301": "e\u0301e\u0301e\u0301e\u0301e\u0301e\u0301e\u0301",
		"12345678": "123456…", "✅✅✅✅": "✅✅✅…", "✓ ❌ done": "✓ ❌ d…"} {
		if got := Clip(text, 7); got != want || Cells(got) > 7 {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestTablesFitTheTerminal(t *testing.T) {
	tb := func() *Table {
		t := &Table{Left: []bool{true, false, true}}
		t.Row("id", "messages", "title")
		t.Row("abc", "1,000", strings.Repeat("word ", 10))
		return t
	}
	wide, narrow := tb(), tb()
	wide.Fit(40, 10, 1)
	narrow.Fit(20, 10, 1)
	for _, c := range []struct {
		t       *Table
		width   int
		columns int
	}{{wide, 40, 3}, {narrow, 20, 2}} {
		if len(c.t.Left) != c.columns {
			t.Errorf("%d columns at %d, want %d", len(c.t.Left), c.width, c.columns)
		}
		sum := 2 * (len(c.t.Left) - 1)
		for _, w := range c.t.Widths() {
			sum += w
		}
		if sum > c.width {
			t.Errorf("rows of %d in a terminal of %d", sum, c.width)
		}
	}
}

func TestNarrowTablesDropColumnsAndWrapTheLast(t *testing.T) {
	tb := Table{Left: []bool{true, false, false, true}}
	tb.Row("model", "window", "output", "date")
	tb.Row("a", "1,000", "200", "2026-11-15")
	tb.Narrow(100, 3, 1)
	if len(tb.Left) != 4 {
		t.Errorf("%d columns where all fit", len(tb.Left))
	}
	tb.Narrow(20, 3, 1)
	var b bytes.Buffer
	if tb.Draw(&b); b.String() != "model  window  output\na       1,000     200\n" &&
		b.String() != "model  output\na         200\n" {
		t.Errorf("%q", &b)
	}
	if tb.Width() > 20 {
		t.Errorf("%d columns of 20", tb.Width())
	}

	tb = Table{Left: []bool{true, true}}
	tb.Row("ok", "the settings are read from a file that is private")
	tb.Row("warning", "short")
	for width, want := range map[int]string{
		48: "ok       the settings are read from a file that\n         is private\nwarning  short\n",
		30: "ok\n    the settings are read from\n    a file that is private\nwarning\n    short\n",
	} {
		b.Reset()
		if tb.DrawWrapped(&b, width); b.String() != want {
			t.Errorf("%d columns: %q, want %q", width, &b, want)
		}
	}
}
