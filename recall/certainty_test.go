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
