package main

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/oriel-context/oriel/internal/report/replay"
	"github.com/oriel-context/oriel/internal/term"
	"github.com/oriel-context/oriel/window"
)

// drawReplay shows a replay to a person.
func drawReplay(r *replay.Report, sc term.Screen, verbose bool) []byte {
	d := &replayScreen{r: r, sc: sc, total: r.Total, money: term.Money}
	if r.Priced == 0 {
		d.total, d.money = r.Unpriced, func(x float64) string { return fmt.Sprintf("%.2fM", x) }
	}
	d.paid()
	d.policies()
	d.advice()
	d.trust()
	d.sessions(verbose)
	return d.b.Bytes()
}

type replayScreen struct {
	r     *replay.Report
	sc    term.Screen
	b     bytes.Buffer
	total []*replay.Outcome
	money func(float64) string
}

// line writes a paragraph, whose lines are indented as the first.
func (d *replayScreen) line(format string, args ...any) {
	text := term.Printable(fmt.Sprintf(format, args...))
	lines := []string{text}
	if d.sc.Width > 0 {
		lines = term.Wrap(text, d.sc.Width, len(text)-len(strings.TrimLeft(text, " ")))
	}
	for _, l := range lines {
		fmt.Fprintln(&d.b, l)
	}
}

func (d *replayScreen) title(text string) { fmt.Fprintf(&d.b, "\n%s\n", d.sc.Style.Bold(text)) }

// paid shows what the recorded calls cost.
func (d *replayScreen) paid() {
	r := d.r
	days := ""
	if r.Began.Year() > 1970 {
		first, last := r.Began.Local().Format("2 Jan 2006"), r.Ended.Local().Format("2 Jan 2006")
		if days = ", " + first; last != first {
			days += " to " + last
		}
	}
	d.line("%s, %s%s", term.Things(len(r.Sessions), "session"), term.Things(r.Calls, "call"), days)
	p := &r.Paid
	switch {
	case p.Reported == 0:
		d.title("What you paid is not recorded")
		d.line("These recordings do not say what their providers counted. Sizes are estimates.")
	case r.Priced == 0:
		d.title("What you paid is not known: no model here has a price")
	default:
		d.title("You paid " + term.Money(p.Cost()))
		d.line("%s for prompts, %s for replies", term.Money(p.Prompts), term.Money(p.Replies))
	}
	t := term.Table{Left: []bool{true, false, false, false, false}}
	for _, m := range r.Models {
		cost := "?"
		if m.Reported > m.Unpriced {
			cost = term.Money(m.Cost())
		}
		u := m.Usage
		t.Row("  "+cmp.Or(term.OneLine(m.Model, 40), "unknown model"), cost, term.Things(m.Calls, "call"),
			term.Compact(u.Prompt())+" prompt", term.Percent(u.CacheRead, u.Prompt())+" cached")
	}
	if len(r.Models) > 0 && p.Reported > 0 {
		if d.sc.Width > 0 {
			t.Narrow(d.sc.Width, 4, 3)
		}
		t.Draw(&d.b)
	}
	if whole := d.total[0]; whole.IdleCalls > 0 {
		d.line("  After pauses %s went to the cache again at %s: %s of it (%s)",
			term.Compact(whole.Idle)+" tokens", term.Things(whole.IdleCalls, "call"), d.money(whole.IdleCost),
			partOf(whole.IdleCost, whole.Cost))
	}
}

// policies shows what each policy would have cost.
func (d *replayScreen) policies() {
	d.title("The prompts, had they been sent another way")
	unit := "cost"
	if d.r.Priced == 0 {
		unit = "cost *"
	}
	t := term.Table{Left: []bool{true, false, true, false, false, false, false, false}}
	t.Row("", unit, "", "saved", "pauses", "cuts", "missing", "given back")
	whole := d.total[0]
	for i, o := range d.total {
		name := o.Policy
		if o.Policy == replay.Append {
			name = "as it came"
		}
		if o.Window > 0 {
			name += " " + term.Compact(o.Window)
		}
		row := []string{"  " + name, d.money(o.Cost), "", "", d.money(o.IdleCost), "", "", ""}
		if whole.Cost > 0 {
			row[2] = term.Bar(int(1e6*o.Cost), int(1e6*max(whole.Cost, o.Cost)), 16)
		}
		if i > 0 {
			row[3], row[5] = partOf(whole.Cost-o.Cost, whole.Cost), term.Thousands(o.Cuts)
			row[6] = fmt.Sprintf("%s of %s", term.Thousands(o.Missing), term.Thousands(o.Needed))
			row[7] = term.Thousands(o.Back)
		}
		t.Row(row...)
	}
	if d.sc.Width > 0 {
		t.Narrow(d.sc.Width, 4, 7, 2)
	}
	t.Draw(&d.b)
	d.line("  missing: what a reply needed of the history and the window no longer had; given back: by recall")
	switch n := len(d.r.Sessions) - d.r.Priced; {
	case d.r.Priced == 0:
		d.line("  * in millions of uncached input tokens: reads 0.1, writes 1.25")
	case n > 0:
		d.line("  without %s of models that have no price", term.Things(n, "session"))
	}
}

