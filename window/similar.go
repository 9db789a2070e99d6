package window

import (
	"math"
	"strings"
	"unicode"
)

// termVector counts the words of a text. It replaces an embedding, because a
// request on its own has no vectors.
func termVector(text string) map[string]float64 {
	v := map[string]float64{}
	for _, word := range strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsNumber(r)
	}) {
		if len(word) > 2 {
			v[word]++
		}
	}
	return v
}

// similarity returns the cosine of a query's words and a text's, or 0 without
// a query.
func similarity(query map[string]float64, text string) float64 {
	if len(query) == 0 {
		return 0
	}
	other := termVector(text)
	var dot, q, o float64
	for w, n := range query {
		dot += n * other[w]
		q += n * n
	}
	for _, n := range other {
		o += n * n
	}
	if q == 0 || o == 0 {
		return 0
	}
	return dot / math.Sqrt(q*o)
}
