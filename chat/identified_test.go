package chat_test

import (
	"strings"
	"testing"

	"github.com/oriel-context/oriel/chat"
)

// speak returns messages as written: "call:NAME:ID" and "result:NAME:ID", parts with spaces,
// messages with semicolons between them.
func speak(s string) []chat.Message {
	var msgs []chat.Message
	for message := range strings.SplitSeq(s, "; ") {
		m := chat.Message{Role: chat.Assistant}
		for word := range strings.SplitSeq(message, " ") {
			kind, rest, _ := strings.Cut(word, ":")
			name, id, _ := strings.Cut(rest, ":")
			p := chat.Part{Kind: chat.Call, Name: name, ID: id}
			if kind == "result" {
				m.Role, p.Kind = chat.Tool, chat.Result
			}
			m.Parts = append(m.Parts, p)
		}
		msgs = append(msgs, m)
	}
	return msgs
}

func ids(msgs []chat.Message) string {
	var out []string
	for i := range msgs {
		for _, p := range msgs[i].Parts {
			out = append(out, strings.TrimPrefix(p.ID, "oriel_call_"))
		}
	}
	return strings.Join(out, " ")
}

func TestResultsWithoutIDsArePairedByNameAndOrder(t *testing.T) {
	for _, c := range []struct{ history, want string }{
		{"call:read; result:read", "1 1"},
		{"call:read call:read; result:read; result:read", "1 2 1 2"},
		{"call:read call:run; result:run; result:read", "1 2 2 1"},
		{"call:read call:run; result:; result:", "1 2 1 2"},
		{"call:read call:run; result:run; result:", "1 2 2 1"},
		{"call:read:a call:read:b; result:read; result:read", "a b a b"},
		{"call:read:a call:read:b; result:read:a; result:read", "a b a b"},
		{"call:read:a call:run:b; result:; result:run:b", "a b a b"},
		{"call:read; result::x", "1 1"},
		{"call:read call:run; result:run:x result:read:y", "1 2 2 1"},
		{"call:read call:run:b; result::b; result::x", "1 b b 1"},
		{"call:read:a; result::a; result::x", "a a x"},
		{"call:read; result:run:x", "1 x"},
		{"call:read; result:run", "1 "},
		{"result:read; call:read", " 1"},
		{"call:read; result:read; result:read", "1 1 "},
		{"call:read; call:read; result:read; result:read", "1 2 1 2"},
		{"call:read; result:read; call:read; result:", "1 1 2 2"},
		{"call:read call:read; result:read; call:run; result:read; result:run", "1 2 1 3  3"},
	} {
		msgs := speak(c.history)
		was := ids(msgs)
		if got := ids(chat.Identified(msgs)); got != c.want {
			t.Errorf("%s: %q, want %q", c.history, got, c.want)
		}
		if ids(msgs) != was {
			t.Errorf("%s: the history was changed", c.history)
		}
	}
}

func TestMessagesWithIDsStayAsTheyAre(t *testing.T) {
	msgs := speak("call:read:a; result:read:a")
	if got := chat.Identified(msgs); &got[0] != &msgs[0] {
		t.Error("copied although all have ids")
	}
}

// A batch whose results come without ids is one exchange, however they are named.
func TestExchangesOfResultsWithoutIDs(t *testing.T) {
	for _, history := range []string{
		"call:read call:run; result:; result:",
		"call:read:a call:read:b; result:read; result:read",
		"call:read call:run; result:run; result:read",
	} {
		exchanges, problems := chat.Split(speak(history), chat.Rules{ResultsFollow: true})
		if len(exchanges) != 1 || len(problems) > 0 || exchanges[0].Open {
			t.Errorf("%s: %+v, %v", history, exchanges, problems)
		}
	}
}
