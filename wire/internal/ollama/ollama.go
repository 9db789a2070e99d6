// Package ollama is Ollama's own API, POST /api/chat.
//
// A message's content is always a string: pictures, thinking and calls of tools are beside it.
// A result names its tool and, in newer versions, the id of its call. A reply is streamed
// unless the request says otherwise, as JSON texts of a line each. The server cuts a
// conversation that exceeds options.num_ctx without a word.
package ollama

import (
	"strings"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/internal/rawjson"
	"github.com/oriel-context/oriel/wire/internal/protocol"
)

// Protocol returns the protocol.
func Protocol() *protocol.Protocol {
	return &protocol.Protocol{
		Name:   "ollama",
		Title:  "Ollama",
		Vendor: "ollama",

		Route:  "/api/chat",
		IsCall: func(path string) bool { return strings.HasSuffix(path, "/api/chat") },

		List:  "messages",
		Tools: []string{"tools"},
		Signs: protocol.Signs{
			Tool:    func(v rawjson.Value) bool { return v.Has("function") },
			Message: isOwnMessage,
			Fields:  []string{"options", "keep_alive", "think", "format", "truncate", "shift"},
		},
		Streams: true,
		Field:   readField,
		Message: readMessage,
		Managed: func(rawjson.Value) string { return "" },
		Window:  4096,
		Rules:   chat.Rules{ResultsFollow: true},

		Content:    "content",
		Joint:      joint,
		Before:     partsBefore,
		Result:     locateResult,
		Arguments:  locateArguments,
		AllowsText: func(*protocol.Edit, int, int) error { return nil },

		Encode: encode,

		Reply:      readReply,
		Replies:    []string{"message"},
		StreamType: "application/x-ndjson",
		NewStream:  func() protocol.Assembly { return new(stream) },

		Refusal:      refusal,
		TooLong:      tooLong,
		TooLongCodes: []string{"exceed_context_size_error"}, // llama.cpp, which Ollama runs

		Bare: protocol.RawOf,
	}
}

// joint stands between texts of Oriel's and the client's own: an empty line, behind an
// invisible separator by which they are told apart again.
const joint = "\u2063" + `\n\n`

// isOwnMessage reports whether a message has what OpenAI's do not: pictures or thinking beside
// the content, the name of a result's tool, arguments that are an object.
func isOwnMessage(m rawjson.Value) bool {
	if m.Has("images") || m.Has("tool_name") || m.Has("thinking") {
		return true
	}
	return m.Get("tool_calls").First().Get("function").Get("arguments").Kind() == rawjson.Object
}

// tooLong are the refusals of servers that do not cut: with "truncate": false, or by runners
// that cannot.
var tooLong = []string{
	`the prompt is longer than the context length currently available to the model(?:; shorten the prompt, adjust the context length in settings, or use a model with a longer context length)?`,
	`input length \(<prompt> tokens\) exceeds the model's maximum context length \(<limit> tokens\)`,
}
