package anthropic

import (
	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/internal/rawjson"
	"github.com/oriel-context/oriel/wire/internal/protocol"
)

func locateResult(e *protocol.Edit, i int) (parent rawjson.Value, name string, err error) {
	parent = e.Element(i)
	// Of the hosted tools only MCP servers return plain text.
	if p := &e.Message.Parts[i]; p.Hosted && p.Type != "mcp_tool_result" {
		return parent, "", protocol.Fail(parent, "the content of a %s cannot be a text", p.Type)
	}
	return parent, "content", nil
}

func locateArguments(e *protocol.Edit, i int) (parent rawjson.Value, name string) {
	return e.Element(i), "input"
}

// allowsText allows no text before results and thinking.
func allowsText(e *protocol.Edit, from, end int) error {
	refuse := func(i int, what string) error {
		return protocol.In(protocol.At(protocol.Fail(e.Element(i), "text is not allowed before %s", what), i),
			"content")
	}
	for i := from; i < end; i++ {
		switch p := &e.Message.Parts[i]; {
		case p.Kind == chat.Result && !p.Hosted:
			return refuse(i, "tool results")
		case p.Kind == chat.Thinking && i == 0:
			return refuse(i, "thinking")
		}
	}
	return nil
}
