package histories

// geminiGen draws the contents of one body of the Gemini API.
type geminiGen struct {
	*gen
	contents *list
	ids      bool // calls have ids, as those of newer models
	signed   bool // parts have signatures
	snake    bool // the client writes function_call, not functionCall
}

func geminiBody(g *gen) (*object, *list) {
	m := &geminiGen{gen: g, contents: g.list(), ids: g.one(2, "ids"), signed: g.one(2, "signatures"),
		snake: g.one(5, "snake case")}
	for i := range g.opt.Turns {
		m.exchange(i == g.opt.Turns-1)
	}
	body := obj("contents", m.contents)
	if g.one(2, "system") {
		system := obj("parts", &list{[]any{obj("text", g.text()), obj("text", g.text())}})
		if g.one(2, "role of the system prompt") {
			system.add("role", "user")
		}
		body.add(m.name("systemInstruction", "system_instruction"), system)
	}
	if g.one(2, "tools") {
		declared := &list{[]any{obj("name", "read", "parameters", raw(`{"type":"OBJECT"}`)),
			obj("name", "exec_command", "parametersJsonSchema", raw(`{"type":"object","properties":{}}`))}}
		body.add("tools", &list{[]any{obj(m.name("functionDeclarations", "function_declarations"), declared),
			obj("googleSearch", obj())}})
	}
	if g.one(3, "config") {
		body.add(m.name("generationConfig", "generation_config"),
			obj("maxOutputTokens", 1000, "temperature", raw("1.0"),
				"thinkingConfig", obj("thinkingBudget", 128)))
	}
	if g.one(4, "safety") {
		body.add("safetySettings", &list{}).add("labels", obj("team", "x"))
	}
	return g.extras(body), m.contents
}

// name returns a name in the spelling of the client.
func (m *geminiGen) name(camel, snake string) string {
	if m.snake {
		return snake
	}
	return camel
}

func (m *geminiGen) say(role string, parts *list) {
	c := obj("role", role, "parts", parts)
	if role == "user" && m.one(6, "no role") {
		c = obj("parts", parts)
	}
	m.contents.items = append(m.contents.items, m.extras(c))
}

func (m *geminiGen) exchange(last bool) {
	for range 1 + m.upTo(2, "more prompts")/2 {
		m.prompt()
	}
	end := ""
	if last {
		end = m.pick("end", "prompt", "results", "answer")
	}
	if end == "prompt" {
		return
	}
	rounds := m.upTo(3, "rounds")
	if m.one(15, "long loop") {
		rounds = 12
	}
	for range rounds {
		m.round()
	}
	if end == "results" || !last && m.one(6, "interrupted") {
		return
	}
	m.answer()
}

func (m *geminiGen) prompt() {
	parts := m.list()
	for range 1 + m.upTo(2, "user parts") {
		parts.items = append(parts.items, m.userPart())
	}
	m.say("user", parts)
}

func (m *geminiGen) userPart() *object {
	switch m.pick("user part", "text", "text", "image", "audio", "file", "uri", "unknown") {
	case "image":
		return obj(m.name("inlineData", "inline_data"), obj(m.name("mimeType", "mime_type"), "image/png", "data",
			m.blob()))
	case "audio":
		return obj("inlineData", obj("data", m.blob(), "mimeType", "audio/wav"))
	case "file":
		return obj("inlineData", obj("mimeType", "application/pdf", "data", m.blob(), "displayName", "a.pdf"))
	case "uri":
		return obj("fileData", obj("mimeType", "video/mp4", "fileUri", "https://example.com/v"), "videoMetadata",
			obj("fps", 1))
	case "unknown":
		return obj("x_hologram", obj("functionCall", obj()))
	}
	return obj("text", m.text())
}

// sign adds a signature to a part if the model signs.
func (m *geminiGen) sign(p *object) *object {
	if m.signed {
		p.add(m.name("thoughtSignature", "thought_signature"), m.blob())
	}
	return p
}

// opening draws what may stand first in a content of the model.
func (m *geminiGen) opening() []any {
	if !m.one(3, "thought") {
		return nil
	}
	return []any{obj("text", m.text(), "thought", true)}
}

// round draws a content with calls, and the content with their results.
func (m *geminiGen) round() {
	parts := m.opening()
	if m.one(2, "words") {
		parts = append(parts, obj("text", m.text()))
	}
	if m.one(6, "code") {
		parts = append(parts, obj("executableCode", obj("language", "PYTHON", "code", "print(1)")),
			obj("codeExecutionResult", obj("outcome", "OUTCOME_OK", "output", "1\n")))
	}
	if m.one(8, "tool of Google's") {
		tool := m.call("srv_")
		parts = append(parts, obj("toolCall", obj("id", tool, "toolType", "GOOGLE_SEARCH_WEB", "args", raw("{}"))),
			obj("toolResponse", obj("id", tool, "toolType", "GOOGLE_SEARCH_WEB", "response", raw(`{"results":[]}`))))
	}
	var results []any
	n := 1 + m.upTo(3, "parallel calls")
	for i := range n {
		id, name := m.call("fc_"), m.tool()
		call, response := obj("name", name, "args", raw(m.arguments())), obj("name", name)
		if m.ids {
			call.add("id", id)
			response.add("id", id)
		}
		part := obj(m.name("functionCall", "function_call"), call)
		if i == 0 {
			part = m.sign(part)
		}
		parts = append(parts, part)
		results = append(results, obj(m.name("functionResponse", "function_response"), m.result(response)))
	}
	m.say("model", m.list(parts...))
	if m.ids {
		results = shuffled(m.gen, results)
	}
	m.say(m.pick("role of results", "user", "user", "function"), m.list(results...))
}

// result adds to a response what a function returned.
func (m *geminiGen) result(response *object) *object {
	switch m.pick("result", "output", "result", "error", "object", "empty", "parts") {
	case "output":
		return response.add("response", obj("output", m.text()))
	case "result":
		return response.add("response", obj("result", m.text()))
	case "error":
		return response.add("response", obj("error", m.text()))
	case "empty":
		return response.add("response", obj())
	case "parts":
		return response.add("response", obj("output", m.text())).add("parts",
			&list{[]any{obj("inlineData", obj("mimeType", "image/png", "data", m.blob()))}})
	}
	return response.add("response", obj("files", &list{[]any{m.text()}}, "n", 1, "next", nil))
}

func (m *geminiGen) answer() {
	parts := append(m.opening(), m.sign(obj("text", m.text())))
	if m.one(4, "a signature behind") {
		parts = append(parts, obj("text", "", "thoughtSignature", m.blob()))
	}
	m.say("model", m.list(parts...))
}
