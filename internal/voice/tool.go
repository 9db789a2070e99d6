package voice

import "regexp"

// The tools of Oriel's MCP server.
const (
	ToolRecall            = "recall"
	ToolRead              = "read"
	ToolListConversations = "list_conversations"
	ToolPin               = "pin"
	ToolUnpin             = "unpin"
	ToolUndo              = "undo"
)

// ToolServer is the name under which agents know the MCP server.
const ToolServer = "oriel"

// ownTool matches a tool's name as agents send it: with the server's name before it.
var ownTool = regexp.MustCompile(`(?:^|[^a-z0-9])` + ToolServer + `(?:_+|[./:-])(recall|read|list_conversations|pin|unpin|undo)$`)

// OwnTool returns which of Oriel's tools a name stands for, as in "mcp__oriel__recall" or
// "oriel_recall"; "" for the tools of others.
func OwnTool(name string) string {
	if m := ownTool.FindStringSubmatch(name); m != nil {
		return m[1]
	}
	return ""
}
