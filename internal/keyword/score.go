package keyword

import (
	"cmp"
	"math"
	"slices"
	"sort"
	"sync"
	"unsafe"
)

// BM25's constants k1 and b.
const (
	saturation  = 1.2
	lengthShare = 0.75
)

// A Query is a text's distinct terms. It stays valid when the index changes.
type Query struct {
	terms []Term
}

// Empty reports whether the query has no terms, so that nothing can match it.
func (q *Query) Empty() bool { return len(q.terms) == 0 }

// Query analyses text. Terms for which drop returns true are left out; drop may
// be nil.
func (x *Index) Query(text string, drop func(Term) bool) Query {
	terms, _ := x.Analyser.Terms(nil, text)
	slices.Sort(terms)
	terms = slices.Compact(terms)
	if drop != nil {
		terms = slices.DeleteFunc(terms, drop)
	}
	return Query{terms}
}

// Scores sets out[doc] to the score of every document of the index, 0 if it was
// removed or has no term of the query, and the rest of out to 0. Documents
// beyond the end of out are left out. It returns the highest score and the sum
// of the idf of the query's terms that occur in the index.
func (x *Index) Scores(q *Query, out []float32) (highest, idfSum float32) {
	clear(out)
	x.mu.RLock()
	defer x.mu.RUnlock()
	return x.add(q, out)
}

// add adds the scores to out. The caller holds mu.
func (x *Index) add(q *Query, out []float32) (highest, idfSum float32) {
	if x.live == 0 {
		return 0, 0
	}
	w := x.weigh()
	n := min(len(out), len(x.columns))
	sum := 0.0
	for _, t := range q.terms {
		e := x.table.get(t)
		if e == nil {
			continue
		}
		df := x.frequency(e)
		if df == 0 {
			continue
		}
		idf := x.idf(df)
		sum += idf
		x.posts.walk(e, func(ps []posting) {
			highest = accumulate(out[:n], x.columns[:n], ps, w.table, float32(idf), highest)
		})
	}
	return highest, float32(sum)
}

// IDF returns the weight of a term, 0 if no document has it.
func (x *Index) IDF(t Term) float32 {
	x.mu.RLock()
	defer x.mu.RUnlock()
	if e := x.table.get(t); e != nil {
		if df := x.frequency(e); df > 0 {
			return float32(x.idf(df))
		}
	}
	return 0
}

// idf returns the weight of a term that df live documents have.
func (x *Index) idf(df int) float64 {
	return math.Log(1 + (float64(x.live-df)+.5)/(float64(df)+.5))
}

// frequency returns the number of live documents that have the term.
func (x *Index) frequency(e *entry) int {
	if x.dead == 0 {
		return int(e.n)
	}
	df := 0
	x.posts.walk(e, func(ps []posting) {
		for _, p := range ps {
			if x.columns[p>>freqBits] != 0 {
				df++
			}
		}
	})
	return df
}

// accumulate adds idf times its weight to the score of each document in ps and
// returns the highest score it came to, or highest if that is more. Scores only
// grow, so the highest of all calls is the highest in the end.
func accumulate(out []float32, columns []uint16, ps []posting, table []float32, idf, highest float32) float32 {
	columns = columns[:len(out)]
	for _, p := range ps {
		doc := int(p >> freqBits)
		if doc >= len(out) {
			break
		}
		f := int(p & maxFreq)
		at := int(columns[doc]) * weightRow
		var weight float32
		if f < weightRow {
			weight = table[at+f]
		} else {
			weight = float32(f) * (saturation + 1) / (float32(f) + table[at])
		}
		score := out[doc] + idf*weight
		out[doc] = score
		if score > highest {
			highest = score
		}
	}
	return highest
}

// weightRow is the number of frequencies, from 0, that have a weight of their
// own in the table.
const weightRow = 8

// weights are the factors beside idf, for one mean length. For column c and
// frequency f, table[c*weightRow+f] is f*2.2/(f+norm); for f = 0 it is norm
// itself. Column 0, of removed documents, weighs nothing.
type weights struct {
	mean  float64
	table []float32
}

