package window

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/oriel-context/oriel/wire"
)

// Results of the tools that a setting names are not masked; the others are. SPEC B2
func TestKeepToolsAreNotMasked(t *testing.T) {
	var list []string
	for i := range 12 {
		name := []string{"read_file", "search"}[i%2]
		list = append(list,
			fmt.Sprintf(`{"role":"assistant","content":null,"tool_calls":[{"id":"c%d","type":"function","function":{"name":%q,"arguments":"{\"path\":\"f%d\"}"}}]}`, i, name, i),
			fmt.Sprintf(`{"role":"tool","tool_call_id":"c%d","content":%q}`, i,
				strings.Repeat(fmt.Sprintf("%s-%d ", name, i), 100)))
	}
	data := []byte(`{"model":"gpt-4o","messages":[{"role":"user","content":"look"},` + strings.Join(list, ",") +
		`,{"role":"assistant","content":"done"},{"role":"user","content":"and now?"}]}`)
	for _, policy := range []string{"mask", "ladder"} {
		for _, keep := range [][]string{nil, {"read_file"}, {"search", "other"}} {
			_, plan, err := Fit(context.Background(), data, Options{Format: wire.Chat, Policy: policy, Budget: 3200,
				KeepTools: keep})
			if err != nil {
				t.Fatal(err)
			}
			masked := map[string]int{}
			for i, b := range plan.Blocks {
				if b.Verdict == Mask {
					masked[[]string{"read_file", "search"}[(i-2)/2%2]]++
				}
			}
			for _, name := range []string{"read_file", "search"} {
				if kept := len(keep) > 0 && keep[0] == name; kept && masked[name] > 0 ||
					!kept && policy == "mask" && masked[name] == 0 {
					t.Errorf("%s, keep %v: %d results of %s are masked", policy, keep, masked[name], name)
				}
			}
		}
	}
	if _, _, err := Fit(context.Background(), data, Options{KeepTools: []string{""}}); err == nil ||
		!strings.Contains(err.Error(), "no name") {
		t.Error(err)
	}
}
