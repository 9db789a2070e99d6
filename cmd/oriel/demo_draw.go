package main

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/oriel-context/oriel/internal/demo"
	"github.com/oriel-context/oriel/internal/term"
	"github.com/oriel-context/oriel/token"
)

// demoScreen draws the session, one line per call.
type demoScreen struct {
	out   io.Writer
	style term.Style
	width int
	last  int // tokens of the last request
	// next is when the next line may be shown, unless done is closed; zero if
	// nobody watches.
	next time.Time
	done <-chan struct{}
}

// How long people get to look at a call, at the user's words, at a scene.
const (
	pauseCall  = 60 * time.Millisecond
	pauseUser  = 350 * time.Millisecond
	pauseScene = 1300 * time.Millisecond
)

// demoScale is the end of the scale, just above the length of the session.
const demoScale = 3.3 * demoBudget

func newDemoScreen(out io.Writer, paced bool) *demoScreen {
	s := &demoScreen{out: out, style: term.StyleOf(out), width: min(max(term.Width(out), 60), 140)}
	if paced {
		s.next = time.Now()
	}
	return s
}

// pause gives people time to look. The time that calls take is part of it.
func (s *demoScreen) pause(d time.Duration) {
	if s.next.IsZero() {
		return
	}
	s.next = s.next.Add(d)
	if late := time.Since(s.next); late > 0 {
		s.next = s.next.Add(late)
	}
	select {
	case <-time.After(time.Until(s.next)):
	case <-s.done:
	}
}

func (s *demoScreen) line(format string, args ...any) {
	fmt.Fprintln(s.out, strings.TrimRight(fmt.Sprintf(format, args...), " "))
}

// demoInk is how a part of a bar is drawn: its colour, and its character
// without colours.
type demoInk struct {
	colour string
	sign   rune
	name   string
}

var (
	inkSystem   = demoInk{"38;5;67", '▓', "system, tools"}
	inkTold     = demoInk{"38;5;179", '▒', "stubs, digest"}
	inkKept     = demoInk{"38;5;72", '█', "kept"}
	inkRecalled = demoInk{"38;5;205", '◆', "recalled"}
	inkNew      = demoInk{"38;5;157", '░', "new"}
)

const dim = "2"

// ink draws n cells.
func (s *demoScreen) ink(i demoInk, n int) string {
	sign := i.sign
	if s.style.On {
		sign = '█'
	}
	return s.style.Code(i.colour, strings.Repeat(string(sign), max(0, n)))
}

func (s *demoScreen) begin() {
	for _, l := range fill("A coding agent hunts a flaky test: it sends its whole history with every call.",
		min(s.width, 80)) {
		s.line("%s", s.style.Bold(l))
	}
	for _, l := range fill(
		fmt.Sprintf("The model gets a window of %s tokens. No key, no network; proxy, history and recall are the real ones, the model is built in and knows only what it is sent.", term.Thousands(demoBudget)), min(s.width, 80)) {
		s.line("%s", l)
	}
	s.line("")
	var key []string
	for _, i := range []demoInk{inkSystem, inkTold, inkRecalled, inkKept, inkNew} {
		key = append(key, s.ink(i, 1)+" "+i.name)
	}
	gap := "  "
	if s.width < 80 {
		gap = "\n"
	}
	s.line("%s%s%s", strings.Join(key, "  "), gap, s.style.Code(dim, "╌ sent by the agent"))
	bar, _ := s.columns()
	s.line("%s", s.style.Code(dim, fmt.Sprintf(demoLine, "", strings.Repeat(" ", bar), "agent", "model", "")))
	s.pause(pauseScene / 2)
}

// demoLine is the line of a call: its number, the bar, tokens received and
// sent, a label.
const demoLine = "%3v %s %6s → %5s %s"

// columns returns the widths of the bar and of the label.
func (s *demoScreen) columns() (bar, label int) {
	label = 11
	if s.width >= 100 {
		label = s.width * 3 / 10
	}
	return s.width - utf8.RuneCountInString(fmt.Sprintf(demoLine, 1, "", "", "", "")) - label, label
}

