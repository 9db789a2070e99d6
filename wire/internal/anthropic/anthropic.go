// Package anthropic is Anthropic's protocol: POST /v1/messages, and with the model in the path
// on Vertex AI (…/publishers/anthropic/models/MODEL:rawPredict, :streamRawPredict) and by InvokeModel
// of Amazon Bedrock (…/model/MODEL/invoke, /invoke-with-response-stream).
//
// Results of tools come first in the user's message after their calls, and consecutive
// messages of a role count as one. Parts carry the marks of what the provider caches. A block
// of thinking is signed and accepted only behind what the model saw.
package anthropic

import (
	"strings"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/internal/rawjson"
	"github.com/oriel-context/oriel/wire/internal/protocol"
)

// Protocol returns the protocol.
func Protocol() *protocol.Protocol {
	return &protocol.Protocol{
		Name:   "anthropic",
		Title:  "Anthropic",
		Vendor: "anthropic",

		Route:    "/v1/messages",
		IsCall:   isCall,
		IsCount:  isCount,
		FromPath: readPath,
		Accepts:  accepts,

		List:   "messages",
		System: "system",
		Tools:  []string{"tools"},
		Signs: protocol.Signs{
			Tool: func(v rawjson.Value) bool { return v.Has("input_schema") && !v.Has("function") },
			Part: isOwnPart,
			Fields: []string{
				"system", "anthropic_version", "anthropic_beta", "stop_sequences", "thinking", "context_management",
				"mcp_servers", "output_config", "container",
			},
			Model: "claude",
		},
		Field:   readField,
		Message: readMessage,
		Managed: managed,
		Held:    []string{"thread"},
		Rules:   chat.Rules{ResultsFollow: true, RunsMerge: true},

		Content:    "content",
		Result:     locateResult,
		Arguments:  locateArguments,
		AllowsText: allowsText,
		TextPart:   protocol.TextPart,
		MarksCache: true,
		Steady:     steady,
		AskCache:   askCache,
		AskDrop:    askDrop,
		DropBeta:   dropBeta,

		Encode: encode,

		Reply:      readReply,
		Replies:    []string{"content", "role"},
		StreamType: protocol.EventStream,
		Framed:     true,
		Opening:    []string{"ping"},
		NewStream:  func() protocol.Assembly { return new(stream) },
		// A request to a thread names the reply before it.
		NamesHeld: true,

		Refusal:      refusal,
		TooLong:      tooLong,
		TooLongCodes: []string{"request_too_large"}, // by bytes
		Unbound:      unbound,

		Bare: protocol.RawOf,
	}
}

func readField(r *protocol.Reader, name string, v rawjson.Value) (err error) {
	switch name {
	case "system":
		r.Request.System, err = r.Content(v, readPart)
		return err
	case "anthropic_beta": // in the place of the header, as clouds want it
		r.Betas(v)
		return nil
	case "thread": // of messages that the provider holds
		r.Hints.Previous = v.Get("previous_message_id").Str()
		return nil
	case "compaction": // on demand: the answer is a block that takes the place of the messages
		r.Request.Compacts = v.Kind() == rawjson.Object
		return nil
	}
	return r.Member(name, v)
}

// managed returns the field with which the provider manages the window: it holds the messages of a
// thread. The clearing of old thinking does not count: Claude Code requests it in every call.
func managed(body rawjson.Value) string {
	if body.Get("thread").Kind() == rawjson.Object {
		return "thread"
	}
	for e := range body.Get("context_management").Get("edits").Elems() {
		if t := e.Get("type").Str(); strings.HasPrefix(t, "clear_tool_uses") || strings.HasPrefix(t, "compact") {
			return "context_management"
		}
	}
	return ""
}

func isOwnPart(p rawjson.Value) bool {
	switch string(p.Get("type").Raw()) {
	case `"tool_use"`, `"tool_result"`, `"server_tool_use"`, `"thinking"`, `"redacted_thinking"`, `"image"`,
		`"document"`:
		return true
	}
	return false
}
