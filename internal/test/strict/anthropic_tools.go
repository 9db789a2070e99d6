package strict

import "strings"

// clientTools checks the calls that the client answers. "Each `tool_use` block
// must have a corresponding `tool_result` block in the next message" and "each
// `tool_result` block must have a corresponding `tool_use` block in the previous
// message".
func (a *anthropic) clientTools() {
	seen := make(map[string]bool)
	used := false
	var calls []block // of the turn before
	for i, t := range a.turns {
		if t.role != "assistant" {
			a.answers(calls, t, i == len(a.turns)-1)
			used = used || t.hasKind("tool_result")
			calls = nil
			continue
		}
		calls = nil
		for _, b := range t.blocks {
			if b.kind != "tool_use" {
				continue
			}
			used = true
			// "`tool_use` ids must be unique": over the whole request.
			if id := b.text("id"); seen[id] {
				a.add(DuplicateCall, b.msg, "tool_use id %q is used twice", id)
			} else {
				seen[id] = true
			}
			calls = append(calls, b)
		}
	}
	for _, b := range calls {
		a.add(OpenEnd, b.msg, "tool_use %q is not answered yet", b.text("id"))
	}
	// "Requests which include `tool_use` or `tool_result` blocks must define
	// tools". Doubtful: not every platform enforces it.
	if used && !a.hasTools() {
		a.add(MissingTools, -1, "tool blocks in the history, but no tools")
	}
}

// answers checks the user turn t against the calls of the assistant turn before.
func (a *anthropic) answers(calls []block, t turn, last bool) {
	open := make(map[string]bool, len(calls))
	for _, c := range calls {
		open[c.text("id")] = true
	}
	got := make(map[string]bool)
	onlyResults, late := true, false
	for _, b := range t.blocks {
		if b.kind != "tool_result" {
			onlyResults = false
			continue
		}
		id := b.text("tool_use_id")
		switch {
		case !open[id]:
			a.add(OrphanResult, b.msg, "tool_result for %q, which the turn before did not call", id)
			continue
		case got[id]:
			// "each tool_use must have a single result. Found multiple
			// `tool_result` blocks with id: …".
			a.add(DuplicateResult, b.msg, "a second tool_result for %q", id)
		}
		got[id] = true
		// "The tool_result blocks must come first in the content array. Any text
		// must come AFTER all tool results" (platform.claude.com, handle tool
		// calls); otherwise "tool_use ids were found without tool_result blocks
		// immediately after".
		if !onlyResults && !late {
			late = true
			a.add(ResultNotFirst, b.msg, "tool_result for %q after other content", id)
		}
	}
	for _, c := range calls {
		id := c.text("id")
		switch {
		case got[id]:
		case last && onlyResults:
			a.add(OpenEnd, c.msg, "tool_use %q is not answered yet", id)
		default:
			a.add(UnansweredCall, c.msg, "tool_use %q is not answered in the next turn", id)
		}
	}
}

// serverResult reports whether kind is the result of a tool that the vendor runs:
// web_search_tool_result, code_execution_tool_result, mcp_tool_result and so on.
func serverResult(kind string) bool {
	return strings.HasSuffix(kind, "_tool_result")
}

// serverTools checks the calls that the vendor answers inside assistant turns.
// "Each `advisor_tool_result` block must have a corresponding `server_tool_use`
// block before it" and "'web_search' tool use with id … was found without a
// corresponding 'web_search_tool_result' block".
//
// A call may wait over results of client tools: in programmatic tool calling and
// when it was made in one batch with client tools (server tools,
// platform.claude.com). It may be the end of the history when the turn was
// paused (stop_reason pause_turn). A new prompt ends the wait.
func (a *anthropic) serverTools() {
	waiting := make(map[string]block)
	answered := make(map[string]bool)
	var order []string
	for _, t := range a.turns {
		if t.role != "assistant" {
			if t.hasKind("tool_result") {
				continue
			}
			for _, id := range order {
				if b, ok := waiting[id]; ok {
					a.add(UnansweredCall, b.msg, "%s %q has no result", b.kind, id)
				}
			}
			clear(waiting)
			order = order[:0]
			continue
		}
		for _, b := range t.blocks {
			switch {
			case b.kind == "server_tool_use" || b.kind == "mcp_tool_use":
				id := b.text("id")
				waiting[id] = b
				order = append(order, id)
			case serverResult(b.kind):
				id := b.text("tool_use_id")
				switch _, ok := waiting[id]; {
				case ok:
					delete(waiting, id)
					answered[id] = true
				case answered[id]:
					a.add(DuplicateResult, b.msg, "a second %s for %q", b.kind, id)
				default:
					a.add(OrphanResult, b.msg, "%s for %q, which was not called before", b.kind, id)
				}
			}
		}
	}
}
