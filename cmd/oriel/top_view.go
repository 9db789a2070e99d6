package main

import (
	"cmp"
	"fmt"
	"math/bits"
	"strings"
	"time"

	"github.com/oriel-context/oriel/internal/term"
	"github.com/oriel-context/oriel/window"
)

// view returns the lines of the screen: height lines of at most width columns.
func (m *topModel) view() []string {
	if m.width < 56 || m.height < 10 {
		return []string{term.Clip("make the window larger: 56 columns, 10 rows", m.width)}
	}
	if m.help {
		return m.fill(m.helpLines(), m.keysLine())
	}
	pane := max(8, m.height*2/5)
	lines := m.head()
	lines = append(lines, m.callLines(m.height-1-pane-len(lines))...)
	lines = append(lines, m.paneLines(pane)...)
	return m.fill(lines, m.keysLine())
}

// fill makes lines those of the whole screen, with the last one at the bottom.
func (m *topModel) fill(lines []string, last string) []string {
	for len(lines) < m.height-1 {
		lines = append(lines, "")
	}
	return append(lines[:m.height-1], last)
}

// head returns the first lines: where, and today in numbers.
func (m *topModel) head() []string {
	o := m.overview
	if o == nil {
		return []string{m.style.Bold("oriel top") + "  " + term.Clip(m.address, m.width-11),
			term.Clip(term.OneLine(m.gone, m.width), m.width), ""}
	}
	where := fmt.Sprintf("%s  profile %s  %s", m.address, term.OneLine(o.Profile, 20), term.OneLine(o.Version, 20))
	first := m.style.Bold("oriel top") + "  " + term.Clip(where, m.width-11)
	t := &o.Today
	parts := []string{term.Plural(t.Calls, "call", "calls") + " today", term.Compact(t.Tokens.Sent) + " of " +
		term.Compact(t.Tokens.Without) + " tokens sent", priced(t.Money.Cost, t.Money.UnknownModels)}
	if t.Money.Saved >= 0.005 {
		parts = append(parts, term.Money(t.Money.Saved)+" saved")
	}
	if t.Failed > 0 {
		parts = append(parts, term.Plural(t.Failed, "failed", "failed"))
	}
	parts = append(parts, term.Plural(t.Cuts, "cut", "cuts"), term.Plural(t.Recalls, "recall", "recalls"))
	if o.FailOpen.Total > 0 {
		parts = append(parts, fmt.Sprintf("%d failed open", o.FailOpen.Total))
	}
	if o.Calibration.Calls > 0 {
		parts = append(parts, fmt.Sprintf("counts ±%.1f%%", 100*o.Calibration.Error))
	}
	parts = append(parts, "history "+term.Bytes(o.Store.Disk))
	if o.Queue.Calls > 0 {
		parts = append(parts, term.Plural(o.Queue.Calls, "call", "calls")+" to write")
	}
	return []string{first, m.joined(parts, m.width), m.unread()}
}

// unread returns a line about the clients whose requests are not read, or "".
func (m *topModel) unread() string {
	all := m.overview.Unread
	if len(all) == 0 {
		return ""
	}
	parts := make([]string, len(all))
	for i, u := range all {
		parts[i] = term.OneLine(fmt.Sprintf("%d × %s %s %s", u.Count, cmp.Or(u.Client, "a client without a name"),
			u.Path, u.Why), m.width)
	}
	return m.style.Code("33", term.Clip("! not read: "+m.joined(parts, m.width), m.width))
}

// joined joins as many parts as there is room for.
func (m *topModel) joined(parts []string, room int) string {
	line := parts[0]
	for _, p := range parts[1:] {
		if term.Cells(line)+3+term.Cells(p) > room {
			break
		}
		line += " · " + p
	}
	return term.Clip(line, room)
}

// planWidth is how many columns a screen must have that shows the plans of calls.
const planWidth = 76

