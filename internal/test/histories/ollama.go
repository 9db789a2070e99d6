package histories

// ollamaGen draws the messages of one body for Ollama's own API.
type ollamaGen struct {
	*gen
	messages *list
	// ids is how calls and results are paired: newer servers give each call an id, which most
	// clients do not send back with its result.
	ids string
}

func ollamaBody(g *gen) (*object, *list) {
	o := &ollamaGen{gen: g, messages: g.list()}
	o.ids = g.pick("ids", "names", "nothing", "ids of calls", "both")
	for range g.upTo(2, "instructions") {
		o.instruct()
	}
	for i := range g.opt.Turns {
		o.exchange(i == g.opt.Turns-1)
	}
	body := obj("model", "qwen3:8b", "messages", o.messages)
	if g.one(2, "tools") {
		body.add("tools",
			&list{[]any{obj("type", "function", "function",
				obj("name", "read", "description", "reads", "parameters", raw(`{"type":"object","properties":{}}`)))}})
	}
	if g.one(2, "options") {
		body.add("options", obj("num_ctx", 8192, "num_predict", 100, "temperature", raw("1e0"),
			"stop", g.list("\n")))
	}
	if g.one(3, "stream") {
		body.add("stream", false)
	}
	if g.one(3, "think") {
		body.add("think", g.pick("think", "low", "high"))
	} else if g.one(3, "think") {
		body.add("think", true)
	}
	if g.one(4, "more") {
		body.add("keep_alive", "10m").add("format", raw(`{"type":"object"}`)).add("truncate", nil)
	}
	return g.extras(body), o.messages
}

func (o *ollamaGen) say(m *object) {
	o.messages.items = append(o.messages.items, o.extras(m))
}

// instruct draws a system message, which may stand anywhere but between a call and its
// results.
func (o *ollamaGen) instruct() { o.say(obj("role", "system", "content", o.text())) }

func (o *ollamaGen) exchange(last bool) {
	for range 1 + o.upTo(2, "more prompts")/2 {
		o.prompt()
	}
	if o.one(6, "instruct again") {
		o.instruct()
	}
	end := ""
	if last {
		end = o.pick("end", "prompt", "results", "answer")
	}
	if end == "prompt" {
		return
	}
	rounds := o.upTo(3, "rounds")
	if o.one(15, "long loop") {
		rounds = 12
	}
	for range rounds {
		o.round()
	}
	if end == "results" || !last && o.one(6, "interrupted") {
		return
	}
	o.answer()
}

func (o *ollamaGen) prompt() {
	m := obj("role", "user")
	switch o.pick("prompt", "text", "text", "text", "empty", "picture alone", "joined") {
	case "text":
		m.add("content", o.text())
	case "empty":
		m.add("content", "")
	case "joined": // what Oriel joins texts with, in words that are not Oriel's
		m.add("content", o.text()+"\u2063\n\n"+o.text())
	case "picture alone":
		o.say(m.add("content", o.pick("nothing", "", " ")).add("images", o.list(o.base64())))
		return
	}
	if o.one(4, "pictures") {
		images := o.list()
		for range 1 + o.upTo(2, "pictures") {
			images.items = append(images.items, o.base64())
		}
		m.add("images", images)
	}
	o.say(m)
}

// base64 draws the beginning of a picture.
func (o *ollamaGen) base64() string {
	return o.pick("picture", "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ", "/9j/4AAQSkZJRgABAQ==", "AAAA")
}

// round draws a batch of calls and the messages that answer it.
func (o *ollamaGen) round() {
	calls := o.list()
	var results []*object
	for i := range 1 + o.upTo(3, "parallel calls") {
		call := obj()
		name := o.tool()
		id := o.call("call_")
		if o.ids == "ids of calls" || o.ids == "both" {
			call.add("id", id)
		}
		function := obj("name", name, "arguments", raw(o.arguments()))
		if o.one(3, "index") {
			function.add("index", i)
		}
		calls.items = append(calls.items, call.add("function", function))
		result := obj("role", "tool", "content", o.text())
		if o.ids != "nothing" {
			result.add("tool_name", name)
		}
		if o.ids == "both" {
			result.add("tool_call_id", id)
		}
		if o.one(10, "picture of a tool") {
			result.add("images", o.list(o.base64()))
		}
		results = append(results, result)
	}
	m := obj("role", "assistant")
	switch o.pick("content of calls", "empty", "text", "absent", "null") {
	case "empty":
		m.add("content", "")
	case "text":
		m.add("content", o.text())
	case "null":
		m.add("content", nil)
	}
	if o.one(3, "thinking") {
		m.add("thinking", o.text())
	}
	o.say(m.add("tool_calls", calls))
	if o.ids != "nothing" {
		results = shuffled(o.gen, results)
	}
	for _, r := range results {
		o.say(r)
	}
}

func (o *ollamaGen) answer() {
	m := obj("role", "assistant")
	switch o.pick("answer", "text", "text", "text", "thinking", "empty") {
	case "text":
		m.add("content", o.text())
	case "thinking":
		m.add("content", o.text()).add("thinking", o.text())
	case "empty":
		m.add("content", "").add("images", nil).add("tool_calls", nil)
	}
	o.say(m)
}
