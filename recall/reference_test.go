package recall

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/oriel-context/oriel/internal/keyword"
)

// reference is the score stage by stage, each over all passages: what the fused
// passes have to come to.
type reference struct {
	total, keyword, dense, prior []float32
	sure, low, top               float32
}

func referenceOf(t *rapid.T, s *Scope, query string, vector []float32, now time.Time) *reference {
	n, w := len(s.messageOf), &s.weights
	r := &reference{total: make([]float32, n), keyword: make([]float32, n), dense: make([]float32, n),
		prior: make([]float32, n)}
	words, meaning := make([]float32, n), make([]float32, n)

	names := func(t keyword.Term) bool { return slices.Contains(s.people.terms, t) }
	q := s.words.Query(query, names)
	best, idf := s.words.Scores(&q, words)
	known, unknown := 0, 0
	terms, _ := s.words.Analyser.Terms(nil, query)
	for i, word := range s.words.Analyser.Words(query) {
		if word.Extra || names(terms[i]) || slices.Contains(terms[:i], terms[i]) {
			continue
		}
		alone := s.words.Query(query, func(other keyword.Term) bool { return other != terms[i] })
		if _, idf := s.words.Scores(&alone, nil); idf > 0 {
			known++
		} else if !slices.Contains(months, terms[i]) {
			unknown++
		}
	}
	missing := float32(0)
	if known > 0 {
		missing = min(float32(math.Log(1+2*(float64(s.words.Live())+.5))), 2*idf/float32(known))
	}
	a := aimOf(query)
	all := max(saturated*(idf+float32(unknown)*missing), 1e-6)
	weight, norm, alone := w.Question, max(best, fewWords*all), false
	if s.tools && !asks(query) || !asks(query) && !searches(query) {
		weight, norm, alone = w.Remark, saturated*idf, true
		if s.tools {
			a, weight, alone = work, w.Statement, false
		}
	}
	line := referenceLine(s, query, names, words, missing)
	for i, x := range words {
		r.keyword[i] = x / all
		words[i] = x * (1 / max(norm, 1e-6))
	}
	var bestCos float32
	if vector != nil {
		raw := make([]float32, s.vectors.Len())
		mean, std, err := s.vectors.Scores(vector, raw)
		if err != nil {
			t.Fatal(err)
		}
		// The steps are those of the fused score, so that equal totals are equal in both: two
		// vectors are as far above the mean as below it.
		deviation := 1 / max(std, 1e-6)
		if a == work {
			deviation *= w.Work
		} else {
			deviation *= 1 + silence*(1-ramp(best*(1/all), 0, silentWords))
		}
		for i, id := range s.vectorOf {
			if id >= 0 {
				r.dense[i] = max(0, raw[id])
				meaning[i] = (raw[id] - mean) * deviation
				bestCos = max(bestCos, raw[id])
			}
		}
	}
	whole := a == course || a == summary
	if known+unknown > 0 {
		c := judge(a, best/all, bestCos, vector != nil, !asks(query) && !searches(query), s.personal(query))
		if vector != nil && line >= lineSure {
			c.sure = max(c.sure, line)
		}
		r.sure = c.sure
	}

	less := referenceLess(s, weight, words, meaning)
	if !alone {
		referenceSmooth(s, words, meaning)
	}
	p := s.prior(w, query, a, datesOf(query, now))
	for i, m := range s.messageOf {
		if s.flags[i]&flagRemoved != 0 {
			r.total[i] = lowest
			continue
		}
		r.prior[i] = p.of(s.speaker(&s.messages[m]), &s.messages[m], s.flags[i])
		r.total[i] = weight*words[i] + meaning[i] - sizeOf(w,
			s.cost[i]).price + r.prior[i] - w.Conversation*less[s.sessions[s.messages[m].session].conversation]
	}
	switch {
	case whole:
		referenceSpread(s, w.Repeat, r.total)
	case a == work:
		referenceSpread(s, w.Repeat/4, r.total)
	}
	r.low, r.top = -lowest, lowest
	for _, x := range r.total {
		if x > lowest {
			r.low, r.top = min(r.low, x), max(r.top, x)
		}
	}
	return r
}

