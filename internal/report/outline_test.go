package report

import (
	"slices"
	"testing"
)

// Sizes of messages must agree with those of the calls that had them: an estimate by length
// alone is off by half for code that a model counts with a tokenizer of its own.
func TestSizesAreThoseThatAPlanCountedAndEstimatesInTheSameProportion(t *testing.T) {
	o := &Outline{Tokens: []int32{10, 100, 40, 0, 200}}
	if got := o.Sizes(nil); !slices.Equal(got, o.Tokens) {
		t.Errorf("without a plan: %v", got)
	}
	first := Plan{Blocks: []Block{{ID: 2, Tokens: 150}, {ID: 3, Tokens: 60}, {ID: 9, Tokens: 7}}}
	later := Plan{Blocks: []Block{{ID: 2, Tokens: 20}}} // its result was cleared by the first
	if got, want := o.Sizes([]Plan{first, later}), []int32{15, 150, 60, 0, 300}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if o.Tokens[1] != 100 {
		t.Error("the outline changed")
	}
	empty := Plan{Blocks: []Block{{ID: 4, Tokens: 5}}}
	if got, want := o.Sizes([]Plan{empty}), []int32{10, 100, 40, 5, 200}; !slices.Equal(got, want) {
		t.Errorf("a plan that counted only what has no text: %v, want %v", got, want)
	}
}
