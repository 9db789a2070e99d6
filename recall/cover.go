package recall

import (
	"cmp"
	"slices"
)

// spread makes a ranking one of messages rather than of passages, for questions
// about the whole of a conversation: what a message says a second time costs more
// than the first of another.
func (s *Scope) spread(w *Weights, total []float32) {
	var order []int32
	for m := range s.messages {
		first, n := s.messages[m].first, s.messages[m].count
		if n < 2 {
			continue
		}
		order = order[:0]
		for i := first; i < first+n; i++ {
			order = append(order, i)
		}
		slices.SortStableFunc(order, func(a, b int32) int { return cmp.Compare(total[b], total[a]) })
		for k, i := range order {
			if total[i] > lowest {
				total[i] -= w.Repeat * float32(min(k, 3))
			}
		}
	}
}
