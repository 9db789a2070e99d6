package thread

import (
	"fmt"
	"testing"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/wire"
)

// A client that keeps no ids of calls sends a reply back with the same arguments, in its own
// JSON. Another call of the same tool is not that reply.
func TestACallWithoutIDIsKnownByItsArguments(t *testing.T) {
	message := func(id, args string) *chat.Message {
		return &chat.Message{Role: chat.Assistant, Parts: []chat.Part{{Kind: chat.Call, ID: id, Name: "read",
			Args: []byte(args)}}}
	}
	reply := message("call_k3v9x2ab", `{"path":"a.go","lines":[1,2]}`)
	for _, c := range []struct {
		name string
		m    *chat.Message
		want bool
	}{
		{"the same id", message("call_k3v9x2ab", `{}`), true},
		{"another id", message("call_zzzzzzzz", `{"path":"a.go","lines":[1,2]}`), false},
		{"no id", message("", `{"lines": [1, 2], "path": "a.go"}`), true},
		{"no id, as a string", message("", `"{\"path\":\"a.go\",\"lines\":[1,2]}"`), true},
		{"no id, other arguments", message("", `{"path":"b.go"}`), false},
		{"a user's", &chat.Message{Role: chat.User, Parts: reply.Parts}, false},
	} {
		if got := related(reply, c.m); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}

// Google's SDKs send each chunk of a streamed reply back as a message. The chunks together are
// known as the reply, however short each of them is.
func TestAReplyInPiecesContinuesItsConversation(t *testing.T) {
	for _, c := range []struct {
		name   string
		pieces []string
		want   Kind
	}{
		{"pieces", []string{"The ferry ", "leaves at noon, ", "from the pier."}, Continued},
		{"and an empty one", []string{"The ferry ", "leaves at noon, ", "from the pier.", ""}, Continued},
		{"of another reply", []string{"The tram ", "leaves at noon, ", "from the pier."}, New},
		{"a beginning that many share", []string{"The ferry "}, New},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newPlay(t)
			find := func(messages ...chat.Message) *Thread {
				th, err := s.book.Find(ctx, &Request{Tenant: timeline.Local, Now: s.now, Messages: messages})
				if err != nil {
					t.Fatal(err)
				}
				return th
			}
			asked := geminiText(t, "user", "When?")
			before := find(asked)
			s.book.Done(before, []chat.Message{geminiText(t, "model", "The ferry leaves at noon, from the pier.")}, "")
			messages := []chat.Message{asked}
			for _, p := range c.pieces {
				messages = append(messages, geminiText(t, "model", p))
			}
			th := find(append(messages, geminiText(t, "user", "And then?"))...)
			if th.Kind != c.want || (th.Conversation == before.Conversation) != (c.want == Continued) {
				t.Errorf("%s %v, first %s", th.Conversation, th.Kind, before.Conversation)
			}
		})
	}
}

func geminiText(t *testing.T, role, text string) chat.Message {
	t.Helper()
	m, err := wire.ReadMessage(wire.Gemini, fmt.Appendf(nil, `{"role":%q,"parts":[{"text":%q}]}`, role, text))
	if err != nil {
		t.Fatal(err)
	}
	return m
}
