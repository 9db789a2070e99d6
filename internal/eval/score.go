package eval

import (
	"strings"
	"unicode"
)

// normalise makes answers comparable, as SQuAD does: lower case, without
// punctuation and articles, single spaces.
func normalise(answer string) []string {
	plain := strings.Map(func(r rune) rune {
		if unicode.IsPunct(r) || r < unicode.MaxASCII && unicode.IsSymbol(r) {
			return -1
		}
		return unicode.ToLower(r)
	}, answer)
	var words []string
	for _, w := range strings.Fields(plain) {
		if w != "a" && w != "an" && w != "the" {
			words = append(words, w)
		}
	}
	return words
}

// exact reports whether two answers are equal once normalised.
func exact(answer, gold string) bool {
	return strings.Join(normalise(answer), " ") == strings.Join(normalise(gold), " ")
}

// f1 returns the harmonic mean of precision and recall of the answer's words
// against those of the gold answer.
func f1(answer, gold string) float64 {
	a, g := normalise(answer), normalise(gold)
	if len(a) == 0 || len(g) == 0 {
		if len(a) == len(g) {
			return 1
		}
		return 0
	}
	left := map[string]int{}
	for _, w := range g {
		left[w]++
	}
	same := 0
	for _, w := range a {
		if left[w] > 0 {
			left[w]--
			same++
		}
	}
	return 2 * float64(same) / float64(len(a)+len(g))
}

// refusals are ways in which models say that they do not know, normalised. The
// first is the one that the prompt asks for.
var refusals = []string{
	"no information", "not mentioned", "not mention", "not specified", "not specify", "not stated", "not provided",
	"not discussed",
	"not contain", "not enough information", "insufficient information", "no mention", "no record", "no details",
	"no evidence",
	"cannot be determined", "cannot determine", "cannot answer", "cant answer", "unable to answer", "unanswerable",
	"do not know", "dont know", "not known", "unknown",
}

// declines reports whether an answer says that there is none.
func declines(answer string) bool {
	said := " " + strings.Join(normalise(answer), " ") + " "
	for _, words := range refusals {
		if strings.Contains(said, " "+words+" ") {
			return true
		}
	}
	return false
}
