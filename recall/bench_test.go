package recall

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

// random is a model whose vectors mean nothing, for measuring.
type random struct{}

func (random) Name() string { return "random" }
func (random) Embed(_ context.Context, texts []string) ([][]float32, error) {
	out := make([][]float32, len(texts))
	for i, t := range texts {
		r := rand.New(rand.NewPCG(uint64(len(t)), uint64(i)))
		out[i] = make([]float32, 384)
		for k := range out[i] {
			out[i][k] = float32(r.NormFloat64())
		}
	}
	return out, nil
}

// BenchmarkRecall measures a whole search without the embedding of the query.
func BenchmarkRecall(b *testing.B) {
	for _, n := range []int{10_000, 100_000} {
		s := NewScope(Options{Model: random{}, Count: func(text string) int { return len(text)/4 + 1 }})
		r := rand.New(rand.NewPCG(1, 2))
		zipf := rand.NewZipf(r, 1.1, 4, 50_000)
		when := time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)
		for i := range n {
			var text strings.Builder
			for range 40 {
				fmt.Fprintf(&text, "w%dx ", zipf.Uint64())
			}
			m := Message{Conversation: "c", Block: fmt.Sprint(i), Role: []string{"user", "assistant"}[i%2],
				Text: text.String(), Time: when}
			if err := s.Add(b.Context(), []Message{m}); err != nil {
				b.Fatal(err)
			}
			when = when.Add(time.Duration(i%40) * 10 * time.Minute)
		}
		if err := s.Embed(b.Context(), nil); err != nil {
			b.Fatal(err)
		}
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.ReportAllocs()
			b.ReportMetric(float64(s.Bytes())/float64(n), "B/passage")
			for b.Loop() {
				if _, err := s.Recall(b.Context(), "what about w5x w40x w300x w2000x in March?",
					RecallOptions{Floor: -1}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
