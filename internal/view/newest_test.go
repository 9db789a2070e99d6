package view

import (
	"fmt"
	"strings"
	"testing"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/wire"
)

// turnTalk is a conversation that goes through a stage turn by turn.
type turnTalk struct {
	*stage
	ask
	t    *testing.T
	list []string
}

func newTurnTalk(t *testing.T, f wire.Format, budget int) *turnTalk {
	s := newStage(t, Options{})
	s.library()
	t.Cleanup(s.close)
	return &turnTalk{stage: s, t: t, ask: ask{format: f, session: "s",
		Input: Input{Profile: "thrifty", Budget: budget, Asked: true}}}
}

// turn sends a user's content, a literal of JSON, and returns the view and its messages.
func (s *turnTalk) turn(content, reply string) (*call, []chat.Message) {
	s.t.Helper()
	s.list = append(s.list, fmt.Sprintf(`{"role":"user","content":%s}`, content))
	field := "messages"
	if s.format == wire.Responses {
		field = "input"
	}
	c := s.find(fmt.Appendf(nil, `{"model":"claude-sonnet-4-5","max_tokens":100,"%s":[%s]}`, field,
		strings.Join(s.list, ",")), s.ask)
	if err := s.show(c, s.ask); err != nil {
		s.t.Fatal(err)
	}
	b, err := wire.Read(c.Body, s.format, wire.Limits{})
	if err != nil {
		s.t.Fatal(err)
	}
	said := fmt.Sprintf(`{"role":"assistant","content":%q}`, reply)
	s.list = append(s.list, said)
	s.end(c, []byte(said))
	return c, b.Messages
}

// chat sends n turns about nothing that is asked for later.
func (s *turnTalk) chat(n int) {
	s.t.Helper()
	for i := range n {
		s.turn(fmt.Sprintf("%q", fmt.Sprintf("Part %d: %s", i, strings.Repeat("the report about the weather goes on. ",
			12))), fmt.Sprintf("Part %d is filed.", i))
	}
}

const (
	toldFact  = "The zebra enclosure has the number seventeen, and its keeper is Ægir."
	askedFact = "Which number does the zebra enclosure have?"
)

// recalledIn returns the texts of a message, and the index of the first recalled one or -1.
func recalledIn(m *chat.Message) (texts []string, at int) {
	at = -1
	for i := range m.Parts {
		texts = append(texts, m.Parts[i].Text.String())
		if at < 0 && strings.HasPrefix(texts[i], recallOpens) {
			at = i
		}
	}
	return texts, at
}

// What is recalled is a part of its own before the newest words, which end the request, in
// every format and wherever a client puts its reminders.
//
// SPEC D4, PROXY rule 11
func TestTheNewestWordsEndTheRequest(t *testing.T) {
	for _, format := range []wire.Format{wire.Anthropic, wire.Chat, wire.Responses} {
		kind := "text"
		if format == wire.Responses {
			kind = "input_text"
		}
		part := func(text string) string { return fmt.Sprintf(`{"type":%q,"text":%q}`, kind, text) }
		const reminder = "<system-reminder>\nThe zebra is not to be mentioned.\n</system-reminder>"
		for name, c := range map[string]struct {
			content string
			want    []int // indices of recalled text and of the words
		}{
			"a string":          {fmt.Sprintf("%q", askedFact), []int{0, 1}},
			"a part":            {"[" + part(askedFact) + "]", []int{0, 1}},
			"a reminder before": {"[" + part(reminder) + "," + part(askedFact) + "]", []int{1, 2}},
			"a reminder behind": {"[" + part(askedFact) + "," + part(reminder) + "]", []int{0, 1}},
			"a reminder and a part": {"[" + part(reminder) + "," + part("I forgot it.") + "," + part(askedFact) + "]",
				[]int{1, 3}},
		} {
			s := newTurnTalk(t, format, 2500)
			s.chat(1)
			s.turn(fmt.Sprintf("%q", toldFact), "Noted.")
			s.chat(24)
			call, messages := s.turn(c.content, "Seventeen.")
			texts, at := recalledIn(&messages[len(messages)-1])
			if at != c.want[0] || texts[c.want[1]] != askedFact || !strings.Contains(texts[at], toldFact) {
				t.Errorf("%v, %s: %q", format, name, texts)
			}
			if problems := judge(format, call.Body); len(problems) > 0 {
				t.Errorf("%v, %s: %v", format, name, problems)
			}
		}
	}
}

// A turn that asks for nothing brings nothing, also near the budget, where a question is
// cut for.
//
// SPEC D3
func TestATurnThatAsksForNothingBringsNothing(t *testing.T) {
	for _, words := range []string{"Thanks, next", "ok, go on", "Yes please.", "Good morning!",
		"Sounds great, please keep going", "yes, let's add this"} {
		s := newTurnTalk(t, wire.Chat, 2500)
		s.turn(fmt.Sprintf("%q", toldFact), "Noted.")
		s.chat(24)
		c, messages := s.turn(fmt.Sprintf("%q", words), "Yes.")
		if _, at := recalledIn(&messages[len(messages)-1]); at >= 0 || c.Recalled > 0 {
			t.Errorf("%s: %d tokens", words, c.Recalled)
		}
	}
}

// A question has room for what it needs wherever in the window it is asked: a cut comes
// first if there is none.
func TestAQuestionHasRoomForItsAnswer(t *testing.T) {
	early := 0
	for n := 20; n < 32; n++ {
		s := newTurnTalk(t, wire.Chat, 2500)
		s.chat(1)
		s.turn(fmt.Sprintf("%q", toldFact), "Noted.")
		s.chat(n)
		c, messages := s.turn(fmt.Sprintf("%q", askedFact), "Seventeen.")
		if texts, at := recalledIn(&messages[len(messages)-1]); at < 0 || !strings.Contains(texts[at], toldFact) {
			t.Errorf("%d turns: %q", n, texts)
		}
		if c.Folded {
			early++
		}
	}
	if early == 0 || early == 12 {
		t.Errorf("%d of 12 questions were cut for", early)
	}
}

// What was recalled for an earlier turn leaves at the next cut, unless the model used it.
func TestWhatWasRecalledBeforeLeavesUnlessItWasUsed(t *testing.T) {
	for reply, want := range map[string]int{"I cannot say.": 0,
		"It is number seventeen, and Ægir keeps it green on Tuesdays.": 1} {
		cuts := 0
		for n := 30; n < 50; n++ {
			s := newTurnTalk(t, wire.Chat, 4000)
			s.chat(1)
			s.turn(fmt.Sprintf("%q", "By the way: "+strings.ToLower(toldFact)),
				toldFact+" Its gate is green, and the vet comes on Tuesdays.")
			s.chat(n)
			if c, _ := s.turn(fmt.Sprintf("%q", askedFact), reply); c.Recalled == 0 || c.Recalled > 400 {
				t.Fatalf("%d tokens were recalled", c.Recalled)
			}
			for i := range 3 {
				c, messages := s.turn(fmt.Sprintf("%q",
					fmt.Sprintf("Part %d: %s", i, strings.Repeat("the weather was fine. ", 60))), "Filed.")
				found := 0
				for k := range messages {
					if _, at := recalledIn(&messages[k]); at >= 0 {
						found++
					}
				}
				if !c.Folded {
					if found != 1 {
						t.Fatalf("%q: before the cut there are %d recalled texts", reply, found)
					}
					continue
				}
				cuts++
				if found != want {
					t.Errorf("%q: after the cut there are %d recalled texts", reply, found)
				}
				break
			}
		}
		if cuts == 0 {
			t.Error("no cut: the test shows nothing")
		}
	}
}
