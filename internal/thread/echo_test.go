package thread

import (
	"testing"

	"github.com/oriel-context/oriel/chat"
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
