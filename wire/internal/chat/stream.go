package chat

import (
	"bytes"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/internal/rawjson"
	"github.com/oriel-context/oriel/wire/internal/openai"
	"github.com/oriel-context/oriel/wire/internal/protocol"
)

// stream assembles the chunks of choice 0 of Chat Completions. Texts are literals
// without quotes.
type stream struct {
	begun     bool
	hasText   bool   // content was a string at least once
	text      []byte // content since the last part
	parts     []byte // elements of a content that is a list
	refusal   []byte
	reasoning [2][]byte // by reasoningNames
	details   []byte    // elements of reasoning_details
	audio     []byte    // the recording's id
	function  *call     // the older form of a call
	calls     []*call
}

// The names under which servers return their reasoning. Clients send it back under
// the same name.
var reasoningNames = [2]string{"reasoning_content", "reasoning"}

type call struct {
	index    int64
	id       []byte // a literal
	custom   bool   // a custom tool, which accepts free text
	name     []byte
	args     []byte
	others   []byte // further members, as they came: Gemini's signatures
	original []byte // the type if it is neither function nor custom
}

func (c *call) Index() int64 { return c.index }

func (s *stream) Read(r *protocol.Stream, name []byte, chunk rawjson.Value) {
	failed := string(name) == "error"
	for k, v := range chunk.Members() {
		switch string(protocol.Key(k)) {
		case "choices":
			for c := range v.Elems() {
				s.choice(r, c)
			}
		case "id":
			protocol.SetFirst(&r.Reply.ID, v)
		case "model":
			protocol.SetFirst(&r.Reply.Model, v)
		case "service_tier":
			r.Reply.Usage.SetService(v)
		case "usage":
			openai.ReadUsage(&r.Reply.Usage, v)
		case "x_groq":
			openai.ReadUsage(&r.Reply.Usage, v.Get("usage"))
		case "error":
			failed = failed || v.Kind() != rawjson.Null
		case "object":
			failed = failed || v.EqualStr("error")
		}
	}
	if failed {
		r.Fail(protocol.StreamError(chunk))
	}
}

func (s *stream) choice(r *protocol.Stream, c rawjson.Value) {
	if protocol.Number(c.Get("index")) != 0 {
		r.Reply.Note("not kept: choices beside the first", nil)
		return
	}
	s.begun = true
	if stop := c.Get("finish_reason"); stop.Kind() == rawjson.String {
		r.Reply.Stop = stop.Str()
		r.Ended = true
	}
	for k, v := range c.Get("delta").Members() {
		if v.Kind() == rawjson.Null {
			continue
		}
		switch name := protocol.Key(k); string(name) {
		case "content":
			s.content(r, v)
		case "refusal":
			s.refusal = r.Keep(s.refusal, between(v))
		case "reasoning_content":
			s.reasoning[0] = r.Keep(s.reasoning[0], between(v))
		case "reasoning":
			s.reasoning[1] = r.Keep(s.reasoning[1], between(v))
		case "reasoning_details":
			for e := range v.Elems() {
				s.details = r.KeepElement(s.details, e.Raw())
			}
		case "tool_calls":
			for e := range v.Elems() {
				s.call(r, e)
			}
		case "function_call":
			if s.function == nil && r.Room(protocol.Structure) {
				s.function = new(call)
			}
			s.function.add(r, v, "arguments")
		case "audio":
			if id := v.Get("id"); id.Kind() == rawjson.String && s.audio == nil {
				s.audio = r.Keep(nil, id.Raw())
			}
		case "role", "annotations":
		default:
			r.Reply.Note("an unknown member of a delta: ", name)
		}
	}
}

// between returns the text between the quotes of a string, or nil for other kinds.
func between(v rawjson.Value) []byte {
	if v.Kind() != rawjson.String {
		return nil
	}
	return protocol.Inner(v)
}

// content appends text, or parts if the server streams parts.
func (s *stream) content(r *protocol.Stream, v rawjson.Value) {
	if v.Kind() == rawjson.String {
		s.hasText = true
		s.text = r.Keep(s.text, protocol.Inner(v))
		return
	}
	for e := range v.Elems() {
		s.endText(r)
		s.parts = r.KeepElement(s.parts, e.Raw())
	}
}

// endText turns the text so far into a part.
func (s *stream) endText(r *protocol.Stream) {
	if len(s.text) > 0 && r.Room(len(textPart)) {
		s.parts = appendTextPart(s.parts, s.text)
		s.text = nil
	}
}

const textPart = `{"type":"text","text":`

func appendTextPart(parts, text []byte) []byte {
	if len(parts) > 0 {
		parts = append(parts, ',')
	}
	parts = append(parts, textPart...)
	return append(protocol.AppendQuoted(parts, text), '}')
}

