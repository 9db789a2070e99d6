package chat

import (
	"github.com/oriel-context/oriel/internal/rawjson"
	"github.com/oriel-context/oriel/wire/internal/openai"
	"github.com/oriel-context/oriel/wire/internal/protocol"
)

// readReply reads a chat completion.
func readReply(r *protocol.Reply, root rawjson.Value) error {
	choices := root.Get("choices")
	if choices.Kind() != rawjson.Array {
		return protocol.In(protocol.Wrong(choices, "an array"), "choices")
	}
	openai.ReadUsage(&r.Usage, root.Get("usage"))
	r.Usage.SetService(root.Get("service_tier"))
	for c := range choices.Elems() {
		if protocol.Number(c.Get("index")) != 0 || r.Message != nil {
			r.Note("not kept: choices beside the first", nil)
			continue
		}
		m := c.Get("message")
		if m.Kind() != rawjson.Object {
			return protocol.In(protocol.At(protocol.In(protocol.Wrong(m, "an object"), "message"), 0), "choices")
		}
		r.Message = appendMessage(nil, m)
		r.Stop = c.Get("finish_reason").Str()
	}
	if r.Message == nil {
		return protocol.In(protocol.Fail(choices, "empty"), "choices")
	}
	r.Complete = true
	if e := root.Get("error"); e.Kind() == rawjson.Object { // OpenRouter, beside a partial reply
		r.Error = protocol.WrapError(e)
	}
	return nil
}

// appendMessage appends a reply's message in the form of a request: without
// members that only replies have, and with a recording by its id alone.
func appendMessage(dst []byte, m rawjson.Value) []byte {
	dst = append(dst, `{"role":"assistant"`...)
	for k, v := range m.Members() {
		value := v.Raw()
		switch string(protocol.Key(k)) {
		case "role", "annotations":
			continue
		case "audio":
			if id := v.Get("id"); id.Kind() == rawjson.String {
				value = append(append([]byte(`{"id":`), id.Raw()...), '}')
			}
		case "content":
		default:
			if v.Kind() == rawjson.Null {
				continue
			}
		}
		dst = append(append(append(append(dst, ','), k.Raw()...), ':'), value...)
	}
	return append(dst, '}')
}
