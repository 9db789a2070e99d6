package recall

import "testing"

// The surer a search is, the more it brings back: nothing without evidence, no more than
// someTokens where a passage may be near by chance, the whole budget in the end.
func TestWhatIsSpentGrowsWithTheEvidence(t *testing.T) {
	for name, statement := range map[string]bool{"question": false, "statement": true} {
		last := 0
		for cos := float32(0); cos <= 1; cos += .01 {
			c := judge(fact, 0, cos, true, statement, false)
			spent := c.allowance(4096)
			switch {
			case spent < last:
				t.Errorf("%s: %d tokens at %.2f, after %d", name, spent, cos, last)
			case cos < c.scale.none && c.sure > 0:
				t.Errorf("%s: sure of %.2f at %.2f", name, c.sure, cos)
			case cos < c.scale.more && spent > someTokens:
				t.Errorf("%s: %d tokens at %.2f", name, spent, cos)
			}
			if small := c.allowance(100); small > 100 {
				t.Errorf("%s: %d of 100 tokens at %.2f", name, small, cos)
			}
			if own := judge(fact, 0, cos, true, statement, true); own.sure < c.sure || own.allowance(4096) < spent {
				t.Errorf("%s: what speaks of who talks brings less at %.2f", name, cos)
			}
			last = spent
		}
		if last != 4096 {
			t.Errorf("%s: %d tokens at the most evidence", name, last)
		}
	}
}

// A line that has the words of a query lets the whole budget be spent, but little for an
// order, unless more is spent without the line.
func TestALineIsLessEvidenceForAnOrder(t *testing.T) {
	for name, c := range map[string]struct {
		certainty
		question, order int
	}{
		"a question":        {judge(fact, 0, .1, true, false, false), 4096, someTokens},
		"a statement":       {judge(fact, 0, .1, true, true, false), 4096, someTokens},
		"a near question":   {judge(fact, 0, .6, true, false, false), 4096, 4096},
		"work":              {judge(work, 0, .1, true, true, false), 4096, someTokens},
		"work that is near": {judge(work, .3, .3, true, true, false), 4096, 4096},
	} {
		for order, want := range map[bool]int{false: c.question, true: c.order} {
			got, below := c.certainty, c.certainty
			got.trust(lineSure, order)
			if got.sure < lineSure || got.allowance(4096) != want {
				t.Errorf("%s, order %t: %d tokens, sure of %.2f, want %d", name, order, got.allowance(4096), got.sure,
					want)
			}
			if below.trust(lineSure-.01, order); below != c.certainty {
				t.Errorf("%s, order %t: %+v, want %+v", name, order, below, c.certainty)
			}
		}
	}
}