func (d *replayScreen) advice() {
	a := replay.Advise(d.total, d.money)
	isPolicy := slices.Contains(window.Policies(), a.Policy)
	switch {
	case a.Policy == replay.Append:
		d.title("Recommendation: leave it off")
	case isPolicy:
		d.title(fmt.Sprintf("Recommendation: %s at %s tokens", a.Policy, term.Thousands(a.Window)))
	default:
		d.title("Recommendation: " + a.Policy)
	}
	d.line("%s", a.Reason)
	if a.Policy != replay.Append && !isPolicy {
		d.line("  try it: oriel run --profile %s -- claude", a.Policy)
		d.line("  a profile of your own: oriel tune --mine")
	}
}

// trust says how far the replay is from what was recorded.
func (d *replayScreen) trust() {
	c := &d.r.Calibration
	if c.Calls == 0 || c.Recorded.Read+c.Recorded.Write == 0 {
		return
	}
	off, worst := 0, 0.0
	var first string
	for _, s := range d.r.Sessions {
		if e := s.Calibration.Error(); e > replay.Tolerance {
			off++
			if e > worst {
				worst, first = e, s.Name
			}
		}
	}
	d.title("How close this is")
	d.line("Of %s with usage, the replay as it came reads and writes what was recorded within %s (rules and clock alone: %s).",
		term.Things(c.Calls, "call"), hundredths(c.Error()), hundredths(c.ErrorByRules()))
	if off > 0 {
		d.line("%s further off than %s, most of all %s with %s.", term.Plural(off, "session is", "sessions are"),
			hundredths(replay.Tolerance), term.OneLine(first, 40), hundredths(worst))
	}
}

// mostListed is how many sessions are listed.
const mostListed = 12

// sessions lists the most expensive sessions.
func (d *replayScreen) sessions(verbose bool) {
	list := slices.Clone(d.r.Sessions)
	slices.SortStableFunc(list, func(a, b *replay.Session) int {
		return cmp.Compare(b.Outcomes[0].Cost, a.Outcomes[0].Cost)
	})
	if len(list) < 2 {
		return
	}
	more := 0
	if len(list) > mostListed && !verbose {
		more, list = len(list)-mostListed, list[:mostListed]
	}
	d.title("Sessions")
	left := []bool{true, true, false, false, false}
	head := []string{"  session", "began", "calls", "paid", "prompts"}
	for _, o := range d.total[1:] {
		name := o.Policy
		if o.Window > 0 && len(d.total) > 4 {
			name += " " + term.Compact(o.Window)
		}
		left, head = append(left, false), append(head, name)
	}
	t := term.Table{Left: append(left, false)}
	t.Row(append(head, "off by")...)
	for _, s := range list {
		paid, began := "?", ""
		money := d.money
		if !s.Priced {
			money = func(float64) string { return "?" }
		}
		if s.Paid.Reported > s.Paid.Unpriced {
			paid = term.Money(s.Paid.Cost())
		}
		if s.Began.Year() > 1970 {
			began = s.Began.Local().Format(time.DateOnly)
		}
		row := []string{"  " + term.OneLine(s.Name, 24), began, term.Thousands(s.Calls), paid, money(s.Outcomes[0].Cost)}
		for _, o := range s.Outcomes[1:] {
			row = append(row, partOf(o.Cost, s.Outcomes[0].Cost))
		}
		off := ""
		if c := &s.Calibration; c.Recorded.Read+c.Recorded.Write > 0 {
			off = hundredths(c.Error())
		}
		t.Row(append(row, off)...)
	}
	if d.sc.Width > 0 {
		t.Narrow(d.sc.Width, 1, 3, len(t.Left)-1)
	}
	t.Draw(&d.b)
	if more > 0 {
		d.line("  and %s more; --verbose lists them", term.Thousands(more))
	}
}

// partOf returns a part in percent; "" of nothing.
func partOf(part, whole float64) string {
	if whole <= 0 {
		return ""
	}
	return strings.Replace(fmt.Sprintf("%.0f%%", 100*part/whole), "-0%", "0%", 1)
}

func hundredths(x float64) string { return fmt.Sprintf("%.1f%%", 100*x) }
