package items

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func relevance(w Weights, it Item, now time.Time, query []float32) float64 {
	return w.Score(it, now, Cosine(query, it.Embedding))
}

// SPEC A3: worked numbers.
func TestRelevance(t *testing.T) {
	hours := func(h float64) time.Time { return noon.Add(-time.Duration(h * float64(time.Hour))) }
	for _, c := range []struct {
		name  string
		w     Weights
		it    Item
		query []float32
		want  float64
	}{
		{"new, from nowhere", Weights{}, Item{Time: noon}, nil, 0.3},
		{"one half-life", Weights{}, Item{Time: hours(24)}, nil, 0.15},
		{"two half-lives", Weights{}, Item{Time: hours(48)}, nil, 0.075},
		{"half a half-life", Weights{}, Item{Time: hours(12)}, nil, 0.3 / math.Sqrt2},
		{"another half-life", Weights{HalfLife: time.Hour}, Item{Time: hours(3)}, nil, 0.3 / 8},
		{"from the future", Weights{}, Item{Time: hours(-5)}, nil, 0.3},
		{"user", Weights{}, Item{Time: noon, Source: SourceUser}, nil, 0.6},
		{"assistant", Weights{}, Item{Time: noon, Source: SourceAssistant}, nil, 0.5},
		{"error", Weights{}, Item{Time: noon, Source: SourceError}, nil, 0.7},
		{"file", Weights{}, Item{Time: noon, Source: SourceFile}, nil, 0.4},
		{"system", Weights{}, Item{Time: noon, Source: SourceSystem}, nil, 0.4},
		{"tool", Weights{}, Item{Time: noon, Source: SourceTool}, nil, 0.3},
		{"git", Weights{}, Item{Time: noon, Source: SourceGit}, nil, 0.3},
		{"day old code by an assistant", Weights{},
			Item{Time: hours(24), Source: SourceAssistant, Flags: []Flag{FlagCode}}, nil, 0.75},
		{"solution", Weights{}, Item{Time: hours(24), Flags: []Flag{FlagSolution}}, nil, 0.85},
		{"question", Weights{}, Item{Time: hours(24), Flags: []Flag{FlagQuestion}}, nil, 0.65},
		{"error flag", Weights{}, Item{Time: hours(24), Flags: []Flag{FlagError}}, nil, 0.75},
		{"starred", Weights{}, Item{Time: hours(24), Flags: []Flag{FlagStarred}}, nil, 0.95},
		{"at most one", Weights{}, Item{Time: noon, Source: SourceUser, Flags: []Flag{FlagStarred, FlagCode}}, nil, 1},
		{"a flag counts once", Weights{}, Item{Time: noon, Flags: []Flag{FlagCode, FlagCode}}, nil, 0.7},
		{"an unknown flag", Weights{}, Item{Time: noon, Flags: []Flag{"decision"}}, nil, 0.3},
		{"a flag of the caller's own", Weights{Flags: map[Flag]float64{"decision": 0.25}},
			Item{Time: noon, Flags: []Flag{"decision", FlagCode}}, nil, 0.95},
		{"a source of the caller's own", Weights{Sources: map[Source]float64{"mail": 0.2, SourceUser: 0}},
			Item{Time: noon, Source: "mail"}, nil, 0.5},
		{"same direction", Weights{}, Item{Time: noon, Embedding: []float32{2, 0}}, []float32{5, 0}, 0.7},
		{"right angle", Weights{}, Item{Time: noon, Embedding: []float32{0, 3}}, []float32{5, 0}, 0.3},
		{"opposite", Weights{}, Item{Time: noon, Embedding: []float32{-1, 0}}, []float32{5, 0}, -0.1},
		{"no query", Weights{}, Item{Time: noon, Embedding: []float32{1, 0}}, nil, 0.3},
		{"another length", Weights{}, Item{Time: noon, Embedding: []float32{1, 0, 0}}, []float32{1, 0}, 0.3},
		{"a vector of zeros", Weights{}, Item{Time: noon, Embedding: []float32{0, 0}}, []float32{1, 0}, 0.3},
		{"not a number", Weights{}, Item{Time: noon, Embedding: []float32{float32(math.NaN()), 0}}, []float32{1, 0},
			0.3},
		{"terms switched off", Weights{Recency: -1, Cosine: -1}, Item{Time: noon, Embedding: []float32{1}},
			[]float32{1}, 0},
		{"terms of one's own", Weights{Recency: 0.5, Cosine: 0.1}, Item{Time: hours(24), Embedding: []float32{1}},
			[]float32{1}, 0.35},
	} {
		if got := relevance(c.w, c.it, noon, c.query); math.Abs(got-c.want) > 1e-12 {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

// SPEC A3: the score is a number, at most 1, and does not rise with age.
func TestRelevanceFallsWithAge(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := Weights{HalfLife: time.Duration(rapid.Int64Range(0, 1e15).Draw(t, "half-life"))}
		it := Item{
			Time:      noon.Add(-time.Duration(rapid.Int64Range(-1e15, 1e15).Draw(t, "age"))),
			Flags:     rapid.SliceOf(rapid.SampledFrom([]Flag{FlagCode, FlagError, "own"})).Draw(t, "flags"),
			Embedding: rapid.SliceOfN(rapid.Float32(), 2, 2).Draw(t, "embedding"),
		}
		query := rapid.SliceOfN(rapid.Float32(), 2, 2).Draw(t, "query")
		now := relevance(w, it, noon, query)
		later := relevance(w, it, noon.Add(time.Hour), query)
		if !(now <= 1) || !(later <= now) {
			t.Errorf("%v now, %v later", now, later)
		}
	})
}