// user shows the user's words and the fact in them that will matter.
func (s *demoScreen) user(text, fact string) {
	words := strings.Join(strings.Fields(text), " ")
	s.line("%s", s.style.Code("1;36", term.OneLine("you ▸ "+words, s.width-1)))
	if fact != "" {
		s.line("      %s", s.style.Code("1;35", term.OneLine("… "+fact+" …", s.width-7)))
	}
	s.pause(pauseUser)
}

// demoMark marks what is notable about a call.
type demoMark struct{ cut, recall, undo bool }

// call draws a call.
func (s *demoScreen) call(c *demo.Call, m demoMark) {
	width, room := s.columns()
	cells := func(tokens int) int { return min(width, int(float64(tokens)*float64(width)/demoScale+.5)) }
	var bar strings.Builder
	sum, at := 0, 0
	p := &c.Picture
	for _, part := range []struct {
		demoInk
		tokens int
	}{{inkSystem, p.System}, {inkTold, p.Told}, {inkRecalled, p.Recalled}, {inkKept, p.Kept}, {inkNew, p.New}} {
		sum += part.tokens
		to := cells(sum)
		if part.tokens > 0 && to == at && part.demoInk == inkRecalled {
			to++ // people look for it
		}
		to = max(at, to)
		bar.WriteString(s.ink(part.demoInk, to-at))
		at = to
	}
	rest := []rune(strings.Repeat(" ", width-at))
	for i := range min(len(rest), max(0, cells(c.Before)-at)) {
		rest[i] = '╌'
	}
	if edge := cells(demoBudget) - at; edge >= 0 && edge < len(rest) {
		rest[edge] = '│'
	}
	bar.WriteString(s.style.Code(dim, string(rest)))
	s.line(demoLine, c.N, bar.String(), kilo(c.Before), kilo(c.After), s.label(c, m, room))
	s.last = c.After
	s.pause(pauseCall)
	if m.cut {
		s.pause(2 * pauseCall)
	}
}

// label returns the text beside a bar: what is notable, else what the model
// does next.
func (s *demoScreen) label(c *demo.Call, m demoMark, room int) string {
	var marks []string
	switch {
	case m.undo:
		marks = append(marks, s.style.Code("1;33", "↶ undone"))
	case m.cut:
		marks = append(marks, s.style.Code("1;31", "✂ cut"))
	case m.recall:
		return s.style.Code("1;35", "◆ recall")
	}
	if m.recall {
		marks = append(marks, s.style.Code("1;35", "◆"))
	}
	if len(marks) > 0 {
		return strings.Join(marks, " ")
	}
	if room < 20 {
		return ""
	}
	return s.style.Code(dim, term.OneLine(strings.Join(c.Does, ", "), room))
}

// kilo formats a number of tokens in thousands.
func kilo(n int) string { return fmt.Sprintf("%.1fk", float64(n)/1000) }

// scene draws lines in a frame that is open to the right.
func (s *demoScreen) scene(colour, title string, lines ...string) {
	s.line("%s %s", s.style.Code(colour, "┌"), s.style.Code("1;"+colour, term.OneLine(title, s.width-3)))
	for _, l := range lines {
		s.line("%s %s", s.style.Code(colour, "│"), l)
	}
	s.line("%s", s.style.Code(colour, "└"))
	s.pause(pauseScene)
}

// wrapped breaks a text into lines that are indented after a word.
func (s *demoScreen) wrapped(word, text string) []string {
	const indent = 10
	out := fill(text, min(s.width, 100)-indent-3)
	for i := range out {
		if i > 0 {
			word = ""
		}
		out[i] = fmt.Sprintf("%-*s", indent, word) + out[i]
	}
	return out
}

// fill breaks a text into lines of at most width letters; words stay whole.
func fill(text string, width int) []string {
	var out []string
	line := ""
	for _, w := range strings.Fields(text) {
		if line != "" && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(w) > width {
			out = append(out, line)
			line = ""
		}
		if line != "" {
			line += " "
		}
		line += w
	}
	return append(out, line)
}

