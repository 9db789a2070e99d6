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
