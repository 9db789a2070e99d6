// Package trajectory keeps the dictionaries of ReAct-style agents within limits: whole
// interactions of thought, tool, arguments and result leave, and long results are cut
// (SPEC C).
package trajectory

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/token/bpe"
	"github.com/oriel-context/oriel/window"
	"github.com/oriel-context/oriel/wire"
)

// Options say how much of an agent's steps stays (SPEC C1). Preset
// has the usual ones; DefaultTrajectory is 10 interactions, results of 500
// characters, the first interaction preserved.
type Options struct {
	// MaxInteractions is the most that stay. Default 10.
	MaxInteractions int
	// ResultLimit is the most characters of a result. Default 500.
	ResultLimit int
	// PreserveFirst is how many of the oldest stay whatever comes. 0 means none;
	// as many as MaxInteractions or more means none, too: only the newest stay.
	PreserveFirst int
	// KeepResults leaves results as they are, however long.
	KeepResults bool
	// Count counts tokens for the plan. Default: o200k_base.
	Count func(string) int
}

// Preset finds options by name: demo, reasoning, debug, minimal; "" is
// the default.
func Preset(name string) (Options, error) {
	for _, p := range presets {
		if p.name == name {
			return p.options, nil
		}
	}
	return Options{}, fmt.Errorf("unknown preset %q: use one of %s", name, strings.Join(presetNames(), ", "))
}

// presetNames are the names of the presets.
func presetNames() []string {
	var names []string
	for _, p := range presets[1:] {
		names = append(names, p.name)
	}
	return names
}

var presets = []struct {
	name    string
	options Options
}{
	{"", Options{MaxInteractions: 10, ResultLimit: 500, PreserveFirst: 1}},
	{"demo", Options{MaxInteractions: 5, ResultLimit: 200, PreserveFirst: 1}},
	{"reasoning", Options{MaxInteractions: 15, ResultLimit: 500, PreserveFirst: 2}},
	{"debug", Options{MaxInteractions: 100, ResultLimit: 1000, PreserveFirst: 5}},
	{"minimal", Options{MaxInteractions: 3, ResultLimit: 100}},
}

// Fit cuts results that are longer than the limit, each at most once in
// its life, and then removes whole interactions until there are few enough: the
// first ones and the newest stay (SPEC C2, C3). Question and unknown members stay;
// interactions are numbered anew in the base of their form, and the context note
// tells how many were removed in total. Where there is nothing to do, the output
// is the very bytes that came.
//
// The plan has a block for every interaction that came in.
func Fit(t *wire.Trajectory, o Options) (out []byte, report window.TrajectoryReport, plan *window.Plan) {
	if o.ResultLimit <= 0 {
		o.ResultLimit = 500
	}
	if o.MaxInteractions <= 0 {
		o.MaxInteractions = 10
	}
	if o.Count == nil {
		o.Count = bpe.Count
	}
	f := fitting{
		limit: o.ResultLimit,
		most:  o.MaxInteractions,
		first: max(0, o.PreserveFirst),
		count: o.Count,
		steps: slices.Clone(t.Steps),
	}
	if f.first >= f.most {
		f.first = 0
	}
	came := asCame(t)
	f.plan = &window.Plan{Policy: "trajectory", Mode: window.Hard, Action: "none", Blocks: make([]window.Block, len(f.steps)), Inserted: []window.Insertion{}}
	f.plan.TokensBefore = f.count(string(came))
	for i := range f.steps {
		f.judge(i, o.KeepResults)
	}
	note, before, own := parseNote(t.Note.String())
	f.report.RemovedTotal = before + f.report.Removed
	out = came
	if f.report.Removed+f.report.Truncated > 0 {
		var literal chat.String
		if f.report.Removed > 0 {
			literal = chat.Quote(f.note(note, own))
		}
		out = t.Write(f.kept, literal)
	}
	f.plan.TokensAfter = f.count(string(out))
	f.plan.Trajectory = &f.report
	return out, f.report, f.plan
}

// asCame is the trajectory's own bytes. Writing gives them back for steps that have
// no gaps in their numbers, so gaps are closed in a copy first.
func asCame(t *wire.Trajectory) []byte {
	c := *t
	c.Steps = slices.Clone(t.Steps)
	for i := range c.Steps {
		c.Steps[i].Number = t.Form.Base() + i
	}
	return c.Write(c.Steps, nil)
}

type fitting struct {
	limit, most, first int
	count              func(string) int
	steps, kept        []wire.Step
	plan               *window.Plan
	report             window.TrajectoryReport
}

