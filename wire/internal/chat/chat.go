// Package chat is OpenAI's Chat Completions, POST /v1/chat/completions, and what the many
// servers that follow it add to it.
//
// A result of a tool is a message of its own. A server may return the model's reasoning beside
// the content, and takes it back there.
package chat

import (
	"strings"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/internal/rawjson"
	"github.com/oriel-context/oriel/wire/internal/openai"
	"github.com/oriel-context/oriel/wire/internal/protocol"
)

// Protocol returns the protocol.
func Protocol() *protocol.Protocol {
	return &protocol.Protocol{
		Name:   "openai",
		Title:  "OpenAI Chat",
		Vendor: "openai",

		Route:  "/v1/chat/completions",
		IsCall: isCall,

		List:  "messages",
		Tools: []string{"tools", "functions"},
		Signs: protocol.Signs{
			Tool:    func(v rawjson.Value) bool { return v.Has("function") },
			Message: isOwnMessage,
			Part:    isOwnPart,
			Fields: []string{
				"max_completion_tokens", "frequency_penalty", "presence_penalty", "logit_bias", "logprobs",
				"response_format", "functions", "parallel_tool_calls", "reasoning_effort", "stream_options", "n",
				"seed", "stop",
			},
			Usual: true, // most servers speak it
		},
		Field:   readField,
		Message: readMessage,
		Managed: func(rawjson.Value) string { return "" },
		Rules:   chat.Rules{ResultsFollow: true},

		Content:    "content",
		Before:     partsBefore,
		Result:     locateResult,
		Arguments:  locateArguments,
		AllowsText: allowsText,
		TextPart:   protocol.TextPart,
		MarksCache: true,

		Encode: encode,

		Reply:      readReply,
		Replies:    []string{"choices"},
		StreamType: protocol.EventStream,
		NewStream:  func() protocol.Assembly { return new(stream) },

		Refusal:      openai.Refusal,
		TooLong:      tooLong,
		TooLongCodes: tooLongCodes,

		Bare: protocol.RawOf,
	}
}

func isCall(path string) bool { return strings.HasSuffix(path, "/chat/completions") }

func readField(r *protocol.Reader, name string, v rawjson.Value) error {
	if name == "functions" { // an older form, beside tools
		return r.Tools(v)
	}
	return r.Member(name, v)
}

func isOwnMessage(m rawjson.Value) bool {
	switch role := m.Get("role"); {
	case role.EqualStr("developer"), role.EqualStr("function"):
		return true
	case role.EqualStr("tool"):
		return !m.Has("tool_name") // Ollama's
	}
	if calls := m.Get("tool_calls"); calls.Exists() {
		return calls.First().Get("function").Get("arguments").Kind() != rawjson.Object
	}
	return m.Has("function_call") || m.Has("refusal") || m.Has("name")
}

func isOwnPart(p rawjson.Value) bool {
	switch string(p.Get("type").Raw()) {
	case `"image_url"`, `"input_audio"`, `"file"`:
		return true
	}
	return false
}
