package strict

import (
	"encoding/json"
	"regexp"
	"strings"
)

// toolID is the pattern of tool_use ids. "messages.1.content.0.tool_use.id:
// String should match pattern '^[a-zA-Z0-9_-]+$'".
var toolID = regexp.MustCompile(`^[a-zA-Z0-9_-]+$`)

// block is one content block of an Anthropic message; a string content is one
// block of type text.
type block struct {
	object
	kind string
	msg  int // index of its message
}

// message is one entry of messages.
type message struct {
	object
	role   string
	blocks []block
}

// turn is a run of messages of one role. "Consecutive user or assistant turns in
// your request will be combined into a single turn" (Messages API reference), so
// every rule about neighbours is a rule about turns.
type turn struct {
	role   string
	blocks []block
}

func (t turn) hasKind(kind string) bool {
	for _, b := range t.blocks {
		if b.kind == kind {
			return true
		}
	}
	return false
}

// anthropic is the judgement of one body.
type anthropic struct {
	Options
	problems
	body     object
	messages []message
	turns    []turn
}

// Anthropic judges a body for POST /v1/messages.
func (o Options) Anthropic(body []byte) []Problem {
	a := &anthropic{Options: o, body: asObject(body)}
	if a.body == nil {
		a.add(BadJSON, -1, "the body is not a JSON object")
		return a.list
	}
	a.fields()
	if !a.read() {
		return a.list
	}
	a.order()
	a.content()
	a.merge()
	a.clientTools()
	a.serverTools()
	a.thinking()
	a.breakpoints()
	return a.list
}

// fields checks the required top-level fields: model, or what a cloud has in its place,
// max_tokens and messages ("max_tokens: Field required").
func (a *anthropic) fields() {
	switch {
	case a.Cloud != "" && a.body.has("model"):
		a.add(BadJSON, -1, "model is an extra input")
	case a.Cloud == bedrockVersion && a.body.has("stream"):
		// "Malformed input request: #: extraneous key [stream] is not permitted".
		a.add(BadJSON, -1, "stream is an extra input")
	case a.Cloud != "" && a.body.text("anthropic_version") != a.Cloud:
		a.add(MissingField, -1, "anthropic_version")
	case a.Cloud == "" && a.body.text("model") == "":
		a.add(MissingField, -1, "model")
	}
	if !a.body.has("max_tokens") {
		a.add(MissingField, -1, "max_tokens")
	}
	if !a.body.has("messages") {
		a.add(MissingField, -1, "messages")
	}
}

// read parses the messages; it returns false if that is not possible.
func (a *anthropic) read() bool {
	if !a.body.has("messages") {
		return false
	}
	list, ok := asArray(a.body["messages"])
	if !ok {
		a.add(BadJSON, -1, "messages is not an array")
		return false
	}
	// "messages: at least one message is required".
	if len(list) == 0 {
		a.add(EmptyContent, -1, "no messages")
		return false
	}
	for i, raw := range list {
		m := message{object: asObject(raw)}
		if m.object == nil {
			a.add(BadJSON, i, "a message is not an object")
			return false
		}
		m.role = m.text("role")
		a.readBlocks(i, &m)
		a.messages = append(a.messages, m)
	}
	return true
}

func (a *anthropic) readBlocks(i int, m *message) {
	raw := m.object["content"]
	if _, ok := asString(raw); ok {
		m.blocks = []block{{object: object{"text": raw}, kind: "text", msg: i}}
		return
	}
	list, ok := asArray(raw)
	if !ok {
		a.add(MissingField, i, "content is neither a string nor an array")
		return
	}
	for _, raw := range list {
		b := block{object: asObject(raw), msg: i}
		if b.object == nil {
			a.add(BadJSON, i, "a content block is not an object")
			continue
		}
		if b.kind = b.text("type"); b.kind == "" {
			a.add(MissingField, i, "a content block without type")
		}
		m.blocks = append(m.blocks, b)
	}
}

// order checks the roles and their neighbours.
func (a *anthropic) order() {
	for i, m := range a.messages {
		switch m.role {
		case "user", "assistant", "system":
		default:
			// "messages: Unexpected role".
			a.add(UnknownRole, i, "role %q", m.role)
		}
	}
	// "messages: first message must use the "user" role", and for system
	// "messages.0: use the top-level 'system' parameter for the initial system
	// prompt". Doubtful: current first-party models were seen to accept an
	// assistant message first; older models, the cloud platforms and most
	// compatible servers do not, and no cut needs it. A summary that the API
	// wrote on demand is sent back as it came, "first in messages, in place of
	// the messages it summarizes" (platform.claude.com, compaction).
	if role := a.messages[0].role; role == "assistant" && !a.messages[0].compacted() ||
		role == "system" && !a.messages[0].directive() {
		a.add(FirstRole, 0, "the first message is of role %s", role)
	}
	if last := len(a.messages) - 1; a.NoPrefill && a.messages[last].role == "assistant" {
		a.add(LastRole, last, "the last message is of role assistant")
	}
	a.systemPlaces()
}

// directive reports whether m is a system message without words: "the
// directive-only form (content: [] with output_config) is accepted at any
// position".
func (m message) directive() bool {
	list, ok := asArray(m.object["content"])
	return m.role == "system" && ok && len(list) == 0 && m.has("output_config")
}

// compacted reports whether m begins with a summary that the API wrote.
func (m message) compacted() bool {
	return len(m.blocks) > 0 && m.blocks[0].kind == "compaction"
}

