package prompt

import (
	"bytes"
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"github.com/oriel-context/oriel/chat"
)

// The tools of Oriel's MCP server.
const (
	ToolRecall            = "recall"
	ToolRead              = "read"
	ToolListConversations = "list_conversations"
	ToolDirectives        = "directives"
	ToolChangeDirective   = "change_directive"
	ToolPin               = "pin"
	ToolUnpin             = "unpin"
	ToolUndo              = "undo"
)

// ToolServer is the name under which agents know the MCP server.
const ToolServer = "oriel"

// ownTool matches a tool's name as agents send it: with the server's name before it, and a
// short prefix before that. Such a name is short and plain, so that it can stand in a text.
var ownTool = regexp.MustCompile(`^(?:[\w./:-]{0,31}[^A-Za-z0-9])?` + ToolServer +
	`(?:_+|[./:-])(recall|read|list_conversations|directives|change_directive|pin|unpin|undo)$`)

// OwnTool returns which of Oriel's tools a name stands for, as in "mcp__oriel__recall" or
// "oriel_recall"; "" for the tools of others.
func OwnTool(name string) string {
	if m := ownTool.FindStringSubmatch(name); m != nil {
		return m[1]
	}
	return ""
}

// OwnCall returns which of Oriel's tools a call is of; "" for the tools of others. Codex
// writes the server's name beside that of the tool.
func OwnCall(p *chat.Part) string {
	if own := OwnTool(p.Name); own != "" {
		return own
	}
	if OwnTool(ToolServer+"_"+p.Name) == "" || !bytes.Contains(p.Raw, []byte(`"namespace"`)) {
		return ""
	}
	var call struct{ Namespace string }
	if json.Unmarshal(p.Raw, &call) != nil {
		return ""
	}
	return OwnTool(strings.TrimRight(call.Namespace, "_") + "_" + p.Name)
}

// FindTool returns the name by which a request's model knows one of Oriel's tools; "" if it is
// not among the request's tools.
func FindTool(tools []chat.ToolDef, tool string) string {
	for i := range tools {
		name := tools[i].Name
		switch {
		case !strings.Contains(name, ToolServer):
		case OwnTool(name) == tool:
			return name
		case OwnTool(strings.TrimRight(name, "_")+"_"+tool) == tool && within(tools[i].Raw, tool):
			return name + "." + tool
		}
	}
	return ""
}

// within reports whether a namespace of tools has one of that name.
func within(namespace []byte, tool string) bool {
	var n struct {
		Type  string
		Tools []struct{ Name string }
	}
	return json.Unmarshal(namespace, &n) == nil && n.Type == "namespace" &&
		slices.ContainsFunc(n.Tools, func(t struct{ Name string }) bool { return t.Name == tool })
}

// namedStub, namedMissing and namedDigest match the parts of a stub, a marker and the first
// line of a digest that name a tool.
var (
	namedStub    = regexp.MustCompile(regexp.QuoteMeta(stubRun+stubLook) + `[\w./:-]+ if you need it\.\]`)
	namedMissing = regexp.MustCompile(regexp.QuoteMeta(missingLook) +
		`[\w./:-]+, or run a tool again, for what you need of them\.\]`)
	namedDigest = regexp.MustCompile(`(` + regexp.QuoteMeta(Condensed) + `(?:digest|summary)` + CondensedOf + `\d+` +
		CondensedOne + `s?)` + CondensedLook + `[\w./:-]+` + CondensedEnd)
)

// ToolRune reports whether names of tools that are put into a text may have a character.
func ToolRune(r rune) bool {
	return r == '_' || r == '.' || r == '/' || r == ':' || r == '-' || '0' <= r && r <= '9' || 'a' <= r && r <= 'z' ||
		'A' <= r && r <= 'Z'
}

// WithoutTool returns a text, or the JSON of a message, without the name of Oriel's tool in its
// stubs, markers and digests: for a request that does not have the tool. It returns raw itself
// if none is named.
func WithoutTool(raw []byte) []byte {
	if bytes.Contains(raw, []byte(stubLook)) {
		raw = namedStub.ReplaceAllLiteral(raw, []byte(stubRun+" if you need it.]"))
	}
	if bytes.Contains(raw, []byte(missingLook)) {
		raw = namedMissing.ReplaceAllLiteral(raw,
			[]byte(missingAsk+", or run a tool again, for what you need of them.]"))
		raw = namedDigest.ReplaceAll(raw, []byte("${1}"+CondensedEnd))
	}
	return raw
}