// callLines returns the list of calls in so many lines.
func (m *topModel) callLines(room int) []string {
	title := m.width - 10 - 17 - 7 - 7 - 6 - 8 - 9 // what the other columns leave
	wide := title >= 24
	row := func(time, what, model, came, sent, plan, took, cost string) string {
		if !wide {
			planned := ""
			if m.width >= planWidth {
				planned = " " + term.Column(plan, 5)
			}
			return term.Column(time, 8) + term.Column(what, m.width-8-14-7-7-term.Cells(planned)-9) + term.Column(model,
				14) + term.Right(came, 7) + term.Right(sent, 7) + planned + term.Right(cost, 9)
		}
		return term.Column(time, 10) + term.Column(what, title) + term.Column(model, 17) + term.Right(came,
			7) + term.Right(sent, 7) + " " + term.Column(plan, 5) + term.Right(took, 7) + term.Right(cost, 9)
	}
	lines := []string{m.style.Code("2", row(" time", "conversation", "model", "came", "sent", "plan", "took", "cost"))}
	running := m.running()
	for _, c := range running {
		if len(lines) == room {
			break
		}
		took := time.Duration(c.MS)*time.Millisecond + m.now().Sub(m.overview.got)
		line := row(" "+c.Time.In(m.now().Location()).Format(m.clock(wide)),
			term.OneLine(cmp.Or(c.Title, c.Conversation, "a new conversation"), m.width),
			term.OneLine(shortModel(c.Model), m.width),
			term.Compact(c.TokensBefore), term.Compact(c.TokensAfter), "", "", fmt.Sprintf("run %.0fs", took.Seconds()))
		lines = append(lines, m.style.Code("32", line))
	}
	if len(m.calls) == 0 && len(running) > 0 {
		return append(lines, make([]string, max(0, room-len(lines)))...)
	}
	if len(m.calls) == 0 {
		what := "no calls yet"
		if m.filter != "" {
			what = fmt.Sprintf("no call has %q", m.filter)
		}
		return append(append(lines, term.Clip("  "+what, m.width)), make([]string, max(0, room-2))...)
	}
	first := 0
	for i := range m.calls { // the chosen one is on the screen
		if below := room - len(lines); m.calls[i].ID == m.selected && i >= below {
			first = i - below + 1
		}
	}
	for i := first; i < len(m.calls) && len(lines) < room; i++ {
		c := &m.calls[i]
		what := cmp.Or(c.Title, c.Conversation)
		if c.Error != "" {
			what = "! " + c.Error
		}
		cost := ""
		switch {
		case c.Cost > 0:
			cost = term.Money(c.Cost)
		case c.Priced != nil && !*c.Priced && c.Error == "":
			cost = "?"
		}
		marker := " "
		if c.ID == m.selected {
			marker = "▸"
		}
		line := row(marker+c.Time.In(m.now().Location()).Format(m.clock(wide)), term.OneLine(what, m.width),
			term.OneLine(shortModel(c.Model), m.width), term.Compact(c.TokensBefore), term.Compact(c.TokensAfter),
			term.OneLine(c.Plan, 5), term.Seconds(c.MS), cost)
		switch {
		case c.ID == m.selected:
			line = m.style.Code("7", line)
		case c.Error != "":
			line = m.style.Code("31", line)
		}
		lines = append(lines, line)
	}
	return append(lines, make([]string, max(0, room-len(lines)))...)
}

// clock returns the layout of times of day.
func (m *topModel) clock(wide bool) string {
	if wide {
		return "15:04:05"
	}
	return "15:04"
}

// running returns the calls that have not ended, as far as the filter lets them through.
func (m *topModel) running() (out []topCall) {
	if m.overview == nil {
		return nil
	}
	for _, c := range m.overview.Running {
		if c.passes(m.filter) {
			out = append(out, c)
		}
	}
	return out
}

// stripLook is how a message of a strip is drawn.
type stripLook struct {
	verdict          string
	pinned, recalled bool
}

