package wire

import "github.com/oriel-context/oriel/internal/rawjson"

// readAnthropic reads a message.
func (r *Reply) readAnthropic(root rawjson.Value) error {
	content := root.Get("content")
	if content.Kind() != rawjson.Array {
		return in(wrong(content, "an array"), "content")
	}
	r.Message = append(append([]byte(`{"role":"assistant","content":`), content.Raw()...), '}')
	r.Stop = root.Get("stop_reason").Str()
	r.Usage.readAnthropic(root.Get("usage"))
	r.Complete = true
	return nil
}

// readAnthropic reads the given counts and keeps the others: in a stream, each
// event holds the totals so far of what it names.
func (u *Usage) readAnthropic(v rawjson.Value) {
	if v.Kind() != rawjson.Object {
		return
	}
	u.HasUsage = true
	set(&u.Input, v.Get("input_tokens"))
	set(&u.Output, v.Get("output_tokens"))
	set(&u.CacheRead, v.Get("cache_read_input_tokens"))
	set(&u.Reasoning, v.Get("output_tokens_details").Get("thinking_tokens"))
	written := u.CacheWrite + u.CacheWrite1h
	set(&written, v.Get("cache_creation_input_tokens"))
	set(&u.CacheWrite1h, v.Get("cache_creation").Get("ephemeral_1h_input_tokens"))
	u.CacheWrite1h = min(u.CacheWrite1h, written)
	u.CacheWrite = written - u.CacheWrite1h
}
