package condense

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/oriel-context/oriel/chat"
)

// Extractive condenses a chat without a model: it keeps the most informative
// sentences, verbatim and in chronological order (SPEC D7). It is deterministic
// (SPEC E6).
//
// A sentence's score depends on its similarity to the whole span, its position,
// its speaker, and words that mark decisions, facts and questions; similarity to
// a chosen sentence lowers it. docs/reference/condense.md has the formula. A short code
// block is kept whole or dropped. Tool calls and their results are ignored;
// [Digest] is for those.
//
// Sentences of a previous summary count as the oldest of the span.
type Extractive struct{}

// Condense returns the chosen sentences; its text is empty if none fits.
func (Extractive) Condense(ctx context.Context, in Input) (Output, error) {
	if err := ctx.Err(); err != nil {
		return Output{}, err
	}
	in = in.withDefaults()
	u := utterances(in)
	text := write(u, choose(u, score(u), in))
	for in.Count(text) > in.Max && text != "" {
		// Labels and line breaks may take more tokens than reserved.
		drop := -1
		for i := range u {
			if u[i].chosen && (drop < 0 || u[i].score < u[drop].score) {
				drop = i
			}
		}
		u[drop].chosen = false
		text = write(u, chosen(u))
	}
	return Output{Text: disarm(strings.ToValidUTF8(text, "\ufffd"))}, nil
}

// utterance is a sentence with its speaker and score.
type utterance struct {
	text string
	who  string
	// turn numbers consecutive sentences of one speaker; place is the sentence's
	// index in the turn, of the number of its sentences.
	turn, place, of int
	code            bool
	words           []int32 // ids, each once, ascending
	norm            float64 // length of the vector of weights
	score           float64
	chosen          bool
}

// Speakers' labels.
const (
	userLabel      = "User"
	assistantLabel = "Assistant"
	earlierLabel   = "Earlier"
)

// longestCode is the most bytes of a code block that is still a quotation.
const longestCode = 600

// utterances returns the sentences of a span without duplicates, those of the
// previous summary first.
func utterances(in Input) []utterance {
	var out []utterance
	said := map[string]bool{}
	turn := 0
	add := func(who, text string) {
		all := sentences(text)
		for i, s := range all {
			if s.code && len(s.text) > longestCode {
				continue
			}
			if !s.code {
				s.text = clipLine(s.text, 500)
			}
			if said[s.text] {
				continue
			}
			said[s.text] = true
			out = append(out, utterance{text: s.text, who: who, turn: turn, place: i, of: len(all), code: s.code})
		}
		turn++
	}
	for line := range strings.Lines(in.Previous) {
		who, text := earlierLabel, strings.TrimSpace(line)
		for _, w := range [...]string{userLabel, assistantLabel, earlierLabel} {
			if rest, ok := strings.CutPrefix(text, w+": "); ok {
				who, text = w, rest
				break
			}
		}
		add(who, text)
	}
	for _, e := range bounded(read(in.Messages)) {
		switch {
		case e.call != nil:
		case e.who == chat.User:
			add(userLabel, e.text)
		default:
			add(assistantLabel, withoutMarks(e.text))
		}
	}
	return out
}

// candidates is how many of the best sentences are compared with one another.
// More cost time and change little: the limit is reached before.
const candidates = 400

// redundancy is the penalty for similarity to a chosen sentence (the 1-λ of
// maximal marginal relevance).
const redundancy = 0.7

// choose selects sentences that fit, each time the one with the highest gain over
// those already chosen.
func choose(u []utterance, idf []float64, in Input) []int {
	order := make([]int, len(u))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(u[b].score, u[a].score), cmp.Compare(a, b))
	})
	order = order[:min(len(order), candidates)]
	near := make([]float64, len(u)) // similarity to the nearest chosen one
	size := make([]int, len(u))
	used, missed := 0, 0
	for len(order) > 0 && missed < misses {
		best := 0
		for k := 1; k < len(order); k++ {
			if gain(u, near, order[k]) > gain(u, near, order[best]) {
				best = k
			}
		}
		i := order[best]
		order = slices.Delete(order, best, best+1)
		if near[i] > 0.8 {
			continue // the same in other words
		}
		if size[i] == 0 {
			size[i] = in.Count(u[i].text+"\n") + in.Count(u[i].who+": ")
		}
		if used+size[i] > in.Max {
			missed++
			continue
		}
		used += size[i]
		u[i].chosen = true
		for _, k := range order {
			near[k] = max(near[k], likeness(&u[i], &u[k], idf))
		}
	}
	return chosen(u)
}

func gain(u []utterance, near []float64, i int) float64 { return u[i].score - redundancy*near[i] }

func chosen(u []utterance) (list []int) {
	for i := range u {
		if u[i].chosen {
			list = append(list, i)
		}
	}
	return list
}

// write returns the sentences in order, one line per turn. Omissions are marked.
func write(u []utterance, list []int) string {
	var b strings.Builder
	for n, i := range list {
		s := &u[i]
		if n > 0 && u[list[n-1]].turn == s.turn {
			switch before := &u[list[n-1]]; {
			case s.code || before.code:
				b.WriteByte('\n')
			case before.place+1 < s.place:
				b.WriteString(" … ")
			default:
				b.WriteByte(' ')
			}
			b.WriteString(s.text)
			continue
		}
		if n > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(s.who + ": ")
		if s.code {
			b.WriteByte('\n')
		}
		b.WriteString(s.text)
	}
	return b.String()
}
