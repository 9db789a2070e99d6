package view

import (
	"fmt"
	"strings"
	"testing"

	"github.com/oriel-context/oriel/wire"
)

// Rules that a program puts behind a question do not keep what it asks for from being found.
//
// SPEC D4
func TestRulesBehindAQuestionDoNotDrownIt(t *testing.T) {
	s := newStage(t, Options{})
	s.library()
	defer s.close()
	a := ask{format: wire.Chat, session: "s", Input: Input{Budget: 4000, Asked: true}}
	var rules strings.Builder
	for i := range 40 {
		fmt.Fprintf(&rules,
			"Every block number %d must use this format, with its path alone on the line and no quotes around it.\n", i)
	}
	var talk []string
	var last *call
	for i := range 12 {
		said := fmt.Sprintf("Explain function number %d of this program.", i)
		lines := strings.Repeat(fmt.Sprintf("Line of part %d and nothing else.\n", i), 30)
		reply := lines + lines
		switch i {
		case 2:
			reply = lines + "Note that the staging database of Heron listens on port 48213, behind pgbouncer.\n" + lines
		case 11:
			said = "Which port does the staging database of Heron listen on?\n\n# *Block* rules:\n\n" + rules.String()
		}
		talk = append(talk, fmt.Sprintf(`{"role":"user","content":%q}`, said))
		last = s.find(fmt.Appendf(nil, `{"model":"m","messages":[%s]}`, strings.Join(talk, ",")), a)
		if err := s.show(last, a); err != nil {
			t.Fatal(err)
		}
		reply = fmt.Sprintf(`{"role":"assistant","content":%q}`, reply)
		talk = append(talk, reply)
		s.end(last, []byte(reply))
	}
	if !strings.Contains(string(last.Body), "48213") {
		t.Errorf("nothing was brought back: %s", last.Action)
	}
}
