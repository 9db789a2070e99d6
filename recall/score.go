package recall

import "math"

// scores are what a query makes of every passage of a scope. What only results
// show is worked out for them alone: see keyword, dense and prior.
type scores struct {
	total []float32
	words []float32 // BM25 of the passages' own words
	cos   []float32 // by number of the vector; empty without meaning
	// all is one over the BM25 of a passage that has all the query's words.
	all   float32
	prior prior
	// sure is how certain it is that anything in the scope is about the query.
	sure float32
	// low and top are the worst and the best total.
	low, top float32

	heights []heights // of the messages
	// dismissed are passages whose directives hold no more.
	dismissed map[int32]bool
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

// room makes a slice n long, of the memory that it has if that suffices. What is in
// it is left over.
func room[T any](old []T, n int) []T {
	if cap(old) < n {
		return make([]T, n, n+n/8)
	}
	return old[:n]
}

// score weighs words, meaning and priors. vector is nil for words alone. The memory
// is that of sc.
func (s *Scope) score(sc *scores, query string, vector []float32, o *RecallOptions) error {
	n := len(s.messageOf)
	sc.total, sc.words, sc.cos = room(sc.total, n), room(sc.words, n), sc.cos[:0]
	w := &s.weights

	h := s.lexical(query, sc.words)
	f := factors{lexical: w.Lexical, dense: w.Dense, edge: w.Edge, weight: w.Question}
	norm := h.best
	a := aimOf(query)
	if w.Router && !asks(query) {
		f.weight, norm = w.Statement, h.known
		if s.tools {
			a = work
		}
	}
	sc.all, f.word = 1/max(h.all, 1e-6), 1/max(norm, 1e-6)
	if vector != nil {
		sc.cos = room(sc.cos, s.vectors.Len())
		mean, std, err := s.vectors.Scores(vector, sc.cos)
		if err != nil {
			return err
		}
		f.mean, f.deviation = mean, 1/max(std, 1e-6)
		if a == work {
			f.deviation *= w.Work
		}
	}
	sc.prior = s.prior(w, query, a, datesOf(query, o.Now))
	best := s.measure(sc, &f)
	s.sum(sc, &f)
	s.dismiss(sc, o.Dismissed)
	whole := a == course || a == summary
	switch {
	case whole:
		s.spread(w.Repeat, sc.total)
		sc.bounds()
	case a == work:
		s.spread(w.Repeat/4, sc.total)
		sc.bounds()
	}
	sc.sure = certainty(h.best*sc.all, best, vector != nil, whole && aboutUs.MatchString(query))
	return nil
}

// dismiss takes the prior of directives from what says none any more.
func (s *Scope) dismiss(sc *scores, dismissed func(block string) bool) {
	sc.dismissed = nil
	if dismissed == nil {
		return
	}
	for k := range s.said {
		i := s.said[k].passage
		if s.flags[i]&flagRemoved != 0 || sc.dismissed[i] || !dismissed(s.origins[s.messageOf[i]].block) {
			continue
		}
		sc.total[i] -= sc.prior.directive(s.flags[i])
		if sc.dismissed == nil {
			sc.dismissed = map[int32]bool{}
		}
		sc.dismissed[i] = true
	}
	if sc.dismissed != nil {
		sc.bounds()
	}
}

// priorOf is the prior of a passage that is shown.
func (s *Scope) priorOf(sc *scores, i int32) float32 {
	prior := sc.prior.of(&s.messages[s.messageOf[i]], s.flags[i])
	if sc.dismissed[i] {
		prior -= sc.prior.directive(s.flags[i])
	}
	return prior
}

// keyword is the share of what the query could come to that the passage's own words
// do.
func (s *Scope) keyword(sc *scores, i int32) float32 { return sc.words[i] * sc.all }

// cosine is that of a passage, or 0 where it has no vector yet.
func (s *Scope) cosine(sc *scores, i int32) float32 {
	if id := s.vectorOf[i]; id >= 0 && int(id) < len(sc.cos) {
		return max(0, sc.cos[id])
	}
	return 0
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
