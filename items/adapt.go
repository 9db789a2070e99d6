package items

import (
	"cmp"
	"fmt"
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

// multipliers are the defaults of Sizing.Multipliers.
var multipliers = map[State]float64{
	StateGeneral: 1, StateResearch: 1.3, StateCoding: 1.5, StateDebugging: 2, StateComplexAnalysis: 2.5,
}

// Defaults of Sizing.
const (
	defaultLeast = 0.5
	defaultMost  = 4
	defaultStep  = 0.25
)

// largestFactor is more than any factor of Sizing needs; sizes of any base remain integers.
const largestFactor = 1_000_000

// Sizing are the settings by which a size adapts (SPEC D6). The zero value has the defaults.
type Sizing struct {
	// Multipliers are the sizes of windows by state, as multiples of the base. States that
	// are not listed have the defaults: general 1, research 1.3, coding 1.5, debugging 2,
	// complex analysis 2.5.
	Multipliers map[State]float64
	// Least and Most bound the size, as multiples of the base. Default 0.5 and 4.
	Least, Most float64
	// Step is the most by which a turn changes the size, as a share of the base. Default
	// 0.25.
	Step float64
}

// Check returns an error for a value that cannot be used.
func (s Sizing) Check() error {
	for _, v := range []struct {
		name string
		n    float64
	}{{"Least", s.Least}, {"Most", s.Most}, {"Step", s.Step}} {
		if v.n < 0 || !(v.n <= largestFactor) {
			return fmt.Errorf("sizing: %s %g: give a number above 0 and at most %d, or 0 for the default", v.name, v.n,
				largestFactor)
		}
	}
	for state, n := range s.Multipliers {
		if n <= 0 || !(n <= largestFactor) {
			return fmt.Errorf(
				"sizing: the multiplier %g of %q: give a number above 0 and at most %d, or leave it out for the default", n, state, largestFactor)
		}
	}
	if least, most := s.bounds(); least > most {
		return fmt.Errorf("sizing: Least %g is above Most %g", least, most)
	}
	return nil
}

func (s Sizing) bounds() (least, most float64) {
	return cmp.Or(s.Least, defaultLeast), cmp.Or(s.Most, defaultMost)
}

// multiplier returns that of a state; 1 for states that are unknown.
func (s Sizing) multiplier(state State) float64 {
	return cmp.Or(lookup(s.Multipliers, multipliers, state), 1)
}

// Sizer adapts the size of a window to its conversation (SPEC D6). The zero value starts
// at the default size.
type Sizer struct {
	// Base is the first size, in tokens. Default 8,000.
	Base int
	// Sizing are the settings; Check accepts them.
	Sizing Sizing

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
// 2.5·complexity), within the bounds of Sizing, at most a step from the current size. An
// override above 0 replaces all of that. The size never exceeds allowed, the most tokens
// that the model accepts; 0 means that this is unknown.
func (s *Sizer) Next(complexity float64, state State, allowed, override int) int {
	base, now := s.base(), s.Size()
	size := override
	if override <= 0 {
		step := max(1, int(float64(base)*cmp.Or(s.Sizing.Step, defaultStep)))
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
	base := float64(s.base())
	factor := s.Sizing.multiplier(state)
	least, most := s.Sizing.bounds()
	// The small number keeps whole numbers whole despite rounding.
	size := math.Floor(base*factor*(0.5+2.5*min(1, max(0, complexity))) + 1e-6)
	return max(1, int(min(max(size, math.Floor(base*least)), math.Floor(base*most))))
}

func (s *Sizer) base() int { return orDefault(s.Base, DefaultMaxTokens) }
