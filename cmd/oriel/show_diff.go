package main

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/oriel-context/oriel/internal/report"
	"github.com/oriel-context/oriel/internal/term"
)

// drawDiff shows what changed between two calls, in whole lines if full.
func drawDiff(ends [2]report.Call, changes []report.Change, full bool, sc term.Screen) []byte {
	var b bytes.Buffer
	for i, sign := range []string{"-", "+"} {
		plan := "as it came"
		if ends[i].Plan != "" {
			plan = "by plan " + ends[i].Plan
		}
		fmt.Fprintf(&b, "%s call %d, %s tokens, %s\n", sign, ends[i].Number, term.Thousands(ends[i].TokensAfter), plan)
	}
	b.WriteString("\n")
	draw := func(op, line string) {
		if sc.Width > 0 && !full {
			line = term.Clip(line, sc.Width)
		}
		fmt.Fprintln(&b, sc.Style.Code(diffLook[op].colour, line))
	}
	for i := range changes {
		k := &changes[i]
		draw(k.Op, diffRow(k))
		for _, l := range diffLines(k, full) {
			draw(l.Op, "    "+diffLook[l.Op].sign+" "+l.Text)
		}
	}
	return b.Bytes()
}

// diffLook is the sign of a change, and its colour.
var diffLook = map[string]struct{ sign, colour string }{
	"same": {" ", "2"}, "removed": {"-", "31"}, "added": {"+", "32"}, "changed": {"~", "33"}, "more": {"…", "2"},
}

// diffRow is the line of a change.
func diffRow(k *report.Change) string {
	at, role, tokens, text := "", term.OneLine(k.Role, 9), term.Thousands(k.Tokens), term.OneLine(k.Text, 200)
	switch {
	case k.First > 0 && k.Last > k.First:
		at = fmt.Sprintf("%d–%d", k.First, k.Last)
	case k.First > 0:
		at = fmt.Sprint(k.First)
	case k.Role == "field":
		tokens = ""
	}
	switch {
	case k.Op == "same":
		role, text = "", "the same"
	case k.Role == "field" && k.Op == "changed" && len(k.Lines) == 2:
		text = term.OneLine(strings.TrimSpace(k.Lines[0].Text), 100) + " → " +
			term.OneLine(strings.TrimSpace(k.Lines[1].Text), 100)
	}
	if k.Name != "" {
		text = strings.TrimSpace(term.OneLine(k.Name, 80) + ": " + text)
	}
	if k.Op == "changed" && k.Role != "field" {
		text = fmt.Sprintf("(%s before) %s", term.Thousands(k.TokensBefore), text)
	}
	return fmt.Sprintf("%s %-9s %-9s %7s  %s", diffLook[k.Op].sign, at, role, tokens, text)
}

// Without --full, this many lines of a run of removed or added ones are shown, and this many
// runs of a change. A pair of long lines begins this many characters before its difference.
const (
	maxRunLines = 3
	maxRuns     = 6
	leadIn      = 20
)

// diffLines returns the lines of a change that are shown.
func diffLines(k *report.Change, full bool) (out []report.LineChange) {
	lines := k.Lines
	if k.Role == "field" && len(lines) == 2 {
		return nil // they are in its row
	}
	if full {
		for _, l := range lines {
			out = append(out, report.LineChange{Op: l.Op, Text: term.Printable(l.Text)})
		}
		return out
	}
	left := len(lines)
	var before []report.LineChange // the run before, if it was removed
	for runs := 0; len(lines) > 0 && runs < maxRuns; runs++ {
		n := 1
		for n < len(lines) && lines[n].Op == lines[0].Op {
			n++
		}
		run := lines[:n]
		for i := range min(n, maxRunLines) {
			text := run[i].Text
			switch {
			case run[0].Op == "added" && i < len(before):
				text = fromDifference(text, before[i].Text)
			case run[0].Op == "removed" && n+i < len(lines):
				text = fromDifference(text, lines[n+i].Text)
			}
			out = append(out, report.LineChange{Op: run[i].Op, Text: term.OneLine(text, 200)})
			left--
		}
		if before = nil; run[0].Op == "removed" {
			before = run
		}
		lines = lines[n:]
	}
	if left > 0 {
		out = append(out,
			report.LineChange{Op: "more", Text: fmt.Sprintf("%s changed: --full shows them",
				term.Plural(left, "more line", "more lines"))})
	}
	return out
}

// fromDifference returns a line without the beginning that it has in common with another.
func fromDifference(line, other string) string {
	a, b := []rune(line), []rune(other)
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	if n <= 2*leadIn {
		return line
	}
	return "…" + string(a[n-leadIn:])
}
