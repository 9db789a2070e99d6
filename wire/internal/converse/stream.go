package converse

import (
	"bytes"

	"github.com/oriel-context/oriel/internal/rawjson"
	"github.com/oriel-context/oriel/wire/internal/protocol"
)

// stream assembles the events of a reply.
type stream struct {
	begun  bool
	blocks []*block
}

// block is a block of content as far as it came. A text and thinking begin with their first delta.
type block struct {
	index     int64
	kind      kind
	start     []byte // of a call
	text      []byte // between its quotes, of a text and of thinking
	signature []byte
	input     []byte // of a call, JSON
	citations []byte // elements of the list
}

func (b *block) Index() int64 { return b.index }

type kind uint8

const (
	unknown kind = iota
	text
	thinking
	redacted
	call
)

func (s *stream) Read(r *protocol.Stream, name []byte, event rawjson.Value) {
	index := protocol.Number(event.Get("contentBlockIndex"))
	switch string(name) {
	case "messageStart":
		s.begun = true
	case "contentBlockStart":
		for k, v := range event.Get("start").Members() {
			if string(protocol.Key(k)) != "toolUse" || v.Kind() != rawjson.Object {
				r.Reply.Note("not kept: a block of the kind ", protocol.Key(k))
				continue
			}
			if b := s.add(r, index); b != nil {
				b.kind, b.start = call, r.Keep(nil, v.Raw())
			}
		}
	case "contentBlockDelta":
		s.delta(r, index, event.Get("delta"))
	case "messageStop":
		r.Reply.Stop = event.Get("stopReason").Str()
		r.Ended = true
	case "metadata":
		readUsage(&r.Reply.Usage, event.Get("usage"))
		r.Reply.Usage.SetService(event.Get("serviceTier").Get("type"))
		readTrace(&r.Reply, event.Get("trace"))
	case "contentBlockStop":
	default:
		r.Reply.Note("an unknown event: ", name)
	}
}

// add begins a block.
func (s *stream) add(r *protocol.Stream, index int64) *block {
	if !r.Room(protocol.Structure) {
		return nil
	}
	s.begun = true
	b := &block{index: index}
	s.blocks = append(s.blocks, b)
	return b
}

func (s *stream) delta(r *protocol.Stream, index int64, delta rawjson.Value) {
	b := protocol.Newest(s.blocks, index)
	if b == nil {
		if b = s.add(r, index); b == nil {
			return
		}
	}
	for k, v := range delta.Members() {
		switch string(protocol.Key(k)) {
		case "text":
			b.kind = text
			b.text = keepText(r, b.text, v)
		case "toolUse":
			part := v.Get("input")
			if n := len(part.Raw()); part.Kind() == rawjson.String && n > 2 && b.kind == call && r.Room(n) {
				b.input = part.AppendStr(b.input)
			}
		case "reasoningContent":
			b.reason(r, v)
		case "citation":
			b.kind = text
			b.citations = r.KeepElement(b.citations, v.Raw())
		default:
			r.Reply.Note("an unknown delta: ", protocol.Key(k))
		}
	}
}

func (b *block) reason(r *protocol.Stream, v rawjson.Value) {
	if data := v.Get("redactedContent"); data.Kind() == rawjson.String {
		b.kind = redacted
		b.text = keepText(r, b.text, data)
		return
	}
	b.kind = thinking
	b.text = keepText(r, b.text, v.Get("text"))
	b.signature = keepText(r, b.signature, v.Get("signature"))
}

// keepText appends the inside of a literal.
func keepText(r *protocol.Stream, dst []byte, v rawjson.Value) []byte {
	if v.Kind() != rawjson.String {
		return dst
	}
	return r.Keep(dst, protocol.Inner(v))
}

// Done implements protocol.Assembly: the protocol has an event for the end.
func (s *stream) Done(*protocol.Stream) {}

func (s *stream) Write(r *protocol.Reply) bool {
	if !s.begun {
		return false
	}
	w := protocol.Writer{Out: []byte(`{"role":"assistant","content":[`)}
	for _, b := range s.blocks {
		b.write(&w, r)
	}
	w.Raw("]}")
	r.Message = w.Out
	return true
}

func (b *block) write(w *protocol.Writer, r *protocol.Reply) {
	switch b.kind {
	case text:
		if b.citations == nil {
			w.Open(`{"text":`)
			w.Inner(b.text)
			w.Raw("}")
			return
		}
		w.Open(`{"citationsContent":{"content":[{"text":`)
		w.Inner(b.text)
		w.Raw(`}],"citations":[`)
		w.Bytes(b.citations)
		w.Raw("]}}")
	case thinking:
		w.Open(`{"reasoningContent":{"reasoningText":{"text":`)
		w.Inner(b.text)
		if b.signature != nil {
			w.Member("signature").Inner(b.signature)
		}
		w.Raw("}}}")
	case redacted:
		w.Open(`{"reasoningContent":{"redactedContent":`)
		w.Inner(b.text)
		w.Raw("}}")
	case call:
		if b.start == nil {
			return
		}
		input := bytes.TrimSpace(b.input)
		if _, err := rawjson.Parse(input, rawjson.Limits{}); err != nil {
			if len(input) > 0 {
				r.Note("the input of a call is not JSON", nil) // a request accepts only JSON here
			}
			input = []byte("{}")
		}
		w.Open(`{"toolUse":`)
		w.Out = protocol.AppendReplaced(w.Out, b.start, []protocol.Replaced{{Name: "input", Value: input}})
		w.Raw("}")
	}
}
