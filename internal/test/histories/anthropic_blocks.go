package histories

// userContent draws what a person says: a string or blocks.
func (a *anthropicGen) userContent() any {
	if a.one(2, "string content") {
		return a.text()
	}
	blocks := a.list()
	for range 1 + a.upTo(2, "user blocks") {
		blocks.items = append(blocks.items, a.userBlock())
	}
	return blocks
}

func (a *anthropicGen) userBlock() *object {
	switch a.pick("user block", "text", "text", "text", "image", "document", "unknown") {
	case "image":
		return a.mark(obj("type", "image", "source", a.source("image/png")))
	case "document":
		return a.mark(obj("type", "document", "source", a.source("application/pdf"), "title", a.text(), "citations",
			obj("enabled", true)))
	case "unknown":
		return obj("type", "x_hologram", "content", raw(`[{"type":"tool_result","tool_use_id":"toolu_0001"}]`))
	}
	return a.mark(a.extras(obj("type", "text", "text", a.text())))
}

// source draws where an image or document comes from.
func (a *anthropicGen) source(media string) *object {
	switch a.pick("source", "base64", "url", "file") {
	case "url":
		return obj("type", "url", "url", "https://example.com/a?b=c&d=%C3%A9")
	case "file":
		return obj("type", "file", "file_id", "file_01")
	}
	return obj("type", "base64", "media_type", media, "data", a.blob())
}

// result draws the result of the call c in one of its many forms.
func (a *anthropicGen) result(c *id) *object {
	r := obj("tool_use_id", c, "type", "tool_result")
	switch a.pick("result", "string", "string", "text", "mixed", "empty string", "empty array", "no content",
		"references") {
	case "string":
		r.add("content", a.text())
	case "text":
		r.add("content", &list{[]any{obj("type", "text", "text", a.text())}})
	case "mixed":
		r.add("content", &list{[]any{
			obj("type", "text", "text", a.text()),
			obj("type", "image", "source", a.source("image/jpeg")),
			obj("type", "search_result", "source", "s", "title", "t", "content", &list{}),
		}})
	case "empty string":
		r.add("content", "")
	case "empty array":
		r.add("content", &list{})
	case "references":
		r.add("content", &list{[]any{obj("type", "tool_reference", "tool_name", "read")}})
	}
	if a.one(4, "error") {
		r.add("is_error", a.one(2, "is_error"))
	}
	return a.mark(r)
}

// serverTool draws a call that the vendor runs, and its result.
func (a *anthropicGen) serverTool() []any {
	switch a.pick("server tool", "search", "code", "mcp") {
	case "mcp":
		c := a.call("mcptoolu_")
		return []any{
			obj("type", "mcp_tool_use", "id", c, "name", "echo", "server_name", "s", "input", raw(a.arguments())),
			obj("type", "mcp_tool_result", "tool_use_id", c, "is_error", false, "content",
				&list{[]any{obj("type", "text", "text", a.text())}}),
		}
	case "code":
		c := a.call("srvtoolu_")
		return []any{
			obj("type", "server_tool_use", "id", c, "name", "code_execution", "input", raw(a.arguments())),
			obj("tool_use_id", c, "type", "code_execution_tool_result",
				"content", obj("type", "code_execution_result", "stdout", a.text(), "stderr", "", "return_code", 0,
					"content", &list{})),
		}
	}
	c := a.call("srvtoolu_")
	found := obj("type", "web_search_result", "url", "https://example.com/", "title", a.text(), "encrypted_content",
		a.blob(), "page_age", nil)
	return []any{
		obj("type", "server_tool_use", "id", c, "name", "web_search", "input", raw(`{"query":"q"}`)),
		obj("type", "web_search_tool_result", "tool_use_id", c, "content", &list{[]any{found}}),
	}
}
