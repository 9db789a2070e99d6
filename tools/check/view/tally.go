package view

import (
	"fmt"
	"slices"
	"time"

	"github.com/oriel-context/oriel/internal/report/quality"
)

// tally holds the measurements of some sessions.
type tally struct {
	calls, cuts, recalls, invalid, over int
	histories, conversations            int // actual histories, and conversations that were found
	came                                int // bodies that were broken as received
	view, floor, plain                  bill
	shown, whole                        int
	kept, after                         int // at cuts: tokens before the first change, and of the view
	quality                             quality.Measures
	stable                              []float64
	times                               []time.Duration
}

func (t *tally) add(o *tally) {
	t.calls, t.cuts, t.recalls = t.calls+o.calls, t.cuts+o.cuts, t.recalls+o.recalls
	t.invalid, t.over, t.came = t.invalid+o.invalid, t.over+o.over, t.came+o.came
	t.histories, t.conversations = t.histories+o.histories, t.conversations+o.conversations
	t.view.sum(o.view)
	t.floor.sum(o.floor)
	t.plain.sum(o.plain)
	t.shown, t.whole, t.kept, t.after = t.shown+o.shown, t.whole+o.whole, t.kept+o.kept, t.after+o.after
	t.quality.Add(&o.quality)
	t.stable = append(t.stable, o.stable...)
	t.times = append(t.times, o.times...)
}

func (b *bill) sum(o bill) {
	b.cost += o.cost
	b.shallow += o.shallow
	b.expired += o.expired
	b.rewritten += o.rewritten
}

func (t *tally) String() string {
	return fmt.Sprintf("%d calls, %d cuts; cost %.1f%% of append-only (floor %.1f%%), shown %.1f%% of the tokens; missing %s of %d needed",
		t.calls, t.cuts, percent(t.view.cost, t.plain.cost), percent(t.floor.cost, t.plain.cost),
		percent(t.shown, t.whole),
		share(t.quality.Missing, t.quality.Needed), t.quality.Needed)
}

// details prints the figures that only a whole run has.
func (t *tally) details() {
	slices.Sort(t.times)
	below, sum := 0, 0.0
	for _, s := range t.stable {
		sum += s
		if s < .999 {
			below++
		}
	}
	n := &t.quality
	fmt.Printf("  %d conversations of %d histories; %d invalid, %d over budget, %d came broken\n", t.conversations,
		t.histories, t.invalid, t.over, t.came)
	fmt.Printf("  prefix between cuts %.3f%% stable (%d calls below 99.9%%); at cuts %.0f%% of the view stays cached\n",
		percent(sum, float64(len(t.stable))), below, percent(t.kept, t.after))
	fmt.Printf("  cost: %.2fM, of that %.2fM for pauses, %.2fM for cuts; %.1f%% where a cut loses all but system prompt and tools; append-only %.2fM, %.2fM for pauses\n",
		t.view.cost/1e6, t.view.expired/1e6, t.view.rewritten/1e6, percent(t.view.shallow, t.plain.cost),
		t.plain.cost/1e6, t.plain.expired/1e6)
	fmt.Printf("  needed again: %d, missing %d (%s), given back %d, left %s; after a cut %d re-read or re-run, held %s; %d recalls\n",
		n.Needed, n.Missing, share(n.Missing, n.Needed), n.Back, share(n.Missing-n.Back, n.Needed), n.Again,
		share(n.Held, n.Again), t.recalls)
	fmt.Printf("  recalled passages %d, used by the reply %d (%s); of the window %.1f%% repeated, %.1f%% stale; sent whole %.1f%% and %.1f%%\n",
		n.Passages, n.Used, share(n.Used, n.Passages), percent(n.Repeated, n.Text), percent(n.Stale, n.Text),
		percent(n.CameRepeated, n.CameText), percent(n.CameStale, n.CameText))
	fmt.Printf("  processor time of a call: p50 %.2f ms, p99 %.2f ms\n", at(t.times, .5), at(t.times, .99))
}

func at(sorted []time.Duration, q float64) float64 {
	if len(sorted) == 0 {
		return 0
	}
	return float64(sorted[int(float64(len(sorted)-1)*q)].Microseconds()) / 1000
}

func percent[N int | float64](a, b N) float64 {
	if b == 0 {
		return 0
	}
	return 100 * float64(a) / float64(b)
}

func share(a, b int) string { return fmt.Sprintf("%.1f%%", percent(a, b)) }
