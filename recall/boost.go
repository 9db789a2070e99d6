package recall

import (
	"cmp"
	"math"
	"slices"
)

// boost adds what the caller thinks of the best passages, and takes out those that
// the caller does not want. To look at the words of all would cost more than the
// search: no others are shown.
func (r *Ranking) boost(o *RecallOptions) {
	total, texts := r.scores.total, r.s.texts.reader()
	best := r.best(candidatesFor(cmp.Or(o.Budget, DefaultBudget)), r.allowed(o))
	slices.Sort(best) // those of a block of texts one after the other
	for _, i := range best {
		b := o.Boost(texts.at(i))
		switch {
		case math.IsInf(float64(b), -1):
			continue
		case r.mode != Dense:
			total[i] += b
			r.scores.low, r.scores.top = min(r.scores.low, total[i]), max(r.scores.top, total[i])
		}
		r.chosen = append(r.chosen, i)
	}
	r.boosted = true
	slices.SortFunc(r.chosen, r.better)
}

// better puts what scores more before the rest, and of equals the older.
func (r *Ranking) better(a, b int32) int {
	total := r.scores.total
	return cmp.Or(cmp.Compare(total[b], total[a]), cmp.Compare(a, b))
}

// candidatesFor is how many passages are looked at for a budget.
func candidatesFor(budget int) int { return max(256, budget/4) }
