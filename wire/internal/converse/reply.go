package converse

import (
	"github.com/oriel-context/oriel/internal/rawjson"
	"github.com/oriel-context/oriel/wire/internal/protocol"
)

// readReply reads a reply that was not streamed.
func readReply(r *protocol.Reply, root rawjson.Value) error {
	message := root.Get("output").Get("message")
	if message.Kind() != rawjson.Object {
		return protocol.In(protocol.Wrong(message, "an object"), "output.message")
	}
	r.Message = message.Raw()
	r.Stop = root.Get("stopReason").Str()
	readUsage(&r.Usage, root.Get("usage"))
	r.Usage.SetService(root.Get("serviceTier").Get("type"))
	readTrace(r, root.Get("trace"))
	r.Complete = true
	return nil
}

// readTrace reads which model a router of prompts has chosen.
func readTrace(r *protocol.Reply, v rawjson.Value) {
	protocol.SetFirst(&r.Model, v.Get("promptRouter").Get("invokedModelId"))
}

// readUsage reads counts. Those of the cache are not part of the input.
func readUsage(u *protocol.Usage, v rawjson.Value) {
	if v.Kind() != rawjson.Object {
		return
	}
	u.HasUsage = true
	written := 0
	protocol.SetCount(&u.Input, v.Get("inputTokens"))
	protocol.SetCount(&u.Output, v.Get("outputTokens"))
	protocol.SetCount(&u.CacheRead, v.Get("cacheReadInputTokens"))
	protocol.SetCount(&written, v.Get("cacheWriteInputTokens"))
	for d := range v.Get("cacheDetails").Elems() {
		if d.Get("ttl").EqualStr("1h") {
			protocol.SetCount(&u.CacheWrite1h, d.Get("inputTokens"))
		}
	}
	u.CacheWrite1h = min(u.CacheWrite1h, written)
	u.CacheWrite = written - u.CacheWrite1h
}
