package window

import (
	"fmt"
	"strings"
	"testing"

	"github.com/oriel-context/oriel/token"
)

// A calibration's offset below 0 stays when messages leave: cuts neither exceed the budget
// because of it nor leave it unused.
func TestACutUsesItsBudgetDespiteAnOffset(t *testing.T) {
	var turns []string
	for i := range 60 {
		turns = append(turns, fmt.Sprintf(`{"role":"user","content":"question %d %s"},{"role":"assistant","content":[{"type":"tool_use","id":"t%d","name":"Bash","input":{}}]},`+
			`{"role":"user","content":[{"type":"tool_result","tool_use_id":"t%d","content":"%s"}]},{"role":"assistant","content":"answer %s"}`,
			i, strings.Repeat("what of it ", 10+i%7*5), i, i, strings.Repeat("a line of output ", 50+i%5*60), strings.Repeat("thus it is ", 20+i%3*10)))
	}
	body := []byte(`{"model":"claude-opus-4-6","max_tokens":1000,"system":"Be brief.","messages":[` + strings.Join(turns, ",") + `,{"role":"user","content":"go on"}]}`)
	scale := token.Scale{Slope: 1.06, Offset: -3000, N: 64}
	for _, policy := range []string{"ladder", "mask", "relevance"} {
		for _, budget := range []int{2_500, 20_000} {
			_, plan, err := Fit(t.Context(), body, Options{Policy: policy, Budget: budget, Scale: scale})
			if err != nil {
				t.Fatalf("%s to %d: %v", policy, budget, err)
			}
			if n := plan.TokensAfter; n > budget || n < budget*17/20 {
				t.Errorf("%s to %d: %d tokens are left", policy, budget, n)
			}
		}
	}
}
