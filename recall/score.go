package recall

import "math"

// scores are what a query makes of every passage of a scope.
type scores struct {
	total []float32
	// keyword is the share of the query's weight that the passage's own words
	// have, dense the cosine; both 0 to 1. prior is in the units of total.
	keyword, dense, prior []float32
	// sure is how certain it is that anything in the scope is about the query.
	sure float32
	// low and top are the worst and the best total.
	low, top float32
}

// Where certainty begins and where it is full. With vectors it goes by the best share
// of words plus the best cosine: 98 % of questions about a conversation come to 0.6
// and more, 90 % of questions about other matters to 0.51 and less. Words alone tell
// less: 98 % have 0.08 and more, half of the others 0.1 and more.
const (
	bothNone, bothSure = .47, .87
	wordNone, wordSure = .06, .40
)

func ramp(x, from, to float32) float32 { return min(1, max(0, (x-from)/(to-from))) }

// certainty is how sure it is that anything in the scope is about the query. A summary
// of what "I" or "we" did has general words, and lies near the conversation all the
// same.
func certainty(word, cos float32, both, ourselves bool) float32 {
	if both {
		if ourselves {
			cos += .06
		}
		return ramp(word+cos, bothNone, bothSure)
	}
	if ourselves {
		word += .02
	}
	return ramp(word, wordNone, wordSure)
}

// score weighs words, meaning and priors. vector is nil for words alone.
func (s *Scope) score(query string, vector []float32, o *RecallOptions) (*scores, error) {
	n := len(s.messageOf)
	flat := make([]float32, 5*n)
	cut := func() []float32 { out := flat[:n:n]; flat = flat[n:]; return out }
	sc := &scores{total: cut(), keyword: cut(), dense: cut(), prior: cut()}
	meaning := cut()
	w := &s.weights

	words := sc.total // becomes the total below
	h := s.lexical(query, words)
	weight, norm := w.Question, h.best
	if w.Router && !asks(query) {
		weight, norm = w.Statement, h.known
	}
	all, share := 1/max(h.all, 1e-6), 1/max(norm, 1e-6)
	for i, x := range words {
		if x != 0 {
			sc.keyword[i] = x * all
			words[i] = x * share
		}
	}
	bestWord := h.best * all
	var bestCos float32
	if vector != nil {
		if err := s.dense(vector, make([]float32, s.vectors.Len()), sc.dense, meaning); err != nil {
			return nil, err
		}
		for i, c := range sc.dense {
			sc.dense[i] = max(0, c)
			bestCos = max(bestCos, c)
		}
	}
	a := aimOf(query)
	whole := a == course || a == summary
	sc.sure = certainty(bestWord, bestCos, vector != nil, whole && aboutUs.MatchString(query))

	s.smooth(w, words, meaning)
	p := s.prior(w, query, datesOf(query, o.Now))
	for i, m := range s.messageOf {
		if s.flags[i]&flagRemoved != 0 {
			sc.total[i] = lowest
			continue
		}
		sc.prior[i] = p.of(&s.messages[m], s.flags[i])
		sc.total[i] = weight*words[i] + meaning[i] - w.Length*s.long[i] + sc.prior[i]
	}
	if whole {
		s.spread(w, sc.total)
	}
	sc.bounds()
	return sc, nil
}

// share is a passage's score on the floor's scale: the geometric mean of how sure it
// is that the scope has anything to say, and of where the passage stands between the
// worst and the best.
func (sc *scores) share(i int32) float32 {
	const pad = 1 // the worst of few may be good
	return float32(math.Sqrt(float64(sc.sure * (sc.total[i] - sc.low + pad) / (sc.top - sc.low + pad))))
}

// bounds finds the worst and the best total.
func (sc *scores) bounds() {
	sc.low, sc.top = -lowest, lowest
	for _, t := range sc.total {
		if t > lowest {
			sc.low, sc.top = min(sc.low, t), max(sc.top, t)
		}
	}
}
