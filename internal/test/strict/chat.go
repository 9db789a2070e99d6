package strict

// Chat judges a body for POST /v1/chat/completions.
func Chat(body []byte) []Problem {
	c := &chat{body: asObject(body)}
	if c.body == nil {
		c.add(BadJSON, -1, "the body is not a JSON object")
		return c.list
	}
	// "you must provide a model parameter".
	if c.body.text("model") == "" {
		c.add(MissingField, -1, "model")
	}
	if !c.read() {
		return c.list
	}
	for i, m := range c.messages {
		c.message(i, m)
	}
	c.pairs()
	return c.list
}

type chat struct {
	problems
	body     object
	messages []object
}

// read parses the messages; it returns false if that is not possible.
func (c *chat) read() bool {
	if !c.body.has("messages") {
		// "Missing required parameter: 'messages'."
		c.add(MissingField, -1, "messages")
		return false
	}
	list, ok := asArray(c.body["messages"])
	if !ok {
		c.add(BadJSON, -1, "messages is not an array")
		return false
	}
	// "Invalid 'messages': empty array. Expected an array with minimum length 1".
	if len(list) == 0 {
		c.add(EmptyContent, -1, "no messages")
		return false
	}
	for i, raw := range list {
		m := asObject(raw)
		if m == nil {
			c.add(BadJSON, i, "a message is not an object")
			return false
		}
		c.messages = append(c.messages, m)
	}
	return true
}

// message checks one message by itself (Chat Completions API reference).
func (c *chat) message(i int, m object) {
	switch role := m.text("role"); role {
	case "system", "developer", "user":
		c.contentNeeded(i, m)
	case "tool":
		c.contentNeeded(i, m)
		// "Missing required parameter: 'messages[2].tool_call_id'."
		if m.text("tool_call_id") == "" {
			c.add(MissingField, i, "a tool message without tool_call_id")
		}
	case "function":
		// The content of a function message may be null, its name may not be
		// absent: "Missing parameter 'name': messages with role 'function' must
		// have a 'name'."
		if m.text("name") == "" {
			c.add(MissingField, i, "a function message without name")
		}
		if _, ok := m["content"]; !ok {
			c.add(MissingField, i, "a function message without content")
		}
	case "assistant":
		c.assistant(i, m)
	default:
		// "Invalid value: 'x'. Supported values are: 'system', 'assistant',
		// 'user', 'function', 'tool', and 'developer'."
		c.add(UnknownRole, i, "role %q", role)
	}
}

// contentNeeded checks a content that must be there. An empty string is
// accepted, an empty array is not: "Invalid 'messages[0].content': empty array.
// Expected an array with minimum length 1, but got an empty array instead."
func (c *chat) contentNeeded(i int, m object) {
	if !m.has("content") {
		// "Invalid value for 'content': expected a string, got null."
		c.add(EmptyContent, i, "a %s message without content", m.text("role"))
		return
	}
	c.contentShape(i, m)
}

func (c *chat) contentShape(i int, m object) {
	if _, ok := asString(m["content"]); ok {
		return
	}
	list, ok := asArray(m["content"])
	switch {
	case !ok:
		c.add(BadJSON, i, "content is neither a string nor an array")
	case len(list) == 0:
		c.add(EmptyContent, i, "content is an empty array")
	}
	for _, raw := range list {
		if p := asObject(raw); p.text("type") == "" {
			c.add(MissingField, i, "a content part without type")
		} else if p.text("type") == "text" && !isKind(p["text"], '"') {
			c.add(MissingField, i, "a text part without text")
		}
	}
}

// assistant checks an assistant message. Its content is "required unless
// tool_calls or function_call is specified"; a refusal or an earlier audio
// answer stands for it too.
func (c *chat) assistant(i int, m object) {
	stands := false
	for _, key := range []string{"tool_calls", "function_call", "refusal", "audio"} {
		stands = stands || m.has(key)
	}
	switch {
	case m.has("content"):
		c.contentShape(i, m)
	case !stands:
		c.add(EmptyContent, i, "an assistant message without content")
	}
	if m.has("function_call") {
		if f := asObject(m["function_call"]); f.text("name") == "" || !isKind(f["arguments"], '"') {
			c.add(MissingField, i, "function_call without name or arguments")
		}
	}
	if !m.has("tool_calls") {
		return
	}
	calls, ok := asArray(m["tool_calls"])
	switch {
	case !ok:
		c.add(BadJSON, i, "tool_calls is not an array")
	case len(calls) == 0:
		// "Invalid 'messages[1].tool_calls': empty array. Expected an array with
		// minimum length 1".
		c.add(EmptyContent, i, "tool_calls is empty")
	}
	for _, raw := range calls {
		c.toolCall(i, asObject(raw))
	}
}

func (c *chat) toolCall(i int, call object) {
	if call.text("id") == "" {
		c.add(MissingField, i, "a tool call without id")
	}
	switch kind := call.text("type"); kind {
	case "":
		c.add(MissingField, i, "a tool call without type")
	case "function":
		// "Invalid type for 'messages[1].tool_calls[0].function.arguments':
		// expected a string, but got an object instead."
		f := asObject(call["function"])
		if f.text("name") == "" || !isKind(f["arguments"], '"') {
			c.add(MissingField, i, "a function call without name or arguments")
		}
	case "custom":
		f := asObject(call["custom"])
		if f.text("name") == "" || !isKind(f["input"], '"') {
			c.add(MissingField, i, "a custom call without name or input")
		}
	}
}

// pairs checks calls against results. "An assistant message with 'tool_calls'
// must be followed by tool messages responding to each 'tool_call_id'. The
// following tool_call_ids did not have response messages: …" and "messages with
// role 'tool' must be a response to a preceeding message with 'tool_calls'".
//
// Ids may come again in a later batch: some servers number them per reply. The
// old function_call and function messages are not paired by the vendor.
func (c *chat) pairs() {
	for i := 0; i < len(c.messages); i++ {
		m := c.messages[i]
		if m.text("role") == "tool" {
			c.add(OrphanResult, i, "a tool message that follows no tool_calls")
			continue
		}
		calls, _ := asArray(m["tool_calls"])
		if m.text("role") != "assistant" || len(calls) == 0 {
			continue
		}
		i = c.batch(i, calls)
	}
}

// batch checks the tool messages right after the assistant message at i and
// gives the index of the last of them.
func (c *chat) batch(i int, calls []rawValue) int {
	var ids []string
	open := make(map[string]bool)
	for _, raw := range calls {
		id := asObject(raw).text("id")
		ids, open[id] = append(ids, id), true
	}
	got := make(map[string]bool)
	at := i
	for at+1 < len(c.messages) && c.messages[at+1].text("role") == "tool" {
		at++
		id := c.messages[at].text("tool_call_id")
		switch {
		case !open[id]:
			// "tool_call_id of 'x' not found in 'tool_calls' of previous message".
			c.add(OrphanResult, at, "a tool message for %q, which was not called", id)
		case got[id]:
			// "Duplicate value for 'tool_call_id' of 'x' in messages[7] and
			// messages[8]."
			c.add(DuplicateResult, at, "a second tool message for %q", id)
		}
		got[id] = true
	}
	for _, id := range ids {
		switch {
		case got[id]:
		case at == len(c.messages)-1:
			c.add(OpenEnd, i, "tool call %q is not answered yet", id)
		default:
			c.add(UnansweredCall, i, "tool call %q is not answered", id)
		}
	}
	return at
}
