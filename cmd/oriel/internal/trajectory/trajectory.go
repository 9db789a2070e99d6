// Package trajectory keeps the dictionaries of ReAct-style agents within limits (SPEC C).
// It shortens long results and removes whole interactions: thought, tool, arguments and
// result together. It never modifies its input.
package trajectory

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/internal/bpe"
	"github.com/oriel-context/oriel/internal/prompt"
	"github.com/oriel-context/oriel/window"
	"github.com/oriel-context/oriel/wire"
)

// Options limit a trajectory (SPEC C1). Preset returns the usual ones.
type Options struct {
	// MaxInteractions is the most interactions that are kept. Default 10.
	MaxInteractions int
	// ResultLimit is the number of characters above which a result is cut. Default 500.
	ResultLimit int
	// PreserveFirst is the number of oldest interactions that are always kept. Default: 1
	// where MaxInteractions has its default, too, otherwise none; a negative number means
	// none. If it is not below the most interactions, only the newest are kept.
	PreserveFirst int
	// KeepResults turns the cutting of results off.
	KeepResults bool
	// Count counts tokens for the plan. Default: o200k_base.
	Count func(string) int
}

// Preset returns the options of a name: demo, reasoning, debug or minimal. Those of "" are
// 10 interactions, results of 500 characters, the first interaction preserved.
func Preset(name string) (Options, error) {
	for _, p := range presets {
		if p.name == name {
			return p.options, nil
		}
	}
	return Options{}, fmt.Errorf("unknown preset %q: use one of %s", name, strings.Join(presetNames(), ", "))
}

// presetNames returns the names of the presets.
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

// Fit cuts results that are longer than the limit and then removes interactions until
// there are few enough (SPEC C2, C3). It keeps the first ones and the newest. A result is
// cut once: later calls recognise its mark. The question and unknown members are kept.
// Interactions are renumbered in the base of their form, and the context note has the total
// number of removed ones. If nothing has to change, the output is the input.
//
// The plan has a block for every interaction of the input.
func Fit(t *wire.Trajectory, o Options) (out []byte, report window.TrajectoryReport, plan *window.Plan) {
	if o.ResultLimit <= 0 {
		o.ResultLimit = 500
	}
	if o.MaxInteractions <= 0 {
		o.MaxInteractions = 10
		o.PreserveFirst = cmp.Or(o.PreserveFirst, 1)
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
	f.plan = window.NewPlan("trajectory", "", 0, 0)
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

// asCame returns the bytes of the input. Trajectory.Write returns them for steps without
// gaps in their numbers, so asCame closes the gaps in a copy first.
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

// judge decides whether interaction i is kept, cut or removed.
func (f *fitting) judge(i int, keepResult bool) {
	s := &f.steps[i]
	b := window.Block{Index: i, Role: chat.Assistant, Tokens: f.tokens(s), Verdict: window.Keep,
		Reason: "within the limits"}
	defer func() { f.plan.Judge(b) }()
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
			return
		}
	}
	if short, mark, ok := cutResult(s.Result(), f.limit); ok && !keepResult {
		b.Verdict, b.Reason = window.Trim, fmt.Sprintf("the result has more than %d characters", f.limit)
		s.SetResult(chat.Quote(short))
		b.Lost = max(0, b.Tokens-f.tokens(s)+f.count(mark))
		f.report.Truncated++
		f.plan.Insert(window.Insertion{Kind: "marker", Into: i, Tokens: f.count(mark), Text: mark})
	}
	f.kept = append(f.kept, *s)
}

// tokens returns the size of an interaction.
func (f *fitting) tokens(s *wire.Step) int {
	n := 0
	for _, raw := range [...][]byte{s.Thought(), s.Tool(), s.Args(), s.Result()} {
		n += f.count(plainText(raw))
	}
	return n
}

// plainText returns the value of a JSON string, and other JSON as it is.
func plainText(raw []byte) string {
	if len(raw) > 0 && raw[0] == '"' {
		return chat.String(raw).String()
	}
	return string(raw)
}

// resultMark matches the beginning of a result that was cut.
var resultMark = regexp.MustCompile(
	`^\[TRUNCATED: (?i:result too large) \((\d{1,15}) chars\)\. (?i:first) (\d{1,15}) chars shown\]\n`)

// cutResult shortens a result of more than limit characters. A result that is not a string
// is cut as JSON text. A result with the mark of an earlier cut is cut again only if it is
// longer than the mark claims.
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
	mark = fmt.Sprintf(prompt.Truncated, n, limit)
	return mark + "\n" + text[:end] + "...", mark, true
}

var (
	// noteForm matches our notes and those of similar programs.
	noteForm = regexp.MustCompile(`\[Note: (\d{1,9}) earlier[^\]]*\]`)
	// looseNote matches notes in other words whose number can only mean removals.
	looseNote = regexp.MustCompile(
		`(?i)^\D*(\d{1,9}) (?:earlier|older|previous)\b.*\b(?:removed|dropped|omitted|left out|trimmed)\b[^\n]*$`)
)

// parseNote returns the number of removed interactions in an earlier note. own is the part
// of the note that states it, nil if there is none.
func parseNote(note string) (text string, removed int, own []int) {
	for _, form := range []*regexp.Regexp{noteForm, looseNote} {
		if m := form.FindStringSubmatchIndex(note); m != nil {
			n, _ := strconv.Atoi(note[m[2]:m[3]])
			return note, n, m[:2]
		}
	}
	return note, 0, nil
}

// note returns the note with the new total. It keeps the rest of an earlier note.
func (f *fitting) note(old string, own []int) string {
	n := f.report.RemovedTotal
	text := fmt.Sprintf(prompt.Removed, n)
	if n == 1 {
		text = prompt.RemovedOne
	}
	f.plan.Inserted = append(f.plan.Inserted, window.Insertion{Kind: "marker", Into: len(f.steps) - 1,
		Tokens: f.count(text), Text: text})
	switch {
	case own != nil:
		return old[:own[0]] + text + old[own[1]:]
	case old != "":
		return old + " " + text
	}
	return text
}
