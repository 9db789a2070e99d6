package recall

import (
	"cmp"
	"math"
	"slices"
)

// boost adds the caller's scores to the best passages and removes those that
// the caller rejects. It looks only at the best passages: reading the text of
// all of them would cost more than the search, and no others are shown.
func (r *Ranking) boost(o *RecallOptions) {
	total, texts := r.scores.total, r.s.texts.reader()
	best := r.best(candidatesFor(cmp.Or(o.Budget, DefaultBudget)), r.allowed(o))
	slices.Sort(best) // reads each block of texts once
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

// better orders passages by descending score, ties by age, oldest first.
func (r *Ranking) better(a, b int32) int {
	total := r.scores.total
	return cmp.Or(cmp.Compare(total[b], total[a]), cmp.Compare(a, b))
}

// candidatesFor returns how many passages are considered for a budget.
func candidatesFor(budget int) int { return max(256, budget/4) }
