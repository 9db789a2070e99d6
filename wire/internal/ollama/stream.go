package ollama

import (
	"github.com/oriel-context/oriel/internal/rawjson"
	"github.com/oriel-context/oriel/wire/internal/protocol"
)

// stream joins the messages of the lines of a stream. Texts are literals without quotes.
type stream struct {
	begun    bool
	text     []byte
	thinking []byte
	images   []byte // elements
	calls    []byte // elements: each call comes whole
}

func (s *stream) Read(r *protocol.Stream, _ []byte, line rawjson.Value) {
	failed := false
	for k, v := range line.Members() {
		switch name := protocol.Key(k); string(name) {
		case "model":
			protocol.SetFirst(&r.Reply.Model, v)
		case "message":
			s.message(r, v)
		case "error":
			failed = v.Kind() != rawjson.Null
		case "done":
			r.Ended = r.Ended || v.Bool()
		case "done_reason":
			protocol.SetFirst(&r.Reply.Stop, v)
		case "prompt_eval_count", "eval_count":
			readUsage(&r.Reply.Usage, line)
		case "created_at", "remote_model", "remote_host", "total_duration", "load_duration", "prompt_eval_duration",
			"eval_duration", "logprobs":
		default:
			r.Reply.Note("an unknown member of a line: ", name)
		}
	}
	if failed {
		r.Fail(protocol.StreamError(line))
	}
}

func (s *stream) message(r *protocol.Stream, m rawjson.Value) {
	if m.Kind() != rawjson.Object {
		return
	}
	s.begun = true
	for k, v := range m.Members() {
		if v.Kind() == rawjson.Null {
			continue
		}
		switch name := protocol.Key(k); string(name) {
		case "content":
			s.text = r.Keep(s.text, text(v))
		case "thinking":
			s.thinking = r.Keep(s.thinking, text(v))
		case "images":
			for e := range v.Elems() {
				s.images = r.KeepElement(s.images, e.Raw())
			}
		case "tool_calls":
			for e := range v.Elems() {
				s.calls = r.KeepElement(s.calls, e.Raw())
			}
		case "role":
		default:
			r.Reply.Note("an unknown member of a message: ", name)
		}
	}
}

// text returns the text between the quotes of a string, or nil for other kinds.
func text(v rawjson.Value) []byte {
	if v.Kind() != rawjson.String {
		return nil
	}
	return protocol.Inner(v)
}

// Done implements protocol.Assembly. Ollama ends a stream with a line of its own.
func (s *stream) Done(*protocol.Stream) {}

func (s *stream) Write(reply *protocol.Reply) bool {
	if !s.begun {
		return false
	}
	w := &protocol.Writer{Out: []byte(`{"role":"assistant"`)}
	w.Member("content").Inner(s.text)
	if len(s.thinking) > 0 {
		w.Member("thinking").Inner(s.thinking)
	}
	for _, list := range []struct {
		name     string
		elements []byte
	}{{"images", s.images}, {"tool_calls", s.calls}} {
		if len(list.elements) > 0 {
			w.Member(list.name).Raw("[")
			w.Bytes(list.elements)
			w.Raw("]")
		}
	}
	w.Raw("}")
	reply.Message = w.Out
	return true
}
