package view

import (
	"fmt"
	"strings"
	"testing"

	"github.com/oriel-context/oriel/token"
	"github.com/oriel-context/oriel/wire"
)

// What a call brings back is within its cap in the tokens of the model that it is for:
// the setting, and a tenth of the budget.
//
// SPEC D3, D4
func TestRecallKeepsItsCapInTheModelsTokens(t *testing.T) {
	for _, model := range []string{"gpt-4o", "gpt-3.5-turbo", "claude-sonnet-4-5", "nobody-knows"} {
		for _, budget := range []int{1500, 3000, 24_000} {
			t.Run(fmt.Sprint(model, " ", budget), func(t *testing.T) {
				s := newStage(t, Options{})
				s.library()
				defer s.close()
				a := ask{format: wire.Chat, session: "s", Input: Input{Budget: budget, Asked: true}}
				counter := token.NewCounter(token.Builtin().Lookup(model), token.Options{})
				limit := min(2048, budget/10)
				recalled := 0
				var talk []string
				for i := 0; i < 24; i++ {
					// Every message bears on the next question, in several scripts.
					said := fmt.Sprintf("Always label zebra enclosure %d, keeper Ægir %d, 斑马围栏编号是 %d: ", i, i*7, i*13)
					said += strings.Repeat(fmt.Sprintf("zebra stripe report %d was filed. ", i), budget/150)
					talk = append(talk, fmt.Sprintf(`{"role":"user","content":%q}`, said))
					c := s.find(fmt.Appendf(nil, `{"model":%q,"messages":[%s]}`, model, strings.Join(talk, ",")), a)
					if err := s.show(c, a); err != nil {
						t.Fatal(err)
					}
					if c.Recalled > limit {
						t.Errorf("call %d: %d tokens were brought back, at most %d may be", i, c.Recalled, limit)
					}
					for _, cut := range c.Made {
						for _, in := range cut.Plan.Inserted {
							if n := counter.Text(in.Text).Tokens; in.Kind == "recall" && n > limit {
								t.Errorf("call %d: an insertion of %d tokens, at most %d may be", i, n, limit)
							}
						}
					}
					recalled += c.Recalled
					reply := fmt.Sprintf(`{"role":"assistant","content":"Zebra note %d is kept."}`, i)
					talk = append(talk, reply)
					s.end(c, []byte(reply))
				}
				if recalled == 0 && budget > 1500 {
					t.Error("nothing was brought back: the test shows nothing")
				}
			})
		}
	}
}
