package histories

// converseGen draws the messages of one body of Amazon Bedrock's Converse. Roles alternate, so what
// a person says after an interrupted call is in the message with its results.
type converseGen struct {
	*gen
	messages *list
	marks    int // cache points so far
	results  *list
}

func converseBody(g *gen) (*object, *list) {
	c := &converseGen{gen: g, messages: g.list()}
	body := obj("messages", c.messages)
	if g.one(2, "system") {
		system := &list{[]any{obj("text", g.text())}}
		if g.one(2, "mark") {
			system.items = append(system.items, c.mark())
		}
		body.add("system", system)
	}
	tools := &list{[]any{obj("toolSpec", obj("name", "read", "description", "reads", "inputSchema",
		obj("json", raw(`{"type":"object","properties":{}}`)))), obj("systemTool", obj("name", "nova_grounding"))}}
	if g.one(2, "mark of tools") {
		tools.items = append(tools.items, c.mark())
	}
	for i := range g.opt.Turns {
		c.exchange(i == g.opt.Turns-1)
	}
	body.add("toolConfig", obj("tools", tools, "toolChoice", obj("auto", obj())))
	if g.one(2, "config") {
		body.add("inferenceConfig", obj("maxTokens", 1000, "temperature", raw("1.0"), "stopSequences", &list{}))
	}
	if g.one(3, "more") {
		body.add("additionalModelRequestFields", obj("thinking", obj("type", "enabled", "budget_tokens", 1024),
			"anthropic_beta", &list{[]any{"interleaved-thinking-2025-05-14"}}))
	}
	if g.one(4, "metadata") {
		body.add("requestMetadata", obj("team", "x")).add("performanceConfig", obj("latency", "optimized"))
	}
	return g.extras(body), c.messages
}

// mark draws a cache point.
func (c *converseGen) mark() *object {
	c.marks++
	if c.one(3, "an hour") {
		return obj("cachePoint", obj("type", "default", "ttl", "1h"))
	}
	return obj("cachePoint", obj("type", "default"))
}

// say adds a message, and a cache point to some.
func (c *converseGen) say(role string, blocks *list) {
	if c.marks < 4 && c.one(6, "mark") {
		blocks.items = append(blocks.items, c.mark())
	}
	c.messages.items = append(c.messages.items, c.extras(obj("role", role, "content", blocks)))
}

func (c *converseGen) exchange(last bool) {
	c.prompt()
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
		c.round()
	}
	if rounds > 0 && (end == "results" || !last && c.one(6, "interrupted")) {
		return
	}
	c.results = nil
	blocks := c.opening()
	if c.one(5, "citations") {
		blocks.items = append(blocks.items, obj("citationsContent", obj("content", &list{[]any{obj("text", c.text())}},
			"citations", &list{[]any{obj("title", "a", "location", obj("web", obj("url", "https://example.com")))}})))
	} else {
		blocks.items = append(blocks.items, obj("text", c.text()))
	}
	c.say("assistant", blocks)
}

// prompt draws a message of a person, or adds it to the results of interrupted calls.
func (c *converseGen) prompt() {
	blocks := c.results
	if blocks == nil {
		blocks = c.list()
	}
	for range 1 + c.upTo(2, "user blocks") {
		blocks.items = append(blocks.items, c.userBlock())
	}
	if c.results == nil {
		c.say("user", blocks)
	}
	c.results = nil
}

func (c *converseGen) userBlock() *object {
	switch c.pick("user block", "text", "text", "image", "document", "video", "guard", "s3", "unknown") {
	case "image":
		return obj("image", obj("format", "png", "source", obj("bytes", c.blob())))
	case "document":
		return obj("document", obj("format", "pdf", "name", "a", "source", obj("bytes", c.blob())))
	case "video":
		return obj("video", obj("format", "mp4", "source", obj("s3Location", obj("uri", "s3://b/v.mp4"))))
	case "guard":
		return obj("guardContent", obj("text", obj("text", c.text())))
	case "s3":
		return obj("document", obj("format", "txt", "name", "b", "source", obj("text", c.text())))
	case "unknown":
		return obj("x_hologram", obj("toolUse", obj()))
	}
	return obj("text", c.text())
}

// opening draws what may stand first in a message of the model.
func (c *converseGen) opening() *list {
	blocks := c.list()
	switch c.pick("thinking", "none", "none", "signed", "plain", "redacted") {
	case "signed":
		blocks.items = append(blocks.items, obj("reasoningContent", obj("reasoningText",
			obj("text", c.text(), "signature", c.blob()))))
	case "plain":
		blocks.items = append(blocks.items, obj("reasoningContent", obj("reasoningText", obj("text", c.text()))))
	case "redacted":
		blocks.items = append(blocks.items, obj("reasoningContent", obj("redactedContent", c.blob())))
	}
	return blocks
}

// round draws a message with calls, and the message with their results.
func (c *converseGen) round() {
	calls := c.opening()
	if c.one(2, "words") {
		calls.items = append(calls.items, obj("text", c.text()))
	}
	if c.one(8, "tool of Amazon's") {
		id := c.call("srv_")
		calls.items = append(calls.items,
			obj("toolUse", obj("toolUseId", id, "name", "nova_grounding", "input", obj("query", "x"),
				"type", "server_tool_use")),
			obj("toolResult", obj("toolUseId", id, "type", "nova_grounding_result", "content", &list{})))
	}
	var results []*object
	for range 1 + c.upTo(3, "parallel calls") {
		id := c.call("tooluse_")
		calls.items = append(calls.items, obj("toolUse", obj("toolUseId", id, "name", c.tool(), "input",
			raw(c.arguments()))))
		results = append(results, obj("toolResult", c.result(obj("toolUseId", id))))
	}
	c.say("assistant", calls)
	c.results = c.list()
	for _, r := range shuffled(c.gen, results) {
		c.results.items = append(c.results.items, r)
	}
	c.say("user", c.results)
}

// result adds to a result what a tool returned.
func (c *converseGen) result(r *object) *object {
	switch c.pick("result", "text", "texts", "json", "image", "error", "nothing", "empty") {
	case "nothing":
		return r.add("content", c.list(obj("text", "")))
	case "text":
		return r.add("content", c.list(obj("text", c.text()))).add("status", "success")
	case "texts":
		return r.add("content", c.list(obj("text", c.text()), obj("text", c.text())))
	case "json":
		return r.add("content", c.list(obj("json", obj("files", &list{[]any{c.text()}}, "n", 1, "next", nil))))
	case "image":
		return r.add("content", c.list(obj("text", c.text()),
			obj("image", obj("format", "png", "source", obj("bytes", c.blob())))))
	case "error":
		return r.add("content", c.list(obj("text", c.text()))).add("status", "error")
	}
	return r.add("content", c.list())
}
