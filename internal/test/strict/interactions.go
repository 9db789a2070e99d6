package strict

// Interactions judges a body for POST /v1beta/interactions of Google's Interactions API, by the
// required members of its published types.
func Interactions(body []byte) []Problem {
	n := &interactions{body: asObject(body)}
	if n.body == nil {
		n.add(BadJSON, -1, "the body is not a JSON object")
		return n.list
	}
	if n.body.text("model") == "" && n.body.text("agent") == "" {
		n.add(MissingField, -1, "model")
	}
	if !n.read() {
		return n.list
	}
	for i, s := range n.steps {
		n.step(i, s)
	}
	n.pairs()
	return n.list
}

type interactions struct {
	problems
	body  object
	steps []object
}

// read parses the input; it returns false if there is nothing more to check.
func (n *interactions) read() bool {
	if !n.body.has("input") {
		n.add(MissingField, -1, "input")
		return false
	}
	if _, ok := asString(n.body["input"]); ok {
		return false
	}
	list, ok := asArray(n.body["input"])
	switch {
	case !ok:
		n.add(BadJSON, -1, "input is neither a string nor an array")
		return false
	case len(list) == 0:
		n.add(EmptyContent, -1, "input is empty")
	}
	for i, raw := range list {
		s := asObject(raw)
		if s == nil {
			n.add(BadJSON, i, "a step is not an object")
			return false
		}
		n.steps = append(n.steps, s)
	}
	return true
}

// stepNeeds lists the required members of types of steps and parts, with the first byte of their
// values, 0 for any.
var stepNeeds = map[string]map[string]byte{
	"function_call":          {"id": '"', "name": '"', "arguments": '{'},
	"function_result":        {"call_id": '"', "result": 0},
	"google_search_call":     {"id": '"', "arguments": '{'},
	"google_search_result":   {"call_id": '"', "result": '['},
	"mcp_server_tool_call":   {"id": '"', "name": '"', "server_name": '"', "arguments": '{'},
	"mcp_server_tool_result": {"call_id": '"', "result": 0},
	"text":                   {"text": '"'},
}

func (n *interactions) step(i int, s object) {
	kind := s.text("type")
	if kind == "" && !s.has("role") {
		n.add(MissingField, i, "a step without type")
	}
	for name, first := range stepNeeds[kind] {
		if !s.has(name) || first != 0 && !isKind(s[name], first) {
			n.add(MissingField, i, "%s: %s is missing or of another type", kind, name)
		}
	}
	if kind != "user_input" && kind != "model_output" || !s.has("content") {
		return
	}
	list, ok := asArray(s["content"])
	if !ok {
		n.add(BadJSON, i, "content is not an array")
	}
	for _, raw := range list {
		if p := asObject(raw); p.text("type") == "" || p.text("type") == "text" && !isKind(p["text"], '"') {
			n.add(MissingField, i, "a part without type or text")
		}
	}
}

// pairs checks calls of functions against results: each call has one result behind it, unless
// the interaction ends there. Google's own tools are not paired by the client.
func (n *interactions) pairs() {
	held := n.body.has("previous_interaction_id") || n.body.has("cached_content")
	open, done := map[string]int{}, map[string]bool{}
	for i, s := range n.steps {
		switch s.text("type") {
		case "function_call":
			id := s.text("id")
			if _, again := open[id]; again {
				n.add(DuplicateCall, i, "a second call with the id %q", id)
			}
			open[id] = i
			delete(done, id)
		case "function_result":
			id := s.text("call_id")
			_, called := open[id]
			switch {
			case called:
				delete(open, id)
				done[id] = true
			case done[id]:
				n.add(DuplicateResult, i, "a second result for %q", id)
			case !held:
				n.add(OrphanResult, i, "a result for %q, which was not called", id)
			}
		}
	}
	last := len(n.steps) - 1
	for last >= 0 && (n.steps[last].text("type") == "function_call" ||
		n.steps[last].text("type") == "function_result") {
		last--
	}
	for id, at := range open {
		if at > last {
			n.add(OpenEnd, at, "the call %q is not answered yet", id)
		} else {
			n.add(UnansweredCall, at, "the call %q is not answered", id)
		}
	}
}
