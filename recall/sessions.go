package recall

import (
	"cmp"
	"slices"
	"strings"

	"github.com/oriel-context/oriel/internal/keyword"
)

// sessionWeight weighs the words of a session as a whole against its best
// passage: the words of a subject may be spread over several messages.
const sessionWeight = 4

// Sessions returns the blocks of the n best sessions, best first.
func (r *Ranking) Sessions(n int) [][]string {
	s := r.s
	whole := s.sessionWords(r.query)
	s.mu.RLock()
	defer s.mu.RUnlock()
	top := make([]float32, len(s.sessions))
	order := make([]int, len(s.sessions))
	for i := range order {
		order[i], top[i] = i, lowest
	}
	for i := range r.n {
		ss := s.messages[s.messageOf[i]].session
		top[ss] = max(top[ss], r.scores.total[i])
	}
	for i := range min(len(top), len(whole)) {
		top[i] += sessionWeight * whole[i]
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(top[b], top[a]) })
	place := make([]int, len(order))
	for k, ss := range order {
		place[ss] = k
	}
	out := make([][]string, min(n, len(order)))
	for i := range s.messages {
		if k := place[s.messages[i].session]; k < len(out) && s.messages[i].count > 0 {
			out[k] = append(out[k], s.origins[i].block)
		}
	}
	return out
}

// sessionWords scores sessions as single documents, from 0 to 1. It builds
// their index on first use, and again after the scope has grown.
func (s *Scope) sessionWords(query string) []float32 {
	s.mu.Lock()
	if s.whole == nil || s.wholeOf != s.texts.count() {
		docs := make([]strings.Builder, len(s.sessions))
		texts := s.texts.reader()
		for i, m := range s.messageOf {
			if s.flags[i]&flagRemoved == 0 {
				docs[s.messages[m].session].WriteString(texts.at(int32(i)) + "\n")
			}
		}
		s.whole, s.wholeOf = &keyword.Index{}, s.texts.count()
		for i := range docs {
			s.whole.Add(docs[i].String())
		}
	}
	index, names := s.whole, s.people.terms
	s.mu.Unlock()
	out := make([]float32, index.Len())
	q := index.Query(query, func(t keyword.Term) bool { return slices.Contains(names, t) })
	best, _ := index.Scores(&q, out)
	for i := range out {
		out[i] /= max(best, 1e-6)
	}
	return out
}