// referenceLine returns the highest share of the query's words on a line of one of the
// passages whose words match best.
func referenceLine(s *Scope, query string, drop func(keyword.Term) bool, matches []float32,
	missing float32) (best float32) {
	terms, _ := s.words.Analyser.Terms(nil, query)
	var known []weighed
	unknown := 0
	for i, word := range s.words.Analyser.Words(query) {
		if t := terms[i]; word.Extra || drop(t) || slices.Contains(terms[:i], t) {
			continue
		} else if weight := s.words.IDF(t); weight > 0 {
			known = append(known, weighed{t, weight})
		} else if !slices.Contains(months, t) {
			unknown++
		}
	}
	all := float32(unknown) * missing
	for _, w := range known {
		all += w.weight
	}
	least := 2
	if len(known)+unknown == 1 && len(strings.Fields(query)) <= 3 {
		least = 1
	}
	var order []int32
	for i := range matches {
		if matches[i] > 0 && s.flags[i]&flagRemoved == 0 {
			order = append(order, int32(i))
		}
	}
	slices.SortStableFunc(order, func(a, b int32) int { return cmp.Compare(matches[b], matches[a]) })
	if least == 1 && len(order) >= linePassages {
		return 0
	}
	for _, i := range order[:min(len(order), linePassages)] {
		for _, line := range split(s.texts.at(i), lineBytes) {
			on, _ := s.words.Analyser.Terms(nil, line)
			sum, n := float32(0), 0
			for _, w := range known {
				if slices.Contains(on, w.term) {
					sum += w.weight
					if !idle[w.term] {
						n++
					}
				}
			}
			if n >= least {
				best = max(best, sum/all)
			}
		}
	}
	return best
}

// referenceLess returns how much less near each conversation is than the nearest.
func referenceLess(s *Scope, weight float32, words, meaning []float32) map[string]float32 {
	near := map[string][]float32{}
	for _, m := range s.messages {
		if m.count > 0 && s.flags[m.first]&flagRemoved == 0 {
			name := s.sessions[m.session].conversation
			near[name] = append(near[name],
				weight*slices.Max(words[m.first:][:m.count])+slices.Max(meaning[m.first:][:m.count]))
		}
	}
	less, top := map[string]float32{}, float32(lowest)
	for name, all := range near {
		slices.SortFunc(all, func(a, b float32) int { return cmp.Compare(b, a) })
		all = all[:min(len(all), topMessages)]
		for _, x := range all {
			less[name] += x / topMessages
		}
		top = max(top, less[name])
	}
	for name := range less {
		less[name] = top - less[name]
	}
	return less
}

func referenceSmooth(s *Scope, words, meaning []float32) {
	w := &s.weights
	height := func(m int32, scores []float32) float32 {
		if m < 0 || s.messages[m].count == 0 {
			return 0
		}
		return slices.Max(scores[s.messages[m].first:][:s.messages[m].count])
	}
	rawWords, rawMeaning := slices.Clone(words), slices.Clone(meaning)
	for i, m := range s.messageOf {
		var fromWords, fromMeaning, present float32
		for k, j := range near(s, m) {
			if j >= 0 {
				present += w.Lexical[k]
				fromWords += w.Lexical[k] * height(j, rawWords)
				fromMeaning += w.Dense[k] * height(j, rawMeaning)
			}
		}
		h := sizeOf(w, s.cost[i]).short
		meaning[i] += h * fromMeaning
		words[i] = (words[i] + h*fromWords) * (1 + w.Edge*h) / (1 + h*present)
	}
}

func referenceSpread(s *Scope, price float32, total []float32) {
	for m := range s.messages {
		var order []int32
		for i := s.messages[m].first; i < s.messages[m].first+s.messages[m].count; i++ {
			order = append(order, i)
		}
		slices.SortStableFunc(order, func(a, b int32) int { return cmp.Compare(total[b], total[a]) })
		for k, i := range order {
			if total[i] > lowest {
				total[i] -= price * float32(min(k, 3))
			}
		}
	}
}

// near gives the messages 2 and 1 before and 1 and 2 after a message in its session;
// none where there is no such message.
func near(s *Scope, m int32) (out [lags]int32) {
	prev, next := s.messages[m].prev, s.messages[m].next
	out = [lags]int32{none, prev, next, none}
	if prev >= 0 {
		out[0] = s.messages[prev].prev
	}
	if next >= 0 {
		out[3] = s.messages[next].next
	}
	return out
}

