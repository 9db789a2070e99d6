package wire

import (
	"bytes"

	"github.com/oriel-context/oriel/internal/rawjson"
	"github.com/oriel-context/oriel/wire/internal/protocol"
)

// anthropicStream assembles the events of Anthropic Messages.
type anthropicStream struct {
	begun  bool
	blocks []*anthropicBlock
}

// anthropicBlock is a content block: its beginning, and what was added to its
// members.
type anthropicBlock struct {
	index int64
	start []byte
	added [members][]byte
}

func (b *anthropicBlock) number() int64 { return b.index }

// The members of blocks that deltas add to.
const (
	memberText = iota
	memberThinking
	memberSignature
	memberInput     // JSON
	memberCitations // elements of the list
	memberContent   // JSON, whole
	memberEncrypted // JSON, whole
	members
)

var memberNames = [members]string{"text", "thinking", "signature", "input", "citations", "content", "encrypted_content"}

func (s *anthropicStream) read(r *StreamReader, name []byte, event rawjson.Value) {
	var kind, index, message, block, delta, usage rawjson.Value
	for k, v := range event.Members() {
		switch string(protocol.Key(k)) {
		case "type":
			kind = v
		case "index":
			index = v
		case "message":
			message = v
		case "content_block":
			block = v
		case "delta":
			delta = v
		case "usage":
			usage = v
		}
	}
	if kind.Kind() == rawjson.String {
		name = protocol.Key(kind)
	}
	switch string(name) {
	case "content_block_delta":
		if b := newest(s.blocks, protocol.Number(index)); b != nil {
			b.add(r, delta)
		} else if !r.over {
			r.reply.note("a delta of a block that never began", nil)
		}
	case "content_block_start":
		s.start(r, protocol.Number(index), block)
	case "message_start":
		s.begun = true
		protocol.SetFirst(&r.reply.ID, message.Get("id"))
		protocol.SetFirst(&r.reply.Model, message.Get("model"))
		r.reply.Usage.readAnthropic(message.Get("usage"))
		var i int64
		for b := range message.Get("content").Elems() {
			s.start(r, i, b)
			i++
		}
	case "message_delta":
		if stop := delta.Get("stop_reason"); stop.Kind() == rawjson.String {
			r.reply.Stop = stop.Str()
		}
		r.reply.Usage.readAnthropic(usage)
	case "message_stop":
		r.ended = true
	case "error":
		r.fail(streamError(event))
	case "ping", "content_block_stop":
	default:
		r.reply.note("an unknown event: ", name)
	}
}

func (s *anthropicStream) start(r *StreamReader, index int64, block rawjson.Value) {
	if block.Kind() != rawjson.Object || !r.room(structure) {
		return
	}
	s.begun = true
	start := r.keep(nil, block.Raw())
	if start == nil {
		return
	}
	s.blocks = append(s.blocks, &anthropicBlock{index: index, start: start})
	if block.Get("type").EqualStr("fallback") { // another model continues
		if to := block.Get("to").Get("model"); to.Kind() == rawjson.String {
			r.reply.Model = to.Str()
		}
	}
}

func (b *anthropicBlock) add(r *StreamReader, delta rawjson.Value) {
	kind := delta.Get("type")
	switch string(kind.Raw()) {
	case `"text_delta"`:
		b.text(r, memberText, delta)
	case `"thinking_delta"`:
		b.text(r, memberThinking, delta)
	case `"signature_delta"`:
		b.text(r, memberSignature, delta)
	case `"input_json_delta"`:
		part := delta.Get("partial_json")
		if n := len(part.Raw()); part.Kind() == rawjson.String && n > 2 && r.room(n) {
			b.added[memberInput] = part.AppendStr(b.added[memberInput])
		}
	case `"citations_delta"`:
		b.added[memberCitations] = r.keepElement(b.added[memberCitations], delta.Get("citation").Raw())
	case `"compaction_delta"`:
		for _, m := range []int{memberContent, memberEncrypted} {
			if v := delta.Get(memberNames[m]); v.Exists() && v.Kind() != rawjson.Null {
				b.added[m] = r.keep(nil, v.Raw())
			}
		}
	default:
		r.reply.note("an unknown delta: ", kind.Raw())
	}
}

// text appends to a string, which may have begun with the block.
func (b *anthropicBlock) text(r *StreamReader, member int, delta rawjson.Value) {
	more := delta.Get(memberNames[member])
	if more.Kind() != rawjson.String || r.over {
		return
	}
	if b.added[member] == nil && len(more.Raw()) > 2 {
		if doc, err := rawjson.Parse(b.start, rawjson.Limits{}); err == nil {
			if v := doc.Root().Get(memberNames[member]); v.Kind() == rawjson.String {
				b.added[member] = r.keep(nil, protocol.Inner(v))
			}
		}
	}
	b.added[member] = r.keep(b.added[member], protocol.Inner(more))
}

func (s *anthropicStream) write(reply *Reply) {
	if !s.begun {
		return
	}
	out := []byte(`{"role":"assistant","content":[`)
	for i, b := range s.blocks {
		if i > 0 {
			out = append(out, ',')
		}
		out = b.appendTo(out, reply)
	}
	reply.Message = append(out, "]}"...)
}

func (b *anthropicBlock) appendTo(dst []byte, reply *Reply) []byte {
	var with []replaced
	for m, added := range b.added {
		if added == nil {
			continue
		}
		switch m {
		case memberText, memberThinking, memberSignature:
			added = protocol.AppendQuoted(nil, added)
		case memberInput:
			added = bytes.TrimSpace(added)
			if _, err := rawjson.Parse(added, rawjson.Limits{}); err != nil {
				// A request accepts only JSON here; SDKs do the same.
				reply.note("the input of a call is not JSON", nil)
				added = []byte("{}")
			}
		case memberCitations:
			added = joinList(b.start, memberNames[m], added)
		}
		with = append(with, replaced{memberNames[m], added})
	}
	return appendReplaced(dst, b.start, with)
}

// joinList returns an object's list with more elements appended.
func joinList(object []byte, name string, more []byte) []byte {
	out := []byte{'['}
	if doc, err := rawjson.Parse(object, rawjson.Limits{}); err == nil {
		if list := doc.Root().Get(name); list.Kind() == rawjson.Array && list.First().Exists() {
			raw := list.Raw()
			out = append(append(out, raw[1:len(raw)-1]...), ',')
		}
	}
	return append(append(out, more...), ']')
}

// streamError returns the error of an event that is or contains one.
func streamError(event rawjson.Value) *ReplyError {
	if e := event.Get("error"); e.Kind() == rawjson.Object || e.Kind() == rawjson.String {
		return wrapError(e)
	}
	return wrapError(event)
}
