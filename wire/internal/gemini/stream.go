package gemini

import (
	"slices"

	"github.com/oriel-context/oriel/internal/rawjson"
	"github.com/oriel-context/oriel/wire/internal/protocol"
)

// stream joins the chunks of a reply: each is a response with the parts that are new.
type stream struct {
	begun bool
	parts []*streamPart
}

// streamPart is a part as it began. Only texts grow.
type streamPart struct {
	raw   []byte
	text  []byte // between its quotes; nil for a part that is whole
	joins bool   // text that follows belongs to it
	kind  bool   // it is a thought
	call  *partialCall
}

func (s *stream) Read(r *protocol.Stream, _ []byte, event rawjson.Value) {
	if event.Has("error") {
		r.Fail(protocol.StreamError(event))
		return
	}
	if readTop(&r.Reply, event) {
		r.Ended = true
	}
	if event.Has("promptFeedback") {
		s.begun = true
	}
	for c := range event.Get("candidates").Elems() {
		if protocol.Number(c.Get("index")) != 0 {
			r.Reply.Note("not kept: candidates beside the first", nil)
			continue
		}
		s.begun = true
		for p := range c.Get("content").Get("parts").Elems() {
			if p.Kind() == rawjson.Object {
				s.part(r, p)
			}
		}
	}
}

// part adds a part, or its text to the one before it. A signature belongs to the part in
// which it comes, so nothing is added to that.
func (s *stream) part(r *protocol.Stream, v rawjson.Value) {
	text, plain, thought := rawjson.Value{}, true, false
	for k, m := range v.Members() {
		switch string(protocol.Key(k)) {
		case "text":
			text = m
		case "thought":
			thought = m.Bool()
		case "functionCall":
			plain = false
			if n := len(s.parts); isPartial(m) || n > 0 && s.parts[n-1].call != nil && s.parts[n-1].call.open {
				s.partial(r, v, m)
				return
			}
		default:
			plain = false
		}
	}
	joins := plain && text.Kind() == rawjson.String
	if n := len(s.parts); joins && n > 0 && s.parts[n-1].joins && s.parts[n-1].kind == thought {
		p := s.parts[n-1]
		p.text = r.Keep(p.text, protocol.Inner(text))
		return
	}
	if !r.Room(protocol.Structure + len(v.Raw())) {
		return
	}
	p := &streamPart{raw: slices.Clone(v.Raw()), joins: joins, kind: thought}
	if joins {
		p.text = slices.Clone(protocol.Inner(text))
	}
	s.parts = append(s.parts, p)
}

// Done implements protocol.Assembly: the protocol has a member for the end.
func (s *stream) Done(*protocol.Stream) {}

func (s *stream) Write(r *protocol.Reply) bool {
	if len(s.parts) == 0 {
		return s.begun
	}
	out := []byte(`{"role":"model","parts":[`)
	for i, p := range s.parts {
		if i > 0 {
			out = append(out, ',')
		}
		if p.call != nil {
			out = protocol.AppendReplaced(out, p.raw,
				[]protocol.Replaced{{Name: "functionCall", Value: p.call.write()}})
			continue
		}
		if !p.joins {
			out = append(out, p.raw...)
			continue
		}
		out = protocol.AppendReplaced(out, p.raw,
			[]protocol.Replaced{{Name: "text", Value: protocol.AppendQuoted(nil, p.text)}})
	}
	r.Message = append(out, "]}"...)
	return true
}
