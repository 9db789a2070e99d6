package fakemodel

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/oriel-context/oriel/wire"
)

func chatCompletion(b *wire.Body, a *Answer) reply {
	id, finish := cmp.Or(a.ID, "chatcmpl-1"), "stop"
	message := object{"role": "assistant", "content": any(a.Text), "refusal": nil}
	if a.Text == "" {
		message["content"] = nil
	}
	var r reply
	chunk := func(delta object, finish any) {
		r.events = append(r.events, event{data: object{
			"id": id, "object": "chat.completion.chunk", "created": 1, "model": b.Model,
			"choices": []object{{"index": 0, "delta": delta, "logprobs": nil, "finish_reason": finish}},
		}})
	}
	chunk(object{"role": "assistant", "content": "", "refusal": nil}, nil)
	if a.Text != "" {
		for _, h := range halves(a.Text) {
			chunk(object{"content": h}, nil)
		}
	}
	var calls []object
	for i, c := range a.Calls {
		finish = "tool_calls"
		calls = append(calls, object{"id": c.ID, "type": "function",
			"function": object{"name": c.Name, "arguments": c.Arguments}})
		chunk(object{"tool_calls": []object{{"index": i, "id": c.ID, "type": "function",
			"function": object{"name": c.Name, "arguments": ""}}}}, nil)
		for _, h := range halves(c.Arguments) {
			chunk(object{"tool_calls": []object{{"index": i, "function": object{"arguments": h}}}}, nil)
		}
	}
	if calls != nil {
		message["tool_calls"] = calls
	}
	chunk(object{}, finish)
	usage := object{
		"prompt_tokens": a.Input + a.CacheRead, "completion_tokens": a.Output,
		"total_tokens":              a.Input + a.CacheRead + a.Output,
		"prompt_tokens_details":     object{"cached_tokens": a.CacheRead},
		"completion_tokens_details": object{"reasoning_tokens": 0},
	}
	for _, m := range b.Members() {
		if m.Name == "stream_options" && strings.Contains(string(m.Raw), "true") {
			r.events = append(r.events,
				event{data: object{"id": id, "object": "chat.completion.chunk", "created": 1, "model": b.Model,
					"choices": []object{}, "usage": usage}})
		}
	}
	r.events = append(r.events, event{text: "[DONE]"})
	r.whole = object{
		"id": id, "object": "chat.completion", "created": 1, "model": b.Model, "usage": usage,
		"choices": []object{{"index": 0, "message": message, "logprobs": nil, "finish_reason": finish}},
	}
	return r
}

func responses(b *wire.Body, a *Answer) reply {
	id := cmp.Or(a.ID, "resp_1")
	var r reply
	n := 0
	emit := func(kind string, data object) {
		data["type"], data["sequence_number"] = kind, n
		n++
		r.events = append(r.events, event{name: kind, data: data})
	}
	var output []object
	response := func(status string) object {
		out := object{
			"id": id, "object": "response", "created_at": 1, "status": status, "model": b.Model,
			"output": append([]object{}, output...), "error": nil,
			"incomplete_details": nil, "instructions": nil, "metadata": object{}, "parallel_tool_calls": true,
			"temperature": 1, "tool_choice": "auto", "tools": []any{}, "top_p": 1,
		}
		if a.Diagnosis != "" {
			out["prompt_cache_diagnostics"] = object{"type": "cache_miss", "reason": a.Diagnosis}
		}
		if status == "completed" {
			out["usage"] = object{
				"input_tokens": a.Input + a.CacheRead, "input_tokens_details": object{"cached_tokens": a.CacheRead},
				"output_tokens":         a.Output,
				"output_tokens_details": object{"reasoning_tokens": 0},
				"total_tokens":          a.Input + a.CacheRead + a.Output,
			}
		}
		return out
	}
	emit("response.created", object{"response": response("in_progress")})
	item := func(begun, done object, deltas func(index int)) {
		i := len(output)
		emit("response.output_item.added", object{"output_index": i, "item": begun})
		deltas(i)
		emit("response.output_item.done", object{"output_index": i, "item": done})
		output = append(output, done)
	}
	if a.Thinking != "" {
		done := object{"type": "reasoning", "id": "rs_" + id,
			"summary": []object{{"type": "summary_text", "text": a.Thinking}}, "encrypted_content": "ZW5jcnlwdGVk"}
		item(object{"type": "reasoning", "id": "rs_" + id, "summary": []object{}}, done, func(int) {})
	}
	if a.Compaction != "" {
		done := object{"type": "compaction", "id": "cmp_" + id, "encrypted_content": a.Compaction}
		item(done, done, func(int) {})
	}
	if a.Text != "" {
		part := object{"type": "output_text", "text": a.Text, "annotations": []any{}, "logprobs": []any{}}
		done := object{"type": "message", "id": "msg_" + id, "role": "assistant", "status": "completed",
			"content": []object{part}}
		item(object{"type": "message", "id": "msg_" + id, "role": "assistant", "status": "in_progress",
			"content": []object{}}, done, func(i int) {
			at := func(o object) object {
				o["item_id"], o["output_index"], o["content_index"] = "msg_"+id, i, 0
				return o
			}
			emit("response.content_part.added",
				at(object{"part": object{"type": "output_text", "text": "", "annotations": []any{},
					"logprobs": []any{}}}))
			for _, h := range halves(a.Text) {
				emit("response.output_text.delta", at(object{"delta": h, "logprobs": []any{}}))
			}
			emit("response.output_text.done", at(object{"text": a.Text, "logprobs": []any{}}))
			emit("response.content_part.done", at(object{"part": part}))
		})
	}
	for k, c := range a.Calls {
		own := fmt.Sprintf("fc_%s_%d", id, k)
		call := func(status, arguments string) object {
			o := object{"type": "function_call", "id": own, "call_id": c.ID, "name": c.Name, "arguments": arguments,
				"status": status}
			for _, t := range b.Tools { // a tool of a namespace has its own name
				if rest, ok := strings.CutPrefix(c.Name, t.Name+"."); ok {
					o["name"], o["namespace"] = rest, t.Name
				}
			}
			return o
		}
		item(call("in_progress", ""), call("completed", c.Arguments), func(i int) {
			for _, h := range halves(c.Arguments) {
				emit("response.function_call_arguments.delta", object{"item_id": own, "output_index": i, "delta": h})
			}
			emit("response.function_call_arguments.done",
				object{"item_id": own, "output_index": i, "arguments": c.Arguments, "name": c.Name})
		})
	}
	r.whole = response("completed")
	emit("response.completed", object{"response": r.whole})
	return r
}
