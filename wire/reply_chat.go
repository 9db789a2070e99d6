package wire

import (
	"github.com/oriel-context/oriel/internal/rawjson"
	"github.com/oriel-context/oriel/wire/internal/protocol"
)

// readChat reads a chat completion.
func readChat(r *protocol.Reply, root rawjson.Value) error {
	choices := root.Get("choices")
	if choices.Kind() != rawjson.Array {
		return protocol.In(protocol.Wrong(choices, "an array"), "choices")
	}
	readOpenAIUsage(&r.Usage, root.Get("usage"))
	for c := range choices.Elems() {
		if protocol.Number(c.Get("index")) != 0 || r.Message != nil {
			r.Note("not kept: choices beside the first", nil)
			continue
		}
		m := c.Get("message")
		if m.Kind() != rawjson.Object {
			return protocol.In(protocol.At(protocol.In(protocol.Wrong(m, "an object"), "message"), 0), "choices")
		}
		r.Message = appendChatMessage(nil, m)
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

// appendChatMessage appends a reply's message in the form of a request: without
// members that only replies have, and with a recording by its id alone.
func appendChatMessage(dst []byte, m rawjson.Value) []byte {
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

// readOpenAI reads the usage of Chat or Responses, in which the input includes what
// came from the cache.
func readOpenAIUsage(u *protocol.Usage, v rawjson.Value) {
	if v.Kind() != rawjson.Object {
		return
	}
	*u = protocol.Usage{HasUsage: true}
	details, output := v.Get("prompt_tokens_details"), v.Get("completion_tokens_details")
	protocol.SetCount(&u.Input, v.Get("prompt_tokens"))
	protocol.SetCount(&u.Output, v.Get("completion_tokens"))
	if v.Has("input_tokens") { // Responses
		details, output = v.Get("input_tokens_details"), v.Get("output_tokens_details")
		protocol.SetCount(&u.Input, v.Get("input_tokens"))
		protocol.SetCount(&u.Output, v.Get("output_tokens"))
	}
	protocol.SetCount(&u.CacheRead, v.Get("prompt_cache_hit_tokens")) // DeepSeek
	protocol.SetCount(&u.CacheRead, details.Get("cached_tokens"))
	protocol.SetCount(&u.CacheWrite, details.Get("cache_write_tokens"))
	protocol.SetCount(&u.Reasoning, output.Get("reasoning_tokens"))
	u.CacheRead = min(u.CacheRead, u.Input)
	u.CacheWrite = min(u.CacheWrite, u.Input-u.CacheRead)
	u.Input -= u.CacheRead + u.CacheWrite
}
