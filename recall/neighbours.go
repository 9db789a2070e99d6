package recall

// lags are the neighbours that a message takes from, in the order of
// Weights.Lexical.
const lags = 4

// near gives the messages 2 and 1 before and 1 and 2 after a message in its
// session; none where there is no such message.
func (s *Scope) near(m int32) (out [lags]int32) {
	prev, next := s.messages[m].prev, s.messages[m].next
	out = [lags]int32{none, prev, next, none}
	if prev >= 0 {
		out[0] = s.messages[prev].prev
	}
	if next >= 0 {
		out[3] = s.messages[next].next
	}
	return out
}

// lowest is the score of what is not there.
const lowest = -1e30

// heights are the best scores of a message's passages, by word and by meaning.
type heights struct{ words, meaning float32 }

// heights finds them for all messages. One without passages has none.
func (s *Scope) heights(words, meaning []float32) []heights {
	out := make([]heights, len(s.messages))
	for m := range s.messages {
		first, n := s.messages[m].first, s.messages[m].count
		if n == 0 {
			continue
		}
		best := heights{words[first], meaning[first]}
		for i := first + 1; i < first+n; i++ {
			best.words = max(best.words, words[i])
			best.meaning = max(best.meaning, meaning[i])
		}
		out[m] = best
	}
	return out
}

// smooth adds to each passage a share of what its neighbours score: an answer often
// stands beside the words of its question. Long passages stand by themselves.
func (s *Scope) smooth(w *Weights, words, meaning []float32) {
	top := s.heights(words, meaning)
	lexical, dense, edge := w.Lexical, w.Dense, w.Edge
	for m := range s.messages {
		first, n := s.messages[m].first, s.messages[m].count
		if n == 0 {
			continue
		}
		var fromWords, fromMeaning, present float32
		around := s.near(int32(m))
		for k := range lags {
			if j := around[k]; j >= 0 {
				present += lexical[k]
				fromWords += lexical[k] * top[j].words
				fromMeaning += dense[k] * top[j].meaning
			}
		}
		for i := first; i < first+n; i++ {
			h := s.short[i]
			meaning[i] += h * fromMeaning
			if sum := words[i] + h*fromWords; sum != 0 { // most have no word of the query, nor anything near
				words[i] = sum * (1 + edge*h) / (1 + h*present)
			}
		}
	}
}
