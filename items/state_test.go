package items

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

const (
	talk     = "Nice weather in Lisbon today."
	coding   = "Please write a function that sorts names."
	bugs     = "There is a bug in the parser, please debug it."
	research = "Let us search for papers and learn from them."
)

func observe(t *Tracker, texts ...string) (out []State) {
	for _, s := range texts {
		out = append(out, t.Observe(s))
	}
	return out
}

func times(n int, s string) []string { return slices.Repeat([]string{s}, n) }

// SPEC D5: a state needs evidence over several messages.
func TestStateNeedsSeveralMessages(t *testing.T) {
	const g = StateGeneral
	for _, c := range []struct {
		text string
		want State
	}{{talk, g}, {coding, StateCoding}, {bugs, StateDebugging}, {research, StateResearch}} {
		var tr Tracker
		if tr.State() != g {
			t.Errorf("begins in %s", tr.State())
		}
		if diff := cmp.Diff([]State{g, g, c.want, c.want}, observe(&tr, times(4, c.text)...)); diff != "" {
			t.Errorf("%s (-want +got)\n%s", c.text, diff)
		}
		// One message full of words is still one message.
		one := Tracker{}
		if got := one.Observe(strings.Repeat(c.text+" ", 10)); got != g {
			t.Errorf("one message: %s", got)
		}
	}
}

// SPEC D5: a state stays for a while, and another must be clearly ahead.
func TestStateHasHysteresis(t *testing.T) {
	var tr Tracker
	observe(&tr, times(4, coding)...)
	// Talk does not end it before the last sign of it is ten messages old.
	for i, s := range observe(&tr, times(9, talk)...) {
		if s != StateCoding {
			t.Fatalf("after %d messages of talk: %s", i+1, s)
		}
	}
	if s := tr.Observe(talk); s != StateGeneral {
		t.Errorf("after ten messages of talk: %s", s)
	}

	tr = Tracker{}
	observe(&tr, times(3, coding)...)
	want := []State{StateCoding, StateCoding, StateCoding, StateCoding, StateDebugging, StateDebugging}
	if diff := cmp.Diff(want, observe(&tr, times(6, bugs)...)); diff != "" {
		t.Errorf("from coding to debugging (-want +got)\n%s", diff)
	}
	// Going to and fro changes nothing.
	tr = Tracker{}
	observe(&tr, times(3, coding)...)
	for i := range 20 {
		if s := tr.Observe([]string{bugs, coding}[i%2]); s != StateCoding {
			t.Fatalf("message %d: %s", i, s)
		}
	}
}

// SPEC D5: signs of all states together are complex analysis; so are very complex
// contents.
func TestComplexAnalysis(t *testing.T) {
	var tr Tracker
	got := observe(&tr, coding, bugs, research, coding, bugs, research)
	if got[5] != StateComplexAnalysis || slices.Contains(got[:5], StateComplexAnalysis) {
		t.Errorf("mixed: %v", got)
	}
	// It goes on as long as every state shows, ...
	if s := tr.Observe(talk); s != StateComplexAnalysis {
		t.Errorf("then %s", s)
	}
	// ... and ends when one of them no longer does.
	if got := observe(&tr, times(8, coding)...); got[7] != StateCoding {
		t.Errorf("then %v", got)
	}

	complex := "Why does the database implementation return an error?\n```\n```"
	tr = Tracker{}
	if got := observe(&tr, times(3, complex)...); got[0] == StateComplexAnalysis || got[2] != StateComplexAnalysis {
		t.Errorf("complexity %v: %v", tr.Complexity(), got)
	}
}

// SPEC D5: signs are whole words.
func TestSignsAreWholeWords(t *testing.T) {
	for _, c := range []struct {
		text string
		want []State
	}{
		{"a classic functional importance", nil},
		{"terror, ambush, prefix, debugger's", []State{StateDebugging}},
		{"finder, researchgate, relearned", nil},
		{"A Class, imported", []State{StateCoding}},
		{"TypeError", []State{StateDebugging}},
		{"HTTPException", []State{StateDebugging}},
		{"my_function()", []State{StateCoding}},
		{"```\nx\n```", []State{StateCoding}},
		{"ANALYZE", []State{StateResearch}},
		{"fix the code", []State{StateDebugging, StateCoding}},
	} {
		var got []State
		for i, found := range signsOf(c.text) {
			if found {
				got = append(got, signStates[i])
			}
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%q (-want +got)\n%s", c.text, diff)
		}
	}
	// The least that the lists must have.
	for state, list := range map[State]string{
		StateCoding:    "code function class import def return",
		StateDebugging: "error bug debug fix exception traceback",
		StateResearch:  "research find search learn study analyze",
	} {
		for w := range strings.FieldsSeq(list) {
			if !state.Matches("please " + w + " it") {
				t.Errorf("%s: %q is no sign", state, w)
			}
		}
	}
}

// SPEC D5: a state says what history fits it.
func TestStateMatches(t *testing.T) {
	for _, c := range []struct {
		state State
		text  string
		want  bool
	}{
		{StateGeneral, talk, true}, {"", talk, true},
		{StateCoding, coding, true}, {StateCoding, bugs, false},
		{StateComplexAnalysis, bugs, true}, {StateComplexAnalysis, talk, false},
	} {
		if got := c.state.Matches(c.text); got != c.want {
			t.Errorf("%s matches %q: %v", c.state, c.text, got)
		}
	}
}

// SPEC D5, E6: the same contents give the same states; what is older than ten
// messages and left no state behind does not matter.
func TestStatesAreDeterministic(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		texts := rapid.SliceOf(rapid.SampledFrom([]string{talk, coding, bugs, research})).Draw(t, "texts")
		var a, b Tracker
		if diff := cmp.Diff(observe(&a, texts...), observe(&b, texts...)); diff != "" {
			t.Fatal(diff)
		}
		observe(&a, times(20, talk)...)
		if a.State() != StateGeneral || len(a.seen) != span {
			t.Fatalf("after much talk: %s, %d kept", a.State(), len(a.seen))
		}
	})
}

func BenchmarkObserve(b *testing.B) {
	var tr Tracker
	text := strings.Repeat(coding+"\n", 50)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		tr.Observe(text)
	}
}
