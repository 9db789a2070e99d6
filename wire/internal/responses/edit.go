package responses

import (
	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/internal/rawjson"
	"github.com/oriel-context/oriel/wire/internal/protocol"
)

func locateResult(e *protocol.Edit, _ int) (parent rawjson.Value, name string, err error) {
	switch e.Message.Type {
	case "function_call_output", "custom_tool_call_output":
	case "mcp_approval_response", "tool_search_output":
		return parent, "", protocol.Fail(e.Root, "an item of type %q has no output", e.Message.Type)
	default: // shells, screenshots, patches: some return text, some never do
		switch e.Root.Get("output").Kind() {
		case rawjson.String, rawjson.Null, rawjson.Invalid:
		default:
			return parent, "", protocol.Fail(e.Root, "the output of a %s cannot be a text", e.Message.Type)
		}
	}
	return e.Root, "output", nil
}

func locateArguments(e *protocol.Edit, _ int) (parent rawjson.Value, name string) {
	if e.Root.Has("arguments") {
		return e.Root, "arguments"
	}
	return e.Root, "input"
}

// allowsText allows text in messages alone, whatever comes before it.
func allowsText(e *protocol.Edit, _, _ int) error {
	if e.Message.Type != "" && e.Message.Type != "message" || e.Root.Kind() == rawjson.Object && !e.Root.Has("role") {
		return protocol.Fail(e.Root, "text cannot be added to an item of type %q", e.Message.Type)
	}
	return nil
}

func textPart(role chat.Role) string {
	if role == chat.Assistant {
		return `{"type":"output_text","text":`
	}
	return `{"type":"input_text","text":`
}