func (s *stream) call(r *protocol.Stream, v rawjson.Value) {
	if v.Kind() != rawjson.Object {
		return
	}
	var id, kind, function, custom rawjson.Value
	index := int64(0)
	for k, m := range v.Members() {
		switch string(protocol.Key(k)) {
		case "index":
			index = protocol.Number(m)
		case "id":
			id = m
		case "type":
			kind = m
		case "function":
			function = m
		case "custom":
			custom = m
		}
	}
	c := protocol.Newest(s.calls, index)
	if c == nil || c.another(id, function, custom) {
		if !r.Room(protocol.Structure) {
			return
		}
		c = &call{index: index}
		s.calls = append(s.calls, c)
	}
	if len(between(id)) > 0 && !bytes.Equal(c.id, id.Raw()) {
		c.id = r.Keep(nil, id.Raw())
	}
	if t := kind.Raw(); len(t) > 2 && !kind.EqualStr("function") && !bytes.Equal(c.original, t) {
		c.original = r.Keep(nil, t)
	}
	if custom.Kind() == rawjson.Object {
		c.custom = true
		c.add(r, custom, "input")
	}
	c.add(r, function, "arguments")
	for k, m := range v.Members() {
		switch string(protocol.Key(k)) {
		case "index", "id", "type", "function", "custom":
		default:
			// These are small, and servers may repeat them.
			if m.Kind() != rawjson.Null && len(c.others) < 1<<12 && !bytes.Contains(c.others, k.Raw()) &&
				r.Room(len(k.Raw())+len(m.Raw())+2) {
				c.others = append(append(append(append(c.others, ','), k.Raw()...), ':'), m.Raw()...)
			}
		}
	}
}

// another reports whether a delta begins a new call although its index was used
// before, as in Gemini's parallel calls. Some servers give each delta a new id; they
// do not repeat the name.
func (c *call) another(id, function, custom rawjson.Value) bool {
	named := len(between(function.Get("name"))) > 0 || len(between(custom.Get("name"))) > 0
	return named && len(c.id) > 0 && len(between(id)) > 0 && !bytes.Equal(c.id, id.Raw())
}

// add appends a piece of the name and of the arguments.
func (c *call) add(r *protocol.Stream, v rawjson.Value, args string) {
	if c == nil || v.Kind() != rawjson.Object {
		return
	}
	// A server that repeats the name means the same one.
	if name := between(v.Get("name")); !bytes.Equal(name, c.name) {
		c.name = r.Keep(c.name, name)
	}
	switch a := v.Get(args); a.Kind() {
	case rawjson.String:
		c.args = r.Keep(c.args, protocol.Inner(a))
	case rawjson.Object: // outside the protocol, but the meaning is clear
		quoted := chat.Quote(string(a.Raw()))
		c.args = r.Keep(c.args, quoted[1:len(quoted)-1])
	}
}

// Done implements protocol.Assembly.
func (s *stream) Done(r *protocol.Stream) { r.Ended = true }

func (s *stream) Write(reply *protocol.Reply) bool {
	if !s.begun {
		return false
	}
	w := &protocol.Writer{Out: []byte(`{"role":"assistant"`)}
	w.Member("content")
	switch {
	case len(s.parts) > 0:
		parts := s.parts
		if len(s.text) > 0 {
			parts = appendTextPart(parts[:len(parts):len(parts)], s.text)
		}
		w.Raw("[")
		w.Bytes(parts)
		w.Raw("]")
	case s.hasText:
		w.Inner(s.text)
	default:
		w.Raw("null")
	}
	if len(s.refusal) > 0 {
		w.Member("refusal").Inner(s.refusal)
	}
	for i, text := range s.reasoning {
		if len(text) > 0 {
			w.Member(reasoningNames[i]).Inner(text)
		}
	}
	if len(s.details) > 0 {
		w.Member("reasoning_details").Raw("[")
		w.Bytes(s.details)
		w.Raw("]")
	}
	if len(s.audio) > 0 {
		w.Member("audio").Raw(`{"id":`)
		w.Bytes(s.audio)
		w.Raw("}")
	}
	if s.function != nil {
		writeFunction(w.Member("function_call"), s.function, "arguments")
	}
	if len(s.calls) > 0 {
		w.Member("tool_calls").Raw("[")
		for _, c := range s.calls {
			writeCall(w, c)
		}
		w.Raw("]")
	}
	w.Raw("}")
	reply.Message = w.Out
	return true
}

func writeCall(w *protocol.Writer, c *call) {
	w.Open(`{"id":`)
	w.Literal(c.id)
	w.Member("type")
	switch {
	case c.original != nil:
		w.Bytes(c.original)
	case c.custom:
		w.Quote("custom")
	default:
		w.Quote("function")
	}
	if c.custom {
		writeFunction(w.Member("custom"), c, "input")
	} else {
		writeFunction(w.Member("function"), c, "arguments")
	}
	w.Bytes(c.others)
	w.Raw("}")
}

func writeFunction(w *protocol.Writer, c *call, args string) {
	w.Raw(`{"name":`)
	w.Inner(c.name)
	w.Member(args).Inner(c.args)
	w.Raw("}")
}
