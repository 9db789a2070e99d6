package recall

// scores hold, for one query, a total for every passage of a scope and what the totals
// were made of. Passages are numbered as in the scope.
type scores struct {
	total []float32
	words []float32 // BM25 of the passage's own words
	cos   []float32 // cosines, by the number of the vector; empty in a search by words
	all   float32   // 1 / BM25 of a passage that has all words of the query
	prior prior
	certainty
	low, top float32 // the worst and the best total
	// whole reports that the query is about the whole conversation, work that it is about
	// what an agent does next, and remark that it is neither that nor a question.
	whole, work, remark bool

	heights   []heights      // by message
	dismissed map[int32]bool // passages whose directives no longer hold
}

// room returns a slice of length n. It uses old's memory if there is enough, and does not
// clear it.
func room[T any](old []T, n int) []T {
	if cap(old) < n {
		return make([]T, n, n+n/8)
	}
	return old[:n]
}

const (
	// The best passage's words count in full only if it has at least this share of the
	// question's words. Below that they count less, and meaning decides.
	fewWords = .15
	// Where the best share of words is below silentWords, meaning weighs more: up to
	// 1 + silence where no passage shares a word.
	silence, silentWords = .5, .25
)

// score computes sc for a query, reusing sc's memory. A passage's total is the sum of its
// words, its meaning, what its neighbours lend it, and its priors. vector is the query's,
// or nil for a search by words alone.
func (s *Scope) score(sc *scores, query string, vector []float32, o *RecallOptions) error {
	n := len(s.messageOf)
	sc.total, sc.words, sc.cos = room(sc.total, n), room(sc.words, n), sc.cos[:0]
	w := &s.weights

	h := s.lexical(query, sc.words)
	f := factors{lexical: w.Lexical, dense: w.Dense, edge: w.Edge, weight: w.Question}
	a := aimOf(query)
	statement := w.Router && !asks(query)
	if statement && s.tools {
		a = work
	}
	if a != work && searches(query) {
		statement = false
	}
	if vector != nil {
		sc.cos = room(sc.cos, s.vectors.Len())
		mean, std, err := s.vectors.Scores(vector, sc.cos)
		if err != nil {
			return err
		}
		f.mean, f.deviation = mean, 1/max(std, 1e-6)
	}
	sc.work, sc.remark = a == work, statement && a != work
	bestWord, bestCos := s.tops(sc, o)
	sc.all = 1 / max(h.all, 1e-6)
	word := bestWord * sc.all
	norm := max(bestWord, fewWords*h.all)
	switch {
	case statement && a == work:
		f.weight, norm = w.Statement, h.known
		f.deviation *= w.Work
	case statement:
		// What people say in passing shares common words with everything near it.
		f.weight, norm = w.Remark, h.known
		f.lexical, f.dense, f.edge = [lags]float32{}, [lags]float32{}, 0
	}
	if a != work {
		f.deviation *= 1 + silence*(1-ramp(word, 0, silentWords))
	}
	f.word = 1 / max(norm, 1e-6)
	sc.prior = s.prior(w, query, a, datesOf(query, o.Now))
	if o.Sized && a == work {
		sc.prior.user, sc.prior.tool = w.Told, 0
	}
	s.measure(sc, &f)
	s.sum(sc, &f)
	s.preferNear(sc, &f, w.Conversation, o)
	s.dismiss(sc, o.Dismissed)
	sc.whole = a == course || a == summary
	switch {
	case sc.whole:
		s.spread(w.Repeat, sc.total)
		sc.bounds()
	case a == work:
		s.spread(w.Repeat/4, sc.total)
		sc.bounds()
	}
	sc.certainty = certainty{}
	if h.count > 0 {
		sc.certainty = judge(a, word, bestCos, vector != nil, statement, s.personal(query))
		if vector != nil && sc.unsure() {
			sc.trust(s.bestLine(sc, &h, query, o), commands(query))
		}
	}
	return nil
}

// tops returns the highest BM25 and the highest cosine of the passages that
// may be shown. It skips what the window shows, because that always includes
// the query itself. It counts the window if tools are used, because the
// history is then about the same work, and if there are no vectors, because
// nothing else indicates what the history is about.
func (s *Scope) tops(sc *scores, o *RecallOptions) (word, cos float32) {
	shown := func(i int) bool {
		return s.flags[i]&flagRemoved != 0 || len(sc.cos) > 0 && !s.tools && s.excludes(o, int32(i))
	}
	for i, w := range sc.words {
		c := s.cosine(sc, int32(i))
		if (w > word || c > cos) && !shown(i) {
			word, cos = max(word, w), max(cos, c)
		}
	}
	return word, cos
}

// dismiss removes the prior of directives from passages whose directives no
// longer hold.
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

// priorOf returns the prior of a passage that is shown.
func (s *Scope) priorOf(sc *scores, i int32) float32 {
	m := &s.messages[s.messageOf[i]]
	prior := sc.prior.of(s.speaker(m), m, s.flags[i])
	if sc.dismissed[i] {
		prior -= sc.prior.directive(s.flags[i])
	}
	return prior
}

// keyword returns the BM25 of the passage's own words as a share of the most
// that the query could score.
func (s *Scope) keyword(sc *scores, i int32) float32 { return sc.words[i] * sc.all }

// cosine returns the cosine of a passage, or 0 if it has no vector yet.
func (s *Scope) cosine(sc *scores, i int32) float32 {
	if id := s.vectorOf[i]; id >= 0 && int(id) < len(sc.cos) {
		return max(0, sc.cos[id])
	}
	return 0
}

// bounds computes the worst and the best total.
func (sc *scores) bounds() {
	sc.low, sc.top = -lowest, lowest
	for _, t := range sc.total {
		if t > lowest {
			sc.low, sc.top = min(sc.low, t), max(sc.top, t)
		}
	}
}
