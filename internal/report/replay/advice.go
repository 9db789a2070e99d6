package replay

import (
	"fmt"
	"strconv"
)

// Advice is what a replay recommends.
type Advice struct {
	// Policy is the name of the profile or policy, or Append: leave it off. Window is its
	// window, 0 for the model's.
	Policy string `json:"policy"`
	Window int    `json:"window"`
	// Saves is the part of the prompts' cost that it saves, after what its gaps cost, and
	// Saved that in the unit of the costs.
	Saves float64 `json:"saves"`
	Saved float64 `json:"saved"`
	// Reason is a sentence or two.
	Reason string `json:"reason"`
}

// leastSaved is the smallest saving for which a recommendation is made.
const leastSaved = .03

// mostMissing is the largest part of what replies needed that may be missing: an agent that
// does not notice a gap cannot fetch what is in it.
const mostMissing = .2

// Net returns the cost of an outcome with what its gaps would cost: each thing that was
// needed again and was neither in the window nor given back takes one more call.
func (o *Outcome) Net() float64 {
	if o.Calls == 0 {
		return o.Cost
	}
	return o.Cost * (1 + float64(o.Missing-o.Back)/float64(o.Calls))
}

// Advise recommends one of the outcomes of the same calls, of which the first is that of
// append.
func Advise(outcomes []*Outcome, money func(float64) string) Advice {
	whole := outcomes[0]
	best, cheapest := whole, whole
	for _, o := range outcomes[1:] {
		if o.Net() < best.Net() && float64(o.Missing-o.Back) <= mostMissing*float64(o.Needed) {
			best = o
		}
		if o.Cost < cheapest.Cost {
			cheapest = o
		}
	}
	a := Advice{Policy: best.Policy, Window: best.Window, Saved: whole.Cost - best.Net()}
	if whole.Cost > 0 {
		a.Saves = a.Saved / whole.Cost
	}
	if best != whole && a.Saves >= leastSaved {
		a.Reason = fmt.Sprintf("It would have sent %s of the tokens and cost %s less (%s).",
			percent(float64(best.PromptTokens)/float64(max(1, whole.PromptTokens))), money(whole.Cost-best.Cost),
			percent(1-best.Cost/whole.Cost))
		if gaps := best.Missing - best.Back; gaps > 0 {
			a.Reason += fmt.Sprintf(" %s of %s that replies needed again had left the window: at a call each, %s (%s) is left.",
				thousands(gaps), things(best.Needed, "thing"), money(a.Saved), percent(a.Saves))
		}
		if cheapest != best {
			what := cheapest.Policy
			if what == best.Policy {
				what = fmt.Sprintf("A window of %s tokens", thousands(cheapest.Window))
			}
			a.Reason += fmt.Sprintf(" %s costs less, but lacks %s of them.", what,
				thousands(cheapest.Missing-cheapest.Back))
		}
		return a
	}
	a = Advice{Policy: Append}
	switch {
	case whole.Calls == 0:
		a.Reason = "There are no calls to judge by."
	case cheapest == whole || 1-cheapest.Cost/whole.Cost < leastSaved && cheapest.Cuts == 0:
		a.Reason = fmt.Sprintf("No profile would have cut anything worth cutting: the largest prompt had %s tokens.",
			thousands(whole.Longest))
	case whole.Cost-cheapest.Net() >= leastSaved*whole.Cost:
		a.Reason = fmt.Sprintf(
			"%s would have cost %s less, but %s of %s that replies needed again had left the window: too many for an agent that may not notice.",
			cheapest.Policy, percent(1-cheapest.Cost/whole.Cost), thousands(cheapest.Missing-cheapest.Back),
			things(cheapest.Needed, "thing"))
	case cheapest.Missing > cheapest.Back:
		a.Reason = fmt.Sprintf(
			"%s would have cost %s less, but %s of %s that replies needed again had left the window: fetching them again costs as much.",
			cheapest.Policy, percent(1-cheapest.Cost/whole.Cost), thousands(cheapest.Missing-cheapest.Back),
			things(cheapest.Needed, "thing"))
	default:
		a.Reason = fmt.Sprintf("The best profile, %s, would have cost %s less: not worth a change.", cheapest.Policy,
			percent(1-cheapest.Cost/whole.Cost))
	}
	return a
}

func percent(x float64) string {
	if x > 0 && x < .0995 {
		return fmt.Sprintf("%.1f%%", 100*x)
	}
	return fmt.Sprintf("%.0f%%", 100*x)
}

// thousands writes a number as people read it.
func thousands(n int) string {
	if n < 1000 {
		return strconv.Itoa(n)
	}
	return thousands(n/1000) + fmt.Sprintf(",%03d", n%1000)
}

func things(n int, thing string) string {
	if n != 1 {
		thing += "s"
	}
	return thousands(n) + " " + thing
}