// weigh returns the weights for the current mean length. The caller holds mu;
// readers that find them outdated each make the same new ones.
func (x *Index) weigh() *weights {
	mean := max(float64(x.length)/float64(x.live), 1e-9)
	w := x.weights.Load()
	if w != nil && w.mean == mean && len(w.table) >= (int(x.longest)+1)*weightRow {
		return w
	}
	w = &weights{mean: mean, table: make([]float32, (int(x.longest)+1)*weightRow)}
	w.table[0] = float32(math.Inf(1))
	for c := 1; c <= int(x.longest); c++ {
		row := w.table[c*weightRow:][:weightRow]
		norm := saturation * (1 - lengthShare + lengthShare*float64(c-1)/mean)
		row[0] = float32(norm)
		for f := 1; f < weightRow; f++ {
			row[f] = float32(float64(f) * (saturation + 1) / (float64(f) + norm))
		}
	}
	x.weights.Store(w)
	return w
}

// A Hit is a document that has at least one term of the query.
type Hit struct {
	Doc   int
	Score float32
}

// accumulators are the scores of Top, between calls.
var accumulators = sync.Pool{New: func() any { return new([]uint64) }}

// Top appends to dst the k documents with the highest scores above 0, the best
// first, and of equal ones the one added first.
func (x *Index) Top(q *Query, k int, dst []Hit) []Hit {
	if k <= 0 || q.Empty() {
		return dst
	}
	buf := accumulators.Get().(*[]uint64)
	defer accumulators.Put(buf)
	// Words of two scores, whole strides of them: best compares them so.
	n := (x.Len() + 2*stride - 1) / (2 * stride) * stride
	if cap(*buf) < n {
		*buf = make([]uint64, n+n/8)
	}
	pairs := (*buf)[:n]
	x.Scores(q, unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(pairs))), 2*n))
	return best(pairs, k, dst)
}

const (
	// stride is the number of words that best looks at together.
	stride = 8
	// manyHits is the number of hits above which sorting all is the quicker way.
	manyHits = 1000
)

// best appends the k highest of scores above 0 to dst. The scores are pairs, and
// no score is negative.
func best(pairs []uint64, k int, dst []Hit) []Hit {
	start := len(dst)
	scores := unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(pairs))), 2*len(pairs))
	if k > manyHits {
		for doc, score := range scores {
			if score > 0 {
				dst = append(dst, Hit{doc, score})
			}
		}
		slices.SortStableFunc(dst[start:], func(a, b Hit) int { return cmp.Compare(b.Score, a.Score) })
		return dst[:min(len(dst), start+k)]
	}
	// A few are kept in order by insertion: once there are k, almost every score
	// is below the lowest of them. Floats that are not negative compare as their
	// bits do. Subtracting both halves of a word at once from the floor, with the
	// sign bits set, clears the sign of a half that is above it.
	const signs = 1<<63 | 1<<31
	var floor float32
	bar := uint64(signs)
	for i := 0; i+stride <= len(pairs); i += stride {
		p := pairs[i:][:stride:stride]
		below := (bar - p[0]) & (bar - p[1]) & (bar - p[2]) & (bar - p[3]) &
			(bar - p[4]) & (bar - p[5]) & (bar - p[6]) & (bar - p[7])
		if below&signs == signs {
			continue
		}
		for doc := 2 * i; doc < 2*(i+stride); doc++ {
			score := scores[doc]
			if score <= floor {
				continue
			}
			if len(dst)-start < k {
				dst = append(dst, Hit{})
			}
			kept := dst[start:]
			at := sort.Search(len(kept)-1, func(i int) bool { return kept[i].Score < score })
			copy(kept[at+1:], kept[at:])
			kept[at] = Hit{doc, score}
			if len(kept) == k {
				floor = dst[len(dst)-1].Score
				bits := uint64(math.Float32bits(floor))
				bar = signs | bits<<32 | bits
			}
		}
	}
	return dst
}
