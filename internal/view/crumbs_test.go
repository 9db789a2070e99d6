package view

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/oriel-context/oriel/condense"
	"github.com/oriel-context/oriel/wire"
)

// Where there is no room for the best passage, nothing less is inserted because it fits.
//
// SPEC D3
func TestNoCrumbsAreRecalled(t *testing.T) {
	long := strings.TrimSpace(strings.Repeat("The zebra enclosure of the zoo was painted, cleaned and measured. ",
		12)) + " " + toldFact
	model := NewCondensing(CondenseOptions{Condenser: condense.Func(func(context.Context,
		condense.Input) (condense.Output, error) {
		return condense.Output{Text: "a summary of what was said so far"}, nil
	})})
	defer model.Close()
	brought := 0
	for n := 20; n < 40; n++ {
		s := newTurnTalk(t, wire.Chat, 3000)
		s.o.Condense = model
		s.restart()
		s.turn(`"Hello."`, "Hi.")
		s.turn(fmt.Sprintf("%q", long), "Noted.")
		s.turn(`"An enclosure has a number."`, "Yes.")
		s.chat(n)
		_, messages := s.turn(fmt.Sprintf("%q", askedFact), "Seventeen.")
		texts, at := recalledIn(&messages[len(messages)-1])
		if at < 0 {
			continue
		}
		brought++
		if !strings.Contains(texts[at], toldFact) {
			t.Errorf("%d turns: %q", n, texts[at])
		}
	}
	if brought == 0 {
		t.Error("nothing was brought back at all: the test shows nothing")
	}
}

// A call without its result says nothing, so that a cut recalls none, whatever the task is.
func TestACutRecallsNoBareCalls(t *testing.T) {
	s := newStage(t, Options{})
	s.library()
	defer s.close()
	a := ask{format: wire.Anthropic, session: "s", Input: Input{Profile: "thrifty", Budget: 4000, Asked: true}}
	list := []string{
		`{"role":"user","content":"Read all parts one after another: read part 1, then part 2, and so on."}`}
	cuts := 0
	for n := range 40 {
		c := s.find(fmt.Appendf(nil,
			`{"model":"claude-sonnet-4-5","max_tokens":100,"tools":[{"name":"read_part","input_schema":{"type":"object"}}],"messages":[%s]}`,
			strings.Join(list, ",")), a)
		if err := s.show(c, a); err != nil {
			t.Fatal(err)
		}
		if problems := judge(wire.Anthropic, c.Body); len(problems) > 0 {
			t.Fatalf("call %d: %v", n, problems)
		}
		if c.Folded {
			cuts++
		}
		for _, made := range c.Made {
			for _, in := range made.Plan.Inserted {
				if in.Kind == "recall" && strings.Contains(in.Text, "assistant> read_part") {
					t.Errorf("call %d: %s", n, in.Text)
				}
			}
		}
		call := fmt.Sprintf(
			`{"role":"assistant","content":[{"type":"tool_use","id":"toolu_%03d","name":"read_part","input":{"k":%d}}]}`, n, n)
		list = append(list, call, fmt.Sprintf(
			`{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_%03d","content":%q}]}`, n,
			strings.Repeat(fmt.Sprintf("The token of part %d is T%d and nothing else.\n", n, n*7919%1000), 30)))
		s.end(c, []byte(call))
	}
	if cuts == 0 {
		t.Error("no cut: the test shows nothing")
	}
}
