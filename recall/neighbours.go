package recall

// lags are the neighbours that a message takes from, in the order of
// Weights.Lexical.
const lags = 4

// lowest is the score of what is not there.
const lowest = -1e30

// heights are the best scores of a message's passages, by word and by meaning.
type heights struct{ words, meaning float32 }

// factors are what a query's scores are made of, the same for all passages.
type factors struct {
	word            float32 // makes BM25 a share
	mean, deviation float32 // make a cosine deviations from the mean
	weight          float32 // of words
	lexical, dense  [lags]float32
	edge            float32
}

// meaning is a passage's score by meaning: in deviations from the mean cosine of the
// scope. Passages without a vector have the mean.
func (f *factors) meaning(cos []float32, id int32) float32 {
	if uint(id) < uint(len(cos)) {
		return (cos[id] - f.mean) * f.deviation
	}
	return 0
}

// measure finds the heights of all messages. A message without passages has none.
func (s *Scope) measure(sc *scores, f *factors) {
	sc.heights = room(sc.heights, len(s.messages))
	words, cos, vectorOf, out := sc.words, sc.cos, s.vectorOf[:len(sc.words)], sc.heights
	for m := range s.messages {
		first, n := s.messages[m].first, s.messages[m].count
		if n == 0 {
			out[m] = heights{}
			continue
		}
		// The share and the deviation rise with what they are made of.
		top := heights{words[first] * f.word, f.meaning(cos, vectorOf[first])}
		for i := first + 1; i < first+n; i++ {
			top.words = max(top.words, words[i]*f.word)
			top.meaning = max(top.meaning, f.meaning(cos, vectorOf[i]))
		}
		out[m] = top
	}
}

// taken is what a message takes from its neighbours, for a short passage.
type taken struct{ words, meaning, present float32 }

// take adds up what the neighbours of a message have, in the order of Weights.Lexical.
func (s *Scope) take(msg *message, top []heights, f *factors) (t taken) {
	if j := msg.prev; j >= 0 {
		if k := s.messages[j].prev; k >= 0 {
			t = taken{f.lexical[0] * top[k].words, f.dense[0] * top[k].meaning, f.lexical[0]}
		}
		t.words += f.lexical[1] * top[j].words
		t.meaning += f.dense[1] * top[j].meaning
		t.present += f.lexical[1]
	}
	if j := msg.next; j >= 0 {
		t.words += f.lexical[2] * top[j].words
		t.meaning += f.dense[2] * top[j].meaning
		t.present += f.lexical[2]
		if k := s.messages[j].next; k >= 0 {
			t.words += f.lexical[3] * top[k].words
			t.meaning += f.dense[3] * top[k].meaning
			t.present += f.lexical[3]
		}
	}
	return t
}

// sum makes the total of every passage, and finds the bounds. A passage takes a share
// of what its neighbours score: an answer often stands beside the words of its
// question. Long passages stand by themselves.
func (s *Scope) sum(sc *scores, f *factors) {
	n := len(sc.words)
	words, cos, total := sc.words, sc.cos, sc.total[:n]
	flags, vectorOf, cost, top := s.flags[:n], s.vectorOf[:n], s.cost[:n], sc.heights
	low, high := float32(-lowest), float32(lowest)
	for m := range s.messages {
		msg := &s.messages[m]
		near := s.take(msg, top, f)
		for i := msg.first; i < msg.first+msg.count; i++ {
			if flags[i]&flagRemoved != 0 {
				total[i] = lowest
				continue
			}
			size := s.size(cost[i])
			meaning := f.meaning(cos, vectorOf[i]) + size.short*near.meaning
			// No branch for those without any word: it would be guessed wrong
			// more often than a division takes long.
			word := (words[i]*f.word + size.short*near.words) * (1 + f.edge*size.short) / (1 + size.short*near.present)
			t := f.weight*word + meaning - size.price + sc.prior.of(msg, flags[i])
			total[i] = t
			if t < low {
				low = t
			}
			if t > high {
				high = t
			}
		}
	}
	sc.low, sc.top = low, high
}
