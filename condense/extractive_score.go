package condense

import (
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Weights of what makes a sentence informative. A sentence's weights add up; the
// first multiplies a similarity between 0 and 1.
const (
	centralWeight = 1.0
	userWeight    = 0.25 // what people say is what they want
	ruleWeight    = 0.50
	wishWeight    = 0.25
	firstWeight   = 0.15 // the first sentence of a turn
	lastWeight    = 0.10 // and the last
	openingWeight = 0.30 // the first turn of the span
	factWeight    = 0.15 // a number, a name, a path
	askWeight     = 0.10
	codeWeight    = -0.30
	earlierWeight = 0.20 // it was chosen before
)

// score sets every sentence's score and returns the weights of words by id. Words
// are weighted by their rarity among the sentences; the span's centre is the sum of
// all sentences. Duplicates count once: otherwise polite phrases would be the
// centre.
func score(u []utterance) (idf []float64) {
	ids := map[string]int32{}
	var counts []int // sentences that contain the word
	for i := range u {
		u[i].words = wordIDs(u[i].text, ids, &counts)
	}
	idf = make([]float64, len(counts))
	for id, n := range counts {
		// A word of all sentences does not distinguish any.
		idf[id] = math.Log(float64(len(u)+1) / float64(n))
	}
	centre := make([]float64, len(counts))
	for i := range u {
		sum := 0.0
		for _, id := range u[i].words {
			sum += idf[id] * idf[id]
		}
		u[i].norm = math.Sqrt(sum)
		if u[i].norm == 0 {
			continue
		}
		for _, id := range u[i].words {
			centre[id] += idf[id] / u[i].norm
		}
	}
	length := 0.0
	for _, w := range centre {
		length += w * w
	}
	length = math.Sqrt(length)
	most := 0.0
	for i := range u {
		dot := 0.0
		for _, id := range u[i].words {
			dot += centre[id] * idf[id]
		}
		if u[i].norm > 0 && length > 0 {
			u[i].score = dot / u[i].norm / length
		}
		most = max(most, u[i].score)
	}
	var buf []byte
	for i := range u {
		if most > 0 {
			u[i].score *= centralWeight / most
		}
		// Very short sentences carry little, however central.
		u[i].score *= min(1, float64(len(u[i].words))/6)
		buf = plain(buf, u[i].text)
		u[i].score += signs(&u[i], buf)
	}
	return idf
}

// signs returns the score of a sentence by itself.
func signs(u *utterance, plain []byte) float64 {
	s := 0.0
	user := u.who == userLabel
	switch decides(plain, u.text, user) {
	case 2:
		s += ruleWeight
	case 1:
		s += wishWeight
	}
	if user {
		s += userWeight
		if u.turn == 0 {
			s += openingWeight
		}
		if nodding(plain) {
			s -= 1
		}
	}
	switch u.place {
	case 0:
		s += firstWeight
	case u.of - 1:
		s += lastWeight
	}
	if u.code {
		s += codeWeight
	} else if hasFact(u.text) {
		s += factWeight
	}
	if strings.HasSuffix(u.text, "?") || strings.HasSuffix(u.text, "？") {
		s += askWeight
	}
	if u.who == earlierLabel {
		s += earlierWeight
	}
	return s
}

// hasFact reports whether a text has a digit, a path, or a capital letter within
// the sentence.
func hasFact(text string) bool {
	before := rune(0)
	for i, r := range text {
		if unicode.IsDigit(r) || r == '`' || i > 0 && unicode.IsUpper(r) && before == ' ' &&
			!strings.HasPrefix(text[i:], "I ") && !strings.HasPrefix(text[i:], "I'") {
			return true
		}
		before = r
	}
	return false
}

// likeness returns the cosine of two sentences' weighted words.
func likeness(a, b *utterance, idf []float64) float64 {
	if a.norm == 0 || b.norm == 0 {
		return 0
	}
	i, j, dot := 0, 0, 0.0
	for i < len(a.words) && j < len(b.words) {
		switch x, y := a.words[i], b.words[j]; {
		case x < y:
			i++
		case x > y:
			j++
		default:
			dot += idf[x] * idf[x]
			i++
			j++
		}
	}
	return dot / a.norm / b.norm
}

// wordIDs returns the distinct words of a text as ascending ids. Words are runs of
// letters and digits in lower case; scripts without spaces are split into pairs of
// characters.
func wordIDs(text string, ids map[string]int32, counts *[]int) []int32 {
	var out []int32
	add := func(word string) {
		id, ok := ids[word]
		if !ok {
			id = int32(len(*counts))
			ids[strings.Clone(word)] = id
			*counts = append(*counts, 0)
		}
		out = append(out, id)
	}
	lower := strings.ToLower(text)
	for i := 0; i < len(lower); {
		r, n := utf8.DecodeRuneInString(lower[i:])
		if !isWord(r) {
			i += n
			continue
		}
		if unspaced(r) {
			next, m := utf8.DecodeRuneInString(lower[i+n:])
			if !unspaced(next) {
				m = 0
			}
			add(lower[i : i+n+m])
			i += n
			continue
		}
		end := i + n
		for end < len(lower) {
			r, n := utf8.DecodeRuneInString(lower[end:])
			if !isWord(r) && r != '\'' && r != '’' && !unicode.IsMark(r) || unspaced(r) {
				break
			}
			end += n
		}
		add(lower[i:end])
		i = end
	}
	slices.Sort(out)
	out = slices.Compact(out)
	for _, id := range out {
		(*counts)[id]++
	}
	return out
}

// unspaced reports whether a rune's script is written without spaces.
func unspaced(r rune) bool {
	return r >= 0x0e00 && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao,
		unicode.Khmer, unicode.Myanmar)
}
