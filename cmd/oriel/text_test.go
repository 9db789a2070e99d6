package main

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
		got := wrap(c.line, c.width, c.hang)
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%q to %d (-want +got):\n%s", c.line, c.width, diff)
		}
		for _, line := range got {
			if cells(line) > c.width {
				t.Errorf("%q takes %d columns of %d", line, cells(line), c.width)
			}
		}
	}
}

func TestClippedTextKeepsToTheWidth(t *testing.T) {
	for text, want := range map[string]string{"short": "short", "longer than that": "longer…", "日本語日本語": "日本語…", "e\u0301e\u0301e\u0301e\u0301e\u0301e\u0301e\u0301": "e\u0301e\u0301e\u0301e\u0301e\u0301e\u0301e\u0301", "12345678": "123456…", "✅✅✅✅": "✅✅✅…", "✓ ❌ done": "✓ ❌ d…"} {
		if got := clipCells(text, 7); got != want || cells(got) > 7 {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestTablesFitTheTerminal(t *testing.T) {
	tb := func() *table {
		t := &table{left: []bool{true, false, true}}
		t.row("id", "messages", "title")
		t.row("abc", "1,000", strings.Repeat("word ", 10))
		return t
	}
	wide, narrow := tb(), tb()
	wide.fit(40, 10, 1)
	narrow.fit(20, 10, 1)
	for _, c := range []struct {
		t       *table
		width   int
		columns int
	}{{wide, 40, 3}, {narrow, 20, 2}} {
		if len(c.t.left) != c.columns {
			t.Errorf("%d columns at %d, want %d", len(c.t.left), c.width, c.columns)
		}
		sum := 2 * (len(c.t.left) - 1)
		for _, w := range c.t.widths() {
			sum += w
		}
		if sum > c.width {
			t.Errorf("rows of %d in a terminal of %d", sum, c.width)
		}
	}
}

func TestNarrowTablesDropColumnsAndWrapTheLast(t *testing.T) {
	tb := table{left: []bool{true, false, false, true}}
	tb.row("model", "window", "output", "date")
	tb.row("a", "1,000", "200", "2026-11-15")
	tb.narrow(100, 3, 1)
	if len(tb.left) != 4 {
		t.Errorf("%d columns where all fit", len(tb.left))
	}
	tb.narrow(20, 3, 1)
	var b bytes.Buffer
	if tb.writeTo(&b); b.String() != "model  window  output\na       1,000     200\n" && b.String() != "model  output\na         200\n" {
		t.Errorf("%q", &b)
	}
	if tb.width() > 20 {
		t.Errorf("%d columns of 20", tb.width())
	}

	tb = table{left: []bool{true, true}}
	tb.row("ok", "the settings are read from a file that is private")
	tb.row("warning", "short")
	for width, want := range map[int]string{
		48: "ok       the settings are read from a file that\n         is private\nwarning  short\n",
		30: "ok\n    the settings are read from\n    a file that is private\nwarning\n    short\n",
	} {
		b.Reset()
		if tb.writeWrapped(&b, width); b.String() != want {
			t.Errorf("%d columns: %q, want %q", width, &b, want)
		}
	}
}
