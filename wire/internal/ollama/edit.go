package ollama

import (
	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/internal/rawjson"
	"github.com/oriel-context/oriel/wire/internal/protocol"
)

// partsBefore counts thinking and pictures, which are beside the content and come first in
// Parts.
func partsBefore(m *chat.Message) int {
	n := 0
	for n < len(m.Parts) && (m.Parts[n].Kind == chat.Thinking || m.Parts[n].Kind == chat.Image) {
		n++
	}
	return n
}

func locateResult(e *protocol.Edit, i int) (parent rawjson.Value, name string, err error) {
	if e.Message.Parts[i].Type == withPictures {
		return parent, "", protocol.Fail(e.Root, "a result with pictures cannot be a text")
	}
	return e.Root, "content", nil
}

func locateArguments(e *protocol.Edit, i int) (parent rawjson.Value, name string) {
	calls := e.List("tool_calls")
	n := i - (len(e.Message.Parts) - len(calls)) // calls are read last
	if n < 0 {
		return rawjson.Value{}, ""
	}
	return calls[n].Get("function"), "arguments"
}
