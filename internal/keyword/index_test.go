package keyword

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"
)

func TestAnswersAreThoseOfTheModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var x Index
		var m model
		word := rapid.SampledFrom(
			strings.Fields("apple apples pear plum fig maxCount max_count count a/b/max_count.go go the 猫 猫だ Zürich 2023-05-08 don't"))
		text := rapid.Custom(func(t *rapid.T) string {
			return strings.Join(rapid.SliceOfN(word, 0, 12).Draw(t, "words"),
				" ")
		})
		add := func(s string) {
			if doc := x.Add(s); doc != len(m.docs) {
				t.Fatalf("added as %d, want %d", doc, len(m.docs))
			}
			m.add(s)
		}
		remove := func(doc int) {
			x.Remove(doc)
			if doc >= 0 && doc < len(m.docs) {
				m.docs[doc] = nil
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"add": func(t *rapid.T) { add(text.Draw(t, "text")) },
			"add many": func(t *rapid.T) {
				s := text.Draw(t, "text")
				for range rapid.IntRange(1, 60).Draw(t, "n") {
					add(s)
				}
			},
			"remove": func(t *rapid.T) { remove(rapid.IntRange(-1, len(m.docs)).Draw(t, "doc")) },
			"remove many": func(t *rapid.T) {
				first := rapid.IntRange(0, len(m.docs)).Draw(t, "first")
				for doc := first; doc < first+80; doc++ {
					remove(doc)
				}
			},
			"query": func(t *rapid.T) {
				compare(t, &x, &m, text.Draw(t, "query"), map[string]bool{word.Draw(t, "drop"): true})
			},
			"": func(t *rapid.T) {
				check(t, &x)
				if live, _ := m.live(); x.Live() != live || x.Len() != len(m.docs) {
					t.Fatalf("%d live of %d, want %d of %d", x.Live(), x.Len(), live, len(m.docs))
				}
			},
		})
	})
}

// zipf makes documents of n words, few of them frequent, as in a language.
func zipf(seed uint64, docs, n int) []string {
	r := rand.New(rand.NewPCG(seed, 1))
	z := rand.NewZipf(r, 1.1, 8, 30_000)
	texts := make([]string, docs)
	for i := range texts {
		words := make([]string, n/2+r.IntN(n))
		for j := range words {
			words[j] = fmt.Sprintf("w%dx", z.Uint64())
		}
		texts[i] = strings.Join(words, " ")
	}
	return texts
}

func TestLongListsKeepEveryPosting(t *testing.T) {
	var x Index
	var m model
	for i := range 9000 {
		text := "common"
		if i%3 == 0 {
			text += " third"
		}
		if i%1000 == 7 {
			text += strings.Repeat(" often", i/50)
		}
		x.Add(text)
		m.add(text)
	}
	check(t, &x)
	compare(t, &x, &m, "common third often", nil)
	for doc := 0; doc < 9000; doc += 4 {
		x.Remove(doc)
		m.docs[doc] = nil
	}
	check(t, &x)
	compare(t, &x, &m, "common third often", nil)
}

func TestScoresOfADocumentDoNotDependOnThoseRemoved(t *testing.T) {
	texts := zipf(3, 600, 30)
	var whole, rest Index
	for i, text := range texts {
		whole.Add(text)
		if i%2 == 0 {
			rest.Add(text)
		}
	}
	for i := 1; i < len(texts); i += 2 {
		whole.Remove(i)
	}
	check(t, &whole)
	for _, text := range texts[:20] {
		q := whole.Query(text, nil)
		a, b := whole.Top(&q, 300, nil), rest.Top(&q, 300, nil)
		if len(a) != len(b) {
			t.Fatalf("%d and %d hits", len(a), len(b))
		}
		for i := range a {
			if a[i].Doc != 2*b[i].Doc || a[i].Score != b[i].Score {
				t.Fatalf("hit %d: %v and %v", i, a[i], b[i])
			}
		}
	}
}

func TestRemovingAllGivesMemoryBack(t *testing.T) {
	var x Index
	for _, text := range zipf(4, 2000, 60) {
		x.Add(text)
	}
	full := x.Bytes()
	for doc := range 2000 {
		x.Remove(doc)
	}
	if x.Live() != 0 || x.Bytes() > full/10 {
		t.Errorf("%d documents left, %d bytes of %d", x.Live(), x.Bytes(), full)
	}
	q := x.Query("w1x w2x", nil)
	if highest, sum := x.Scores(&q, make([]float32, x.Len())); highest != 0 || sum != 0 {
		t.Errorf("an empty index scores %v, %v", highest, sum)
	}
}

func TestShortBufferLeavesOutLaterDocuments(t *testing.T) {
	var x Index
	for range 5 {
		x.Add("plum")
	}
	x.Add("plum plum")
	q := x.Query("plum", nil)
	out := make([]float32, 3)
	if highest, _ := x.Scores(&q, out); highest != out[2] || out[2] == 0 {
		t.Errorf("highest %v of %v", highest, out)
	}
	if highest, sum := x.Scores(&q, nil); highest != 0 || sum == 0 {
		t.Errorf("without room: %v, %v", highest, sum)
	}
}

func TestReadersAndWritersAtOnce(t *testing.T) {
	var x Index
	texts := zipf(5, 800, 20)
	var group sync.WaitGroup
	for w := range 2 {
		group.Go(func() {
			for i, text := range texts[w*400:][:400] {
				doc := x.Add(text)
				if i%3 == 0 {
					x.Remove(doc - 1)
				}
			}
		})
	}
	for r := range 3 {
		group.Go(func() {
			var hits []Hit
			for i := range 200 {
				q := x.Query(texts[(i*7+r)%len(texts)], nil)
				hits = x.Top(&q, 10, hits[:0])
				out := make([]float32, x.Len())
				highest, _ := x.Scores(&q, out)
				for _, score := range out {
					if score > highest {
						t.Errorf("%v is above the highest, %v", score, highest)
						return
					}
				}
				x.Bytes()
			}
		})
	}
	group.Wait()
	check(t, &x)
}

// The figure is for people: what Bytes says, and what the heap grew by.
func TestMemoryFigure(t *testing.T) {
	if testing.Short() {
		t.Skip("computes for long, and nothing beside it")
	}
	for _, n := range []int{100, 1000, 20_000} {
		texts := zipf(6, n, 60)
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		x := new(Index)
		for _, text := range texts {
			x.Add(text)
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		t.Logf("%d documents of 60 words: %d bytes each, heap %d", n, x.Bytes()/n,
			(int(after.HeapAlloc)-int(before.HeapAlloc))/n)
		runtime.KeepAlive(texts)
	}
}

func BenchmarkAdd(b *testing.B) {
	texts := zipf(7, 5000, 60)
	for b.Loop() {
		var x Index
		for _, text := range texts {
			x.Add(text)
		}
	}
	b.ReportMetric(float64(b.N*len(texts))/b.Elapsed().Seconds(), "docs/s")
}

func BenchmarkScores(b *testing.B) {
	var x Index
	for _, text := range zipf(8, 20_000, 60) {
		x.Add(text)
	}
	q := x.Query("w1x w3x w10x w30x w100x w300x w1000x w3000x", nil)
	out := make([]float32, x.Len())
	b.Run("every document", func(b *testing.B) {
		for b.Loop() {
			x.Scores(&q, out)
		}
	})
	var hits []Hit
	b.Run("top 10", func(b *testing.B) {
		for b.Loop() {
			hits = x.Top(&q, 10, hits[:0])
		}
	})
}
