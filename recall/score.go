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
	// sure is how certain it is that anything in the scope is about the query, by what
	// evidence on which scale; scale is nil where certainty changes no budget.
	sure, evidence float32
	scale          *evidence
	// low and top are the worst and the best total.
	low, top float32

	heights []heights // of the messages
	// dismissed are passages whose directives hold no more.
	dismissed map[int32]bool
}

// evidence is how a query without an answer is told from one with: the best cosine, for
// questions with half of the best share of words. A search is certain of nothing below
// none and of everything from sure on. From none to some it brings back up to someTokens,
// from more to all up to the whole budget. docs/retrieval.md has the distributions.
type evidence struct{ none, some, more, all, sure float32 }

var (
	asked = evidence{none: .33, some: .36, more: .36, all: .40, sure: .61}
	// Most of what people say bears on something, if it is not foreign to all that was
	// said: little is brought back early, much late.
	stated = evidence{none: .18, some: .33, more: .34, all: .40, sure: .40}
)

const (
	leastTokens = 160 // of what is brought back at the least certainty
	someTokens  = 512
	// halfWords is what the best share of words adds to the best cosine.
	halfWords = .5
	// Words alone tell less: 98 % of questions about a conversation have a share of
	// 0.08 and more, half of the others 0.1 and more.
	wordNone, wordSure = .06, .40
	workNone, workSure = .47, .87
	// ourCos is what a summary of what "I" or "we" did gains: it has general words, and
	// lies near the conversation all the same.
	ourCos, ourWords = .06, .02
	// fewWords is the share of a question's words below which the best passage does
	// not have them all: the score of words is a share of this at least, so that
	// meaning decides where words are silent.
	fewWords = .15
	// Meaning counts for up to silence more where the best share of words is below
	// silentWords.
	silence, silentWords = .5, .25
)

func ramp(x, from, to float32) float32 { return min(1, max(0, (x-from)/(to-from))) }

// doubt decides how sure it is that anything in the scope is about the query, by the best
// share of words and the best cosine.
func (sc *scores) doubt(a aim, word, cos float32, vectors, ourselves, statement bool) {
	sc.scale = nil
	switch {
	case !vectors:
		if ourselves {
			word += ourWords
		}
		sc.sure = ramp(word, wordNone, wordSure)
		return
	case a == work: // which is about what was done before, as a rule
		sc.sure = ramp(word+cos, workNone, workSure)
		return
	}
	sc.scale, sc.evidence = &asked, cos+halfWords*word
	if statement {
		sc.scale, sc.evidence = &stated, cos
	}
	if ourselves {
		sc.evidence += ourCos
	}
	sc.sure = ramp(sc.evidence, sc.scale.none, sc.scale.sure)
}

// allowance is how much of a budget is spent: little where it is not sure that the scope
// has anything to say, all of it where it is.
func (sc *scores) allowance(budget int) int {
	if sc.scale == nil {
		return budget
	}
	e, most := sc.scale, float32(budget)
	some := leastTokens + (someTokens-leastTokens)*ramp(sc.evidence, e.none, e.some)
	return int(min(most, some+max(0, most-someTokens)*ramp(sc.evidence, e.more, e.all)))
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
	s.measure(sc, &f)
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
	if !h.names {
		sc.scale, sc.sure = nil, 0
		return nil
	}
	sc.doubt(a, word, bestCos, vector != nil, whole && aboutUs.MatchString(query), statement)
	return nil
}

// tops finds the highest BM25 and the highest cosine of what may be shown: what the window
// shows, above all the query itself, says nothing about the rest. Where tools are used it
// does: the window shows what the work is about, and so is the history. Without vectors
// nothing else tells what the history is about.
func (s *Scope) tops(sc *scores, o *RecallOptions) (word, cos float32) {
	shown := func(i int) bool {
		return s.flags[i]&flagRemoved != 0 || o.Exclude != nil && len(sc.cos) > 0 && !s.tools && o.Exclude(s.origins[s.messageOf[i]].block)
	}
	for i, w := range sc.words {
		c := s.cosine(sc, int32(i))
		if (w > word || c > cos) && !shown(i) {
			word, cos = max(word, w), max(cos, c)
		}
	}
	return word, cos
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
