package histories

import "strings"

// responsesGen draws the input of one Responses body.
type responsesGen struct {
	*gen
	items *list
}

func responsesBody(g *gen) (*object, *list) {
	r := &responsesGen{gen: g, items: g.list()}
	body := obj("model", "gpt-x")
	if g.one(12, "string input") {
		return g.extras(body.add("input", g.text())), r.items
	}
	if g.one(10, "stored before") {
		// The call is in the response before; only its output is here.
		body.add("previous_response_id", "resp_1")
		r.put(obj("type", "function_call_output", "call_id", g.call("call_"), "output", g.text()))
	}
	for range g.upTo(2, "instructions") {
		r.message(g.pick("instruct", "developer", "system"))
	}
	if g.one(6, "mcp tools") {
		r.put(obj("type", "mcp_list_tools", "id", g.next("mcpl_"), "server_label", "s", "tools",
			&list{[]any{obj("name", "echo", "input_schema", raw("{}"))}}))
	}
	for i := range g.opt.Turns {
		r.exchange(i == g.opt.Turns-1)
	}
	body.add("input", r.items)
	if g.one(2, "instructions field") {
		body.add("instructions", g.text())
	}
	if g.one(2, "store") {
		body.add("store", false).add("include", raw(`["reasoning.encrypted_content"]`)).add("prompt_cache_key", "k")
	}
	if g.one(4, "truncation") {
		body.add("truncation", "disabled").add("max_output_tokens", 100)
	}
	return g.extras(body), r.items
}

func (r *responsesGen) put(it *object) {
	r.items.items = append(r.items.items, r.extras(it))
}

// message draws a message of the given role, with and without type and id, as a
// string or as parts.
func (r *responsesGen) message(role string) {
	m := obj("role", role)
	if r.one(2, "message type") {
		m.add("type", "message")
	}
	if r.one(3, "message id") {
		m.add("id", r.next("msg_"))
	}
	switch {
	case r.one(2, "string message"):
		m.add("content", r.text())
	case role == "assistant":
		parts := r.list(obj("type", "output_text", "text", r.text(), "annotations", &list{}))
		if r.one(6, "refusal") {
			parts.items = append(parts.items, obj("type", "refusal", "refusal", r.text()))
		}
		m.add("content", parts).add("status", "completed")
	default:
		parts := r.list(obj("type", "input_text", "text", r.text()))
		switch r.pick("second part", "none", "image", "file", "unknown") {
		case "image":
			parts.items = append(parts.items, obj("type", "input_image", "image_url", "https://example.com/a.png",
				"detail", "auto"))
		case "file":
			parts.items = append(parts.items, obj("type", "input_file", "file_id", "file_1"))
		case "unknown":
			parts.items = append(parts.items, obj("type", "x_hologram"))
		}
		m.add("content", parts)
	}
	r.put(m)
}

func (r *responsesGen) exchange(last bool) {
	for range 1 + r.upTo(2, "more prompts")/2 {
		r.message("user")
	}
	switch r.pick("between", "nothing", "nothing", "nothing", "developer", "compaction", "reference", "unknown") {
	case "developer":
		r.message("developer")
	case "compaction":
		r.put(obj("type", "compaction", "id", r.next("cmp_"), "encrypted_content", r.blob()))
	case "reference":
		ref := obj("id", r.next("msg_"))
		if r.one(2, "reference type") {
			ref.add("type", "item_reference")
		}
		r.items.items = append(r.items.items, ref)
	case "unknown":
		r.put(obj("type", "x_hologram", "call_id", "call_0001"))
	}
	end := ""
	if last {
		end = r.pick("end", "prompt", "results", "answer")
	}
	if end == "prompt" {
		return
	}
	rounds := r.upTo(3, "rounds")
	if r.one(15, "long loop") {
		rounds = 12
	}
	for range rounds {
		r.reasoning()
		r.round()
	}
	if end == "results" || !last && r.one(6, "interrupted") {
		return
	}
	r.reasoning()
	for range r.upTo(2, "vendor calls") {
		r.vendorCall()
	}
	r.message("assistant")
}

// reasoning draws what stands before an item of the model.
func (r *responsesGen) reasoning() {
	for range r.upTo(3, "reasoning") / 2 {
		it := obj("type", "reasoning", "id", r.next("rs_"), "summary", &list{})
		if r.one(2, "summary") {
			it = obj("id", r.next("rs_"), "type", "reasoning", "summary",
				&list{[]any{obj("type", "summary_text", "text", r.text())}})
		}
		if r.one(2, "encrypted") {
			it.add("encrypted_content", r.blob())
		}
		r.put(it)
	}
}

