package items

import (
	"strings"
	"unicode"
)

// State is what a conversation is about at present (SPEC D5).
type State string

const (
	StateGeneral         State = "general"
	StateCoding          State = "coding"
	StateDebugging       State = "debugging"
	StateResearch        State = "research"
	StateComplexAnalysis State = "complex_analysis"
)

// signs are the words that are evidence of the states in signStates. If several states
// have the same number of signs, the first one wins.
var (
	signStates = [...]State{StateDebugging, StateCoding, StateResearch}
	signs      = [...]map[string]bool{
		wordSet(`error errors bug bugs debug debugs debugging debugged debugger fix fixes fixed fixing
			exception exceptions traceback tracebacks stacktrace crash crashes crashed failing failed`),
		wordSet(`code codes coding function functions class classes import imports imported importing def
			return returns returned implement implements implemented implementing refactor refactors
			refactored refactoring compile compiles compiled`),
		wordSet(`research researching researched find finds finding findings search searches searching
			searched learn learns learning learned study studies studying studied analyze analyzes
			analyzing analyzed analyse analyses analysing analysed analysis investigate investigating`),
	}
)

// signsOf reports for each of signStates whether a text has a sign of it. A code fence is
// a sign of coding.
func signsOf(text string) (found [len(signStates)]bool) {
	eachWord(text, func(w string) {
		for i := range signs {
			found[i] = found[i] || signs[i][w]
		}
	})
	found[1] = found[1] || hasFence(text)
	return found
}

// Matches reports whether a text has a sign of the state. Recall prefers such texts. Every
// text matches StateGeneral; a sign of any state matches StateComplexAnalysis.
func (s State) Matches(text string) bool {
	if s == StateGeneral || s == "" {
		return true
	}
	for i, found := range signsOf(text) {
		if found && (s == signStates[i] || s == StateComplexAnalysis) {
			return true
		}
	}
	return false
}

// Tracker derives the state of one conversation from its newest ten texts. It has
// hysteresis: a new state needs several signs and more of them than the current one. The
// same texts give the same states. The zero value is ready for use.
type Tracker struct {
	seen  []observed
	state State
}

// observed is what a Tracker keeps of a text.
type observed struct {
	signs      [len(signStates)]bool
	indicators int
}

const (
	// span is the number of newest texts that count (SPEC D5, D6).
	span = 10
	// enter is the number of texts that must have a sign of a new state. lead is how many
	// more they must be than the texts with a sign of the current one.
	enter, lead = 3, 2
	// complexSigns is the number of texts with a sign of each state that together are
	// complex analysis.
	complexSigns = 2
	// Complex analysis begins above complexAbove and ends at complexUntil.
	complexAbove, complexUntil = 0.8, 0.6
)

// State returns the current state.
func (t *Tracker) State() State {
	if t.state == "" {
		return StateGeneral
	}
	return t.state
}

// Observe adds the next text and returns the new state.
func (t *Tracker) Observe(text string) State {
	t.seen = append(t.seen, observed{signsOf(text), indicators(text)})
	if len(t.seen) > span {
		t.seen = append(t.seen[:0], t.seen[len(t.seen)-span:]...)
	}
	t.state = t.next()
	return t.state
}

// Tracked is the stored form of a Tracker.
type Tracked struct {
	State State `json:"state,omitempty"`
	// Seen are the newest texts, oldest first. Of each number the low bits are the states
	// that the text has signs of; the rest is its number of indicators of complexity.
	Seen []int `json:"seen,omitempty"`
}

// Save returns the stored form of the tracker.
func (t *Tracker) Save() Tracked {
	out := Tracked{State: t.state}
	for _, o := range t.seen {
		n := o.indicators << len(signStates)
		for i, found := range o.signs {
			if found {
				n |= 1 << i
			}
		}
		out.Seen = append(out.Seen, n)
	}
	return out
}

// Resume restores what Save returned.
func (t *Tracker) Resume(from Tracked) {
	t.state, t.seen = from.State, nil
	for _, n := range from.Seen[max(0, len(from.Seen)-span):] {
		o := observed{indicators: max(0, n) >> len(signStates)}
		for i := range o.signs {
			o.signs[i] = n>>i&1 == 1
		}
		t.seen = append(t.seen, o)
	}
}

// Complexity returns how demanding the newest ten texts are, from 0 to 1 (SPEC D6).
func (t *Tracker) Complexity() float64 {
	total := 0
	for _, o := range t.seen {
		total += o.indicators
	}
	return complexity(total, len(t.seen))
}

// next returns the state that the texts give after the current one.
func (t *Tracker) next() State {
	var votes [len(signStates)]int
	for _, o := range t.seen {
		for i, found := range o.signs {
			if found {
				votes[i]++
			}
		}
	}
	now := t.State()
	if t.isComplex(votes, now == StateComplexAnalysis) {
		return StateComplexAnalysis
	}
	own := 0 // votes for the current state
	best := 0
	for i, s := range signStates {
		if s == now {
			own = votes[i]
		}
		if votes[i] > votes[best] {
			best = i
		}
	}
	if now == StateGeneral || now == StateComplexAnalysis || own == 0 {
		if votes[best] >= enter {
			return signStates[best]
		}
		return StateGeneral
	}
	if votes[best] >= enter && votes[best] >= own+lead {
		return signStates[best]
	}
	return now
}

// isComplex reports whether there are signs of all states or the texts are very complex. It
// needs less of both if complex analysis is the current state.
func (t *Tracker) isComplex(votes [len(signStates)]int, begun bool) bool {
	need, above := complexSigns, complexAbove
	if begun {
		need, above = complexSigns-1, complexUntil
	}
	together := true
	for _, v := range votes {
		together = together && v >= need
	}
	return together || len(t.seen) >= enter && t.Complexity() > above
}

func orDefault(n, normal int) int {
	if n <= 0 {
		return normal
	}
	return n
}

// eachWord calls visit with every word of a text in lower case. A word consists of letters
// and digits. The parts of a name in camel case are words too: TypeError contains error,
// terror does not.
func eachWord(text string, visit func(string)) {
	for w := range strings.FieldsFuncSeq(text, func(r rune) bool {
		return !unicode.IsLetter(r) &&
			!unicode.IsDigit(r)
	}) {
		lower := strings.ToLower(w)
		visit(lower)
		if lower == w || len(lower) != len(w) {
			continue
		}
		start := 0
		for i := 1; i < len(w); i++ {
			hump := upper(w[i]) && (!upper(w[i-1]) || i+1 < len(w) && !upper(w[i+1]))
			if hump {
				visit(lower[start:i])
				start = i
			}
		}
		if start > 0 {
			visit(lower[start:])
		}
	}
}

func upper(b byte) bool { return b >= 'A' && b <= 'Z' }
