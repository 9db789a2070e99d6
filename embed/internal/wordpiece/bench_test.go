package wordpiece

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

// benchTexts differ from start to end: a text that repeats is learnt by the
// branch predictor and shows more than twice the speed.
func benchTexts(b *testing.B) map[string]string {
	var common []string // whole words, the frequent ones first, as the vocabulary has them
	for line := range strings.Lines(string(vocabulary(b))) {
		if line = strings.TrimSpace(line); len(line) > 1 && line[0] >= 'a' && line[0] <= 'z' {
			common = append(common, line)
		}
	}
	random := rand.New(rand.NewPCG(1, 2))
	zipf := rand.NewZipf(random, 1.1, 8, uint64(len(common)-1))
	word := func() string { return common[zipf.Uint64()] }
	var prose, code, mixed strings.Builder
	for range 50_000 {
		prose.WriteString(word() + []string{" ", " ", " ", " ", " ", " ", ", ", "ing ", ". The ",
			"\n"}[random.IntN(10)])
		code.WriteString(word() + []string{" ", ".", "(", ") ", " := ", "_", "[", "]\n\t", "Str",
			", &"}[random.IntN(10)])
		mixed.WriteString(word() + []string{" größe ", "é ", " и ", "漢字", "한국어 ", "हिन्दी ", "，", "👩‍💻", "ing ",
			" "}[random.IntN(10)])
	}
	return map[string]string{"prose": prose.String(), "code": code.String(), "mixed": mixed.String()}
}

func BenchmarkEncode(b *testing.B) {
	tok := tokenizer(b)
	for name, text := range benchTexts(b) {
		b.Run(name, func(b *testing.B) {
			dst := tok.Encode(nil, text, math.MaxInt)
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				dst = tok.Encode(dst[:0], text, math.MaxInt)
			}
		})
	}
}

func BenchmarkNew(b *testing.B) {
	vocab := vocabulary(b)
	tokenizer(b)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := New(vocab); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkTable(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := parseTable(unicodeText); err != nil {
			b.Fatal(err)
		}
	}
}
