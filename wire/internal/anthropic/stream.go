package anthropic

import (
	"bytes"

	"github.com/oriel-context/oriel/internal/rawjson"
	"github.com/oriel-context/oriel/wire/internal/protocol"
)

// stream assembles the events of Anthropic Messages.
type stream struct {
	begun  bool
	blocks []*contentBlock
}

// contentBlock is a content block: its beginning, and what was added to its
// members.
type contentBlock struct {
	index int64
	start []byte
	added [members][]byte
}

func (b *contentBlock) Index() int64 { return b.index }

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

func (s *stream) Read(r *protocol.Stream, name []byte, event rawjson.Value) {
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
		if b := protocol.Newest(s.blocks, protocol.Number(index)); b != nil {
			b.add(r, delta)
		} else if !r.Over {
			r.Reply.Note("a delta of a block that never began", nil)
		}
	case "content_block_start":
		s.start(r, protocol.Number(index), block)
	case "message_start":
		s.begun = true
		protocol.SetFirst(&r.Reply.ID, message.Get("id"))
		protocol.SetFirst(&r.Reply.Model, message.Get("model"))
		readUsage(&r.Reply.Usage, message.Get("usage"))
		diagnose(&r.Reply, message)
		var i int64
		for b := range message.Get("content").Elems() {
			s.start(r, i, b)
			i++
		}
	case "message_delta":
		if stop := delta.Get("stop_reason"); stop.Kind() == rawjson.String {
			r.Reply.Stop = stop.Str()
		}
		readUsage(&r.Reply.Usage, usage)
		diagnose(&r.Reply, delta)
	case "message_stop":
		r.Ended = true
	case "error":
		r.Fail(protocol.StreamError(event))
	case "ping", "content_block_stop":
	default:
		r.Reply.Note("an unknown event: ", name)
	}
}

func (s *stream) start(r *protocol.Stream, index int64, block rawjson.Value) {
	if block.Kind() != rawjson.Object || !r.Room(protocol.Structure) {
		return
	}
	s.begun = true
	start := r.Keep(nil, block.Raw())
	if start == nil {
		return
	}
	s.blocks = append(s.blocks, &contentBlock{index: index, start: start})
	if block.Get("type").EqualStr("fallback") { // another model continues
		if to := block.Get("to").Get("model"); to.Kind() == rawjson.String {
			r.Reply.Model = to.Str()
		}
	}
}

func (b *contentBlock) add(r *protocol.Stream, delta rawjson.Value) {
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
		if n := len(part.Raw()); part.Kind() == rawjson.String && n > 2 && r.Room(n) {
			b.added[memberInput] = part.AppendStr(b.added[memberInput])
		}
	case `"citations_delta"`:
		b.added[memberCitations] = r.KeepElement(b.added[memberCitations], delta.Get("citation").Raw())
	case `"compaction_delta"`:
		for _, m := range []int{memberContent, memberEncrypted} {
			if v := delta.Get(memberNames[m]); v.Exists() && v.Kind() != rawjson.Null {
				b.added[m] = r.Keep(nil, v.Raw())
			}
		}
	default:
		r.Reply.Note("an unknown delta: ", kind.Raw())
	}
}

// text appends to a string, which may have begun with the block.
func (b *contentBlock) text(r *protocol.Stream, member int, delta rawjson.Value) {
	more := delta.Get(memberNames[member])
	if more.Kind() != rawjson.String || r.Over {
		return
	}
	if b.added[member] == nil && len(more.Raw()) > 2 {
		if doc, err := rawjson.Parse(b.start, rawjson.Limits{}); err == nil {
			if v := doc.Root().Get(memberNames[member]); v.Kind() == rawjson.String {
				b.added[member] = r.Keep(nil, protocol.Inner(v))
			}
		}
	}
	b.added[member] = r.Keep(b.added[member], protocol.Inner(more))
}

// Done implements protocol.Assembly: the protocol has an event for the end.
func (s *stream) Done(*protocol.Stream) {}

func (s *stream) Write(reply *protocol.Reply) bool {
	if !s.begun {
		return false
	}
	out := []byte(`{"role":"assistant","content":[`)
	for i, b := range s.blocks {
		if i > 0 {
			out = append(out, ',')
		}
		out = b.appendTo(out, reply)
	}
	reply.Message = append(out, "]}"...)
	return true
}

func (b *contentBlock) appendTo(dst []byte, reply *protocol.Reply) []byte {
	var with []protocol.Replaced
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
				reply.Note("the input of a call is not JSON", nil)
				added = []byte("{}")
			}
		case memberCitations:
			added = protocol.JoinList(b.start, memberNames[m], added)
		}
		with = append(with, protocol.Replaced{Name: memberNames[m], Value: added})
	}
	return protocol.AppendReplaced(dst, b.start, with)
}
