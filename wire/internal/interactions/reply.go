package interactions

import (
	"slices"

	"github.com/oriel-context/oriel/internal/rawjson"
	"github.com/oriel-context/oriel/wire/internal/protocol"
)

// readReply reads an interaction from a body.
func readReply(r *protocol.Reply, root rawjson.Value) error {
	steps, outputs := root.Get("steps"), root.Get("outputs")
	if steps.Kind() != rawjson.Array && outputs.Kind() != rawjson.Array && !root.Has("status") {
		return protocol.In(protocol.Wrong(steps, "an array"), "steps")
	}
	readStatus(r, root)
	if err := (&protocol.Reader{Most: protocol.MaxParts}).Few(steps, steps.Len(), "steps"); err != nil {
		return protocol.In(err, "steps")
	}
	r.Items = own(steps)
	if outputs.First().Exists() && len(r.Items) == 0 { // the API's first version
		item := append([]byte(`{"type":"model_output","content":`), outputs.Raw()...)
		r.Items = [][]byte{append(item, '}')}
	}
	r.Complete = !r.Pending
	return nil
}

// own returns the model's steps of an interaction, which may repeat those of the request.
func own(steps rawjson.Value) (items [][]byte) {
	for s := range steps.Elems() {
		if t := s.Get("type"); s.Kind() == rawjson.Object && !t.EqualStr("user_input") &&
			!t.EqualStr("function_result") {
			items = append(items, slices.Clone(s.Raw()))
		}
	}
	return items
}

// readStatus reads everything except the steps.
func readStatus(r *protocol.Reply, root rawjson.Value) {
	protocol.SetFirst(&r.ID, root.Get("id"))
	if m := root.Get("model"); m.Kind() == rawjson.String {
		r.Model = m.Str()
	}
	readUsage(&r.Usage, root.Get("usage"))
	if s := root.Get("status"); s.Kind() == rawjson.String {
		r.Stop = s.Str()
	}
	switch r.Stop {
	case "in_progress", "queued", "cancelled", "requires_continuation":
		r.Pending = true
	case "failed":
		r.Pending = false
		e := root.Get("error")
		if !e.Exists() {
			e = root.Get("errors").First()
		}
		if e.Kind() == rawjson.Object {
			r.Error = protocol.WrapError(e)
		} else {
			r.Error = &protocol.ReplyError{Message: "the interaction failed",
				Raw: []byte(`{"error":{"message":"the interaction failed"}}`)}
		}
	default:
		r.Pending = false
	}
}

// readUsage reads counts: the prompt includes what was read from the cache; what tools of
// Google's added, and thinking, are counted beside it and the reply.
func readUsage(u *protocol.Usage, v rawjson.Value) {
	if v.Kind() != rawjson.Object {
		return
	}
	u.HasUsage = true
	var prompt, tools, said int
	for k, n := range v.Members() {
		switch string(protocol.Key(k)) {
		case "total_input_tokens":
			protocol.SetCount(&prompt, n)
		case "total_tool_use_tokens":
			protocol.SetCount(&tools, n)
		case "total_cached_tokens":
			protocol.SetCount(&u.CacheRead, n)
		case "total_output_tokens":
			protocol.SetCount(&said, n)
		case "total_thought_tokens":
			protocol.SetCount(&u.Reasoning, n)
		}
	}
	u.CacheRead = min(u.CacheRead, prompt)
	u.Input, u.Output = prompt-u.CacheRead+tools, said+u.Reasoning
}
