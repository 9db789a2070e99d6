package window

import (
	"context"
	"fmt"
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
		msgs = append(msgs,
			chat.Message{Role: role,
				Parts: []chat.Part{{Kind: chat.Text, Text: chat.Quote(strings.Repeat("word ", n))}}})
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

// SPEC E2: room for rounding is not kept free where the newest words of the user would pay
// for it.
func TestRoundingRoomCostsNoWordOfTheNewestMessage(t *testing.T) {
	body := []byte(fmt.Sprintf(`{"model":"gpt-4o","messages":[{"role":"user","content":"hello"},{"role":"assistant","content":%q},{"role":"user","content":%q}]}`,
		strings.Repeat("so ", 300), strings.Repeat("alpha beta gamma ", 400)))
	whole := 0 // the least size that a view with the whole message has
	for budget := 1500; budget > 1000; budget-- {
		_, plan, err := Fit(context.Background(), body, Options{Budget: budget})
		if err != nil {
			t.Fatal(err)
		}
		switch trimmed := plan.Blocks[2].Verdict == Trim; {
		case !trimmed:
			whole = plan.TokensAfter
		case whole > 0 && whole <= budget:
			t.Fatalf("a budget of %d trims the message, though %d tokens hold all of it", budget, whole)
		case budget-plan.TokensAfter > roundingRoom:
			t.Fatalf("a budget of %d trims the message and leaves %d tokens unused", budget, budget-plan.TokensAfter)
		}
	}
}
