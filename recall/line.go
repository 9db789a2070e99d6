package recall

import (
	"slices"

	"github.com/oriel-context/oriel/internal/keyword"
)

// The vector of a passage is about what most of the passage is about, and its BM25 is
// less the longer it is. A fact on one line among many about something else is therefore
// near no query, though its own line has all of the query's words.

const (
	// linePassages is how many passages are read line by line: the best by words.
	linePassages = 8
	// lineBytes is about how long a line is. Shorter lines are joined, longer ones are
	// split at the ends of sentences.
	lineBytes = 128
	// lineSure is the share of the query's words, by weight, from which on a line is
	// surely about the query. docs/reference/retrieval.md measures how many unrelated queries reach it.
	lineSure = .5
	// lineWords is how many of the query's words that name something must be on the line,
	// unless it is a search for one rare word.
	lineWords = 2
)

// bestLine returns the highest share of the query's words, by weight, that stand together
// on one line of a passage that may be shown.
func (s *Scope) bestLine(sc *scores, h *heard, query string, o *RecallOptions) (best float32) {
	least := lineWords
	if searches(query) && h.count == 1 {
		least = 1
	}
	if len(h.words) < least {
		return 0
	}
	passages := s.bestByWords(sc, o)
	if least == 1 && len(passages) == linePassages {
		return 0 // the word is not rare
	}
	r := s.texts.reader()
	var terms []keyword.Term
	for _, i := range passages {
		for _, line := range split(r.at(i), lineBytes) {
			terms, _ = s.words.Analyser.Terms(terms[:0], line)
			sum, n := float32(0), 0
			for _, w := range h.words {
				if slices.Contains(terms, w.term) {
					sum += w.weight
					if !idle[w.term] {
						n++
					}
				}
			}
			if n >= least {
				best = max(best, sum/h.weight)
			}
		}
	}
	return best
}

// bestByWords returns the passages with the highest BM25 among those that may be shown, at
// most linePassages of them. The first of equal ones come first.
func (s *Scope) bestByWords(sc *scores, o *RecallOptions) []int32 {
	best := make([]int32, 0, linePassages)
	for i, x := range sc.words {
		full := len(best) == linePassages
		if x <= 0 || full && x <= sc.words[best[linePassages-1]] || s.flags[i]&flagRemoved != 0 ||
			s.excludes(o, int32(i)) {
			continue
		}
		if full {
			best = best[:linePassages-1]
		}
		at := len(best)
		for at > 0 && x > sc.words[best[at-1]] {
			at--
		}
		best = slices.Insert(best, at, int32(i))
	}
	return best
}
