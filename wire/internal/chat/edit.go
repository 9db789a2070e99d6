package chat

import (
	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/internal/rawjson"
	"github.com/oriel-context/oriel/wire/internal/protocol"
)

// partsBefore counts reasoning, which is outside the content and comes first in Parts.
func partsBefore(m *chat.Message) int {
	if len(m.Parts) > 0 && m.Parts[0].Kind == chat.Thinking {
		return 1
	}
	return 0
}

func locateResult(e *protocol.Edit, _ int) (parent rawjson.Value, name string, err error) {
	return e.Root, "content", nil
}

func locateArguments(e *protocol.Edit, i int) (parent rawjson.Value, name string) {
	if e.Message.Parts[i].Type == "function_call" {
		return e.Root.Get("function_call"), "arguments"
	}
	calls := e.List("tool_calls")
	n := i - (len(e.Message.Parts) - len(calls)) // calls are read last
	if n < 0 {
		return rawjson.Value{}, ""
	}
	if c := calls[n].Get("custom"); c.Exists() {
		return c, "input"
	}
	return calls[n].Get("function"), "arguments"
}

func allowsText(*protocol.Edit, int, int) error { return nil }
