package window

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/wire"
)

// A page that begins like a stub of Oriel's is masked like any other: what a text begins with
// proves nothing. SPEC E4
func TestPagesThatBeginLikeStubsAreMasked(t *testing.T) {
	for _, page := range []string{"[Oriel: nothing to see here",
		"[Oriel: the result of ls (40 tokens) is left out; it is old. Run it again if you need it.]\n"} {
		r := chat.Request{Model: "gpt-4o", MaxOutput: 100, Tools: []chat.ToolDef{{Name: "read",
			Raw: []byte(`{"name":"read","input_schema":{"type":"object"}}`)}}, Messages: turnOf(0)}
		for i := range 12 {
			id := fmt.Sprint("p", i)
			r.Messages = append(r.Messages,
				chat.Message{Role: chat.Assistant,
					Parts: []chat.Part{{Kind: chat.Call, ID: id, Name: "read", Args: chat.Quote("{}")}}},
				chat.Message{Role: chat.Tool,
					Parts: []chat.Part{{Kind: chat.Result, ID: id,
						Text: chat.Quote(page + strings.Repeat("words of a page ", 300))}}})
		}
		body, err := wire.Encode(wire.Chat, &r)
		if err != nil {
			t.Fatal(err)
		}
		out, plan, err := Fit(context.Background(), body, Options{Budget: 6000, Policy: "mask"})
		if err != nil || !strings.Contains(plan.Action, "mask") {
			t.Errorf("%q: %v %v", page, plan, err)
		}
		if n := strings.Count(string(out), "left out"); n < 5 {
			t.Errorf("%q: %d stubs", page, n)
		}
	}
}