// looks returns what became of each message; index 0 is not used.
func (s *topStrip) looks() []stripLook {
	all := make([]stripLook, s.Count+1)
	for _, v := range s.Verdicts {
		for i := max(v.first, 1); i <= min(v.last, s.Count); i++ {
			all[i].verdict = v.verdict
		}
	}
	for _, i := range s.Pinned {
		if i >= 1 && i <= s.Count {
			all[i].pinned = true
		}
	}
	for _, r := range s.Recalled {
		if r.ID >= 1 && r.ID <= s.Count {
			all[r.ID].recalled = true
		}
	}
	return all
}

// paneLines returns the lower part of the screen: the strip and the chosen message.
func (m *topModel) paneLines(room int) []string {
	s := m.strip
	if s == nil {
		return []string{m.rule("")}
	}
	title := ""
	if c := m.chosen(); c != nil {
		title = term.OneLine(cmp.Or(c.Title, c.Conversation), m.width)
	}
	parts := []string{term.Clip(title, m.width*2/5)}
	if s.Call > 0 {
		parts = append(parts, fmt.Sprintf("call %d of %d", s.Call, s.Calls),
			fmt.Sprintf("%s of %s sent", term.Compact(s.TokensAfter), term.Compact(s.TokensBefore)))
	}
	if s.Budget > 0 {
		parts = append(parts, "budget "+term.Compact(s.Budget))
	}
	if s.Plan != "" {
		parts = append(parts, s.Plan)
	}
	lines := append([]string{m.rule(m.joined(parts, m.width-6))}, m.stripLines((room-4)/2)...)
	return append(lines, m.messageLines(room-len(lines))...)
}

// rule returns a line across the screen with a text in it.
func (m *topModel) rule(text string) string {
	if text == "" {
		return m.style.Code("2", strings.Repeat("─", m.width))
	}
	text = term.Clip(text, m.width-6)
	return m.style.Code("2", "── ") + text + m.style.Code("2",
		" "+strings.Repeat("─", max(0, m.width-4-term.Cells(text))))
}

// heights are the sizes of messages, doubling from 16 tokens on.
var heights = []rune("▁▂▃▄▅▆▇█")

// stripLines draws the messages around the chosen one in so many rows: for each message a
// bar by its tokens, coloured by its verdict, and a sign below it.
func (m *topModel) stripLines(rows int) (lines []string) {
	s := m.strip
	if s.Count == 0 {
		return []string{"  no messages"}
	}
	all := s.looks()
	page := m.width * max(rows, 1)
	first := (m.cursor-1)/page*page + 1
	for row := 0; row < rows && first <= s.Count; row++ {
		last := min(first+m.width-1, s.Count)
		var bars, signs strings.Builder
		for i := first; i <= last; i++ {
			bar, colour, sign := m.cell(i, all[i])
			bars.WriteString(m.style.Code(colour, bar))
			signs.WriteString(m.style.Code(colour, sign))
		}
		lines = append(lines, bars.String(), signs.String())
		first = last + 1
	}
	return lines
}

// cell returns the bar, the colour and the sign of a message.
func (m *topModel) cell(i int, l stripLook) (bar, colour, sign string) {
	s := m.strip
	tokens := 0
	if i <= len(s.Tokens) {
		tokens = s.Tokens[i-1]
	}
	bar = string(heights[min(bits.Len(uint(tokens)>>4), len(heights)-1)])
	drawn := verdictLook[window.Keep]
	sign = " "
	if l.verdict != "" {
		drawn = verdictLook[window.Verdict(l.verdict)]
		sign = drawn.sign
	} else if i <= len(s.Kinds) && s.Kinds[i-1] == 'u' {
		sign = "u"
	}
	colour = drawn.colour
	if i > s.Upto {
		colour = "2"
	}
	if l.recalled {
		sign = "+"
	}
	if l.pinned {
		sign = "*"
	}
	if i == m.cursor {
		sign, colour = "▲", colour+";1"
	}
	return bar, colour, sign
}

