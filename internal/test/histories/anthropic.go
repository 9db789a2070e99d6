package histories

import (
	"strings"

	"pgregory.net/rapid"
)

// anthropicGen draws the messages of one Anthropic body.
type anthropicGen struct {
	*gen
	messages *list
	manual   bool // manual thinking: tool loops must begin with thinking
	// waiting are results of server tools that the next assistant message
	// contains.
	waiting []any
	// cacheable are the places for cache breakpoints.
	cacheable map[*object]bool
}

func anthropicBody(g *gen) (*object, *list) {
	mode := g.pick("thinking", "none", "adaptive", "enabled", "disabled")
	a := &anthropicGen{gen: g, manual: mode == "enabled"}

	tools := a.tools()
	system := a.system()
	a.messages = g.list()
	for i := range g.opt.Turns {
		a.exchange(i == g.opt.Turns-1)
	}

	body := obj("model", "claude-x", "max_tokens", 1000, "messages", a.messages)
	if system != nil {
		body.add("system", system)
	}
	body.add("tools", tools)
	switch mode {
	case "none":
	case "enabled":
		body.add("thinking", obj("type", "enabled", "budget_tokens", 1024))
	default:
		body.add("thinking", obj("type", mode))
	}
	a.fields(body)
	a.breakpoints(tools, system, a.messages)
	return g.extras(body), a.messages
}

// fields adds fields beside the history.
func (a *anthropicGen) fields(body *object) {
	if a.one(2, "stream") {
		body.add("stream", true)
	}
	if a.one(3, "metadata") {
		body.add("metadata", obj("user_id", `{"device_id":"d","session_id":"s"}`))
	}
	if a.one(3, "context_management") {
		body.add("context_management", raw(`{"edits":[{"type":"clear_thinking_20251015","keep":"all"}]}`))
	}
	if a.one(4, "sampling") {
		body.add("temperature", raw("1.0")).add("stop_sequences", &list{})
	}
}

func (a *anthropicGen) tools() *list {
	tools := &list{}
	for _, name := range []string{"read", "exec_command", "mcp__files__list"} {
		tool := obj("name", name, "input_schema", raw(`{"type":"object","properties":{}}`))
		tools.items = append(tools.items, a.mark(tool))
	}
	tools.items = append(tools.items, obj("type", "web_search_20250305", "name", "web_search"))
	return tools
}

// system draws the system prompt: absent, a string or blocks.
func (a *anthropicGen) system() any {
	switch a.pick("system", "none", "string", "blocks") {
	case "string":
		return a.text()
	case "blocks":
		blocks := &list{}
		for range 1 + a.upTo(2, "system blocks") {
			blocks.items = append(blocks.items, a.mark(obj("type", "text", "text", a.text())))
		}
		return blocks
	}
	return nil
}

// mark notes a block that may carry a cache breakpoint.
func (a *anthropicGen) mark(b *object) *object {
	if a.cacheable == nil {
		a.cacheable = make(map[*object]bool)
	}
	a.cacheable[b] = true
	return b
}

// breakpoints puts up to four of them, those of one hour first in the order of
// the parts.
func (a *anthropicGen) breakpoints(parts ...any) {
	var places []*object
	var walk func(v any)
	walk = func(v any) {
		switch v := v.(type) {
		case *list:
			for _, item := range v.items {
				walk(item)
			}
		case *object:
			if a.cacheable[v] {
				places = append(places, v)
			}
			for _, m := range v.members {
				walk(m.value)
			}
		}
	}
	for _, part := range parts {
		walk(part)
	}
	n := a.upTo(min(4, len(places)), "breakpoints")
	hours := a.upTo(n, "of one hour")
	at := 0
	for i := range n {
		left := len(places) - at - (n - i - 1)
		at += rapid.IntRange(0, left-1).Draw(a.t, "breakpoint")
		control := obj("type", "ephemeral")
		if i < hours {
			control.add("ttl", "1h")
		}
		places[at].add("cache_control", control)
		at++
	}
}

