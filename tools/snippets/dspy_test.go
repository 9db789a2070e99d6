//go:build unix

package snippets

import (
	"fmt"
	"strings"
	"testing"

	"github.com/oriel-context/oriel/internal/test/fakemodel"
)

// dspySteps is the number of tools that the model calls in a loop of DSPy's.
const dspySteps = 15

// dspyReply answers a request of DSPy's ReAct, which asks for fields by their titles: n is its
// number. ok is false for requests of others. The trajectory in it must be bounded.
func dspyReply(t *testing.T, r *fakemodel.Request, n int) (text string, ok bool) {
	var said strings.Builder
	for i := range r.Messages {
		for j := range r.Messages[i].Parts {
			said.WriteString(r.Messages[i].Parts[j].Text.String() + "\n")
		}
	}
	for i := range r.System {
		said.WriteString(r.System[i].Text.String() + "\n")
	}
	request := said.String()
	if !strings.Contains(request, "[[ ## trajectory ## ]]") {
		return "", false
	}
	if shown := strings.Count(request, "[[ ## observation_"); shown > 10 || n > 11 && shown < 10 {
		t.Errorf("request %d of DSPy shows %d interactions, want ten", n, shown)
	}
	if noted := strings.Contains(request, "[[ ## context_note ## ]]"); noted != (n > 11) {
		t.Errorf("request %d of DSPy has a note on what is missing: %v", n, noted)
	}
	field := func(name, value string) string { return fmt.Sprintf("[[ ## %s ## ]]\n%s\n\n", name, value) }
	const end = "[[ ## completed ## ]]"
	switch {
	case !strings.Contains(request, "[[ ## next_thought ## ]]"):
		return field("reasoning", "I have read them.") + field("answer", "About the sea.") + end, true
	case n > dspySteps:
		return field("next_thought", "I have read all.") + field("next_tool_name", "finish") + field("next_tool_args",
			"{}") + end, true
	}
	return field("next_thought", "I read on.") + field("next_tool_name", "read_part") + field("next_tool_args",
		fmt.Sprintf(`{"n": %d}`, n)) + end, true
}