// recalled shows the call that recall has saved.
func (s *demoScreen) recalled(d *demoStory, c *demo.Call, bare string) {
	lines := s.wrapped("asked", "for what the user said at call "+fmt.Sprint(d.told)+", "+fmt.Sprint(c.N-d.told)+
		" calls ago, in a message that was removed at call "+fmt.Sprint(d.gone)+". Recall re-inserted it.")
	lines = append(lines, s.wrapped("without", "“"+bare+"”")...)
	for i := len(lines) - len(s.wrapped("", bare)); i < len(lines); i++ {
		lines[i] = s.style.Code("31", lines[i])
	}
	for _, l := range s.wrapped("with", "“"+c.Says+"”") {
		lines = append(lines, s.style.Code("32", l))
	}
	s.scene("35", "recall: the same request, without and with what was brought back", lines...)
}

// undoing shows that a plan is undone.
func (s *demoScreen) undoing(u *demoUndo) {
	lines := s.wrapped("plan", fmt.Sprintf("%s removed %s from the view; the largest, of %s tokens:", u.plan,
		term.Plural(u.hidden, "message", "messages"), term.Thousands(demo.Tokens(u.text))))
	lines = append(lines, s.style.Code(dim, "          "+term.OneLine(u.message, s.width-14)))
	s.scene("33", "oriel undo "+demo.Conversation, lines...)
}

// undone shows that what was removed is back.
func (s *demoScreen) undone(u *demoUndo, c *demo.Call) {
	lines := s.wrapped("before", term.Thousands(u.before)+" tokens, without it")
	lines = append(lines,
		s.wrapped("after", term.Thousands(c.After)+" tokens, with it; it is held until oriel release")...)
	s.scene("33", "undone: the next call has it again, word for word", lines...)
}

// bill shows the cost of the session.
func (s *demoScreen) bill(b *demoBill) {
	var out bytes.Buffer
	less := func(with, without float64) string { return fmt.Sprintf("%+.0f%%", 100*(with-without)/without) }
	cached := func(u token.Usage) string { return fmt.Sprintf("%.0f%%", 100*float64(u.CacheRead)/float64(u.Prompt())) }
	t := term.Table{Left: []bool{true, false, false, false}}
	t.Row(fmt.Sprintf("%d calls", b.calls), "without Oriel", "with Oriel", "")
	t.Row("tokens sent to the model", term.Thousands(b.without.Prompt()), term.Thousands(b.with.Prompt()),
		less(float64(b.with.Prompt()), float64(b.without.Prompt())))
	t.Row("of them from the cache", cached(b.without), cached(b.with), "")
	t.Row("largest request", term.Thousands(b.mostAll), term.Thousands(b.most),
		less(float64(b.most), float64(b.mostAll)))
	t.Row("cost", fmt.Sprintf("$%.3f", b.costWhole), fmt.Sprintf("$%.3f", b.cost), less(b.cost, b.costWhole))
	t.Draw(&out)
	s.line("")
	head := true
	for l := range strings.Lines(out.String()) {
		l = strings.TrimRight(l, "\n")
		if head || strings.HasPrefix(l, "cost") {
			l = s.style.Bold(l)
		}
		head = false
		s.line("%s", l)
	}
	for _, l := range fill("Usage as the model reports it, prices and cache rule of "+demo.Name+".", s.width) {
		s.line("%s", s.style.Code(dim, l))
	}
}

// invite shows what to try while the server runs.
func (s *demoScreen) invite(url, dir, oriel string) {
	s.line("")
	s.line("%s %s", s.style.Bold("The server is still up at"), s.style.Code("1;36", url))
	where := ""
	if strings.HasPrefix(oriel, "go run") {
		where = ", in this folder"
	}
	s.line("Look around in another terminal%s:", where)
	s.line("")
	s.line("  export ORIEL_DATA=%s", dir)
	for _, c := range []string{"show demo --last 20", "show demo --plan --last 1",
		`recall "which port is staging on?" --conversation demo`, "release demo"} {
		s.line("  %s %s", oriel, c)
	}
	s.line("")
	s.line("Ctrl-C ends it. See all of it in a browser:")
	s.line("%s", s.style.Code("1;36", url+"/oriel/#/conversation/demo"))
}
