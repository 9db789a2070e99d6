package view

import (
	"strings"
	"testing"

	"github.com/oriel-context/oriel/wire"
)

// A plan says what thinking was lost of messages that are sent; a model that does not bind its
// thinking loses none.
//
// SPEC E1
func TestAPlanSaysWhatThinkingWasLost(t *testing.T) {
	for model, want := range map[string]int{"claude-fable-5-1": 1, "claude-opus-4-5": 0} {
		p := &play{stage: newStage(t, Options{}), ask: ask{format: wire.Anthropic, session: "s",
			Input: Input{Profile: "thrifty"}}, system: "be good"}
		c := p.find(p.body(strings.Fields("model="+model+
			" budget=2400 asked : u1:20 c1*=Read:a.go r1:300 c2*=Read:b.go r2:300 c3*=Read:c.go r3:200")), p.ask)
		if err := p.show(c, p.ask); err != nil {
			t.Fatal(err)
		}
		if !c.Folded {
			t.Fatal("no cut: the test shows nothing")
		}
		lost := c.Cut.Plan.Thinking
		switch {
		case want == 0 && lost != nil:
			t.Errorf("%s: %+v", model, lost)
		case want > 0 && (lost == nil || lost.Blocks != want || lost.Messages != want || lost.Tokens <= 0):
			t.Errorf("%s: %+v, want %d", model, lost, want)
		}
	}
}

// What a model says between calls of tools, as text or as thinking, is what the agent said last.
// Thinking that came back empty is not.
func TestWhatIsSaidBetweenCallsIsSearchedFor(t *testing.T) {
	const call = `{"type":"tool_use","id":"c1","name":"Read","input":{}}`
	for content, want := range map[string]string{
		`[{"type":"text","text":"The tide table next."},` + call + `]`:                                         "The tide table next.",
		`[{"type":"thinking","thinking":"The tide table next.","signature":"c2ln"},` + call + `]`:              "The tide table next.",
		`[` + call + `,{"type":"thinking","thinking":"Now the quay.","signature":"c2ln"},` + call + `]`:        "Now the quay.",
		`[{"type":"thinking","thinking":"","signature":"c2ln"},` + call + `]`:                                  "",
		`[{"type":"thinking","thinking":"hm","signature":"c2ln"},{"type":"text","text":"Done."},` + call + `]`: "Done.",
		`[{"type":"thinking","thinking":"hm","signature":"c2ln"}]`:                                             "",
	} {
		m, err := wire.ReadMessage(wire.Anthropic, []byte(`{"role":"assistant","content":`+content+`}`))
		if err != nil {
			t.Fatal(err)
		}
		if got := saidBy(&m); got != want {
			t.Errorf("%s: %q, want %q", content, got, want)
		}
	}
}
