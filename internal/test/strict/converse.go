package strict

import "regexp"

// bedrockID is the pattern of toolUseId and of names of tools ("Value at
// 'messages.2.member.content.1.member.toolUse.toolUseId' failed to satisfy constraint: Member must
// satisfy regular expression pattern").
var bedrockID = regexp.MustCompile(`^[a-zA-Z0-9_.:-]{1,256}$`)

// Converse judges a body for Amazon Bedrock's POST /model/MODEL/converse. What only some models
// refuse is not judged: texts beside results, which Mistral's refuse, and an assistant's message at
// the end.
func Converse(body []byte) []Problem {
	c := &converse{body: asObject(body)}
	if c.body == nil {
		c.add(BadJSON, -1, "the body is not a JSON object")
		return c.list
	}
	if !c.read() {
		return c.list
	}
	c.beside()
	c.order()
	for i := range c.messages {
		c.content(i)
	}
	c.pairs()
	// "The toolConfig field must be defined when using toolUse and toolResult content blocks."
	if tools, _ := asArray(asObject(c.body["toolConfig"])["tools"]); c.tools && len(tools) == 0 {
		c.add(MissingTools, -1, "calls or results, and no toolConfig")
	}
	// "A maximum of 4 blocks with cache_control may be provided."
	if c.marks > 4 {
		c.add(TooManyBreakpoints, -1, "%d cache points", c.marks)
	}
	return c.list
}

type converse struct {
	problems
	body     object
	messages []converseMessage
	tools    bool // there are calls or results
	marks    int
}

type converseMessage struct {
	role   string
	blocks []object
}

// read parses the messages; it returns false if that is not possible.
func (c *converse) read() bool {
	list, ok := asArray(c.body["messages"])
	if !ok {
		c.add(BadJSON, -1, "messages is not an array")
		return false
	}
	for i, raw := range list {
		m := asObject(raw)
		blocks, ok := asArray(m["content"])
		if m == nil || !ok {
			c.add(BadJSON, i, "a message without a list of blocks")
			return false
		}
		message := converseMessage{role: m.text("role")}
		for _, raw := range blocks {
			b := asObject(raw)
			if b == nil {
				c.add(BadJSON, i, "a block is not an object")
				return false
			}
			message.blocks = append(message.blocks, b)
		}
		c.messages = append(c.messages, message)
	}
	return true
}

// beside checks the system prompt and counts the marks there and at the tools.
func (c *converse) beside() {
	if c.body.has("system") && !isKind(c.body["system"], '[') {
		c.add(BadJSON, -1, "system is not an array")
	}
	system, _ := asArray(c.body["system"])
	for _, raw := range system {
		b := asObject(raw)
		if text, ok := asString(b["text"]); ok && blank(text) {
			// "The text field in the SystemContentBlock object at system.0 is blank."
			c.add(EmptyContent, -1, "a blank text of the system prompt")
		}
		c.mark(b)
	}
	tools, _ := asArray(asObject(c.body["toolConfig"])["tools"])
	for _, raw := range tools {
		t := asObject(raw)
		c.mark(t)
		if spec := asObject(t["toolSpec"]); t.has("toolSpec") && (spec.text("name") == "" ||
			!isKind(asObject(spec["inputSchema"])["json"], '{')) {
			c.add(MissingField, -1, "a tool without name or schema")
		}
	}
}

func (c *converse) mark(b object) {
	if b.has("cachePoint") {
		c.marks++
	}
}

// order checks the roles: "A conversation must start with a user message. Try again with a
// conversation that starts with a user message." and "A conversation must alternate between user and
// assistant roles. Make sure the conversation alternates between user and assistant roles and try
// again."
func (c *converse) order() {
	if len(c.messages) == 0 {
		c.add(EmptyContent, -1, "no messages")
		return
	}
	for i, m := range c.messages {
		switch {
		case m.role != "user" && m.role != "assistant":
			c.add(UnknownRole, i, "role %q", m.role)
		case i == 0 && m.role != "user":
			c.add(FirstRole, i, "the first message is of role %s", m.role)
		case i > 0 && c.messages[i-1].role == m.role:
			c.add(SameRole, i, "a second message of role %s in a row", m.role)
		}
	}
}

