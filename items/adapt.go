package items

import (
	"math"
	"strings"
	"unicode/utf8"
)

var (
	complexityErrors = wordSet(`error errors exception exceptions traceback tracebacks failed`)
	technicalTerms   = wordSet(`algorithm algorithms implementation implementations architecture architectures
		database databases api apis`)
)

// longContent is the number of characters above which a content is long.
const longContent = 500

// complexity returns how demanding items are, from 0 to 1 (SPEC D6), by the number of
// their indicators: two an item are the most that counts.
func complexity(indicators, items int) float64 {
	if items == 0 {
		return 0
	}
	return min(1, float64(indicators)/float64(2*items))
}

// indicators counts a content's signs of complexity.
func indicators(text string) int {
	wrong, technical := false, false
	eachWord(text, func(w string) {
		wrong = wrong || complexityErrors[w]
		technical = technical || technicalTerms[w]
	})
	n := 0
	for _, holds := range [...]bool{
		strings.Contains(text, "```"),
		wrong,
		len(text) > longContent && utf8.RuneCountInString(text) > longContent,
		technical,
		strings.Contains(text, "?"),
	} {
		if holds {
			n++
		}
	}
	return n
}

// multipliers are the sizes that states need, as multiples of the base (SPEC D6).
var multipliers = map[State]float64{
	StateGeneral: 1, StateResearch: 1.3, StateCoding: 1.5, StateDebugging: 2, StateComplexAnalysis: 2.5,
}

// Sizer follows a conversation with the size of its window (SPEC D6). The zero
// value starts from the default size.
type Sizer struct {
	// Base is the size to start from, in tokens. Default 8,000.
	Base int

	size int
}

// Size is the present size.
func (s *Sizer) Size() int {
	if s.size == 0 {
		return s.base()
	}
	return s.size
}

// Resume goes on from a size that Size gave before, as after a restart; 0 begins
// anew.
func (s *Sizer) Resume(size int) { s.size = max(0, size) }

// Next is the size for the next turn: base · multiplier · (0.5 + 2.5·complexity),
// within base/2 and base·4, at most base/4 from the present one. An override above
// 0 is taken as it is; sizes then move on from there. Nothing goes beyond allowed,
// which is what the model takes; 0 means that this is not known.
func (s *Sizer) Next(complexity float64, state State, allowed, override int) int {
	base, now := s.base(), s.Size()
	size := override
	if override <= 0 {
		step := max(1, base/4)
		size = min(max(s.wanted(complexity, state), now-step), now+step)
	}
	if allowed > 0 {
		size = min(size, allowed)
	}
	s.size = size
	return size
}

// wanted is where the size is heading: the formula within its bounds, without the
// limit on steps.
func (s *Sizer) wanted(complexity float64, state State) int {
	if math.IsNaN(complexity) {
		complexity = 0
	}
	factor, ok := multipliers[state]
	if !ok {
		factor = 1
	}
	base := s.base()
	// A whole number must not lose one to the last bit.
	size := math.Floor(float64(base)*factor*(0.5+2.5*min(1, max(0, complexity))) + 1e-6)
	return int(min(max(size, float64(base/2)), float64(base*4)))
}

func (s *Sizer) base() int { return orDefault(s.Base, DefaultMaxTokens) }
