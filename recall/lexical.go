package recall

import (
	"math"
	"slices"

	"github.com/oriel-context/oriel/recall/keyword"
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
	// names reports whether the query has a word that carries meaning by
	// itself.
	names bool
}

// lexical scores the passages by their words; passage i is document i. It
// drops the speakers' names from the query, because in a conversation of two
// they are on every line.
func (s *Scope) lexical(query string, out []float32) heard {
	names := func(t keyword.Term) bool { return slices.Contains(s.people.terms, t) }
	q := s.words.Query(query, names)
	best, idf := s.words.Scores(&q, out)
	known, unknown := s.has(query, names)
	missing := float32(0)
	if known > 0 {
		missing = min(float32(math.Log(1+2*(float64(s.words.Live())+.5))), 2*idf/float32(known))
	}
	return heard{best: best, known: saturated * idf, names: known+unknown > 0, all: saturated * (idf + float32(unknown)*missing)}
}

// has counts the words of a query that occur in passages, and those that occur
// in none. It ignores parts and combinations of words, and the names of
// months, which the dates of the query cover.
func (s *Scope) has(query string, drop func(keyword.Term) bool) (known, unknown int) {
	terms, _ := s.words.Analyser.Terms(nil, query)
	words := s.words.Analyser.Words(query)
	for i, t := range terms {
		if words[i].Extra || drop(t) || slices.Contains(terms[:i], t) {
			continue
		}
		if s.words.Frequency(t) > 0 {
			known++
		} else if !slices.Contains(months, t) {
			unknown++
		}
	}
	return known, unknown
}

var months, _ = new(keyword.Analyser).Terms(nil, "january february march april may june july august september october november december jan feb mar apr jun jul aug sep sept oct nov dec")
