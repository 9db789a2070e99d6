package wire_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/oriel-context/oriel/wire"
)

// deltas is a stream of n small deltas, in writes of a network's size.
func deltas(f wire.Format, n int) []byte {
	var b strings.Builder
	event := func(name, data string) {
		if name != "" {
			b.WriteString("event: " + name + "\n")
		}
		b.WriteString("data: " + data + "\n\n")
	}
	switch f {
	case wire.Anthropic:
		event("message_start",
			`{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","content":[],"model":"claude-sonnet-4-5","usage":{"input_tokens":25,"output_tokens":1}}}`)
		event("content_block_start",
			`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`)
		for range n {
			event("content_block_delta",
				`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":" token"}}`)
		}
		event("message_stop", `{"type":"message_stop"}`)
	case wire.Chat:
		for range n {
			event("", `{"id":"chatcmpl-123","object":"chat.completion.chunk","created":1694268190,"model":"gpt-4o-mini","system_fingerprint":"fp_44709d6fcb","choices":[{"index":0,"delta":{"content":" token"},"logprobs":null,"finish_reason":null}],"usage":null,"obfuscation":"x1y2z3"}`)
		}
		event("", "[DONE]")
	case wire.Responses:
		event("response.output_item.added",
			`{"type":"response.output_item.added","output_index":0,"item":{"id":"msg_1","type":"message","status":"in_progress","role":"assistant","content":[]}}`)
		for i := range n {
			event("response.output_text.delta",
				fmt.Sprintf(`{"type":"response.output_text.delta","sequence_number":%d,"item_id":"msg_67c9fdcf37fc8190ba82116e33fb28c507b8b0ad4e5eb654","output_index":0,"content_index":0,"delta":" token","logprobs":[],"obfuscation":"x1y2z3"}`, i))
		}
		event("response.completed", `{"type":"response.completed","response":{"status":"completed","output":[]}}`)
	}
	return []byte(b.String())
}

// BenchmarkStream reads 100,000 small deltas; ns/delta is what one costs.
func BenchmarkStream(b *testing.B) {
	const n = 100_000
	for _, f := range []wire.Format{wire.Anthropic, wire.Chat, wire.Responses} {
		sse := deltas(f, n)
		b.Run(f.String(), func(b *testing.B) {
			b.SetBytes(int64(len(sse)))
			b.ReportAllocs()
			for b.Loop() {
				r := wire.NewStreamReader(f)
				for rest := sse; len(rest) > 0; {
					k := min(len(rest), 4096)
					r.Write(rest[:k])
					rest = rest[k:]
				}
				if !r.Reply().Complete {
					b.Fatal("not complete")
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/delta")
		})
	}
}
