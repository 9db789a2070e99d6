package call_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/oriel-context/oriel/internal/test/strict"
	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/token"
)

// What a model says between calls of tools comes back as thinking. It is stored with its calls,
// the client that sends it back, emptied or not at all goes on with the conversation, and behind
// a cut it is sent with its calls, byte for byte, or not.
func TestWhatIsSaidBetweenCallsStaysWithThem(t *testing.T) {
	const first = `{"type":"thinking","thinking":"The tide table comes first.","signature":"c2lnMQ=="},` +
		`{"type":"tool_use","id":"b1","name":"ls","input":{"path":"/tides"}}`
	const second = `{"type":"thinking","thinking":"Now the quay.","signature":"c2lnMg=="},` +
		`{"type":"tool_use","id":"b2","name":"ls","input":{"path":"/quay"}}`
	results := `{"role":"user","content":[{"type":"tool_result","tool_use_id":"b1","content":"t"},` +
		`{"type":"tool_result","tool_use_id":"b2","content":"` + strings.Repeat("q ", 50) + `"}]}`
	said := `{"role":"assistant","content":[` + first + "," + second + `]}`
	for name, echo := range map[string]string{
		"as it came": said,
		"emptied": strings.NewReplacer("The tide table comes first.", "", "Now the quay.", "").
			Replace(said),
		"dropped": `{"role":"assistant","content":[` + `{"type":"tool_use","id":"b1","name":"ls","input":{"path":"/tides"}},` +
			`{"type":"tool_use","id":"b2","name":"ls","input":{"path":"/quay"}}]}`,
	} {
		u := before(t, new(token.Limits), func(n int, w http.ResponseWriter) {
			if n == 1 {
				fmt.Fprintf(w, `{"id":"m","type":"message","role":"assistant","model":"m","content":[%s,%s],`+
					`"stop_reason":"tool_use","usage":{"input_tokens":10,"output_tokens":10}}`, first, second)
				return
			}
			message(w, "end_turn", 2000, 10)
		})
		whole := string(history("claude-opus-5-5", 20, "go on", `,"max_tokens":1000`))
		u.send("/v1/messages", []byte(whole), "X-Oriel-Budget", "3000")
		u.settle(1)
		whole = strings.TrimSuffix(whole, "]}") + "," + echo + "," + results
		u.send("/v1/messages", []byte(whole+"]}"), "X-Oriel-Budget", "3000")
		u.settle(2)
		list, err := u.store.Conversations(ctx, timeline.Local)
		if err != nil || len(list) != 1 {
			t.Fatalf("%s: %d conversations, %v", name, len(list), err)
		}
		if p := strict.Anthropic([]byte(u.got[1])); len(p) > 0 {
			t.Errorf("%s: %v", name, p)
		}
		if name == "as it came" && !strings.Contains(u.got[1], first+","+second) {
			t.Errorf("%s: what the model said since the cut is not with its calls: %s", name, u.got[1])
		}
		stored := ""
		err = u.store.Messages(ctx, timeline.Local, list[0].Head, 1, 1000, false, func(e *timeline.Entry) error {
			stored += string(e.Raw)
			return nil
		})
		if err != nil || !strings.Contains(stored, first+","+second) {
			t.Errorf("%s: not stored as it came: %v", name, err)
		}
	}
}
