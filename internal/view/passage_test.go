package view

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/oriel-context/oriel/window"
	"github.com/oriel-context/oriel/wire"
)

// A passage that was recalled hides nothing else of its message, also after a restart.
//
// SPEC D3
func TestARecalledPassageHidesNoOther(t *testing.T) {
	const gate, askedGate = "The gate of the penguin house is painted green.",
		"Which colour has the gate of the penguin house?"
	filler := strings.Repeat("The weather was fine and nothing else happened on that day. ", 40)
	s := newTurnTalk(t, wire.Chat, 6000)
	s.turn(`"Hello."`, "Hi.")
	s.turn(`"Read the report."`, toldFact+"\n"+filler+"\n"+gate+"\n"+filler)
	s.chat(60)
	for _, q := range []struct{ asks, told string }{{askedFact, toldFact}, {askedGate, gate}} {
		c, messages := s.turn(fmt.Sprintf("%q", q.asks), "I see.")
		texts, at := recalledIn(&messages[len(messages)-1])
		if at < 0 || !strings.Contains(texts[at], q.told) {
			t.Errorf("%s: %d cuts, %q", q.asks, len(c.Made), texts)
		}
		if c.Folded {
			t.Error("a cut: the test shows nothing")
		}
		s.restart()
	}
}

// What an earlier version recorded as recalled are whole messages.
func TestOldRecordsOfRecalledMessages(t *testing.T) {
	for _, c := range []struct {
		in   window.Insertion
		want []string
	}{
		{window.Insertion{Block: "7 old#9"}, []string{"7", "old#9"}},
		{window.Insertion{Block: "7 old#9", Parts: "3 0"}, []string{"7/3", "old#9/0"}},
	} {
		if got := passagesIn(&c.in); !slices.Equal(got, c.want) {
			t.Errorf("%+v: %q, want %q", c.in, got, c.want)
		}
	}
}