// exchange draws a prompt and what the agent does with it.
func (a *anthropicGen) exchange(last bool) {
	for range 1 + a.upTo(2, "more prompts")/2 {
		a.say("user", a.userContent())
	}
	end := ""
	if last {
		end = a.pick("end", "prompt", "results", "answer", "prefill", "paused", "empty")
	}
	if end == "prompt" {
		a.reminder()
		return
	}
	rounds := a.upTo(3, "rounds")
	if a.one(15, "long loop") {
		rounds = 12
	}
	for range rounds {
		a.reminder()
		a.round()
	}
	switch end {
	case "results":
		a.reminder()
	case "prefill":
		// A prefilled answer may not end in white space.
		a.say("assistant", strings.TrimSpace(a.text())+".")
	case "paused":
		a.say("assistant",
			a.list(append(a.opening(), obj("type", "server_tool_use", "id", a.call("srvtoolu_"), "name", "web_search",
				"input", raw("{}")))...))
	case "empty":
		if len(a.waiting) == 0 {
			a.say("assistant", &list{})
		}
	default:
		// The user may speak before the agent has answered.
		if !last && rounds > 0 && a.one(4, "interrupted") {
			return
		}
		a.reminder()
		a.answer(last)
	}
}

// reminder draws a system message, which stands after a user message and before
// an assistant message or the end.
func (a *anthropicGen) reminder() {
	if !a.one(4, "reminder") {
		return
	}
	a.say("system", a.text())
	if a.one(4, "second reminder") {
		m := obj("role", "system", "content", &list{[]any{obj("type", "text", "text", a.text())}})
		a.messages.items = append(a.messages.items, m.add("clear_at", "next_user_message"))
	}
}

func (a *anthropicGen) say(role string, content any) {
	a.messages.items = append(a.messages.items, a.extras(obj("role", role, "content", content)))
}

// answer draws an assistant message that calls no client tool.
func (a *anthropicGen) answer(last bool) {
	if !a.manual && len(a.waiting) == 0 && a.one(2, "string answer") {
		text := a.text()
		if last {
			text = strings.TrimSpace(text) + "."
		}
		a.say("assistant", text)
		return
	}
	blocks := a.opening()
	for range a.upTo(2, "server tools") {
		blocks = append(blocks, a.serverTool()...)
	}
	blocks = append(blocks, a.mark(obj("type", "text", "text", strings.TrimSpace(a.text())+".")))
	a.pieces(blocks)
}

// pieces puts blocks into one assistant message or several.
func (a *anthropicGen) pieces(blocks []any) {
	for len(blocks) > 1 && a.one(5, "pieces") {
		a.say("assistant", a.list(blocks[0]))
		blocks = blocks[1:]
	}
	a.say("assistant", a.list(blocks...))
}

// opening draws what may stand first in an assistant message: thinking, and the
// results of server tools that waited for client tools.
func (a *anthropicGen) opening() []any {
	var blocks []any
	n := a.upTo(2, "thinking blocks")
	if a.manual {
		n = max(n, 1)
	}
	for range n {
		if a.one(4, "redacted") {
			blocks = append(blocks, obj("type", "redacted_thinking", "data", a.blob()))
			continue
		}
		thinking := ""
		if a.one(2, "display") {
			thinking = a.text()
		}
		blocks = append(blocks, obj("type", "thinking", "thinking", thinking, "signature", a.blob()))
	}
	blocks = append(blocks, a.waiting...)
	a.waiting = nil
	return blocks
}

// round draws an assistant message with client tools, and their results.
func (a *anthropicGen) round() {
	blocks := a.opening()
	if a.one(2, "words") {
		blocks = append(blocks, a.mark(obj("type", "text", "text", a.text())))
	}
	if a.one(6, "server tool") {
		blocks = append(blocks, a.serverTool()...)
	}
	if a.one(10, "waiting server tool") {
		pair := a.serverTool()
		blocks = append(blocks, pair[0])
		a.waiting = append(a.waiting, pair[1])
	}
	var results []any
	for range 1 + a.upTo(3, "parallel calls") {
		c := a.call("toolu_")
		blocks = append(blocks, a.mark(obj("type", "tool_use", "id", c, "name", a.tool(), "input", raw(a.arguments()))))
		results = append(results, a.result(c))
	}
	a.pieces(blocks)

	results = shuffled(a.gen, results)
	for len(results) > 1 && a.one(5, "split results") {
		a.say("user", a.list(results[0]))
		results = results[1:]
	}
	if a.one(6, "text after results") {
		results = append(results, a.mark(obj("type", "text", "text", a.text())))
	}
	a.say("user", a.list(results...))
}
