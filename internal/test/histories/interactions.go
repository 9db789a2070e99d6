package histories

// interactionsGen draws the steps of one body of the Interactions API.
type interactionsGen struct {
	*gen
	steps *list
}

func interactionsBody(g *gen) (*object, *list) {
	n := &interactionsGen{gen: g, steps: g.list()}
	body := obj("model", "gemini-x", "generation_config", obj("max_output_tokens", 1000, "temperature", raw("1.0")))
	if g.one(12, "string input") {
		return g.extras(body.add("input", g.text())), n.steps
	}
	if g.one(10, "before") {
		// The call is in the interaction before; only its result is here.
		body.add("previous_interaction_id", "int_1")
		n.put(obj("type", "function_result", "call_id", g.call("call_"), "result", g.text()))
	}
	for i := range g.opt.Turns {
		n.exchange(i == g.opt.Turns-1)
	}
	body.add("input", n.steps)
	if g.one(2, "system") {
		body.add("system_instruction", g.text())
	}
	if g.one(2, "store") {
		body.add("store", false)
	}
	if g.one(2, "tools") {
		body.add("tools", &list{[]any{obj("type", "function", "name", "read", "parameters", raw(`{"type":"object"}`)),
			obj("type", "google_search")}})
	}
	if g.one(3, "stream") {
		body.add("stream", true)
	}
	return g.extras(body), n.steps
}

func (n *interactionsGen) put(s *object) { n.steps.items = append(n.steps.items, n.extras(s)) }

func (n *interactionsGen) exchange(last bool) {
	for range 1 + n.upTo(2, "more prompts")/2 {
		n.prompt()
	}
	end := ""
	if last {
		end = n.pick("end", "prompt", "results", "answer")
	}
	if end == "prompt" {
		return
	}
	rounds := n.upTo(3, "rounds")
	if n.one(15, "long loop") {
		rounds = 12
	}
	for range rounds {
		n.round()
	}
	if end == "results" || !last && n.one(6, "interrupted") {
		return
	}
	n.thought()
	parts := n.list(obj("type", "text", "text", n.text()))
	if n.one(4, "annotations") {
		parts.items = append(parts.items, obj("type", "text", "text", n.text(), "annotations",
			&list{[]any{obj("type", "url_citation", "url", "https://example.com")}}))
	}
	n.put(obj("type", "model_output", "content", parts))
}

func (n *interactionsGen) prompt() {
	parts := n.list()
	for range 1 + n.upTo(2, "user parts") {
		parts.items = append(parts.items, n.userPart())
	}
	n.put(obj("type", "user_input", "content", parts))
}

func (n *interactionsGen) userPart() *object {
	switch n.pick("user part", "text", "text", "image", "audio", "document", "unknown") {
	case "image":
		return obj("type", "image", "mime_type", "image/png", "data", n.blob())
	case "audio":
		return obj("type", "audio", "mime_type", "audio/wav", "data", n.blob())
	case "document":
		return obj("type", "document", "mime_type", "application/pdf", "uri", "https://example.com/a.pdf")
	case "unknown":
		return obj("type", "x_hologram", "arguments", obj())
	}
	return obj("type", "text", "text", n.text())
}

func (n *interactionsGen) thought() {
	if !n.one(2, "thought") {
		return
	}
	s := obj("type", "thought", "signature", n.blob())
	if n.one(2, "summary") {
		s.add("summary", &list{[]any{obj("type", "text", "text", n.text())}})
	}
	n.put(s)
}

// round draws calls of functions, and their results.
func (n *interactionsGen) round() {
	n.thought()
	if n.one(3, "words") {
		n.put(obj("type", "model_output", "content", &list{[]any{obj("type", "text", "text", n.text())}}))
	}
	if n.one(8, "tool of Google's") {
		id := n.call("srv_")
		n.put(obj("type", "google_search_call", "id", id, "arguments", obj("queries", &list{}), "signature", n.blob()))
		n.put(obj("type", "google_search_result", "call_id", id, "result", &list{}))
	}
	var results []*object
	for range 1 + n.upTo(3, "parallel calls") {
		id, name := n.call("call_"), n.tool()
		n.put(obj("type", "function_call", "id", id, "name", name, "arguments", raw(n.arguments())))
		r := obj("type", "function_result", "call_id", id, "name", name)
		switch n.pick("result", "text", "parts", "object", "error", "empty") {
		case "text":
			r.add("result", n.text())
		case "parts":
			r.add("result", &list{[]any{obj("type", "text", "text", n.text()),
				obj("type", "image", "mime_type", "image/png", "data", n.blob())}})
		case "object":
			r.add("result", obj("files", &list{[]any{n.text()}}, "n", 1))
		case "error":
			r.add("result", n.text()).add("is_error", true)
		case "empty":
			r.add("result", "")
		}
		results = append(results, r)
	}
	for _, r := range shuffled(n.gen, results) {
		n.put(r)
	}
}
