package wire_test

import (
	"encoding/json"
	"testing"

	"pgregory.net/rapid"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/internal/test/eventstream"
	"github.com/oriel-context/oriel/wire"
)

type object = map[string]any

// Whatever a model thinks, says and calls, and into whichever pieces its server cuts
// that, it comes back letter by letter.
func TestStreamedRepliesComeBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		thought, text := rapid.String().Draw(t, "thought"), rapid.String().Draw(t, "text")
		calls := rapid.SliceOfN(rapid.MapOf(rapid.String(), rapid.String()), 0, 3).Draw(t, "calls")
		var sse []byte
		f := rapid.SampledFrom(wire.Protocols()).Draw(t, "format")
		reader := wire.NewStreamReader(f)
		if f.Protocol().Framed && rapid.Bool().Draw(t, "framed") {
			reader.Framing = wire.Frames
		}
		event := func(v any) {
			raw, err := json.Marshal(v)
			if err != nil {
				t.Fatal(err)
			}
			switch reader.Framing {
			case wire.Frames:
				sse = eventstream.AppendChunk(sse, raw)
				return
			case wire.Lines:
				sse = append(append(sse, raw...), '\n')
				return
			}
			sse = append(append(append(sse, "data: "...), raw...), "\n\n"...)
		}
		pieces := func(s string, send func(piece string)) {
			for rest := []rune(s); len(rest) > 0; {
				n := rapid.IntRange(1, len(rest)).Draw(t, "piece")
				send(string(rest[:n]))
				rest = rest[n:]
			}
		}
		args := func(i int) string {
			raw, _ := json.Marshal(calls[i])
			return string(raw)
		}
		id := func(i int) string { return string(rune('a' + i)) }

		switch f {
		case wire.Anthropic:
			block := func(i int, start object, member, kind, s string) {
				event(object{"type": "content_block_start", "index": i, "content_block": start})
				pieces(s, func(p string) {
					event(object{"type": "content_block_delta", "index": i, "delta": object{"type": kind, member: p}})
				})
				event(object{"type": "content_block_stop", "index": i})
			}
			event(object{"type": "message_start", "message": object{"content": []any{}}})
			block(0, object{"type": "thinking", "thinking": ""}, "thinking", "thinking_delta", thought)
			block(1, object{"type": "text", "text": ""}, "text", "text_delta", text)
			for i := range calls {
				block(2+i, object{"type": "tool_use", "id": id(i), "name": "f", "input": object{}}, "partial_json",
					"input_json_delta", args(i))
			}
			event(object{"type": "message_stop"})
		case wire.Chat:
			delta := func(d any) { event(object{"choices": []any{object{"index": 0, "delta": d}}}) }
			pieces(thought, func(p string) { delta(object{"reasoning_content": p}) })
			pieces(text, func(p string) { delta(object{"content": p}) })
			for i := range calls {
				delta(object{"tool_calls": []any{object{"index": i, "id": id(i), "type": "function",
					"function": object{"name": "f", "arguments": ""}}}})
				pieces(args(i), func(p string) {
					delta(object{"tool_calls": []any{object{"index": i, "function": object{"arguments": p}}}})
				})
			}
			event(object{"choices": []any{object{"index": 0, "delta": object{}, "finish_reason": "stop"}}})
		case wire.Responses:
			event(object{"type": "response.output_item.added", "output_index": 0,
				"item": object{"type": "reasoning", "summary": []any{}}})
			pieces(thought, func(p string) {
				event(object{"type": "response.reasoning_summary_text.delta", "output_index": 0, "summary_index": 0,
					"delta": p})
			})
			event(object{"type": "response.output_item.added", "output_index": 1,
				"item": object{"type": "message", "role": "assistant", "content": []any{}}})
			pieces(text, func(p string) {
				event(object{"type": "response.output_text.delta", "output_index": 1, "content_index": 0, "delta": p})
			})
			for i := range calls {
				event(object{"type": "response.output_item.added", "output_index": 2 + i,
					"item": object{"type": "function_call", "call_id": id(i), "name": "f", "arguments": ""}})
				pieces(args(i), func(p string) {
					event(object{"type": "response.function_call_arguments.delta", "output_index": 2 + i, "delta": p})
				})
			}
			event(object{"type": "response.completed", "response": object{"status": "completed", "output": []any{}}})
		case wire.Interactions:
			step := func(i int, begun any, deltas func(delta func(d object))) {
				event(object{"event_type": "step.start", "index": i, "step": begun})
				deltas(func(d object) { event(object{"event_type": "step.delta", "index": i, "delta": d}) })
				event(object{"event_type": "step.stop", "index": i})
			}
			step(0, object{"type": "thought"}, func(delta func(object)) {
				pieces(thought, func(p string) {
					delta(object{"type": "thought_summary", "content": object{"type": "text", "text": p}})
				})
				delta(object{"type": "thought_signature", "signature": "c2ln"})
			})
			step(1, object{"type": "model_output"}, func(delta func(object)) {
				pieces(text, func(p string) { delta(object{"type": "text", "text": p}) })
			})
			for i := range calls {
				step(2+i, object{"type": "function_call", "id": id(i), "name": "f", "arguments": object{}},
					func(delta func(object)) {
						pieces(args(i), func(p string) { delta(object{"type": "arguments_delta", "arguments": p}) })
					})
			}
			event(object{"event_type": "interaction.completed", "interaction": object{"status": "completed"}})
		case wire.Gemini:
			part := func(p object, more ...any) {
				c := object{"index": 0, "content": object{"role": "model", "parts": []any{p}}}
				if len(more) > 0 {
					c["finishReason"] = more[0]
				}
				event(object{"candidates": []any{c}})
			}
			pieces(thought, func(p string) { part(object{"text": p, "thought": true}) })
			pieces(text, func(p string) { part(object{"text": p}) })
			for i := range calls {
				part(object{"functionCall": object{"id": id(i), "name": "f", "args": json.RawMessage(args(i))},
					"thoughtSignature": "c2ln"})
			}
			part(object{"text": ""}, "STOP")
		case wire.Ollama:
			say := func(m object) { event(object{"message": m, "done": false}) }
			pieces(thought, func(p string) { say(object{"content": "", "thinking": p}) })
			pieces(text, func(p string) { say(object{"content": p}) })
			for i := range calls {
				say(object{"tool_calls": []any{object{"id": id(i),
					"function": object{"name": "f", "arguments": calls[i]}}}})
			}
			event(object{"message": object{"content": ""}, "done": true})
		case wire.Converse:
			say := func(name string, v object) {
				raw, err := json.Marshal(v)
				if err != nil {
					t.Fatal(err)
				}
				sse = eventstream.Append(sse, name, raw)
			}
			delta := func(i int, d object) {
				say("contentBlockDelta", object{"contentBlockIndex": i, "delta": d})
			}
			say("messageStart", object{"role": "assistant"})
			pieces(thought, func(p string) { delta(0, object{"reasoningContent": object{"text": p}}) })
			delta(0, object{"reasoningContent": object{"signature": "c2ln"}})
			say("contentBlockStop", object{"contentBlockIndex": 0})
			pieces(text, func(p string) { delta(1, object{"text": p}) })
			for i := range calls {
				say("contentBlockStart", object{"contentBlockIndex": 2 + i,
					"start": object{"toolUse": object{"toolUseId": id(i), "name": "f"}}})
				pieces(args(i), func(p string) { delta(2+i, object{"toolUse": object{"input": p}}) })
			}
			say("messageStop", object{"stopReason": "end_turn"})
			say("metadata", object{"usage": object{"inputTokens": 1, "outputTokens": 1, "totalTokens": 2}})
		default:
			t.Fatalf("no stream of %v", f)
		}

		reply := readAll(reader, sse)
		if !reply.Complete || len(reply.Notes) > 0 {
			t.Fatalf("%+v", reply)
		}
		msgs, err := reply.Messages()
		if err != nil {
			t.Fatal(err)
		}
		var gotThought, gotText string
		var gotCalls []*chat.Part
		for i := range msgs {
			for j := range msgs[i].Parts {
				switch p := &msgs[i].Parts[j]; p.Kind {
				case chat.Thinking:
					gotThought += p.Text.String()
					for _, s := range p.Parts {
						gotThought += s.Text.String()
					}
				case chat.Text:
					gotText += p.Text.String()
				case chat.Call:
					gotCalls = append(gotCalls, p)
				}
			}
		}
		if gotThought != thought || gotText != text || len(gotCalls) != len(calls) {
			t.Fatalf("%q %q %d, want %q %q %d", gotThought, gotText, len(gotCalls), thought, text, len(calls))
		}
		for i, c := range gotCalls {
			if c.ID != id(i) || c.Name != "f" || c.Arguments() != args(i) {
				t.Fatalf("%s %s %s, want %s", c.ID, c.Name, c.Arguments(), args(i))
			}
		}
	})
}
