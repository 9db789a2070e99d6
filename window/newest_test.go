package window

import (
	"strings"
	"testing"

	"github.com/oriel-context/oriel/chat"
)

// A policy that keeps the newest messages without gaps does so also where all but what must
// stay has left: nothing older comes back, or a second fit would cut again.
func TestNothingOlderComesBackUnderSlide(t *testing.T) {
	var msgs []chat.Message
	var tokens []int
	for i, n := range []int{10, 10, 10, 900, 10, 10, 10} {
		role := chat.User
		if i%2 == 1 {
			role = chat.Assistant
		}
		msgs = append(msgs, chat.Message{Role: role, Parts: []chat.Part{{Kind: chat.Text, Text: chat.Quote(strings.Repeat("word ", n))}}})
		tokens = append(tokens, n)
	}
	d := newDraft(counted(msgs, chat.Rules{RunsMerge: true}, tokens, 0, wordCount))
	d.newestOnly = true
	p := d.pinsAlone(500)
	if p == nil {
		t.Fatal("what must stay does not fit")
	}
	before := p.tokens()
	if p.readmit(500 - markerRoom); p.tokens() != before {
		t.Errorf("%d tokens came back", p.tokens()-before)
	}
}
