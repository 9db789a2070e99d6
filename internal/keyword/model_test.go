package keyword

import (
	"cmp"
	"math"
	"slices"
	"testing"
)

// model is the definition of an Index: it keeps every document's words and
// computes BM25 from scratch for every query.
type model struct {
	docs []*modelDoc // nil if removed
}

type modelDoc struct {
	counts map[string]int
	length int
}

func (m *model) add(text string) {
	d := &modelDoc{counts: map[string]int{}}
	for _, w := range new(Analyser).Words(text) {
		d.counts[w.Text] = min(d.counts[w.Text]+1, maxFreq)
		if !w.Extra {
			d.length++
		}
	}
	m.docs = append(m.docs, d)
}

func (m *model) live() (n, length int) {
	for _, d := range m.docs {
		if d != nil {
			n++
			length += d.length
		}
	}
	return n, length
}

func (m *model) frequency(word string) (n int) {
	for _, d := range m.docs {
		if d != nil && d.counts[word] > 0 {
			n++
		}
	}
	return n
}

func (m *model) scores(query string, drop map[string]bool) (out []float64, idfSum float64) {
	out = make([]float64, len(m.docs))
	n, length := m.live()
	words := map[string]bool{}
	for _, w := range new(Analyser).Words(query) {
		words[w.Text] = true
	}
	for text := range drop {
		for _, w := range new(Analyser).Words(text) {
			words[w.Text] = false
		}
	}
	for w, use := range words {
		df := m.frequency(w)
		if df == 0 || !use {
			continue
		}
		idf := math.Log(1 + (float64(n-df)+.5)/(float64(df)+.5))
		idfSum += idf
		for i, d := range m.docs {
			if d != nil && d.counts[w] > 0 {
				f := float64(d.counts[w])
				mean := max(float64(length)/float64(n), 1e-9)
				out[i] += idf * f * 2.2 / (f + 1.2*(.25+.75*float64(d.length)/mean))
			}
		}
	}
	return out, idfSum
}

// near allows one part in a hundred thousand.
func near(a float32, b float64) bool {
	return math.Abs(float64(a)-b) <= 1e-5*max(1, math.Abs(b))
}

// compare asks x and m the same and checks every answer of x.
func compare(t interface {
	Helper()
	Fatalf(string, ...any)
}, x *Index, m *model, query string, drop map[string]bool) {
	t.Helper()
	dropped := map[Term]bool{}
	var a Analyser
	for w := range drop {
		terms, _ := a.Terms(nil, w)
		for _, term := range terms {
			dropped[term] = true
		}
	}
	terms, _ := a.Terms(nil, query)
	for i, w := range a.Words(query) {
		want := 0.0
		if df := m.frequency(w.Text); df > 0 {
			live, _ := m.live()
			want = math.Log(1 + (float64(live-df)+.5)/(float64(df)+.5))
		}
		if got := x.IDF(terms[i]); !near(got, want) {
			t.Fatalf("%q weighs %v, want %v", w.Text, got, want)
		}
	}
	q := x.Query(query, func(term Term) bool { return dropped[term] })
	out := make([]float32, x.Len()+3)
	out[0], out[len(out)-1] = 9, 9 // what was there before
	highest, idfSum := x.Scores(&q, out)
	want, wantSum := m.scores(query, drop)
	if !near(idfSum, wantSum) {
		t.Fatalf("%q: sum of idf %v, want %v", query, idfSum, wantSum)
	}
	for doc, score := range out {
		if doc >= len(want) && score != 0 || doc < len(want) && !near(score, want[doc]) {
			t.Fatalf("%q: document %d of %d has %v, want %v", query, doc, len(want), score, want[min(doc, len(want)-1)])
		}
	}
	if max := slices.Max(out); highest != max {
		t.Fatalf("%q: highest %v, want %v", query, highest, max)
	}
	for _, k := range []int{0, 1, 3, 100, manyHits, manyHits + 1} {
		var best []Hit
		for doc, score := range out {
			if score > 0 {
				best = append(best, Hit{doc, score})
			}
		}
		slices.SortStableFunc(best, func(a, b Hit) int { return cmp.Compare(b.Score, a.Score) })
		best = append([]Hit{{-1, -1}}, best[:min(k, len(best))]...)
		if top := x.Top(&q, k, []Hit{{-1, -1}}); !slices.Equal(top, best) {
			t.Fatalf("%q: top %d is %v, want %v", query, k, top, best)
		}
	}
}

// check fails the test if what x holds contradicts itself.
func check(t interface {
	Helper()
	Fatalf(string, ...any)
}, x *Index) {
	t.Helper()
	used, live, length := 0, 0, int64(0)
	for _, c := range x.columns {
		if c > 0 {
			live++
			length += int64(c) - 1
		}
		if c > x.longest {
			t.Fatalf("a column of %d, the longest is %d", c, x.longest)
		}
	}
	if live != x.live || length != x.length {
		t.Fatalf("%d live of length %d, noted are %d and %d", live, length, x.live, x.length)
	}
	dead := map[int]bool{}
	for i := range x.table.entries {
		e := &x.table.entries[i]
		if e.n == 0 {
			continue
		}
		used++
		if x.table.get(e.term) != e {
			t.Fatalf("term %x is not found where it is", e.term)
		}
		n, last := 0, -1
		x.posts.walk(e, func(ps []posting) {
			for _, p := range ps {
				doc := int(p >> freqBits)
				if doc <= last || doc >= len(x.columns) || p&maxFreq == 0 {
					t.Fatalf("term %x: posting %d of document %d after %d", e.term, p&maxFreq, doc, last)
				}
				if x.columns[doc] == 0 {
					dead[doc] = true
				}
				last = doc
				n++
			}
		})
		if n != int(e.n) {
			t.Fatalf("term %x: %d postings, noted are %d", e.term, n, e.n)
		}
	}
	if used != x.table.used || len(dead) > x.dead {
		t.Fatalf("%d terms, noted %d; %d removed documents with postings, noted %d", used, x.table.used, len(dead),
			x.dead)
	}
}

func TestModelKnowsTheFormula(t *testing.T) {
	var m model
	m.add("red apple")
	m.add("green apple pie")
	out, sum := m.scores("apple pie pie", nil)
	apple, pie := math.Log(1+.5/2.5), math.Log(2)
	want := apple*2.2/(1+1.2*(.25+.75*3/2.5)) + pie*2.2/(1+1.2*(.25+.75*3/2.5))
	if math.Abs(out[1]-want) > 1e-12 || math.Abs(sum-apple-pie) > 1e-12 {
		t.Errorf("scores %v, sum %v; want %v, %v", out, sum, want, apple+pie)
	}
}
