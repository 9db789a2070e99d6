package fakemodel

import (
	"cmp"
	"encoding/json"

	"github.com/oriel-context/oriel/wire"
)

func anthropic(b *wire.Body, a *Answer) reply {
	usage := object{"input_tokens": a.Input, "cache_read_input_tokens": a.CacheRead,
		"cache_creation_input_tokens": a.CacheWrite, "output_tokens": a.Output}
	stop := "end_turn"
	var content []object
	var r reply
	begin := object{
		"id": cmp.Or(a.ID, "msg_1"), "type": "message", "role": "assistant", "model": b.Model, "content": []any{},
		"stop_reason": nil, "stop_sequence": nil, "usage": usage,
	}
	r.events = append(r.events, event{name: "message_start", data: object{"type": "message_start", "message": begin}},
		event{name: "ping", data: object{"type": "ping"}})
	if a.Diagnosis != "" {
		begin["diagnostics"] = object{"cache_miss_reason": object{"type": a.Diagnosis, "cache_missed_input_tokens": 9}}
	}
	block := func(start, whole object, deltas ...object) {
		n := len(content)
		content = append(content, whole)
		r.events = append(r.events, event{name: "content_block_start",
			data: object{"type": "content_block_start", "index": n, "content_block": start}})
		for _, d := range deltas {
			r.events = append(r.events, event{name: "content_block_delta",
				data: object{"type": "content_block_delta", "index": n, "delta": d}})
		}
		r.events = append(r.events, event{name: "content_block_stop",
			data: object{"type": "content_block_stop", "index": n}})
	}
	deltas := func(kind, field, text string) []object {
		var out []object
		for _, h := range halves(text) {
			out = append(out, object{"type": kind, field: h})
		}
		return out
	}
	if a.Thinking != "" {
		block(object{"type": "thinking", "thinking": "", "signature": ""},
			object{"type": "thinking", "thinking": a.Thinking, "signature": "c2lnbmVk"},
			append(deltas("thinking_delta", "thinking", a.Thinking),
				object{"type": "signature_delta", "signature": "c2lnbmVk"})...)
	}
	if a.Text != "" {
		block(object{"type": "text", "text": ""}, object{"type": "text", "text": a.Text},
			deltas("text_delta", "text", a.Text)...)
	}
	if a.Compaction != "" {
		stop = "compaction"
		block(object{"type": "compaction", "content": nil}, object{"type": "compaction", "content": a.Compaction},
			object{"type": "compaction_delta", "content": a.Compaction})
	}
	for _, c := range a.Calls {
		stop = "tool_use"
		block(object{"type": "tool_use", "id": c.ID, "name": c.Name, "input": object{}},
			object{"type": "tool_use", "id": c.ID, "name": c.Name, "input": json.RawMessage(c.Arguments)},
			deltas("input_json_delta", "partial_json", c.Arguments)...)
	}
	r.events = append(r.events,
		event{name: "message_delta", data: object{"type": "message_delta",
			"delta": object{"stop_reason": stop, "stop_sequence": nil}, "usage": usage}},
		event{name: "message_stop", data: object{"type": "message_stop"}})
	r.whole = object{}
	for k, v := range begin {
		r.whole[k] = v
	}
	r.whole["content"], r.whole["stop_reason"] = content, stop
	return r
}
