package ollama

import (
	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/internal/rawjson"
	"github.com/oriel-context/oriel/wire/internal/protocol"
)

// readReply reads a reply that was not streamed.
func readReply(r *protocol.Reply, root rawjson.Value) error {
	m := root.Get("message")
	if m.Kind() != rawjson.Object {
		return protocol.In(protocol.Wrong(m, "an object"), "message")
	}
	r.Message = appendMessage(nil, m)
	r.Stop = root.Get("done_reason").Str()
	r.Complete = root.Get("done").Bool()
	readUsage(&r.Usage, root)
	if e := root.Get("error"); e.Kind() == rawjson.String && !chat.String(e.Raw()).Empty() {
		r.Error = protocol.ReadError(root)
	}
	return nil
}

// appendMessage appends a reply's message in the form of a request: without members that
// are null.
func appendMessage(dst []byte, m rawjson.Value) []byte {
	dst = append(dst, `{"role":"assistant"`...)
	for k, v := range m.Members() {
		if v.Kind() == rawjson.Null || string(protocol.Key(k)) == "role" {
			continue
		}
		dst = append(append(append(append(dst, ','), k.Raw()...), ':'), v.Raw()...)
	}
	return append(dst, '}')
}

// readUsage reads the counts of a reply's end. The server does not say what it had in its
// cache; the prompt is counted whole.
func readUsage(u *protocol.Usage, v rawjson.Value) {
	u.HasUsage = v.Has("prompt_eval_count")
	protocol.SetCount(&u.Input, v.Get("prompt_eval_count"))
	protocol.SetCount(&u.Output, v.Get("eval_count"))
}

// refusal writes an error as Ollama does, with the word for programs beside it.
func refusal(_ int, code, message string) []byte {
	var w protocol.Writer
	w.Raw("{")
	w.Member("error").Quote(message)
	w.Member("code").Quote(code)
	w.Raw("}")
	return w.Out
}
