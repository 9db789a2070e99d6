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

// longContent is the number of characters above which a text is long.
const longContent = 500

// complexity returns how demanding a number of texts is, from 0 to 1 (SPEC D6). It is 1 if
// they have two indicators each.
func complexity(indicators, items int) float64 {
	if items == 0 {
		return 0
	}
	return min(1, float64(indicators)/float64(2*items))
}

// indicators counts the indicators of complexity in a text: a code fence, a word for an
// error, more than 500 characters, a technical term, a question mark.
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

// multipliers are the sizes of windows by state, as multiples of the base (SPEC D6).
var multipliers = map[State]float64{
	StateGeneral: 1, StateResearch: 1.3, StateCoding: 1.5, StateDebugging: 2, StateComplexAnalysis: 2.5,
}

// Sizer adapts the size of a window to its conversation (SPEC D6). The zero value starts
// at the default size.
type Sizer struct {
	// Base is the first size, in tokens. Default 8,000.
	Base int

	size int
}

// Size returns the current size.
func (s *Sizer) Size() int {
	if s.size == 0 {
		return s.base()
	}
	return s.size
}

// Resume sets the current size to one that Size returned before a restart. 0 starts again
// at Base.
func (s *Sizer) Resume(size int) { s.size = max(0, size) }

// Next sets and returns the size for the next turn: base · multiplier · (0.5 +
// 2.5·complexity), between base/2 and base·4, at most base/4 from the current size. An
// override above 0 replaces all of that. The size never exceeds allowed, the most tokens
// that the model accepts; 0 means that this is unknown.
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

// wanted returns the size by the formula and its bounds, without the limit on steps.
func (s *Sizer) wanted(complexity float64, state State) int {
	if math.IsNaN(complexity) {
		complexity = 0
	}
	factor, ok := multipliers[state]
	if !ok {
		factor = 1
	}
	base := s.base()
	// The small number keeps whole numbers whole despite rounding.
	size := math.Floor(float64(base)*factor*(0.5+2.5*min(1, max(0, complexity))) + 1e-6)
	return int(min(max(size, float64(base/2)), float64(base*4)))
}

func (s *Sizer) base() int { return orDefault(s.Base, DefaultMaxTokens) }
