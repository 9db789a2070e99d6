package replay

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
)

// ErrFew: there are too few sessions to judge a profile by some that it has not seen.
var ErrFew = errors.New("too few sessions")

// Tuning is a profile that fits a person's sessions.
type Tuning struct {
	// Budget, Low and NoRecall are the profile's. If Off is true, none is worth it.
	Off      bool    `json:"off"`
	Budget   int     `json:"budget"`
	Low      float64 `json:"low_mark"`
	NoRecall bool    `json:"no_recall"`
	// Learnt and Judged count the sessions of each half.
	Learnt int `json:"learnt"`
	Judged int `json:"judged"`
	// Choice are the outcomes of all that was tried on the sessions it was chosen on; Judge
	// those of append, balanced, thrifty and the profile on the other half.
	Choice []*Outcome `json:"-"`
	Judge  []*Outcome `json:"judge"`
	// Priced reports that costs are in US dollars.
	Priced bool `json:"priced"`
	// Reason is why it was chosen.
	Reason string `json:"reason"`
}

// What Tune tries: budgets first, then low marks at the best.
var (
	budgets  = []int{48_000, 64_000, 80_000, 100_000, 130_000, 170_000}
	lowMarks = []float64{.3, .4, .6, .7}
)

const (
	defaultLow = .5
	tuned      = "ladder" // the policy of tuned profiles
	// worthRecall is the part of the cost from which on recall that gives nothing back is
	// switched off. It also answers questions of people, which is not measured.
	worthRecall = .02
)

// Tune chooses budget, low mark and recall on half of the sessions, by their cost and what
// their gaps would cost, and judges them on the other half.
func Tune(ctx context.Context, paths []string, o Options) (*Tuning, error) {
	o.Policies = []Policy{{Name: "balanced"}, {Name: "thrifty"}}
	for _, b := range budgets {
		o.Policies = append(o.Policies, Policy{Name: tuned, Window: b, Low: defaultLow})
	}
	first, err := o.halves(ctx, paths)
	if err != nil {
		return nil, err
	}
	t := &Tuning{Low: defaultLow, Learnt: first.learnt, Judged: first.judged, Priced: first.priced,
		Choice: first.a}
	best := bestOf(first.a, 3)
	if best < 0 {
		t.Off = true
		t.Judge = first.b[:3]
		t.Reason = whyNone(first.a)
		return t, nil
	}
	t.Budget = o.Policies[best-1].Window

	next := o
	next.Policies = []Policy{{Name: "balanced"}, {Name: "thrifty"}, {Name: tuned, Window: t.Budget, Low: defaultLow}}
	for _, low := range lowMarks {
		next.Policies = append(next.Policies, Policy{Name: tuned, Window: t.Budget, Low: low})
	}
	tries := len(next.Policies) - 2
	if !o.NoRecall {
		for _, p := range next.Policies[2:] {
			p.NoRecall = true
			next.Policies = append(next.Policies, p)
		}
	}
	second, err := next.halves(ctx, paths)
	if err != nil {
		return nil, err
	}
	t.Choice = append(t.Choice, second.a[4:]...)
	at := max(3, bestOf(second.a[:3+tries], 3))
	t.Low = next.Policies[at-1].Low
	if without := at + tries; !o.NoRecall {
		with := second.a[at]
		if t.NoRecall = with.Back == 0 && with.Cost-second.a[without].Cost > worthRecall*with.Cost; t.NoRecall {
			at = without
		}
	}
	judged := second.b[at]
	t.Judge = []*Outcome{second.b[0], second.b[1], second.b[2], judged}
	chosen := second.a[at]
	t.Reason = fmt.Sprintf("Of %d budgets and %d low marks it costs least on the sessions it was chosen on: %s of what they cost as they came, with a call for each of %s that replies needed again and that had left (of %s).",
		len(budgets), len(lowMarks)+1, percent(chosen.Net()/max(1e-12, second.a[0].Cost)),
		things(chosen.Missing-chosen.Back, "thing"), thousands(chosen.Needed))
	return t, nil
}

// whyNone says why none of the budgets is worth it. balanced and thrifty, which stand before them
// among the outcomes, were not to choose from.
func whyNone(all []*Outcome) string {
	return Advise(slices.Concat(all[:1], all[3:]), func(x float64) string { return fmt.Sprintf("$%.2f", x) }).Reason
}

// bestOf returns the outcome from an index on that costs least with its gaps, or -1 if none is
// worth more than append, the first.
func bestOf(all []*Outcome, from int) int {
	best := -1
	for i := from; i < len(all); i++ {
		o := all[i]
		if all[0].Cost-o.Net() < leastSaved*all[0].Cost || float64(o.Missing-o.Back) > mostMissing*float64(o.Needed) {
			continue
		}
		if best < 0 || o.Net() < all[best].Net() {
			best = i
		}
	}
	return best
}

// halves are the sums of two halves of the sessions.
type halves struct {
	a, b           []*Outcome
	learnt, judged int
	priced         bool
}

// halves replays all sessions and divides them in two halves that cost about the same.
func (o Options) halves(ctx context.Context, paths []string) (*halves, error) {
	o.Points, o.Drop = false, false
	r, err := Run(ctx, paths, o)
	if err != nil {
		return nil, err
	}
	h := &halves{priced: r.Priced > 0}
	list := slices.DeleteFunc(slices.Clone(r.Sessions), func(s *Session) bool {
		return s.Priced != h.priced || s.Calls < 2
	})
	if len(list) < 2 {
		return nil, fmt.Errorf("%w: %s with more than a call, and a profile is chosen on one half and judged on the other",
			ErrFew, things(len(list), "session"))
	}
	slices.SortStableFunc(list, func(a, b *Session) int {
		return cmp.Or(cmp.Compare(b.Outcomes[0].Cost, a.Outcomes[0].Cost), cmp.Compare(a.Name, b.Name))
	})
	for range r.Total {
		h.a, h.b = append(h.a, new(Outcome)), append(h.b, new(Outcome))
	}
	for i, s := range list {
		to, count := h.a, &h.learnt
		if i%4 == 1 || i%4 == 2 { // 1st, 4th, 5th, 8th … and the others
			to, count = h.b, &h.judged
		}
		*count++
		for k, one := range s.Outcomes {
			to[k].Policy, to[k].Window = one.Policy, one.Window
			to[k].Add(one)
		}
	}
	for _, half := range [][]*Outcome{h.a, h.b} {
		for _, one := range half {
			if one.CostRatio = 1; half[0].Cost > 0 {
				one.CostRatio = one.Cost / half[0].Cost
			}
		}
	}
	return h, nil
}
