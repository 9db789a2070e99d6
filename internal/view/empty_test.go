package view

import (
	"fmt"
	"strings"
	"testing"

	"github.com/oriel-context/oriel/wire"
)

// A document that fits into no view leaves alone: what left for it comes back, from earlier
// cuts too, and replies that are larger than a cut keep what there is room for.
//
// SPEC E2
func TestALargeDocumentDoesNotEmptyTheView(t *testing.T) {
	for _, profile := range []string{"full", "balanced"} {
		s := newStage(t, Options{})
		a := ask{format: wire.Anthropic, session: "s", Input: Input{Profile: profile}}
		text := func(name string, words int) string { return strings.TrimSpace(strings.Repeat(name+" ", words)) }
		list := []string{said("user", "hello, wait for the contract")}
		answer := func(budget int, reply string) *call {
			t.Helper()
			a.Budget = budget
			c := s.find(sent(list...), a)
			if err := s.show(c, a); err != nil {
				t.Fatal(err)
			}
			if problems := judge(wire.Anthropic, c.Body); len(problems) > 0 || c.After > budget {
				t.Fatalf("%d tokens of %d, %v", c.After, budget, problems)
			}
			s.end(c, []byte(said("assistant", reply)))
			list = append(list, said("assistant", reply))
			return c
		}
		for i := range 3 {
			answer(60_000, text(fmt.Sprint("reply", i), 1500))
			list = append(list, said("user", "more"))
		}
		answer(60_000, "ok")
		list = append(list, said("user", text("clause", 20_000)+" what does it say?"))
		if c := answer(27_500, "it says so"); c.Cut == nil || c.Before-c.After < 10_000 {
			t.Fatalf("the replies do not leave for the document: %d of %d tokens", c.After, c.Before)
		}
		list = append(list, said("user", "and the next one?"))
		for _, budget := range []int{18_000, 5_000} {
			if c := answer(budget, "so, too"); c.After < budget/5 {
				t.Errorf("%s: %d tokens are sent of %d that came, in a budget of %d (%s)", profile, c.After, c.Before,
					budget, c.Action)
			}
			list = append(list, said("user", "and then?"))
		}
	}
}
