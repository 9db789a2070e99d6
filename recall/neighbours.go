package recall

// lags is the number of neighbours that lend a message part of their score, in
// the order of Weights.Lexical.
const lags = 4

// lowest is the score of a missing message.
const lowest = -1e30

// heights are the best scores of a message's passages by words and by meaning.
type heights struct{ words, meaning float32 }

// factors are the parts of a query's scores that are the same for all
// passages.
type factors struct {
	word            float32 // turns BM25 into a share
	mean, deviation float32 // turn a cosine into deviations from the mean
	weight          float32 // of words
	lexical, dense  [lags]float32
	edge            float32
}

// meaning returns a passage's score by meaning: its cosine in deviations from
// the mean of the scope. Passages without a vector score the mean.
func (f *factors) meaning(cos []float32, id int32) float32 {
	if uint(id) < uint(len(cos)) {
		return (cos[id] - f.mean) * f.deviation
	}
	return 0
}

// measure computes the heights of all messages. A message without passages has
// none.
func (s *Scope) measure(sc *scores, f *factors) {
	sc.heights = room(sc.heights, len(s.messages))
	words, cos, vectorOf, out := sc.words, sc.cos, s.vectorOf[:len(sc.words)], sc.heights
	for m := range s.messages {
		first, n := s.messages[m].first, s.messages[m].count
		if n == 0 {
			out[m] = heights{}
			continue
		}
		// Share and deviation grow with BM25 and cosine, so the maxima can be
		// taken first.
		top := heights{words[first] * f.word, f.meaning(cos, vectorOf[first])}
		for i := first + 1; i < first+n; i++ {
			top.words = max(top.words, words[i]*f.word)
			top.meaning = max(top.meaning, f.meaning(cos, vectorOf[i]))
		}
		out[m] = top
	}
}

// taken is the score that a short passage gets from its neighbours.
type taken struct{ words, meaning, present float32 }

// neighbours sums the scores of a message's neighbours, in the order of
// Weights.Lexical.
func (s *Scope) neighbours(msg *message, top []heights, f *factors) (t taken) {
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

// sum computes the total of every passage, and their bounds. A passage gets a
// share of its neighbours' scores, because an answer often stands beside the
// words of its question. Long passages stand by themselves.
func (s *Scope) sum(sc *scores, f *factors) {
	n := len(sc.words)
	words, cos, total := sc.words, sc.cos, sc.total[:n]
	flags, vectorOf, cost, top := s.flags[:n], s.vectorOf[:n], s.cost[:n], sc.heights
	low, high := float32(-lowest), float32(lowest)
	for m := range s.messages {
		msg := &s.messages[m]
		near := s.neighbours(msg, top, f)
		speaker := s.speaker(msg)
		for i := msg.first; i < msg.first+msg.count; i++ {
			if flags[i]&flagRemoved != 0 {
				total[i] = lowest
				continue
			}
			size := s.size(cost[i])
			meaning := f.meaning(cos, vectorOf[i]) + size.short*near.meaning
			// No branch for passages without words: a wrong prediction costs
			// more than the division.
			word := (words[i]*f.word + size.short*near.words) * (1 + f.edge*size.short) / (1 + size.short*near.present)
			t := f.weight*word + meaning - size.price + sc.prior.of(speaker, msg, flags[i])
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