// blockMembers are the members that a block may have, one of them.
var blockMembers = []string{"text", "image", "document", "video", "audio", "toolUse", "toolResult", "guardContent",
	"cachePoint", "reasoningContent", "citationsContent", "searchResult", "toolAddition", "toolRemoval"}

// content checks one message by itself.
func (c *converse) content(i int) {
	m := c.messages[i]
	if len(m.blocks) == 0 {
		// "The content field in the Message object at messages.1 is empty. Add a ContentBlock
		// object to the content field and try again."
		c.add(EmptyContent, i, "no blocks")
	}
	for k, b := range m.blocks {
		n := 0
		for _, name := range blockMembers {
			if b.has(name) {
				n++
			}
		}
		if n > 1 {
			// "Invalid number of parameters set for tagged union structure".
			c.add(BadPart, i, "a block with %d members", n)
		}
		c.mark(b)
		if b.has("cachePoint") && k == 0 {
			c.add(BadBreakpoint, i, "a cache point without anything before it")
		}
		if text, ok := asString(b["text"]); ok && blank(text) {
			// "The text field in the ContentBlock object at messages.0.content.0 is blank. Add
			// text to the text field, and try again."
			c.add(EmptyContent, i, "a blank text")
		}
		if b.has("reasoningContent") && m.role != "assistant" {
			c.add(WrongRole, i, "thinking in a message of role %s", m.role)
		}
		c.tool(i, m, b)
	}
}

// tool checks the fields of a call or a result.
func (c *converse) tool(i int, m converseMessage, b object) {
	if call := asObject(b["toolUse"]); call != nil {
		c.tools = true
		if !bedrockID.MatchString(call.text("toolUseId")) || !bedrockID.MatchString(call.text("name")) {
			c.add(BadID, i, "a call %q of %q", call.text("toolUseId"), call.text("name"))
		}
		// "The format of the value at messages.1.content.0.toolUse.input is invalid. Provide a
		// json object for the field and try again."
		if !isKind(call["input"], '{') {
			c.add(MissingField, i, "the input of a call is not an object")
		}
		if m.role != "assistant" {
			c.add(WrongRole, i, "a call in a message of role %s", m.role)
		}
	}
	if result := asObject(b["toolResult"]); result != nil {
		c.tools = true
		if list, ok := asArray(result["content"]); !ok {
			c.add(MissingField, i, "a result without a list of blocks")
		} else {
			for _, raw := range list {
				if text, ok := asString(asObject(raw)["text"]); ok && blank(text) && text != "" {
					c.add(EmptyContent, i, "a blank text in a result")
				}
			}
		}
	}
}

// pairs checks calls against the results of the next message: "Expected toolResult blocks at
// messages.2.content for the following Ids: tooluse_1, but found: …", "The number of toolResult blocks
// at messages.2.content exceeds the number of toolUse blocks of previous turn." and "The toolResult
// blocks at messages.2.content contain duplicate Ids".
func (c *converse) pairs() {
	open := map[string]bool{} // the calls of the message before; true once answered
	for i, m := range c.messages {
		here := map[string]bool{}
		for _, b := range m.blocks {
			if result := asObject(b["toolResult"]); result != nil {
				id := result.text("toolUseId")
				calls := open
				if _, ok := here[id]; ok { // of a tool that Amazon runs
					calls = here
				}
				switch answered, called := calls[id]; {
				case !called:
					c.add(OrphanResult, i, "a result of %q, which was not called", id)
				case answered:
					c.add(DuplicateResult, i, "a second result of %q", id)
				default:
					calls[id] = true
				}
			}
			if call := asObject(b["toolUse"]); call != nil {
				id := call.text("toolUseId")
				if _, twice := here[id]; twice {
					c.add(DuplicateCall, i, "a second call %q", id)
				}
				here[id] = false
			}
		}
		c.unanswered(i-1, open, UnansweredCall)
		open = here
	}
	c.unanswered(len(c.messages)-1, open, OpenEnd)
}

func (c *converse) unanswered(i int, calls map[string]bool, code string) {
	for id, answered := range calls {
		if !answered {
			c.add(code, i, "the call %q is not answered", id)
		}
	}
}
