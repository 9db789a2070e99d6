package strict

import "slices"

// Gemini judges a body for POST …:generateContent of Google's Gemini API.
//
// The model is in the path, so what holds for some models only is not judged: since Gemini 3 the
// first call of each step of the newest turn must have its thought signature ("Function call is
// missing a thought_signature in functionCall parts"). [SameThinking] compares signatures.
func Gemini(body []byte) []Problem {
	g := &gemini{body: asObject(body)}
	if g.body == nil {
		g.add(BadJSON, -1, "the body is not a JSON object")
		return g.list
	}
	if !g.read() {
		return g.list
	}
	for i, c := range g.contents {
		g.content(i, c)
	}
	g.join()
	g.order()
	return g.list
}

type gemini struct {
	problems
	body     object
	contents []object
	turns    []geminiTurn
}

// geminiTurn is a run of contents of one side.
type geminiTurn struct {
	model bool
	at    int // the first content
	parts []geminiPart
}

type geminiPart struct {
	object
	content int
}

// read parses the contents; it returns false if that is not possible.
func (g *gemini) read() bool {
	list, ok := asArray(g.body["contents"])
	switch {
	case !g.body.has("contents") || ok && len(list) == 0:
		// "* GenerateContentRequest.contents: contents is not specified".
		g.add(EmptyContent, -1, "no contents")
		return false
	case !ok:
		g.add(BadJSON, -1, "contents is not an array")
		return false
	}
	for i, raw := range list {
		c := asObject(raw)
		if c == nil {
			g.add(BadJSON, i, "a content is not an object")
			return false
		}
		g.contents = append(g.contents, c)
	}
	return true
}

// either returns the value of a member by one of the two spellings of Google's JSON.
func (o object) either(camel, snake string) rawValue {
	if v, ok := o[camel]; ok {
		return v
	}
	return o[snake]
}

// content checks one content by itself.
func (g *gemini) content(i int, c object) {
	role := c.text("role")
	// "Please use a valid role: user, model." Older clients send "function", which is
	// accepted.
	if c.has("role") && role != "user" && role != "model" && role != "function" && role != "" {
		g.add(UnknownRole, i, "role %q", role)
	}
	parts := g.partsOf(i, c)
	if len(parts) == 0 {
		// "Unable to submit request because it must have at least one parts field".
		g.add(EmptyContent, i, "no parts")
	}
	for _, p := range parts {
		if len(p) == 0 {
			// "contents[0].parts[0].data: required oneof field 'data' must have one
			// initialized field".
			g.add(BadPart, i, "a part without data")
		}
		if call := asObject(p.either("functionCall", "function_call")); call != nil {
			if call.text("name") == "" {
				// "function_call.name: Name cannot be empty."
				g.add(MissingField, i, "a call without name")
			}
			if role != "model" {
				g.add(WrongRole, i, "a call in a %q content", role)
			}
		}
		if result := asObject(p.either("functionResponse", "function_response")); result != nil {
			if result.text("name") == "" {
				// "function_response.name: Name cannot be empty."
				g.add(MissingField, i, "a result without name")
			}
			if result.has("response") && !isKind(result["response"], '{') {
				// "Invalid value at 'contents[2].parts[0].function_response.response'
				// (type.googleapis.com/google.protobuf.Struct)".
				g.add(BadJSON, i, "a response is not an object")
			}
			if role == "model" {
				g.add(WrongRole, i, "a result in a content of the model")
			}
		}
	}
}

// partsOf returns the parts of a content; one part may stand in the place of a list.
func (g *gemini) partsOf(i int, c object) (parts []object) {
	if one := asObject(c["parts"]); one != nil {
		return []object{one}
	}
	list, ok := asArray(c["parts"])
	if !ok && c.has("parts") {
		g.add(BadJSON, i, "parts is not an array")
	}
	for _, raw := range list {
		p := asObject(raw)
		if p == nil {
			g.add(BadJSON, i, "a part is not an object")
			continue
		}
		parts = append(parts, p)
	}
	return parts
}

// join makes turns of the contents.
//
// Doubtful: whether several contents of one side count as one turn. SDKs send a streamed reply
// as a content for each chunk.
func (g *gemini) join() {
	for i, c := range g.contents {
		model := c.text("role") == "model"
		if n := len(g.turns); n == 0 || g.turns[n-1].model != model {
			g.turns = append(g.turns, geminiTurn{model: model, at: i})
		}
		t := &g.turns[len(g.turns)-1]
		silent := &gemini{} // the content was judged
		for _, p := range silent.partsOf(i, c) {
			t.parts = append(t.parts, geminiPart{p, i})
		}
	}
}

// order checks calls against results. "Please ensure that function call turn comes immediately
// after a user turn or after a function response turn.", "Please ensure that function response
// turn comes immediately after a function call turn.", "Please ensure that the number of
// function response parts is equal to the number of function call parts of the function call
// turn."
func (g *gemini) order() {
	var open []geminiCall // of the turn before
	for n := range g.turns {
		t := &g.turns[n]
		if t.model {
			if open = t.calls(); len(open) > 0 && n == 0 {
				g.add(FirstRole, t.at, "the history begins with a call")
			}
			continue
		}
		g.answer(t, open)
		open = nil
	}
	for _, c := range open {
		g.add(OpenEnd, c.content, "the call of %q is not answered yet", c.name)
	}
}

// geminiCall is a call, or a result.
type geminiCall struct {
	id, name string
	content  int
	done     bool
}

func (t *geminiTurn) calls() []geminiCall { return t.all("functionCall", "function_call") }

func (t *geminiTurn) all(camel, snake string) (all []geminiCall) {
	for _, p := range t.parts {
		if o := asObject(p.either(camel, snake)); o != nil {
			all = append(all, geminiCall{o.text("id"), o.text("name"), p.content, false})
		}
	}
	return all
}

// answer pairs the results of a turn with the calls of the turn before: by id, else by name in
// their order.
func (g *gemini) answer(t *geminiTurn, open []geminiCall) {
	results := t.all("functionResponse", "function_response")
	for _, r := range results {
		byID := slices.IndexFunc(open, func(c geminiCall) bool { return r.id != "" && c.id == r.id && !c.done })
		again := slices.ContainsFunc(open, func(c geminiCall) bool { return r.id != "" && c.id == r.id && c.done })
		byName := slices.IndexFunc(open, func(c geminiCall) bool { return c.name == r.name && !c.done })
		switch {
		case byID >= 0:
			open[byID].done = true
		case again:
			g.add(DuplicateResult, r.content, "a second result for %q", r.id)
		case byName >= 0:
			open[byName].done = true
		default:
			g.add(OrphanResult, r.content, "a result of %q, which was not called", r.name)
		}
	}
	last := t == &g.turns[len(g.turns)-1]
	for _, c := range open {
		switch {
		case c.done:
		case last && len(results) < len(open):
			g.add(OpenEnd, c.content, "the call of %q is not answered yet", c.name)
		default:
			g.add(UnansweredCall, c.content, "the call of %q is not answered", c.name)
		}
	}
}
