package recall

import (
	"math"
	"slices"

	"github.com/oriel-context/oriel/internal/keyword"
)

// saturated is the most that a word can add to BM25, in units of its idf:
// k1+1.
const saturated = 2.2

// heard is the result of matching a query's words in a scope.
type heard struct {
	// best is the highest BM25 of any passage.
	best float32
	// known is the score of a passage that repeats nothing but those words of
	// the query that the scope contains. all also counts the words that it
	// does not contain, as the rarest of words but together at most as much as
	// two of the known ones, because in a small scope no word is rare.
	known, all float32
	// count is how many words of the query carry meaning by themselves, without parts
	// and combinations of words.
	count int
	// words are those of them that the scope contains, and weight is what all of them
	// weigh together.
	words  []weighed
	weight float32
}

// weighed is a word and its idf.
type weighed struct {
	term   keyword.Term
	weight float32
}

// lexical scores the passages by their words; passage i is document i. It
// drops the speakers' names from the query, because in a conversation of two
// they are on every line.
func (s *Scope) lexical(query string, out []float32) heard {
	names := func(t keyword.Term) bool { return slices.Contains(s.people.terms, t) }
	q := s.words.Query(query, names)
	best, idf := s.words.Scores(&q, out)
	words, unknown := s.has(query, names)
	h := heard{best: best, known: saturated * idf, count: len(words) + unknown, words: words}
	missing := float32(0)
	if len(words) > 0 {
		missing = min(float32(math.Log(1+2*(float64(s.words.Live())+.5))), 2*idf/float32(len(words)))
	}
	h.weight = float32(unknown) * missing
	h.all = saturated * (idf + h.weight)
	for _, w := range words {
		h.weight += w.weight
	}
	return h
}

// has returns the words of a query that occur in passages, and counts those that
// occur in none. It ignores parts and combinations of words, and the names of
// months, which the dates of the query cover.
func (s *Scope) has(query string, drop func(keyword.Term) bool) (known []weighed, unknown int) {
	terms, _ := s.words.Analyser.Terms(nil, query)
	words := s.words.Analyser.Words(query)
	for i, t := range terms {
		if words[i].Extra || drop(t) || slices.Contains(terms[:i], t) {
			continue
		}
		if idf := s.words.IDF(t); idf > 0 {
			known = append(known, weighed{t, idf})
		} else if !slices.Contains(months, t) {
			unknown++
		}
	}
	return known, unknown
}

var months, _ = new(keyword.Analyser).Terms(nil,
	"january february march april may june july august september october november december jan feb mar apr jun jul aug sep sept oct nov dec")
