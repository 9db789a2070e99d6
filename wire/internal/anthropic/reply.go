package anthropic

import (
	"github.com/oriel-context/oriel/internal/rawjson"
	"github.com/oriel-context/oriel/wire/internal/protocol"
)

// readReply reads a message.
func readReply(r *protocol.Reply, root rawjson.Value) error {
	content := root.Get("content")
	if content.Kind() != rawjson.Array {
		return protocol.In(protocol.Wrong(content, "an array"), "content")
	}
	r.Message = append(append([]byte(`{"role":"assistant","content":`), content.Raw()...), '}')
	r.Stop = root.Get("stop_reason").Str()
	readUsage(&r.Usage, root.Get("usage"))
	diagnose(r, root)
	r.Complete = true
	return nil
}

// diagnose reads why the cache was missed, of a message or an event.
func diagnose(r *protocol.Reply, v rawjson.Value) {
	r.Diagnose(v.Get("diagnostics").Get("cache_miss_reason").Get("type"))
}

// readUsage reads the given counts and keeps the others: in a stream, each
// event holds the totals so far of what it names.
func readUsage(u *protocol.Usage, v rawjson.Value) {
	if v.Kind() != rawjson.Object {
		return
	}
	u.HasUsage = true
	protocol.SetCount(&u.Input, v.Get("input_tokens"))
	protocol.SetCount(&u.Output, v.Get("output_tokens"))
	protocol.SetCount(&u.CacheRead, v.Get("cache_read_input_tokens"))
	protocol.SetCount(&u.Reasoning, v.Get("output_tokens_details").Get("thinking_tokens"))
	written := u.CacheWrite + u.CacheWrite1h
	protocol.SetCount(&written, v.Get("cache_creation_input_tokens"))
	protocol.SetCount(&u.CacheWrite1h, v.Get("cache_creation").Get("ephemeral_1h_input_tokens"))
	u.CacheWrite1h = min(u.CacheWrite1h, written)
	u.CacheWrite = written - u.CacheWrite1h
	u.SetService(v.Get("speed")) // service_tier is about capacity, not about the price
}
