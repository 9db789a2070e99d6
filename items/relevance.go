package items

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/oriel-context/oriel/internal/number"
)

// Weights are the terms of relevance (SPEC A3). A zero field means its default.
type Weights struct {
	// Recency is the weight of an item's age. Default 0.3. A negative number means 0.
	Recency float64 `json:"recency"`
	// HalfLife is the age at which recency is one half. Default 24 hours.
	HalfLife time.Duration `json:"half_life"`
	// Cosine is the weight of the similarity to the query. Default 0.4. A negative number
	// means 0.
	Cosine float64 `json:"cosine"`
	// Flags are the weights of flags. Missing ones have their defaults: starred 0.8,
	// solution 0.7, error 0.6, question 0.5, code 0.4, others 0.
	Flags map[Flag]float64 `json:"flags,omitempty"`
	// Sources are the weights of sources. Missing ones have their defaults: error 0.4,
	// user 0.3, assistant 0.2, file 0.1, system 0.1, others 0.
	Sources map[Source]float64 `json:"sources,omitempty"`
}

// Check returns an error that names the weights that are not finite numbers.
func (w Weights) Check() error {
	bad := func(what string, x float64) error {
		if err := number.Check(x); err != nil {
			return fmt.Errorf("the weight of %s: %w", what, err)
		}
		return nil
	}
	err := errors.Join(bad("recency", w.Recency), bad("cosine", w.Cosine))
	for _, f := range slices.Sorted(maps.Keys(w.Flags)) {
		err = errors.Join(err, bad(fmt.Sprintf("the flag %q", f), w.Flags[f]))
	}
	for _, s := range slices.Sorted(maps.Keys(w.Sources)) {
		err = errors.Join(err, bad(fmt.Sprintf("the source %q", s), w.Sources[s]))
	}
	return err
}

// Defaults of Weights.
const (
	defaultRecency  = 0.3
	defaultCosine   = 0.4
	defaultHalfLife = 24 * time.Hour
)

var (
	flagWeights = map[Flag]float64{
		FlagStarred: 0.8, FlagSolution: 0.7, FlagError: 0.6, FlagQuestion: 0.5, FlagCode: 0.4,
	}
	sourceWeights = map[Source]float64{
		SourceError: 0.4, SourceUser: 0.3, SourceAssistant: 0.2, SourceFile: 0.1, SourceSystem: 0.1,
	}
)

// Score returns the relevance of an item at a time (SPEC A3): 0.3·2^(−age/half-life) +
// flag weights + 0.4·cosine + source weight, at most 1. cosine is the similarity of item
// and query, 0 without a query. Products are rounded one by one, so that every machine
// computes the same score (SPEC E6).
func (w Weights) Score(it Item, now time.Time, cosine float64) float64 {
	s := float64(weightOr(w.Recency, defaultRecency) * w.recency(it.Time, now))
	for i, f := range it.Flags {
		if !repeated(it.Flags, i) {
			s += lookup(w.Flags, flagWeights, f)
		}
	}
	s += float64(weightOr(w.Cosine, defaultCosine) * cosine)
	s += lookup(w.Sources, sourceWeights, it.Source)
	if math.IsNaN(s) {
		return 0
	}
	return min(s, 1)
}

// recency returns 1 for a new item and half as much after every half-life. Items from the
// future are new.
func (w Weights) recency(t, now time.Time) float64 {
	half := w.HalfLife
	if half <= 0 {
		half = defaultHalfLife
	}
	age := now.Sub(t)
	if age <= 0 {
		return 1
	}
	return math.Exp2(-float64(age) / float64(half))
}

func weightOr(w, normal float64) float64 {
	switch {
	case w == 0:
		return normal
	case w < 0:
		return 0
	}
	return w
}

func lookup[K comparable](own, normal map[K]float64, k K) float64 {
	if w, ok := own[k]; ok {
		return w
	}
	return normal[k]
}

// repeated reports whether flags contains flags[i] before i.
func repeated(flags []Flag, i int) bool {
	for _, f := range flags[:i] {
		if f == flags[i] {
			return true
		}
	}
	return false
}

// Cosine returns the cosine of the angle between two vectors. It returns 0 for vectors
// that are empty, of different lengths or all zeros.
func Cosine(a, b []float32) float64 {
	if len(a) != len(b) || len(a) == 0 {
		return 0
	}
	var dot, aa, bb float64
	for i := range a {
		x, y := float64(a[i]), float64(b[i])
		dot += float64(x * y)
		aa += float64(x * x)
		bb += float64(y * y)
	}
	c := dot / (math.Sqrt(aa) * math.Sqrt(bb))
	if math.IsNaN(c) {
		return 0
	}
	return min(1, max(-1, c))
}