// systemPlaces checks where mid-conversation system messages stand: "role
// 'system' must follow a 'user' message or an 'assistant' message ending in a
// server tool result" and "role 'system' must precede an 'assistant' message or
// end the array" (platform.claude.com, mid-conversation system messages).
//
// Doubtful: the documents also forbid two system messages in a row, but Claude
// Code sends such pairs and they are accepted, so a run of them counts as one.
func (a *anthropic) systemPlaces() {
	for i := 0; i < len(a.messages); i++ {
		if a.messages[i].role != "system" {
			continue
		}
		start, plain := i, true
		for ; i < len(a.messages) && a.messages[i].role == "system"; i++ {
			plain = plain && !a.messages[i].directive()
		}
		if !plain || start == 0 {
			continue
		}
		if before := a.messages[start-1]; before.role == "assistant" && !endsOnServerTool(before) {
			a.add(SystemPlace, start, "a system message after an assistant message")
		}
		if i < len(a.messages) && a.messages[i].role != "assistant" {
			a.add(SystemPlace, i-1, "a system message before a %s message", a.messages[i].role)
		}
	}
}

func endsOnServerTool(m message) bool {
	if len(m.blocks) == 0 {
		return false
	}
	kind := m.blocks[len(m.blocks)-1].kind
	return kind == "server_tool_use" || kind == "mcp_tool_use" || serverResult(kind)
}

// content checks every message and block by itself.
func (a *anthropic) content() {
	last := len(a.messages) - 1
	for i, m := range a.messages {
		empty := len(m.blocks) == 0
		if text, ok := asString(m.object["content"]); ok {
			empty = text == ""
		}
		// "messages.0: all messages must have non-empty content except for the
		// optional final assistant message"; for system "system content must
		// contain at least one block".
		final := i == last && m.role == "assistant"
		if empty {
			if !final && !m.directive() && m.has("content") {
				a.add(EmptyContent, i, "a message without content")
			}
			continue
		}
		said := false
		for _, b := range m.blocks {
			a.blockFields(m, b)
			said = said || b.kind != "text" || !blank(b.text("text")) || b.text("text") == ""
		}
		// "messages: text content blocks must contain non-whitespace text".
		// Doubtful: some models begin replies with a text of two line breaks,
		// and agents send it back among other blocks for hours without being
		// refused. So only a message of nothing but white space is refused.
		if !said {
			a.add(EmptyContent, i, "a message of nothing but white space")
		}
		// "messages: final assistant content cannot end with trailing whitespace".
		if b := m.blocks[len(m.blocks)-1]; final && b.kind == "text" {
			if text := b.text("text"); !blank(text) && text != strings.TrimRight(text, " \t\r\n") {
				a.add(TrailingSpace, i, "the final assistant text ends in white space")
			}
		}
	}
	a.systemText()
}

// blockFields checks the fields of one block by its type (Messages API
// reference, content block parameters).
func (a *anthropic) blockFields(m message, b block) {
	need := func(key string, kind byte) {
		if !isKind(b.object[key], kind) {
			a.add(MissingField, b.msg, "%s without %s", b.kind, key)
		}
	}
	switch b.kind {
	case "text":
		text, ok := asString(b.object["text"])
		switch {
		case !ok:
			a.add(MissingField, b.msg, "text without text")
		case text == "":
			// "messages: text content blocks must be non-empty".
			a.add(EmptyContent, b.msg, "a text block without text")
		}
	case "tool_use", "server_tool_use", "mcp_tool_use":
		need("name", '"')
		// "tool_use.input: Input should be a valid dictionary".
		need("input", '{')
		if id := b.text("id"); id == "" {
			a.add(MissingField, b.msg, "%s without id", b.kind)
		} else if !toolID.MatchString(id) {
			a.add(BadID, b.msg, "%s id %q", b.kind, id)
		}
		// "`tool_use` blocks can only be in `assistant` messages".
		if m.role != "assistant" {
			a.add(WrongRole, b.msg, "%s in a %s message", b.kind, m.role)
		}
	case "tool_result":
		if b.text("tool_use_id") == "" {
			a.add(MissingField, b.msg, "tool_result without tool_use_id")
		}
		// "`tool_result` blocks can only be in `user` messages".
		if m.role != "user" {
			a.add(WrongRole, b.msg, "tool_result in a %s message", m.role)
		}
	case "image", "document":
		need("source", '{')
	case "thinking", "redacted_thinking":
		a.thinkingFields(m, b)
	}
}

// systemText checks the system prompt: "system: text content blocks must be
// non-empty".
func (a *anthropic) systemText() {
	list, _ := asArray(a.body["system"])
	for _, raw := range list {
		b := asObject(raw)
		if text, ok := asString(b["text"]); ok && blank(text) && b.text("type") == "text" {
			a.add(EmptyContent, -1, "a system block without text")
		}
	}
}

// merge builds the turns. System messages are not part of a turn.
func (a *anthropic) merge() {
	for _, m := range a.messages {
		if m.role == "system" {
			continue
		}
		n := len(a.turns)
		if n == 0 || a.turns[n-1].role != m.role {
			a.turns = append(a.turns, turn{role: m.role})
			n++
		}
		a.turns[n-1].blocks = append(a.turns[n-1].blocks, m.blocks...)
	}
}

// hasTools reports whether the request defines any tool.
func (a *anthropic) hasTools() bool {
	for _, key := range []string{"tools", "mcp_servers"} {
		if list, ok := asArray(a.body[key]); ok && len(list) > 0 {
			return true
		}
	}
	return false
}

// ttl returns the lifetime of a cache breakpoint, "" if raw is none.
func ttl(raw json.RawMessage) string {
	c := asObject(raw)
	switch {
	case c == nil:
		return ""
	case c.text("ttl") == "":
		return "5m"
	}
	return c.text("ttl")
}
