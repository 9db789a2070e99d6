package wire

import (
	"strings"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/internal/rawjson"
	"github.com/oriel-context/oriel/wire/internal/protocol"
)

func chatProtocol() *Protocol {
	return &Protocol{
		Name:   "openai",
		Title:  "OpenAI Chat",
		Vendor: "openai",
		Route:  "/v1/chat/completions",
		List:   "messages",
		Tools:  []string{"tools", "functions"},
		IsCall: func(path string) bool { return strings.HasSuffix(path, "/chat/completions") },
		Signs: protocol.Signs{
			Tool:    func(v rawjson.Value) bool { return v.Has("function") },
			Message: isChatMessage,
			Part:    isChatPart,
			Fields: []string{
				"max_completion_tokens", "frequency_penalty", "presence_penalty", "logit_bias", "logprobs", "response_format",
				"functions", "parallel_tool_calls", "reasoning_effort", "stream_options", "n", "seed", "stop",
			},
			Usual: true, // most servers speak it
		},
		Field:        chatField,
		Message:      chatMessage,
		Managed:      func(rawjson.Value) string { return "" },
		Rules:        chat.Rules{ResultsFollow: true},
		MarksCache:   true,
		Encode:       encodeChat,
		Reply:        readChat,
		StreamType:   protocol.EventStream,
		Replies:      []string{"choices"},
		NewStream:    func() protocol.Assembly { return new(chatStream) },
		Content:      "content",
		Before:       chatBefore,
		Result:       chatResultOf,
		Arguments:    chatArguments,
		AllowsText:   chatAllowsText,
		TextPart:     protocol.TextPart,
		TooLong:      chatTooLong,
		TooLongCodes: chatTooLongCodes,
		Bare:         protocol.RawOf,
		Refusal:      openAIRefusal,
	}
}

func chatField(r *protocol.Reader, name string, v rawjson.Value) error {
	if name == "functions" { // an older form, beside tools
		return r.Tools(v)
	}
	return r.Member(name, v)
}

func isChatMessage(m rawjson.Value) bool {
	switch role := m.Get("role"); {
	case role.EqualStr("tool"), role.EqualStr("developer"), role.EqualStr("function"):
		return true
	}
	return m.Has("tool_calls") || m.Has("function_call") || m.Has("refusal") || m.Has("name")
}

func isChatPart(p rawjson.Value) bool {
	switch string(p.Get("type").Raw()) {
	case `"image_url"`, `"input_audio"`, `"file"`:
		return true
	}
	return false
}
