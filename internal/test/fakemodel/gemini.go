package fakemodel

import (
	"cmp"
	"encoding/json"

	"github.com/oriel-context/oriel/wire"
)

// geminiFailure is an error of Google's servers.
func geminiFailure(message string) object {
	return object{"error": object{"code": 400, "message": message, "status": "INVALID_ARGUMENT"}}
}

// gemini answers as Google's Gemini API does. Without alt=sse a stream is a list of its events.
func gemini(b *wire.Body, a *Answer) reply {
	var parts []object
	if a.Thinking != "" {
		parts = append(parts, object{"text": a.Thinking, "thought": true})
	}
	if a.Text != "" {
		parts = append(parts, object{"text": a.Text})
	}
	for i, c := range a.Calls {
		part := object{"functionCall": object{"id": c.ID, "name": c.Name, "args": json.RawMessage(c.Arguments)}}
		if i == 0 {
			part["thoughtSignature"] = "c2lnbmVk"
		}
		parts = append(parts, part)
	}
	usage := object{"promptTokenCount": a.Input + a.CacheRead + a.CacheWrite,
		"cachedContentTokenCount": a.CacheRead, "candidatesTokenCount": a.Output,
		"totalTokenCount": a.Input + a.CacheRead + a.CacheWrite + a.Output}
	response := func(parts []object, stop string) object {
		candidate := object{"content": object{"role": "model", "parts": parts}, "index": 0}
		if stop != "" {
			candidate["finishReason"] = stop
		}
		out := object{"candidates": []object{candidate}, "modelVersion": b.Model, "responseId": cmp.Or(a.ID, "resp_1")}
		if a.Input+a.CacheRead+a.CacheWrite+a.Output > 0 {
			out["usageMetadata"] = usage
		}
		return out
	}
	r := reply{whole: response(parts, "STOP"), lists: true}
	for _, p := range parts {
		text, ok := p["text"].(string)
		if !ok {
			r.events = append(r.events, event{data: response([]object{p}, "")})
			continue
		}
		for _, piece := range halves(text) {
			part := object{"text": piece}
			if p["thought"] == true {
				part["thought"] = true
			}
			r.events = append(r.events, event{data: response([]object{part}, "")})
		}
	}
	r.events = append(r.events, event{data: response([]object{{"text": ""}}, "STOP")})
	return r
}

// interactions answers as Google's Interactions API does.
func interactions(b *wire.Body, a *Answer) reply {
	id := cmp.Or(a.ID, "int_1")
	var r reply
	emit := func(kind string, o object) {
		o["event_type"] = kind
		r.events = append(r.events, event{name: kind, data: o})
	}
	about := func(status string) object { return object{"id": id, "status": status, "model": b.Model} }
	emit("interaction.created", object{"interaction": about("in_progress")})
	var steps []object
	step := func(begun, whole object, deltas ...object) {
		n := len(steps)
		steps = append(steps, whole)
		emit("step.start", object{"index": n, "step": begun})
		for _, d := range deltas {
			emit("step.delta", object{"index": n, "delta": d})
		}
		emit("step.stop", object{"index": n})
	}
	texts := func(s string) (out []object) {
		for _, h := range halves(s) {
			out = append(out, object{"type": "text", "text": h})
		}
		return out
	}
	if a.Thinking != "" {
		var deltas []object
		for _, t := range texts(a.Thinking) {
			deltas = append(deltas, object{"type": "thought_summary", "content": t})
		}
		step(object{"type": "thought"}, object{"type": "thought", "signature": "c2lnbmVk",
			"summary": []object{{"type": "text", "text": a.Thinking}}},
			append(deltas, object{"type": "thought_signature", "signature": "c2lnbmVk"})...)
	}
	if a.Text != "" {
		step(object{"type": "model_output"}, object{"type": "model_output",
			"content": []object{{"type": "text", "text": a.Text}}}, texts(a.Text)...)
	}
	status := "completed"
	for _, c := range a.Calls {
		status = "requires_action"
		var deltas []object
		for _, h := range halves(c.Arguments) {
			deltas = append(deltas, object{"type": "arguments_delta", "arguments": h})
		}
		step(object{"type": "function_call", "id": c.ID, "name": c.Name, "arguments": object{}},
			object{"type": "function_call", "id": c.ID, "name": c.Name, "arguments": json.RawMessage(c.Arguments)},
			deltas...)
	}
	done := about(status)
	if prompt := a.Input + a.CacheRead + a.CacheWrite; prompt+a.Output > 0 {
		done["usage"] = object{"total_input_tokens": prompt, "total_cached_tokens": a.CacheRead,
			"total_output_tokens": a.Output, "total_tokens": prompt + a.Output}
	}
	emit("interaction.completed", object{"interaction": done})
	r.whole = object{"steps": steps}
	for k, v := range done {
		r.whole[k] = v
	}
	return r
}
