package prompt

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/oriel-context/oriel/chat"
)

// Tools whose names alone are sent, as Claude Code and Qwen Code do, are named like others.
func TestDeferredToolsAreFound(t *testing.T) {
	text := func(role chat.Role, s string) chat.Message {
		literal, _ := json.Marshal(s)
		return chat.Message{Role: role, Parts: []chat.Part{{Kind: chat.Text, Text: literal}}}
	}
	list := "<available-deferred-tools>\nWebSearch\nmcp__oriel__list_conversations\nmcp__oriel__recall\n</available-deferred-tools>"
	for name, c := range map[string]struct {
		tools    []string
		messages []chat.Message
		want     string
	}{
		"Claude Code": {[]string{"Bash", "ToolSearch"},
			[]chat.Message{text(chat.User, list), text(chat.User, "Hello.")}, "mcp__oriel__recall"},
		"Qwen Code": {[]string{"tool_search", "tool_call"},
			[]chat.Message{text(chat.System, "mcp__oriel__recall, WebSearch")}, "mcp__oriel__recall"},
		"listed":           {[]string{"ToolSearch", "oriel_recall"}, nil, "oriel_recall"},
		"nothing finds it": {[]string{"Bash"}, []chat.Message{text(chat.User, list)}, ""},
		"another tool": {[]string{"ToolSearch"},
			[]chat.Message{text(chat.User, "mcp__oriel__list_conversations and mcp__orielx__recall")}, ""},
		"the model says so": {[]string{"ToolSearch"}, []chat.Message{text(chat.Assistant, list)}, ""},
		"late":              {[]string{"ToolSearch"}, []chat.Message{{}, {}, {}, {}, text(chat.User, list)}, ""},
		"behind a long text": {[]string{"ToolSearch"},
			[]chat.Message{text(chat.User, strings.Repeat("x", firstBytes)+list)}, ""},
		"Oriel's own insertion": {[]string{"ToolSearch"},
			[]chat.Message{text(chat.User, chat.Mark+": look it up with mcp__oriel__recall]")}, ""},
	} {
		r := &chat.Request{Messages: c.messages}
		for _, tool := range c.tools {
			r.Tools = append(r.Tools, chat.ToolDef{Name: tool})
		}
		if got := FindRecall(r); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
	literal, _ := json.Marshal(list)
	if got := FindRecall(&chat.Request{Tools: []chat.ToolDef{{Name: "ToolSearch"}},
		System: []chat.Part{{Kind: chat.Text, Text: literal}}}); got == "" {
		t.Error("not found in the system prompt")
	}
}
