package wire_test

import (
	"errors"
	"runtime"
	"strings"
	"testing"

	"github.com/oriel-context/oriel/wire"
)

// repeat is head, n times piece with commas between, and tail.
func repeat(head, piece string, n int, tail string) []byte {
	return []byte(head + strings.Repeat(piece+",", n-1) + piece + tail)
}

// A body with too many parts, messages, tools or members is refused before memory is
// spent on them.
func TestBodiesOfManySmallThingsAreRefused(t *testing.T) {
	if testing.Short() {
		t.Skip("computes for long, and nothing beside it")
	}
	const half = `,{"role":"user","content":[`
	for name, c := range map[string]struct {
		format            wire.Format
		head, piece, tail string
		least             int // that are too many
	}{
		"parts of Anthropic": {wire.Anthropic, `{"messages":[{"role":"user","content":[`, `{}`, `]}]}`,
			wire.MaxParts + 1},
		"parts of Chat": {wire.Chat, `{"messages":[{"role":"user","content":[`, `{}`, `]}]}`,
			wire.MaxParts + 1},
		"parts of Responses": {wire.Responses, `{"input":[{"role":"user","content":[`, `{}`, `]}]}`,
			wire.MaxParts + 1},
		"parts of a result": {wire.Anthropic,
			`{"messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":[`, `{}`,
			`]}]}]}`, wire.MaxParts},
		"results of one part": {wire.Anthropic, `{"messages":[{"role":"user","content":[`,
			`{"type":"tool_result","content":{}}`, `]}]}`, wire.MaxParts/2 + 1},
		"parts of the prompt": {wire.Anthropic, `{"messages":[],"system":[`, `{}`, `]}`, wire.MaxParts + 1},
		"calls": {wire.Chat, `{"messages":[{"role":"assistant","tool_calls":[`, `{}`, `]}]}`,
			wire.MaxParts + 1},
		"summaries": {wire.Responses, `{"input":[{"type":"reasoning","summary":[`, `{}`, `]}]}`,
			wire.MaxParts},
		"messages": {wire.Chat, `{"messages":[`, `{"role":"user"}`, `]}`, wire.MaxParts + 1},
		"beside a content": {wire.Chat, `{"messages":[`, `{"role":"a","refusal":"","reasoning":""}`, `]}`,
			wire.MaxParts/2 + 1},
		"texts":   {wire.Chat, `{"messages":[`, `{"role":"user","content":""}`, `]}`, wire.MaxParts + 1},
		"items":   {wire.Responses, `{"input":[`, `{}`, `]}`, wire.MaxParts + 1},
		"tools":   {wire.Chat, `{"messages":[],"tools":[`, `{}`, `]}`, wire.MaxParts + 1},
		"members": {wire.Chat, `{"messages":[],`, `"a":0`, `}`, wire.MaxParts},
		"parts of two messages": {wire.Chat, `{"messages":[{"role":"user","content":[{},{},{}]}` + half, `{}`, `]}]}`,
			wire.MaxParts - 2},
	} {
		lim := wire.Limits{Parts: wire.MaxParts}
		if _, err := wire.Read(repeat(c.head, c.piece, c.least-1, c.tail), c.format, lim); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		_, err := wire.Read(repeat(c.head, c.piece, c.least, c.tail), c.format, lim)
		var e *wire.Error
		if !errors.As(err, &e) || !e.TooMany {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Of a body that is refused for its parts nothing is held but the tape.
func TestRefusedPartsTakeNoMemory(t *testing.T) {
	const parts = 1 << 20
	body := repeat(`{"messages":[{"role":"user","content":[`, `{}`, parts, `]}]}`)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if _, err := wire.Read(body, wire.Chat, wire.Limits{Parts: wire.MaxParts}); err == nil {
		t.Error("not refused")
	}
	runtime.ReadMemStats(&after)
	// The tape has 12 bytes a value and doubles, or less, as it grows.
	if got := after.TotalAlloc - before.TotalAlloc; got > 12*parts*8 {
		t.Errorf("%d bytes for %d parts", got, parts)
	}
}

// A schema of a tool may have as many values as it likes.
func TestSchemasAreNotCounted(t *testing.T) {
	body := repeat(`{"messages":[],"tools":[{"name":"a","input_schema":{"enum":[`, `{}`, 3*wire.MaxParts, `]}}]}`)
	if _, err := wire.Read(body, wire.Anthropic, wire.Limits{Parts: wire.MaxParts}); err != nil {
		t.Error(err)
	}
}

// A reply of too many parts is refused, whole or streamed.
func TestRepliesOfManyPartsAreRefused(t *testing.T) {
	if testing.Short() {
		t.Skip("computes for long, and nothing beside it")
	}
	var e *wire.Error
	const n = wire.MaxParts + 1
	for name, c := range map[string]struct {
		format     wire.Format
		head, tail string
	}{
		"blocks": {wire.Anthropic, `{"content":[`, `]}`},
		"calls":  {wire.Chat, `{"choices":[{"index":0,"message":{"role":"assistant","tool_calls":[`, `]}}]}`},
		"items":  {wire.Responses, `{"status":"completed","output":[`, `]}`},
		"parts": {wire.Responses, `{"status":"completed","output":[{"type":"message","role":"assistant","content":[`,
			`]}]}`},
	} {
		reply, err := wire.ReadReply(c.format, repeat(c.head, `{}`, n, c.tail))
		if err == nil {
			_, err = reply.Messages()
		}
		if !errors.As(err, &e) || !e.TooMany {
			t.Errorf("%s: %v", name, err)
		}
		reply, err = wire.ReadReply(c.format, repeat(c.head, `{}`, n-1, c.tail))
		if err == nil {
			_, err = reply.Messages()
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	r := wire.NewStreamReader(wire.Chat)
	r.Write(repeat(`data: {"choices":[{"index":0,"finish_reason":"stop","delta":{"content":[`, `{}`, n,
		"]}}]}\n\ndata: [DONE]\n\n"))
	if _, err := r.Reply().Messages(); !errors.As(err, &e) || !e.TooMany {
		t.Error(err)
	}
}
