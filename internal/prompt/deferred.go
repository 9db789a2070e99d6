package prompt

import (
	"bytes"
	"regexp"

	"github.com/oriel-context/oriel/chat"
)

// Agents with many tools send a tool that finds the others, and only the names of these, at
// the beginning of the conversation: Claude Code, Qwen Code.

var (
	// finder matches the name of the tool that finds others.
	finder = regexp.MustCompile(`(?i)^(?:mcp_+)?(?:tool_?search|search_?tools)`)
	// ownName matches what may be a name of Oriel's tool recall in a text.
	ownName = regexp.MustCompile(`[\w./:-]{0,31}` + ToolServer + `[\w./:-]{1,8}`)
)

// Where names of tools are looked for: in so many messages and bytes of each text.
const (
	firstMessages = 4
	firstBytes    = 64 << 10
)

// FindRecall returns the name by which a request's model knows Oriel's tool recall, also if
// it has yet to find the tool; "" if the request does not have it.
func FindRecall(r *chat.Request) string {
	if name := FindTool(r.Tools, ToolRecall); name != "" {
		return name
	}
	finds := false
	for i := range r.Tools {
		finds = finds || finder.MatchString(r.Tools[i].Name)
	}
	if !finds {
		return ""
	}
	if name := named(r.System); name != "" {
		return name
	}
	for i := range r.Messages[:min(len(r.Messages), firstMessages)] {
		if m := &r.Messages[i]; m.Role != chat.Assistant && m.Role != chat.Tool {
			if name := named(m.Parts); name != "" {
				return name
			}
		}
	}
	return ""
}

// named returns the name of Oriel's tool recall in some texts.
func named(parts []chat.Part) string {
	for i := range parts {
		if parts[i].Kind != chat.Text || parts[i].Inserted() {
			continue
		}
		text := parts[i].Text[:min(len(parts[i].Text), firstBytes)]
		if !bytes.Contains(text, []byte(ToolServer)) {
			continue
		}
		for _, name := range ownName.FindAllString(chat.String(append(bytes.Clone(text), '"')).String(), -1) {
			if OwnTool(name) == ToolRecall {
				return name
			}
		}
	}
	return ""
}
