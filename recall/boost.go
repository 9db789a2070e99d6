package recall

import (
	"cmp"
	"math"
	"slices"
)

// boost adds what the caller thinks of the best passages, and takes out those that
// the caller does not want. To look at the words of all would cost more than the
// search.
func (r *Ranking) boost(o *RecallOptions) {
	total, texts := r.scores.total, r.s.texts.reader()
	best := r.best(candidates(cmp.Or(o.Budget, DefaultBudget)))
	slices.Sort(best) // those of a block of texts one after the other
	for _, i := range best {
		b := o.Boost(texts.at(i))
		switch {
		case math.IsInf(float64(b), -1):
			total[i] = lowest
		case r.mode != Dense:
			total[i] += b
			r.scores.low, r.scores.top = min(r.scores.low, total[i]), max(r.scores.top, total[i])
		}
	}
}

// candidates is how many passages are looked at for a budget.
func candidates(budget int) int { return max(256, budget/4) }