// round draws calls and the outputs that answer them, in any order.
func (r *responsesGen) round() {
	if r.one(8, "approval") {
		r.approval()
		return
	}
	var outputs []*object
	for range 1 + r.upTo(3, "parallel calls") {
		call, output := r.callAndOutput()
		r.put(call)
		outputs = append(outputs, output)
	}
	for _, o := range shuffled(r.gen, outputs) {
		r.put(o)
	}
}

func (r *responsesGen) callAndOutput() (call, output *object) {
	c := r.call("call_")
	kind := r.pick("call", "function", "function", "function", "custom", "local_shell", "shell", "apply_patch",
		"computer")
	switch kind {
	case "function":
		call = obj("type", "function_call", "call_id", c, "name", r.tool(), "arguments", r.arguments())
		output = obj("type", "function_call_output", "call_id", c, "output", r.text())
		if r.one(4, "output parts") {
			output = obj("output", &list{[]any{obj("type", "input_text", "text", r.text())}}, "call_id", c, "type",
				"function_call_output")
		}
	case "custom":
		call = obj("type", "custom_tool_call", "call_id", c, "name", "patch", "input", r.text())
		output = obj("call_id", c, "type", "custom_tool_call_output", "output", r.text())
	case "local_shell":
		call = obj("type", "local_shell_call", "call_id", c, "action", raw(`{"type":"exec","command":["ls"],"env":{}}`),
			"status", "completed")
		output = obj("type", "local_shell_call_output", "call_id", c, "output", r.text())
	case "shell":
		call = obj("type", "shell_call", "call_id", c, "action", raw(`{"commands":["ls"]}`))
		output = obj("type", "shell_call_output", "call_id", c, "output",
			&list{[]any{obj("stdout", r.text(), "stderr", "", "outcome", obj("type", "exit", "exit_code", 0))}})
	case "apply_patch":
		call = obj("type", "apply_patch_call", "call_id", c, "status", "completed", "operation",
			raw(`{"type":"delete_file","path":"a"}`))
		output = obj("type", "apply_patch_call_output", "call_id", c, "status", "completed", "output", "")
	case "computer":
		call = obj("type", "computer_call", "call_id", c, "id", r.next("cu_"), "action", raw(`{"type":"screenshot"}`),
			"pending_safety_checks", &list{})
		output = obj("type", "computer_call_output", "call_id", c, "output",
			obj("type", "computer_screenshot", "image_url", "data:image/png;base64,"+r.blob()))
	}
	if kind != "computer" && r.one(2, "call ids") {
		call.add("id", r.next(strings.ToLower(kind[:1])+"c_"))
	}
	return call, output
}

// approval draws a call that the user had to approve.
func (r *responsesGen) approval() {
	q := r.call("mcpr_")
	r.put(obj("type", "mcp_approval_request", "id", q, "server_label", "s", "name", "echo", "arguments", r.arguments()))
	r.put(obj("type", "mcp_approval_response", "approval_request_id", q, "approve", true))
	r.put(obj("type", "mcp_call", "id", r.next("mcp_"), "server_label", "s", "name", "echo", "arguments", r.arguments(),
		"approval_request_id", q, "output", r.text()))
}

// vendorCall draws a call that the vendor ran by itself.
func (r *responsesGen) vendorCall() {
	switch r.pick("vendor call", "web_search", "file_search", "code_interpreter", "image_generation", "mcp") {
	case "web_search":
		r.put(obj("type", "web_search_call", "id", r.next("ws_"), "status", "completed", "action",
			obj("type", "search", "query", r.text())))
	case "file_search":
		r.put(obj("type", "file_search_call", "id", r.next("fs_"), "status", "completed", "queries", &list{}, "results",
			nil))
	case "code_interpreter":
		r.put(obj("type", "code_interpreter_call", "id", r.next("ci_"), "status", "completed", "code", r.text(),
			"container_id", "c", "outputs", &list{}))
	case "image_generation":
		r.put(obj("type", "image_generation_call", "id", r.next("ig_"), "status", "completed", "result", r.blob()))
	case "mcp":
		r.put(obj("type", "mcp_call", "id", r.next("mcp_"), "server_label", "s", "name", "echo", "arguments",
			r.arguments(), "output", r.text(), "error", nil))
	}
}
