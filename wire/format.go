package wire

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/oriel-context/oriel/internal/rawjson"
	"github.com/oriel-context/oriel/wire/internal/protocol"
)

// Format is the format of a body.
type Format uint8

const (
	// Auto detects the format from the body.
	Auto Format = iota
	// Anthropic is Anthropic's POST /v1/messages.
	Anthropic
	// Chat is OpenAI's POST /v1/chat/completions.
	Chat
	// Responses is OpenAI's POST /v1/responses.
	Responses
	// Trajectories is the dictionary form of an agent's steps.
	Trajectories
)

func (f Format) String() string {
	if int(f) < len(protocols) {
		return protocols[f].Name
	}
	return fmt.Sprintf("Format(%d)", f)
}

// ParseFormat returns the format with a name.
func ParseFormat(name string) (Format, error) {
	for i, p := range protocols {
		if p.Name == name {
			return Format(i), nil
		}
	}
	return Auto, fmt.Errorf("unknown format %q: use one of %s", name, strings.Join(FormatNames(), ", "))
}

// FormatNames returns the names of all formats.
func FormatNames() []string {
	names := make([]string, len(protocols))
	for i, p := range protocols {
		names[i] = p.Name
	}
	return names
}

// detect determines a body's format from what only one protocol has. If nothing
// decides, a body with messages is OpenAI's, which most servers use.
func detect(root rawjson.Value) Format {
	if root.Has("messages") {
		return detectMessages(root)
	}
	if root.Has("input") || heldByProvider(root) {
		return Responses
	}
	if isTrajectory(root) {
		return Trajectories
	}
	return Auto
}

// detectMessages checks messages and tools first: compatible servers accept each
// other's fields, but a call or a result has only one form.
func detectMessages(root rawjson.Value) Format {
	for t := range root.Get("tools").Elems() {
		if t.Has("function") {
			return Chat
		}
		if t.Has("input_schema") {
			return Anthropic
		}
	}
	for m := range root.Get("messages").Elems() {
		if f := detectMessage(m); f != Auto {
			return f
		}
	}
	for k := range root.Members() {
		switch string(protocol.Key(k)) {
		case "system", "anthropic_version", "anthropic_beta", "stop_sequences", "thinking", "context_management", "mcp_servers", "output_config", "container":
			return Anthropic
		case "max_completion_tokens", "frequency_penalty", "presence_penalty", "logit_bias", "logprobs", "response_format", "functions", "parallel_tool_calls", "reasoning_effort", "stream_options", "n", "seed", "stop":
			return Chat
		}
	}
	if bytes.Contains(root.Get("model").Raw(), []byte("claude")) {
		return Anthropic
	}
	return Chat
}

func detectMessage(m rawjson.Value) Format {
	switch role := m.Get("role"); {
	case role.EqualStr("tool"), role.EqualStr("developer"), role.EqualStr("function"):
		return Chat
	}
	if m.Has("tool_calls") || m.Has("function_call") || m.Has("refusal") || m.Has("name") {
		return Chat
	}
	for p := range m.Get("content").Elems() {
		switch string(p.Get("type").Raw()) {
		case `"tool_use"`, `"tool_result"`, `"thinking"`, `"redacted_thinking"`, `"image"`, `"document"`, `"server_tool_use"`:
			return Anthropic
		case `"image_url"`, `"input_audio"`, `"file"`:
			return Chat
		}
	}
	return Auto
}
