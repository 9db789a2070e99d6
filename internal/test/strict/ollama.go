package strict

import "strings"

// Ollama judges a body for Ollama's POST /api/chat. The server decodes it into Go values and
// refuses what does not fit them ("json: cannot unmarshal array into Go struct field
// ChatRequest.messages.content of type string"); it renders everything else with the model's
// template. What it does not check, but the documentation of tool calling shows as the only
// order, is a rule here too: results come right behind the message with their calls.
func Ollama(body []byte) []Problem {
	o := &ollama{body: asObject(body)}
	if o.body == nil {
		o.add(BadJSON, -1, "the body is not a JSON object")
		return o.list
	}
	// "model is required".
	if o.body.text("model") == "" {
		o.add(MissingField, -1, "model")
	}
	o.fields()
	list, ok := asArray(o.body["messages"])
	if !ok {
		// A body without messages loads the model.
		if o.body.has("messages") {
			o.add(BadJSON, -1, "messages is not an array")
		}
		return o.list
	}
	for i, raw := range list {
		m := asObject(raw)
		if m == nil {
			o.add(BadJSON, i, "a message is not an object")
			return o.list
		}
		o.messages = append(o.messages, m)
		o.message(i, m)
	}
	o.pairs()
	return o.list
}

type ollama struct {
	problems
	body     object
	messages []object
}

// fields checks the types of the other members (api/types.go, ChatRequest).
func (o *ollama) fields() {
	for name, kinds := range map[string]string{
		"stream": "tf", "options": "{", "tools": "[", "think": "tf\"", "truncate": "tf", "shift": "tf",
		"logprobs": "tf",
	} {
		if o.body.has(name) && !oneOf(o.body[name], kinds) {
			o.add(BadJSON, -1, "%s has another type", name)
		}
	}
	options := asObject(o.body["options"])
	for _, name := range []string{"num_ctx", "num_predict", "num_keep", "seed"} {
		// "option \"num_ctx\" must be of type integer".
		if options.has(name) && !oneOf(options[name], "-0123456789") {
			o.add(BadJSON, -1, "option %s is not a number", name)
		}
	}
	tools, _ := asArray(o.body["tools"])
	for _, raw := range tools {
		if f := asObject(asObject(raw)["function"]); f.text("name") == "" {
			o.add(MissingField, -1, "a tool without the name of its function")
		}
	}
}

// oneOf reports whether a value begins with one of the given bytes.
func oneOf(raw rawValue, first string) bool {
	for i := range len(first) {
		if isKind(raw, first[i]) {
			return true
		}
	}
	return false
}

// message checks one message by itself (api/types.go, Message; the API documentation: "the role of the
// message, either system, user, assistant, or tool").
func (o *ollama) message(i int, m object) {
	switch role := m.text("role"); role {
	case "system", "user", "assistant", "tool":
	default:
		o.add(UnknownRole, i, "role %q", role)
	}
	for _, name := range []string{"content", "thinking", "tool_name", "tool_call_id"} {
		if m.has(name) && !isKind(m[name], '"') {
			o.add(BadJSON, i, "%s is not a string", name)
		}
	}
	if m.text("role") == "user" && !m.has("content") && !m.has("images") {
		o.add(EmptyContent, i, "a user's message without content")
	}
	if m.has("images") {
		images, ok := asArray(m["images"])
		if !ok {
			o.add(BadJSON, i, "images is not an array")
		}
		for _, raw := range images {
			// "illegal base64 data at input byte 0".
			if s, ok := asString(raw); !ok || !isBase64(s) {
				o.add(BadJSON, i, "an image is not base64")
			}
		}
	}
	if !m.has("tool_calls") {
		return
	}
	calls, ok := asArray(m["tool_calls"])
	if !ok {
		o.add(BadJSON, i, "tool_calls is not an array")
	}
	for _, raw := range calls {
		f := asObject(asObject(raw)["function"])
		if f.text("name") == "" {
			o.add(MissingField, i, "a call without the name of its function")
		}
		if !isKind(f["arguments"], '{') {
			o.add(BadJSON, i, "the arguments of a call are not an object")
		}
	}
}

// isBase64 reports whether a text has only characters of base64. Doubtful: the server also
// refuses a wrong padding.
func isBase64(s string) bool {
	return strings.Trim(strings.TrimRight(s, "="),
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/") == ""
}

// pairs checks calls against results ("messages.append({'role': 'tool', 'tool_name':
// call.function.name, 'content': str(result)})" for each call, in the documentation of tool
// calling).
func (o *ollama) pairs() {
	for i := 0; i < len(o.messages); i++ {
		if o.messages[i].text("role") == "tool" {
			o.add(OrphanResult, i, "a tool's message that follows no tool_calls")
			continue
		}
		if calls, _ := asArray(o.messages[i]["tool_calls"]); o.messages[i].text("role") == "assistant" &&
			len(calls) > 0 {
			i = o.batch(i, calls)
		}
	}
}

// batch checks the results right behind the assistant message at i and returns the index of
// the last of them. A result names its call by id, by the tool, or by its place: the server
// compares no ids, and LiteLLM gives them to results alone.
func (o *ollama) batch(i int, calls []rawValue) int {
	type call struct {
		id, name string
		got      bool
	}
	var open []call
	for _, raw := range calls {
		c := asObject(raw)
		open = append(open, call{c.text("id"), asObject(c["function"]).text("name"), false})
	}
	at := i
	for at+1 < len(o.messages) && o.messages[at+1].text("role") == "tool" {
		at++
		id, name := o.messages[at].text("tool_call_id"), o.messages[at].text("tool_name")
		found, twice, byID := false, false, false
		for k := range open {
			byID = byID || id != "" && open[k].id == id
		}
		for k := range open {
			c := &open[k]
			switch {
			case byID && c.id != id, !byID && id != "" && c.id != "", !byID && name != "" && c.name != name:
				continue
			case c.got:
				twice = true
				continue
			}
			c.got, found = true, true
			break
		}
		switch {
		case found:
		case twice:
			o.add(DuplicateResult, at, "a second result for the call")
		default:
			o.add(OrphanResult, at, "a result of %q %q, which was not called", id, name)
		}
	}
	for _, c := range open {
		switch {
		case c.got:
		case at == len(o.messages)-1:
			o.add(OpenEnd, i, "a call of %q is not answered yet", c.name)
		default:
			o.add(UnansweredCall, i, "a call of %q is not answered", c.name)
		}
	}
	return at
}
