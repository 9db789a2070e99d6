package window

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/oriel-context/oriel/internal/test/strict"
)

// A message that adds or removes tools in the middle of a history stays with the turn before
// it, however much leaves: later calls name these tools.
//
// SPEC E1
func TestChangesOfToolsStay(t *testing.T) {
	const change = `{"role":"system","content":[` +
		`{"type":"tool_addition","tool":{"type":"tool_definition","definition":{"name":"deploy","input_schema":{"type":"object"}}}},` +
		`{"type":"tool_removal","tool":{"type":"tool_reference","name":"read"}}]}`
	var list []string
	for i := range 30 {
		list = append(list, fmt.Sprintf(`{"role":"user","content":"step %d %s"}`, i, strings.Repeat("word ", 100)))
		if i == 3 {
			list = append(list, change)
		}
		list = append(list, fmt.Sprintf(`{"role":"assistant","content":"done with %d"}`, i))
	}
	list = append(list, `{"role":"user","content":"go on"}`)
	body := `{"model":"claude-opus-4-8","max_tokens":100,"tools":[{"name":"read","input_schema":{"type":"object"}}],"messages":[` +
		strings.Join(list, ",") + `]}`
	for _, policy := range Policies() {
		out, plan, err := Fit(context.Background(), []byte(body), Options{Budget: 1200, Policy: policy})
		if err != nil {
			t.Errorf("%s: %v", policy, err)
			continue
		}
		if plan.TokensAfter >= plan.TokensBefore {
			t.Errorf("%s: nothing was cut", policy)
		}
		if !strings.Contains(string(out), change) {
			t.Errorf("%s: the change of tools has left: %s", policy, out)
		}
		if faults := strict.Anthropic(out); len(faults) > 0 {
			t.Errorf("%s: %v", policy, faults)
		}
	}
}
