package window_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/oriel-context/oriel/window"
)

// Where people's words stay, so do the newest short calls of their turns: a history of
// orders that are answered with "Done." alone shows a model that words suffice.
//
// SPEC D7a
func TestShortCallsStayBesidePeoplesWords(t *testing.T) {
	var list []string
	for i := range 60 {
		call, result := fmt.Sprintf(`{\"path\":\"f%d\"}`, i), strings.Repeat("line of code ", 200)
		name, said := "read", "It handles errors."
		if i%4 == 3 {
			name, result, said = "deploy", "ok", "Done."
		}
		list = append(list,
			fmt.Sprintf(`{"role":"user","content":"Please %s f%d."}`, name, i),
			fmt.Sprintf(`{"role":"assistant","content":null,"tool_calls":[{"id":"c%d","type":"function","function":{"name":%q,"arguments":"%s"}}]}`, i, name, call),
			fmt.Sprintf(`{"role":"tool","tool_call_id":"c%d","content":%q}`, i, result),
			fmt.Sprintf(`{"role":"assistant","content":%q}`, said))
	}
	body := fmt.Appendf(nil, `{"model":"gpt-4o","messages":[%s,{"role":"user","content":"Deploy it."}]}`,
		strings.Join(list, ","))
	out, plan, err := window.Fit(context.Background(), body, window.Options{Profile: "full", Budget: 8000, Low: 4000})
	if err != nil {
		t.Fatal(err)
	}
	sent := string(out)
	for i := 43; i < 60; i += 4 { // the newest five
		if !strings.Contains(sent, fmt.Sprintf(`"id":"c%d"`, i)) {
			t.Errorf("the call of turn %d is left out", i)
		}
	}
	brief := 0
	for _, b := range plan.Blocks {
		if b.Verdict == window.Keep && b.Role == "tool" && b.Tokens < 20 {
			brief += 3 * b.Tokens
		}
	}
	if brief > 400 {
		t.Errorf("short calls take about %d tokens of 4,000", brief)
	}
}
