package anthropic

import (
	"bytes"

	"github.com/oriel-context/oriel/internal/rawjson"
)

// dropBeta is the value of the header anthropic-beta that a request with dropField needs.
const dropBeta = "thinking-binding-controls-2026-08-01"

// dropField has the provider drop thinking that lost its place, where it would refuse the
// request.
const dropField = `"block_binding":{"prefix_mismatch_behavior":"drop_block"}`

// askDrop adds the field. Models that bind their thinking think adaptively, whether asked to or
// not. A request that asks for anything else is for another model, one with a choice of its own
// keeps that, and clouds have other rules: they stay as they are.
func askDrop(body []byte) []byte {
	d, err := rawjson.Parse(body, rawjson.Limits{})
	if err != nil || d.Root().Kind() != rawjson.Object || d.Root().Has("anthropic_version") {
		return body
	}
	thinking := d.Root().Get("thinking")
	switch {
	case !thinking.Exists():
		return insertAt(body, bytes.IndexByte(body, '{')+1, `"thinking":{"type":"adaptive",`+dropField+`},`)
	case thinking.Get("type").EqualStr("adaptive") && !thinking.Has("block_binding"):
		start, _ := thinking.Span()
		return insertAt(body, start+1, dropField+",")
	}
	return body
}

// insertAt returns body with a text at i.
func insertAt(body []byte, i int, text string) []byte {
	out := make([]byte, 0, len(body)+len(text))
	return append(append(append(out, body[:i]...), text...), body[i:]...)
}