// drawScope makes a scope of several talks, of people and of users with an assistant,
// some of it removed, some without vectors.
func drawScope(t *rapid.T) *Scope {
	words := rapid.SampledFrom([]string{"dog", "Lisbon", "cello", "the", "always", "never call me", "Norway", "kitchen",
		"weather", "a b", "sister\n", "teacher.", "I prefer", "2024", "May"})
	text := func() string { return strings.Join(rapid.SliceOfN(words, 0, 60).Draw(t, "text"), " ") }
	s := NewScope(Options{Model: &bags{}, Count: func(text string) int { return len(text)/4 + 1 }})
	ctx := context.Background()
	people := rapid.Bool().Draw(t, "people")
	when := monday
	n := rapid.IntRange(1, 40).Draw(t, "messages")
	embeddable := rapid.IntRange(0, n).Draw(t, "embedded")
	for i := range n {
		m := Message{
			Conversation: rapid.SampledFrom([]string{"a", "b"}).Draw(t, "conversation"), Block: fmt.Sprint(i),
			Time: when, Text: text(),
			Role: rapid.SampledFrom([]string{"user", "assistant"}).Draw(t, "role"),
		}
		if people {
			m.Name = rapid.SampledFrom([]string{"Ann", "Ben", ""}).Draw(t, "name")
		}
		if rapid.IntRange(0, 5).Draw(t, "long") == 0 {
			m.Text = strings.Repeat(m.Text+".\n", 6)
			m.Tools = []string{"Bash " + text()}
		}
		if err := s.Add(ctx, []Message{m}); err != nil {
			t.Fatal(err)
		}
		if i < embeddable {
			if err := s.Embed(ctx, nil); err != nil {
				t.Fatal(err)
			}
		}
		when = when.Add(time.Duration(rapid.IntRange(0, 9).Draw(t, "hours")) * time.Hour)
	}
	for range rapid.IntRange(0, 4).Draw(t, "removed") {
		s.Remove(fmt.Sprint(rapid.IntRange(0, n).Draw(t, "block")))
	}
	return s
}

// The passes over messages and passages give the score that the stages have by
// themselves, and the packing begins with the best.
func TestTheFusedScoreIsThatOfTheStages(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawScope(t)
		query := rapid.SampledFrom([]string{
			"Where is the dog?", "Lisbon and the cello teacher", "What did Ann say in May 2024?",
			"summarize what I did with the dog", "in which order did my cello teacher and the kitchen come up?",
			"What did you recommend about Norway?", "zebra", "weather yesterday?", "", "the dog the dog zebra",
		}).Draw(t, "query")
		o := RecallOptions{Now: monday.AddDate(0, 0, 1), Mode: rapid.SampledFrom([]Mode{Hybrid, Keyword}).Draw(t,
			"mode"), Floor: -1}
		for range 2 { // the second time in used memory
			if _, err := s.Recall(context.Background(), query, o); err != nil {
				t.Fatal(err)
			}
		}
		got, err := s.Rank(context.Background(), query, o)
		if err != nil {
			t.Fatal(err)
		}
		var vector []float32
		if got.mode != Keyword {
			if vector, err = s.queryVector(context.Background(), query); err != nil {
				t.Fatal(err)
			}
		}
		want := referenceOf(t, s, query, vector, o.Now)
		same := func(what string, i int, got, want float32) {
			if math.Abs(float64(got-want)) > 1e-5*max(1, math.Abs(float64(want))) {
				t.Fatalf("%q: %s of %d is %v, the stages have %v", query, what, i, got, want)
			}
		}
		same("certainty", 0, got.scores.sure, want.sure)
		same("worst", 0, got.scores.low, want.low)
		same("best", 0, got.scores.top, want.top)
		order := []int32{}
		for i := range want.total {
			id := int32(i)
			same("total", i, got.scores.total[i], want.total[i])
			same("keyword", i, s.keyword(got.scores, id), want.keyword[i])
			same("dense", i, s.cosine(got.scores, id), want.dense[i])
			if want.total[i] > lowest {
				same("prior", i, s.priorOf(got.scores, int32(i)), want.prior[i])
				order = append(order, id)
			}
		}
		k := rapid.IntRange(1, 60).Draw(t, "k")
		slices.SortStableFunc(order,
			func(a, b int32) int { return cmp.Compare(got.scores.total[b], got.scores.total[a]) })
		if best := got.best(k, func(int32) bool { return true }); !slices.Equal(best, order[:min(k, len(order))]) {
			t.Fatalf("best %d: %v, want %v", k, best, order)
		}
	})
}