// judge decides on one interaction.
func (f *fitting) judge(i int, keepResult bool) {
	s := &f.steps[i]
	b := &f.plan.Blocks[i]
	*b = window.Block{Index: i, Role: chat.Assistant, Tokens: f.tokens(s), Verdict: window.Keep, Reason: "within the limits"}
	if n := len(f.steps); n > f.most {
		newest := f.most - f.first
		switch {
		case i < f.first:
			b.Reason = fmt.Sprintf("one of the first %d", f.first)
		case i >= n-newest:
			b.Reason = fmt.Sprintf("one of the newest %d", newest)
		default:
			b.Verdict, b.Reason = window.Evict, fmt.Sprintf("over the limit of interactions (%d)", f.most)
			f.report.Removed++
			f.plan.Action = "evict"
			return
		}
	}
	if short, mark, ok := cutResult(s.Result(), f.limit); ok && !keepResult {
		b.Verdict, b.Reason = window.Trim, fmt.Sprintf("the result has more than %d characters", f.limit)
		s.SetResult(chat.Quote(short))
		f.report.Truncated++
		f.plan.Inserted = append(f.plan.Inserted, window.Insertion{Kind: "marker", Into: i, Tokens: f.count(mark), Text: mark})
		if f.plan.Action == "none" {
			f.plan.Action = "trim"
		}
	}
	f.kept = append(f.kept, *s)
}

// tokens is the size of what an interaction says.
func (f *fitting) tokens(s *wire.Step) int {
	n := 0
	for _, raw := range [...][]byte{s.Thought(), s.Tool(), s.Args(), s.Result()} {
		n += f.count(plainText(raw))
	}
	return n
}

// plainText is what a JSON string says, and any other JSON as it stands.
func plainText(raw []byte) string {
	if len(raw) > 0 && raw[0] == '"' {
		return chat.String(raw).String()
	}
	return string(raw)
}

// resultMark opens a result that was cut before.
var resultMark = regexp.MustCompile(`^\[TRUNCATED: (?i:result too large) \((\d{1,15}) chars\)\. (?i:first) (\d{1,15}) chars shown\]\n`)

// cutResult shortens a result of more than limit characters. What is not a string
// is cut as the text that it is. A result that bears the mark of a cut, and is not
// longer than that says, is not cut again.
func cutResult(raw []byte, limit int) (short, mark string, ok bool) {
	if len(raw) <= limit {
		return "", "", false
	}
	text := plainText(raw)
	n := utf8.RuneCountInString(text)
	if n <= limit {
		return "", "", false
	}
	if m := resultMark.FindStringSubmatch(text); m != nil {
		shown, _ := strconv.Atoi(m[2])
		if n-len(m[0]) <= shown+len("...") {
			return "", "", false
		}
	}
	end := 0
	for range limit {
		_, size := utf8.DecodeRuneInString(text[end:])
		end += size
	}
	mark = fmt.Sprintf("[TRUNCATED: result too large (%d chars). First %d chars shown]", n, limit)
	return mark + "\n" + text[:end] + "...", mark, true
}

var (
	// noteForm is a note of ours, or of the managers that ours follows.
	noteForm = regexp.MustCompile(`\[Note: (\d{1,9}) earlier[^\]]*\]`)
	// looseNote is a note in other words with a number that can mean nothing else.
	looseNote = regexp.MustCompile(`(?i)^\D*(\d{1,9}) (?:earlier|older|previous)\b.*\b(?:removed|dropped|omitted|left out|trimmed)\b[^\n]*$`)
)

// parseNote finds what an earlier note says was removed. own is the part of the
// note to be replaced; a note that tells something else has none.
func parseNote(note string) (text string, removed int, own []int) {
	for _, form := range []*regexp.Regexp{noteForm, looseNote} {
		if m := form.FindStringSubmatchIndex(note); m != nil {
			n, _ := strconv.Atoi(note[m[2]:m[3]])
			return note, n, m[:2]
		}
	}
	return note, 0, nil
}

// note writes the note of the total, and keeps what else an earlier one said.
func (f *fitting) note(old string, own []int) string {
	n := f.report.RemovedTotal
	text := fmt.Sprintf("[Note: %d earlier tool interactions were removed to manage context size]", n)
	if n == 1 {
		text = "[Note: 1 earlier tool interaction was removed to manage context size]"
	}
	f.plan.Inserted = append(f.plan.Inserted, window.Insertion{Kind: "marker", Into: len(f.steps) - 1, Tokens: f.count(text), Text: text})
	switch {
	case own != nil:
		return old[:own[0]] + text + old[own[1]:]
	case old != "":
		return old + " " + text
	}
	return text
}
