package wire

import (
	"strings"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/internal/rawjson"
	"github.com/oriel-context/oriel/wire/internal/protocol"
)

func anthropicProtocol() *Protocol {
	return &Protocol{
		Name:    "anthropic",
		Title:   "Anthropic",
		Vendor:  "anthropic",
		Route:   "/v1/messages",
		List:    "messages",
		System:  "system",
		Tools:   []string{"tools"},
		IsCall:  anthropicCall,
		IsCount: anthropicCount,
		Signs: protocol.Signs{
			Tool: func(v rawjson.Value) bool { return v.Has("input_schema") && !v.Has("function") },
			Part: isAnthropicPart,
			Fields: []string{
				"system", "anthropic_version", "anthropic_beta", "stop_sequences", "thinking", "context_management", "mcp_servers",
				"output_config", "container",
			},
			Model: "claude",
		},
		Field:        anthropicField,
		Message:      anthropicMessage,
		Managed:      anthropicManaged,
		Rules:        chat.Rules{ResultsFollow: true, RunsMerge: true},
		MarksCache:   true,
		Encode:       encodeAnthropic,
		Reply:        readAnthropic,
		StreamType:   protocol.EventStream,
		Opening:      []string{"ping"},
		Replies:      []string{"content", "role"},
		NewStream:    func() protocol.Assembly { return new(anthropicStream) },
		Content:      "content",
		Result:       anthropicResultOf,
		Arguments:    anthropicArguments,
		AllowsText:   anthropicAllowsText,
		TextPart:     protocol.TextPart,
		TooLong:      anthropicTooLong,
		TooLongCodes: []string{"request_too_large"}, // by bytes
		Unbound:      anthropicUnbound,
		Steady:       anthropicSteady,
		Bare:         protocol.RawOf,
		Refusal:      anthropicRefusal,
	}
}

// anthropicCall does not take /v1/threads/ID/messages, which is OpenAI's.
func anthropicCall(path string) bool { return protocol.IsAt(path, "/messages", "/v1") }

func anthropicCount(path string) bool {
	call, ok := strings.CutSuffix(path, "/count_tokens")
	return ok && anthropicCall(call)
}

func anthropicField(r *protocol.Reader, name string, v rawjson.Value) (err error) {
	if name == "system" {
		r.Request.System, err = r.Content(v, anthropicPart)
		return err
	}
	return r.Member(name, v)
}

// anthropicManaged does not count the clearing of old thinking: Claude Code requests it in
// every call.
func anthropicManaged(body rawjson.Value) string {
	for e := range body.Get("context_management").Get("edits").Elems() {
		if t := e.Get("type").Str(); strings.HasPrefix(t, "clear_tool_uses") || strings.HasPrefix(t, "compact") {
			return "context_management"
		}
	}
	return ""
}

func isAnthropicPart(p rawjson.Value) bool {
	switch string(p.Get("type").Raw()) {
	case `"tool_use"`, `"tool_result"`, `"thinking"`, `"redacted_thinking"`, `"image"`, `"document"`, `"server_tool_use"`:
		return true
	}
	return false
}
