package timeline

import (
	"bytes"
	"strings"

	"github.com/oriel-context/oriel/internal/rawjson"
)

// Model returns the model that an imported entry names: that of a reply, or the one that an
// agent notes beside the messages. It is empty if there is none. Entries of Claude Code
// have more about their calls: see internal/importer/claudecode.
func (m *Message) Model() string {
	if m.Format == FormatAider {
		if m.Role != RoleMeta {
			return ""
		}
		return aiderModel(m.Raw)
	}
	keys := modelKeys[m.Format]
	if keys == nil || !bytes.Contains(m.Raw, []byte(`odel`)) {
		return ""
	}
	v, err := rawjson.ParseLenient(m.Raw, MaxContent)
	if err != nil || m.Format == FormatCodex && !v.Get("type").EqualStr("turn_context") {
		return ""
	}
	for _, key := range keys {
		v = v.Get(key)
	}
	if v.Kind() != rawjson.String || len(v.Str()) > MaxName {
		return ""
	}
	return v.Str()
}

// modelKeys lead to the model in an entry.
var modelKeys = map[string][]string{
	FormatCodex:     {"payload", "model"},
	FormatChatGPT:   {"metadata", "model_slug"},
	FormatGeminiCLI: {"model"},
	FormatQwenCode:  {"model"},
	FormatOpenCode:  {"info", "modelID"},
	FormatCline:     {"modelInfo", "id"},
	FormatPi:        {"message", "model"},
	FormatCopilot:   {"data", "model"},
	FormatCrush:     {"model"},
	FormatContinue:  {"message", "usage", "model"},
}

// aiderModel returns the model that aider names when it begins, in a line such as
// "> Main model: gpt-4o with diff edit format".
func aiderModel(raw []byte) string {
	for line := range strings.Lines(string(raw)) {
		for _, head := range []string{"> Main model: ", "> Model: "} {
			if rest, ok := strings.CutPrefix(line, head); ok {
				model, _, _ := strings.Cut(strings.TrimSpace(rest), " with ")
				return strings.ToValidUTF8(model, "")
			}
		}
	}
	return ""
}
