package wire

import (
	"bytes"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/internal/rawjson"
)

// TakeThinking gives the raw message of Anthropic's without its blocks of thinking.
// Where there are none, or nothing else that a message may consist of, the very slice
// is returned.
func TakeThinking(f Format, raw []byte) ([]byte, error) {
	e, err := open(f, raw)
	if err != nil || f != Anthropic {
		return raw, err
	}
	content := e.root.Get("content")
	if content.Kind() != rawjson.Array {
		return raw, nil
	}
	list := []byte{'['}
	took := false
	i := 0
	for part := range content.Elems() {
		thinks := e.msg.Parts[i].Kind == chat.Thinking
		if i++; thinks {
			took = true
			continue
		}
		if len(list) > 1 {
			list = append(list, ',')
		}
		list = append(list, part.Raw()...)
	}
	if !took || len(list) == 1 {
		return raw, nil
	}
	e.set(e.root, "content", append(list, ']'))
	return e.apply(), nil
}

// IsUnbound reports whether a provider refuses a request because something before a
// block of thinking is not as it was when the model thought so.
func IsUnbound(status int, body []byte) bool {
	return status == 400 && bytes.Contains(body, []byte("bound to a different conversation"))
}
