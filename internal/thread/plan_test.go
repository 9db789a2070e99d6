package thread

import (
	"slices"
	"testing"

	"github.com/oriel-context/oriel/internal/plan"
)

// A plan that its process has withdrawn stays until the last call in progress that is shown by
// it has ended, unless one of them has stored it.
func TestAWithdrawnPlanLeavesWithTheLastCallThatIsShownByIt(t *testing.T) {
	for _, stored := range []bool{false, true} {
		s := newPlay(t)
		s.do("call A session=s : u1")
		s.do("call B session=s : u1 a1 u2")
		p := &plan.Plan{ID: "p", Covers: 1}
		a, b := s.calls["A"].Thread, s.calls["B"].Thread
		s.book.TakePlans(a, []*plan.Plan{p})
		is := func(when string, want ...*plan.Plan) {
			t.Helper()
			if got := s.book.Plans(a); !slices.Equal(got, want) {
				t.Errorf("%s: the plans are %v, not %v", when, got, want)
			}
		}
		s.book.ShowBy(a, "p")
		s.book.ShowBy(b, "p")
		s.book.DropWithdrawn(a, nil)
		is("two calls are shown by it", p)
		s.book.ShowBy(b, "")
		is("one call is shown by it", p)
		if stored {
			s.book.PlanStored(a, "p")
			s.do("reply A a2")
			is("it is stored", p)
		} else {
			s.do("fail A")
			is("no call is shown by it")
		}
		s.do("fail B")
	}
}
