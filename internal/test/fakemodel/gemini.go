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
