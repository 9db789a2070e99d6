package view

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/internal/test/protocols"
	"github.com/oriel-context/oriel/internal/test/strict"
	"github.com/oriel-context/oriel/wire"
)

// text is a part with words, result one with what a tool returned, call one that asked for it.
func text(words string) chat.Part { return chat.Part{Kind: chat.Text, Text: chat.Quote(words)} }

func result(id, said string) chat.Part {
	return chat.Part{Kind: chat.Result, ID: id, Text: chat.Quote(said)}
}

func toolCall(id string) chat.Part {
	return chat.Part{Kind: chat.Call, ID: id, Name: "lookup", Args: fmt.Appendf(nil, `{"entry":%q}`, id)}
}

// newestTexts returns the texts behind the last reply of a body, in their order.
func newestTexts(t tester, f wire.Format, body []byte) (texts []string) {
	t.Helper()
	b, err := wire.Read(body, f, wire.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	from := len(b.Messages)
	for from > 0 && !replied(&b.Messages[from-1]) {
		from--
	}
	for i := range b.Messages[from:] {
		for _, p := range b.Messages[from+i].Parts {
			texts = append(texts, p.Text.String())
			for _, inner := range p.Parts {
				texts = append(texts, inner.Text.String())
			}
		}
	}
	return texts
}

// In every protocol, whatever a client puts around the newest words, what is recalled for
// them stands before them and behind what tools returned, and all that came is still there
// in its order.
//
// SPEC D4, PROXY rule 11
func TestTheNewestWordsOfAnyTurnEndTheRequest(t *testing.T) {
	const reminder = "<system-reminder>\nThe list of tasks is empty.\n</system-reminder>"
	const details = "<environment_details>\nIt is Tuesday.\n</environment_details>"
	for _, p := range protocols.All() {
		t.Run(p.Format.String(), func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				history := chat.Request{Model: "claude-sonnet-4-5"}
				add := func(role chat.Role, parts ...chat.Part) {
					history.Messages = append(history.Messages, chat.Message{Role: role, Parts: parts})
				}
				chatter := func(n int) {
					for i := range n {
						add(chat.User, text(fmt.Sprintf("Part %d: %s", i,
							strings.Repeat("the report about the weather goes on. ", 12))))
						add(chat.Assistant, text(fmt.Sprintf("Part %d is filed.", i)))
					}
				}
				chatter(rapid.IntRange(1, 3).Draw(t, "before the fact"))
				add(chat.User, text(toldFact))
				add(chat.Assistant, text("Noted."))
				chatter(rapid.IntRange(24, 30).Draw(t, "behind the fact"))
				var last []chat.Part
				if rapid.Bool().Draw(t, "results") {
					add(chat.User, text("Look both entries up."))
					add(chat.Assistant, text("I look."), toolCall("a"), toolCall("b"))
					last = append(last, result("a", "It rains."), result("b", "It snows."))
				}
				for _, extra := range rapid.SliceOfN(rapid.SampledFrom([]string{reminder, "I forgot it."}), 0,
					2).Draw(t,
					"before the words") {
					last = append(last, text(extra))
				}
				last = append(last, text(askedFact))
				for _, extra := range rapid.SliceOfN(rapid.SampledFrom([]string{reminder, details}), 0, 2).Draw(t,
					"behind them") {
					last = append(last, text(extra))
				}
				add(chat.User, last...)
				data, err := wire.Encode(p.Format, &history)
				if err != nil {
					t.Fatal(err)
				}
				s := newStage(t, Options{})
				s.library()
				defer s.close()
				a := ask{format: p.Format, session: "s", Input: Input{Profile: "thrifty", Budget: 2500, Asked: true}}
				bodies, replies := requestsThat(t, p.Format, data, func([]byte) bool { return true })
				shown := rapid.IntRange(1, 5).Draw(t, "calls that are shown")
				for n, body := range bodies {
					c := s.find(body, a)
					if n >= len(bodies)-shown {
						if err := s.show(c, a); err != nil {
							t.Fatal(err)
						}
					}
					s.end(c, replies[n]...)
					if n < len(bodies)-1 {
						continue
					}
					for _, problem := range p.Judge(c.Body) {
						if problem.Code != strict.MissingTools { // Encode writes no list of tools
							t.Fatalf("%v\n%s", problem, c.Body)
						}
					}
					came, sent := newestTexts(t, p.Format, body), newestTexts(t, p.Format, c.Body)
					at := slices.IndexFunc(sent, func(s string) bool { return strings.HasPrefix(s, recallOpens) })
					if at < 0 || !strings.Contains(sent[at], toldFact) {
						t.Fatalf("the fact is not recalled: %q", sent)
					}
					words := slices.IndexFunc(sent, func(s string) bool { return strings.Contains(s, askedFact) })
					if at > words { // a content that is one text has what stands beside the words, too
						t.Fatalf("what is recalled is behind the words: %q", sent)
					}
					if i := slices.Index(sent, "It snows."); i > at {
						t.Fatalf("what is recalled is before a tool's result: %q", sent)
					}
					if !slices.Equal(slices.Delete(sent, at, at+1), came) {
						t.Fatalf("the turn came as %q and is sent as %q", came, sent)
					}
				}
			})
		})
	}
}