// messageLines describes the chosen message in so many lines.
func (m *topModel) messageLines(room int) []string {
	if m.message == nil || room < 1 {
		return nil
	}
	msg := m.message
	by := msg.By
	if by == "" {
		by = msg.Role
	}
	about := fmt.Sprintf("message %d · %s · %s", msg.ID, term.OneLine(by, 20),
		term.Plural(msg.Tokens, "token", "tokens"))
	switch {
	case msg.Verdict != "":
		about += " · " + msg.Verdict + ": " + term.OneLine(msg.Reason, m.width)
	case msg.ID > m.strip.Upto:
		about += " · came later"
	default:
		about += " · sent as it came"
	}
	if msg.Pinned {
		about += " · pinned"
	}
	lines := []string{m.style.Bold(term.Clip(about, m.width))}
	for line := range strings.Lines(term.Printable(msg.text())) {
		for _, part := range term.Wrap(strings.ReplaceAll(strings.TrimRight(line, "\n"), "\t", "    "), m.width-2, 0) {
			if len(lines) == room {
				return lines
			}
			lines = append(lines, "  "+part)
		}
	}
	return lines
}

// text returns what a message says.
func (msg *topMessage) text() string {
	var b strings.Builder
	for _, p := range msg.Parts {
		switch {
		case p.Name != "":
			fmt.Fprintf(&b, "[%s %s] %s\n", p.Kind, p.Name, p.Text)
		case p.Kind != "text":
			fmt.Fprintf(&b, "[%s] %s\n", strings.TrimSpace(p.Kind+" "+p.Media), p.Text)
		default:
			b.WriteString(p.Text + "\n")
		}
	}
	return b.String()
}

// keysLine returns the last line: a question, a note, or the keys.
func (m *topModel) keysLine() string {
	switch {
	case m.filtering:
		return term.Clip("/"+m.filter+"▏  enter keeps the filter, esc clears it", m.width)
	case m.asking != nil:
		u := m.asking
		question := fmt.Sprintf("Undo %s? Messages %s come back (%s tokens)", u.Plan, u.Back,
			term.Compact(u.BackTokens))
		if u.Leaves != "" {
			question += fmt.Sprintf(", %s left out for them (%s)", u.Leaves, term.Compact(u.LeavesTokens))
		}
		return m.style.Code("33;1", term.Clip(term.OneLine(question+". y or n", m.width), m.width))
	case m.gone != "" && m.overview != nil:
		return m.style.Code("31", term.Clip(term.OneLine(m.gone+"; asking again", m.width), m.width))
	case m.note != "":
		return term.Clip(term.OneLine(m.note, m.width), m.width)
	}
	keys := "↑↓ call · ←→ message · [] left out · p pin · u undo · / filter · ? help · q quit"
	if m.filter != "" {
		keys = "filter " + m.filter + " · " + keys
	}
	return m.style.Code("2", term.Clip(term.OneLine(keys, 2*m.width), m.width))
}

// helpLines explain the screen.
func (m *topModel) helpLines() []string {
	sign := func(v window.Verdict) string {
		if m.width < 80 { // the line may have to be clipped
			return verdictLook[v].sign
		}
		return m.style.Code(verdictLook[v].colour, verdictLook[v].sign)
	}
	lines := []string{
		m.style.Bold("oriel top"), "",
		"The list has the newest calls: tokens of the request as it came and as it",
		"was sent, and the plan by which something was left out. Below it are the",
		"messages of the chosen call's conversation, one column each. A bar is as high",
		"as the message is long: each step doubles it, from 16 tokens on.", "",
		"  u words of a person    * pinned    + brought back",
		"  " + sign(window.Trim) + " shortened    " + sign(window.Mask) + " result cleared    " + sign(window.Fold) +
			" stands in the digest    " + sign(window.Evict) + " left", "",
		"  ↑ ↓     another call               ← →        another message",
		"  [ ]     message that was left out  pgup pgdn  a row further",
		"  p       pin or unpin the message   u          undo the newest plan, asks first",
		"  /       filter the list            r          ask again",
		"  q       quit", "",
		"Any key returns.",
	}
	for i, line := range lines {
		if !strings.Contains(line, "\x1b") {
			lines[i] = term.Clip(line, m.width)
		}
	}
	return lines
}
