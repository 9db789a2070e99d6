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
		"texts":             {wire.Chat, `{"messages":[`, `{"role":"user","content":""}`, `]}`, wire.MaxParts + 1},
		"items":             {wire.Responses, `{"input":[`, `{}`, `]}`, wire.MaxParts + 1},
		"tools":             {wire.Chat, `{"messages":[],"tools":[`, `{}`, `]}`, wire.MaxParts + 1},
		"parts of Converse": {wire.Converse, `{"messages":[{"role":"user","content":[`, `{}`, `]}]}`, wire.MaxParts + 1},
		"tools of Converse": {wire.Converse, `{"messages":[],"toolConfig":{"tools":[`, `{}`, `]}}`, wire.MaxParts + 1},
		"members":           {wire.Chat, `{"messages":[],`, `"a":0`, `}`, wire.MaxParts},
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

// The time and memory to read a body follow its size, however many members its objects have. With
// time that grows with the square of it, the test would take hours.
func TestObjectsOfManyMembersAreReadOnce(t *testing.T) {
	const n = 900_000
	for name, c := range map[string]struct {
		format            wire.Format
		head, piece, tail string
	}{
		"a block of Converse":  {wire.Converse, `{"messages":[{"role":"user","content":[{`, `"a":0`, `}]}]}`},
		"a result of Converse": {wire.Converse, `{"messages":[{"role":"user","content":[{"toolResult":{"toolUseId":"t","content":[{`, `"a":0`, `}]}}]}]}`},
		"a part of Gemini":     {wire.Gemini, `{"contents":[{"role":"user","parts":[{`, `"a":0`, `}]}]}`},
		"a block of Anthropic": {wire.Anthropic, `{"messages":[{"role":"user","content":[{`, `"a":0`, `}]}]}`},
	} {
		if _, err := wire.Read(repeat(c.head, c.piece, n, c.tail), c.format, wire.Limits{Parts: wire.MaxParts}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The definitions of tools have together no more bytes than the body, so that counting them takes
// time that follows its size.
func TestDefinitionsOfToolsAreNotRepeated(t *testing.T) {
	for _, c := range []struct {
		format            wire.Format
		head, piece, tail string
	}{
		{wire.Converse, `{"messages":[],"toolConfig":{"tools":[{`, `"toolSpec":{"name":"a"}`, `}]}}`},
		{wire.Gemini, `{"contents":[],"tools":[{`, `"googleSearch":{}`, `}]}`},
	} {
		data := repeat(c.head, c.piece, 1000, c.tail)
		body, err := wire.Read(data, c.format, wire.Limits{Parts: wire.MaxParts})
		if err != nil {
			t.Fatal(err)
		}
		size := 0
		for _, tool := range body.Tools {
			size += len(tool.Raw)
		}
		if len(body.Tools) == 0 || size > 2*len(data) {
			t.Errorf("%s: %d bytes of %d tools in a body of %d", c.format, size, len(body.Tools), len(data))
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
