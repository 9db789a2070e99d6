// Package page writes a replay as one HTML page that needs no other file, no script and no
// network, in a light and a dark theme, to be sent to a colleague.
//
// It contains the names of sessions, their projects and models, and figures; no text of a
// conversation.
package page

import (
	"cmp"
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"slices"
	"time"

	"github.com/oriel-context/oriel/internal/report/replay"
	"github.com/oriel-context/oriel/internal/term"
	"github.com/oriel-context/oriel/window"
)

//go:embed page.html
var source string

var tmpl = template.Must(template.New("page").Parse(source))

// Write writes the page of a replay with points.
func Write(w io.Writer, r *replay.Report) error { return tmpl.Execute(w, newView(r)) }

// view is what the template shows.
type view struct {
	Title, Paid, Split, Scope string
	Pauses                    string
	Advice                    replay.Advice
	Off                       bool
	Advised                   string
	Unit                      string
	Policies                  []policy
	Models                    []model
	Curves                    template.HTML
	Teeth                     []tooth
	Sessions                  []session
	More                      int
	Close                     string
	Far                       []string
}

type policy struct {
	Name, Cost, Saved, Pauses       string
	Cuts, Needed, Missing, Back     string
	Covered, Tokens, Stable, Colour string
	Width                           float64
	Whole                           bool
}

type model struct{ Name, Calls, Cost, Prompt, Cached string }

type tooth struct {
	Name, About string
	Chart       template.HTML
}

type session struct {
	Name, Project, Began, Calls, Paid string
	Ratios                            []string
	Off                               string
}

// The page has charts of the most expensive sessions, and a table of some more.
const (
	mostTeeth    = 3
	mostSessions = 40
)

func newView(r *replay.Report) *view {
	v := &view{Title: "Replay of " + term.Things(len(r.Sessions), "session")}
	total, money := r.Total, term.Money
	switch n := len(r.Sessions) - r.Priced; {
	case r.Priced == 0:
		total, money = r.Unpriced, func(x float64) string { return fmt.Sprintf("%.2fM", x) }
		v.Unit = "No model here has a price: costs are in millions of uncached input tokens."
	case n > 0:
		v.Unit = "The sums are without " + term.Things(n, "session") + " of models that have no price."
	}
	v.Scope = term.Things(r.Calls, "call")
	if r.Began.Year() > 1970 {
		first, last := r.Began.Local().Format("2 January 2006"), r.Ended.Local().Format("2 January 2006")
		if v.Scope += ", " + first; last != first {
			v.Scope += " to " + last
		}
	}
	switch p := &r.Paid; {
	case p.Reported == 0 || r.Priced == 0:
		v.Paid, v.Split = "?", "what was paid is not recorded, or no model has a price"
	default:
		v.Paid = money(p.Cost())
		v.Split = money(p.Prompts) + " for prompts, " + money(p.Replies) + " for replies"
	}
	whole := total[0]
	if whole.IdleCalls > 0 && whole.Cost > 0 {
		v.Pauses = fmt.Sprintf("%s tokens written to the cache again after pauses, at %s: %s, %.0f%% of the prompts' cost",
			term.Compact(whole.Idle), term.Things(whole.IdleCalls, "call"), money(whole.IdleCost),
			100*whole.IdleCost/whole.Cost)
	}
	v.Advice = replay.Advise(total, money)
	v.Off = v.Advice.Policy == replay.Append
	if v.Advised = v.Advice.Policy; slices.Contains(window.Policies(), v.Advised) {
		v.Advised += " " + term.Compact(v.Advice.Window)
	}
	v.policies(total, money)
	for _, m := range r.Models {
		cost := "?"
		if m.Reported > m.Unpriced {
			cost = money(m.Cost())
		}
		v.Models = append(v.Models, model{cmp.Or(m.Model, "unknown model"), term.Thousands(m.Calls), cost,
			term.Compact(m.Usage.Prompt()), term.Percent(m.Usage.CacheRead, m.Usage.Prompt())})
	}
	v.sessions(r)
	v.Curves = curves(r, money)
	if c := &r.Calibration; c.Calls > 0 && c.Recorded.Read+c.Recorded.Write > 0 {
		v.Close = fmt.Sprintf("Of %s with usage, the replay as it came reads and writes what was recorded within %.1f%%; rules and clock alone would be off by %.1f%%.",
			term.Things(c.Calls, "call"), 100*c.Error(), 100*c.ErrorByRules())
	}
	return v
}

func (v *view) policies(total []*replay.Outcome, money func(float64) string) {
	whole, most := total[0], 0.0
	for _, o := range total {
		most = max(most, o.Cost)
	}
	for i, o := range total {
		p := policy{Name: name(o), Cost: money(o.Cost), Pauses: money(o.IdleCost), Whole: i == 0,
			Cuts: term.Thousands(o.Cuts), Needed: term.Thousands(o.Needed), Missing: term.Thousands(o.Missing),
			Back: term.Thousands(o.Back), Covered: fmt.Sprintf("%.0f%%", 100*o.RereadCovered),
			Tokens: term.Compact(o.PromptTokens), Stable: fmt.Sprintf("%.1f%%", 100*o.PrefixStable),
			Colour: colour(i)}
		if most > 0 {
			p.Width = 100 * o.Cost / most
		}
		if whole.Cost > 0 && i > 0 {
			p.Saved = fmt.Sprintf("%+.0f%%", 100*(o.Cost/whole.Cost-1))
		}
		v.Policies = append(v.Policies, p)
	}
}

// name returns what a policy is called.
func name(o *replay.Outcome) string {
	n := o.Policy
	if n == replay.Append {
		n = "as it came"
	}
	if o.Window > 0 {
		n += " " + term.Compact(o.Window)
	}
	return n
}

// colours is how many colours the style sheet has.
const colours = 6

func colour(i int) string { return fmt.Sprint("c", i%colours) }

func (v *view) sessions(r *replay.Report) {
	list := slices.Clone(r.Sessions)
	slices.SortStableFunc(list, func(a, b *replay.Session) int {
		return cmp.Compare(b.Outcomes[0].Cost, a.Outcomes[0].Cost)
	})
	for i, s := range list {
		if e := s.Calibration.Error(); e > replay.Tolerance {
			v.Far = append(v.Far, fmt.Sprintf("%s: %.1f%%", s.Name, 100*e))
		}
		if i >= mostSessions {
			v.More++
			continue
		}
		if i < mostTeeth && s.Calls > 1 {
			v.Teeth = append(v.Teeth, tooth{s.Name, term.Things(s.Calls, "call"), teeth(s)})
		}
		one := session{Name: s.Name, Project: s.Project, Calls: term.Thousands(s.Calls), Paid: "?"}
		if s.Began.Year() > 1970 {
			one.Began = s.Began.Local().Format(time.DateOnly)
		}
		if s.Paid.Reported > s.Paid.Unpriced {
			one.Paid = term.Money(s.Paid.Cost())
		}
		for _, o := range s.Outcomes[1:] {
			one.Ratios = append(one.Ratios, fmt.Sprintf("%.0f%%", 100*o.CostRatio))
		}
		if c := &s.Calibration; c.Recorded.Read+c.Recorded.Write > 0 {
			one.Off = fmt.Sprintf("%.1f%%", 100*c.Error())
		}
		v.Sessions = append(v.Sessions, one)
	}
}
