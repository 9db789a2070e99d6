package fakemodel

import (
	"encoding/json"

	"github.com/oriel-context/oriel/wire"
)

func ollama(b *wire.Body, a *Answer) reply {
	var r reply
	line := func(message object, done bool) object {
		return object{"model": b.Model, "created_at": "2026-11-19T20:00:00.000000001Z", "message": message,
			"done": done}
	}
	say := func(message object) {
		message["role"] = "assistant"
		r.events = append(r.events, event{data: line(message, false)})
	}
	for _, h := range pieces(a.Thinking) {
		say(object{"content": "", "thinking": h})
	}
	for _, h := range pieces(a.Text) {
		say(object{"content": h})
	}
	var calls []object
	for i, c := range a.Calls {
		function := object{"index": i, "name": c.Name, "arguments": json.RawMessage(c.Arguments)}
		calls = append(calls, object{"id": c.ID, "function": function})
		say(object{"content": "", "tool_calls": calls[i:]})
	}
	end := line(object{"role": "assistant", "content": ""}, true)
	end["done_reason"] = "stop"
	for name, n := range map[string]int{"total_duration": 4883583458, "load_duration": 1334875,
		"prompt_eval_count": a.Input + a.CacheRead + a.CacheWrite, "prompt_eval_duration": 342546000,
		"eval_count": a.Output, "eval_duration": 4535599000} {
		if n > 0 { // omitempty
			end[name] = n
		}
	}
	r.events = append(r.events, event{data: end})
	r.whole = object{}
	for name, v := range end {
		r.whole[name] = v
	}
	message := object{"role": "assistant", "content": a.Text}
	if a.Thinking != "" {
		message["thinking"] = a.Thinking
	}
	if calls != nil {
		message["tool_calls"] = calls
	}
	r.whole["message"] = message
	return r
}

// pieces is halves without a piece of nothing.
func pieces(s string) []string {
	if s == "" {
		return nil
	}
	return halves(s)
}

func ollamaFailure(message string) object { return object{"error": message} }
