package histories

import "fmt"

// chatGen draws the messages of one Chat Completions body.
type chatGen struct {
	*gen
	messages *list
	// numbered is true for servers that number the calls of every reply from
	// zero. Chat Completions pairs by neighbourhood and accepts it.
	numbered bool
}

func chatBody(g *gen) (*object, *list) {
	c := &chatGen{gen: g, messages: g.list(), numbered: g.one(6, "numbered calls")}
	for range g.upTo(2, "instructions") {
		c.instruct()
	}
	for i := range g.opt.Turns {
		c.exchange(i == g.opt.Turns-1)
	}
	body := obj("model", "gpt-x", "messages", c.messages)
	if g.one(2, "tools") {
		body.add("tools",
			&list{[]any{obj("type", "function", "function",
				obj("name", "read", "parameters", raw(`{"type":"object"}`)))}})
	}
	if g.one(3, "limits") {
		body.add("max_completion_tokens", 100).add("temperature", raw("1e0")).add("stop", nil)
	}
	if g.one(2, "stream") {
		body.add("stream", true).add("stream_options", obj("include_usage", true))
	}
	return g.extras(body), c.messages
}

func (c *chatGen) say(m *object) {
	c.messages.items = append(c.messages.items, c.extras(m))
}

// instruct draws a system or developer message, which may stand anywhere but
// between a call and its results.
func (c *chatGen) instruct() {
	m := obj("role", c.pick("instruct", "system", "developer"), "content", c.words())
	if c.one(4, "name") {
		m.add("name", "ops")
	}
	c.say(m)
}

// words draws text as a string or as parts.
func (c *chatGen) words() any {
	if c.one(3, "parts") {
		return &list{[]any{obj("type", "text", "text", c.text()), obj("text", c.text(), "type", "text")}}
	}
	return c.text()
}

func (c *chatGen) exchange(last bool) {
	for range 1 + c.upTo(2, "more prompts")/2 {
		c.prompt()
	}
	if c.one(6, "instruct again") {
		c.instruct()
	}
	end := ""
	if last {
		end = c.pick("end", "prompt", "results", "answer")
	}
	if end == "prompt" {
		return
	}
	rounds := c.upTo(3, "rounds")
	if c.one(15, "long loop") {
		rounds = 12
	}
	for range rounds {
		if c.one(8, "old functions") {
			c.oldRound()
		} else {
			c.round()
		}
	}
	if end == "results" || !last && c.one(6, "interrupted") {
		return
	}
	c.answer()
}

func (c *chatGen) prompt() {
	m := obj("role", "user")
	if c.one(3, "user parts") {
		parts := c.list()
		for range 1 + c.upTo(2, "user parts") {
			parts.items = append(parts.items, c.userPart())
		}
		m.add("content", parts)
	} else if c.one(20, "empty prompt") {
		m.add("content", "")
	} else {
		m.add("content", c.text())
	}
	if c.one(5, "name") {
		m.add("name", "Zoë")
	}
	c.say(m)
}

func (c *chatGen) userPart() *object {
	switch c.pick("user part", "text", "image", "audio", "file", "unknown") {
	case "image":
		return obj("type", "image_url", "image_url", obj("url", "data:image/png;base64,"+c.blob(), "detail", "low"))
	case "audio":
		return obj("type", "input_audio", "input_audio", obj("data", c.blob(), "format", "wav"))
	case "file":
		return obj("type", "file", "file", obj("filename", "a.pdf", "file_data", "data:application/pdf;base64,"+
			c.blob()))
	case "unknown":
		return obj("type", "x_hologram", "tool_calls", &list{})
	}
	return obj("type", "text", "text", c.text())
}

// round draws a batch of calls and the tool messages that answer it.
func (c *chatGen) round() {
	calls := c.list()
	var results []*object
	for i := range 1 + c.upTo(3, "parallel calls") {
		id := c.call("call_")
		if c.numbered {
			id.text = fmt.Sprintf("call_%d", i)
		}
		if c.one(8, "custom") {
			calls.items = append(calls.items,
				obj("id", id, "type", "custom", "custom", obj("name", "patch", "input", c.text())))
		} else {
			calls.items = append(calls.items, obj("id", id, "type", "function", "function",
				obj("name", c.tool(), "arguments", c.arguments())))
		}
		result := obj("role", "tool", "tool_call_id", id, "content", c.words())
		if c.one(4, "tool name") {
			result.add("name", "read")
		}
		results = append(results, result)
	}
	m := obj("role", "assistant")
	switch c.pick("content of calls", "null", "text", "absent", "empty") {
	case "null":
		m.add("content", nil)
	case "text":
		m.add("content", c.text())
	case "empty":
		m.add("content", "")
	}
	if c.one(4, "reasoning_content") {
		m.add("reasoning_content", c.text())
	}
	c.say(m.add("tool_calls", calls))
	for _, r := range shuffled(c.gen, results) {
		c.say(r)
	}
}

// oldRound draws a call of the time before tools.
func (c *chatGen) oldRound() {
	c.say(obj("role", "assistant", "content", nil, "function_call", obj("name", "read", "arguments", c.arguments())))
	result := obj("role", "function", "name", "read")
	if c.one(4, "no result") {
		result.add("content", nil)
	} else {
		result.add("content", c.text())
	}
	c.say(result)
}

func (c *chatGen) answer() {
	m := obj("role", "assistant")
	switch c.pick("answer", "text", "text", "parts", "refusal", "refusal part", "audio", "empty") {
	case "text":
		m.add("content", c.text())
	case "parts":
		m.add("content", c.list(obj("type", "text", "text", c.text())))
	case "refusal":
		m.add("content", nil).add("refusal", c.text())
	case "refusal part":
		m.add("content", c.list(obj("type", "refusal", "refusal", c.text())))
	case "audio":
		m.add("audio", obj("id", "audio_1")).add("content", nil)
	case "empty":
		m.add("content", "").add("refusal", nil).add("tool_calls", nil)
	}
	if c.one(5, "name") {
		m.add("name", "helper")
	}
	c.say(m)
}
