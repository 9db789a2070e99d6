package fakemodel

import (
	"encoding/json"

	"github.com/oriel-context/oriel/wire"
)

// converse writes an answer as Amazon Bedrock's Converse. A text has no event at its beginning.
func converse(_ *wire.Body, a *Answer) reply {
	stop := "end_turn"
	var content []object
	var r reply
	say := func(name string, data object) { r.events = append(r.events, event{name: name, data: data}) }
	say("messageStart", object{"role": "assistant", "p": "abc"})
	block := func(whole, start object, deltas ...object) {
		n := len(content)
		content = append(content, whole)
		if start != nil {
			say("contentBlockStart", object{"contentBlockIndex": n, "start": start})
		}
		for _, d := range deltas {
			say("contentBlockDelta", object{"contentBlockIndex": n, "delta": d, "p": "abcdefgh"})
		}
		say("contentBlockStop", object{"contentBlockIndex": n})
	}
	if a.Thinking != "" {
		var deltas []object
		for _, h := range halves(a.Thinking) {
			deltas = append(deltas, object{"reasoningContent": object{"text": h}})
		}
		block(object{"reasoningContent": object{"reasoningText": object{"text": a.Thinking, "signature": "c2lnbmVk"}}}, nil,
			append(deltas, object{"reasoningContent": object{"signature": "c2lnbmVk"}})...)
	}
	if a.Text != "" {
		var deltas []object
		for _, h := range halves(a.Text) {
			deltas = append(deltas, object{"text": h})
		}
		block(object{"text": a.Text}, nil, deltas...)
	}
	for _, c := range a.Calls {
		stop = "tool_use"
		var deltas []object
		for _, h := range halves(c.Arguments) {
			deltas = append(deltas, object{"toolUse": object{"input": h}})
		}
		block(object{"toolUse": object{"toolUseId": c.ID, "name": c.Name, "input": json.RawMessage(c.Arguments)}},
			object{"toolUse": object{"toolUseId": c.ID, "name": c.Name}}, deltas...)
	}
	usage := object{"inputTokens": a.Input, "outputTokens": a.Output, "totalTokens": a.Input + a.Output + a.CacheRead +
		a.CacheWrite, "cacheReadInputTokens": a.CacheRead, "cacheWriteInputTokens": a.CacheWrite}
	metrics := object{"latencyMs": 1}
	say("messageStop", object{"stopReason": stop})
	say("metadata", object{"usage": usage, "metrics": metrics})
	r.whole = object{"output": object{"message": object{"role": "assistant", "content": content}}, "stopReason": stop,
		"usage": usage, "metrics": metrics}
	return r
}

func bedrockFailure(message string) object { return object{"message": message} }
