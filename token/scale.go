package token

import (
	"math"
	"sort"
)

// Scale is a correction of estimates: Slope·estimate + Offset, of which small requests bear
// less if it is below 0 (see [Scale.Apply]). The zero Scale changes nothing.
type Scale struct {
	Slope  float64 `json:"slope"`
	Offset float64 `json:"offset"`
	// Error is the relative error to expect of estimates of Least and more.
	Error float64 `json:"error"`
	// N is the number of observations.
	N int `json:"n"`
	// Least is the smallest observed estimate that the scale explains; 0 if unknown.
	Least int `json:"least"`
}

// Calibrated reports whether the scale has enough observations to be used.
func (s Scale) Calibrated() bool { return s.N >= calibrateFew && s.Slope > 0 }

// Apply corrects a local total. What is not empty never counts 0, and a larger total never
// counts less than a smaller one.
//
// An Offset below 0 corrects costs that the model table has too high, those of tools for
// example. A request that is smaller than these costs cannot contain them, so the line is not
// followed down to 0: the smallest requests count as Slope·local, up to a level that holds
// until the line exceeds it. The level is −Offset, or less if the line has less at Least.
func (s Scale) Apply(local int) int {
	if !s.Calibrated() {
		return local
	}
	return max(int(math.Round(s.at(float64(local)))), min(local, 1))
}

// part returns the tokens of a part of a request, which has no share of the offset.
func (s Scale) part(local int) int { return max(scale(local, s.Slope), min(local, 1)) }

// at returns the corrected value of x; Apply says why it differs from the line.
func (s Scale) at(x float64) float64 {
	y := s.line(x)
	if s.Offset >= 0 {
		return y
	}
	level := -s.Offset
	if s.Least > 0 {
		level = min(level, s.line(float64(s.Least)))
	}
	return max(y, min(s.Slope*x, level), calibrateMinRatio*x)
}

// most returns the largest local total, up to a limit, that counts at most tokens; 0 if all
// count more.
func (s Scale) most(tokens, limit int) int {
	return sort.Search(limit, func(x int) bool { return s.Apply(x+1) > tokens })
}

// above returns by how much the corrected value of x exceeds the line.
func (s Scale) above(x int) float64 { return s.at(float64(x)) - s.line(float64(x)) }

func (s Scale) line(x float64) float64 { return s.Slope*x + s.Offset }

// least returns the smallest estimate among the pairs that the line does not miss; among
// all if it misses all.
func (s Scale) least(pairs []pair) int {
	least, met := math.Inf(1), math.Inf(1)
	for _, p := range pairs {
		least = min(least, p.x)
		if math.Abs(p.y-s.line(p.x)) <= calibrateMiss*p.y {
			met = min(met, p.x)
		}
	}
	if math.IsInf(met, 1) {
		met = least
	}
	return int(met)
}

// errors returns the relative errors on the pairs.
func (s Scale) errors(pairs []pair) []float64 {
	e := make([]float64, len(pairs))
	for i, p := range pairs {
		e[i] = math.Abs(p.y-s.at(p.x)) / p.y
	}
	return e
}
