package responses

import (
	"slices"
	"strings"

	"github.com/oriel-context/oriel/internal/rawjson"
	"github.com/oriel-context/oriel/wire/internal/protocol"
)

// stream assembles the events of OpenAI Responses. The last event holds the
// whole response; the earlier events are for streams that are cut off, and for
// servers whose last event has no output (as Codex's own).
type stream struct {
	final [][]byte // the output of the last event
	items []*streamItem
}

// streamItem is an output item being assembled.
type streamItem struct {
	index int64
	raw   []byte // as it began, or whole
	whole bool
	kept  int // bytes kept for this item

	member string // the member that text is for: arguments, input, code
	text   []byte // between its quotes
	parts  []*streamPart
}

func (i *streamItem) Index() int64 { return i.index }

// streamPart is an element of an item's content or summary being assembled.
type streamPart struct {
	list        string // content or summary
	index       int64
	raw         []byte // as it began, or whole
	whole       bool
	member      string // the member that text is for: text or refusal
	text        []byte // between its quotes
	annotations []byte // elements
}

// streamEvent holds the fields of an event; missing ones are absent values.
type streamEvent struct {
	kind, response, item, part, output, content, summary, delta, annotation, id rawjson.Value
}

func (s *stream) Read(r *protocol.Stream, name []byte, event rawjson.Value) {
	var e streamEvent
	for k, v := range event.Members() {
		switch string(protocol.Key(k)) {
		case "type":
			e.kind = v
		case "response":
			e.response = v
		case "item":
			e.item = v
		case "part":
			e.part = v
		case "output_index":
			e.output = v
		case "content_index":
			e.content = v
		case "summary_index":
			e.summary = v
		case "delta":
			e.delta = v
		case "annotation":
			e.annotation = v
		case "item_id":
			e.id = v
		}
	}
	if e.kind.Kind() == rawjson.String {
		name = protocol.Key(e.kind)
	}
	switch string(name) {
	case "response.output_text.delta":
		s.addText(r, &e, "content", `{"type":"output_text","annotations":[]}`, "text", e.delta, false)
	case "response.output_text.done":
		s.addText(r, &e, "content", `{"type":"output_text","annotations":[]}`, "text", event.Get("text"), true)
	case "response.refusal.delta":
		s.addText(r, &e, "content", `{"type":"refusal"}`, "refusal", e.delta, false)
	case "response.refusal.done":
		s.addText(r, &e, "content", `{"type":"refusal"}`, "refusal", event.Get("refusal"), true)
	case "response.reasoning_text.delta":
		s.addText(r, &e, "content", `{"type":"reasoning_text"}`, "text", e.delta, false)
	case "response.reasoning_text.done":
		s.addText(r, &e, "content", `{"type":"reasoning_text"}`, "text", event.Get("text"), true)
	case "response.reasoning_summary_text.delta":
		s.addText(r, &e, "summary", `{"type":"summary_text"}`, "text", e.delta, false)
	case "response.reasoning_summary_text.done":
		s.addText(r, &e, "summary", `{"type":"summary_text"}`, "text", event.Get("text"), true)
	case "response.function_call_arguments.delta", "response.mcp_call_arguments.delta":
		s.addArguments(r, &e, "arguments", e.delta, false)
	case "response.function_call_arguments.done", "response.mcp_call_arguments.done":
		s.addArguments(r, &e, "arguments", event.Get("arguments"), true)
	case "response.custom_tool_call_input.delta":
		s.addArguments(r, &e, "input", e.delta, false)
	case "response.custom_tool_call_input.done":
		s.addArguments(r, &e, "input", event.Get("input"), true)
	case "response.code_interpreter_call_code.delta":
		s.addArguments(r, &e, "code", e.delta, false)
	case "response.code_interpreter_call_code.done":
		s.addArguments(r, &e, "code", event.Get("code"), true)
	case "response.content_part.added", "response.reasoning_summary_part.added":
		s.setPart(r, &e, false)
	case "response.content_part.done", "response.reasoning_summary_part.done":
		s.setPart(r, &e, true)
	case "response.output_text.annotation.added":
		if p := s.part(r, &e, "content", ""); p != nil {
			p.annotations = r.KeepElement(p.annotations, e.annotation.Raw())
		}
	case "response.output_item.added":
		s.setItem(r, &e, false)
	case "response.output_item.done":
		s.setItem(r, &e, true)
	case "response.created", "response.in_progress", "response.queued":
		protocol.SetFirst(&r.Reply.ID, e.response.Get("id"))
		protocol.SetFirst(&r.Reply.Model, e.response.Get("model"))
	case "response.completed", "response.incomplete", "response.failed", "response.cancelled":
		s.end(r, string(name), e.response)
	case "error":
		r.Fail(protocol.StreamError(event))
	default:
		if !progress(string(name)) {
			r.Reply.Note("an unknown event: ", name)
		}
	}
}

// progress reports whether an event only signals progress; its result is in its item.
func progress(name string) bool {
	rest, ok := strings.CutPrefix(name, "response.")
	if !ok {
		return name == "keepalive"
	}
	kind, _, _ := strings.Cut(rest, ".")
	switch kind {
	case "audio", "code_interpreter_call", "compaction", "file_search_call", "image_generation_call", "mcp_call",
		"mcp_list_tools", "shell_call_command", "shell_call_output_content", "web_search_call":
		return true
	}
	return false
}

// end processes the last event.
func (s *stream) end(r *protocol.Stream, name string, response rawjson.Value) {
	protocol.SetFirst(&r.Reply.ID, response.Get("id"))
	if m := response.Get("model"); m.Kind() == rawjson.String {
		r.Reply.Model = m.Str()
	}
	failed := r.Reply.Error
	readStatus(&r.Reply, response)
	if failed != nil {
		r.Reply.Error = failed
	}
	if r.Reply.Stop == "" {
		r.Reply.Stop = strings.TrimPrefix(name, "response.")
	}
	if name == "response.failed" && r.Reply.Error == nil {
		r.Fail(&protocol.ReplyError{Message: "the response failed",
			Raw: []byte(`{"error":{"message":"the response failed"}}`)})
	}
	r.Ended, r.Reply.Pending = true, name == "response.cancelled"
	output := response.Get("output")
	if !output.First().Exists() {
		return
	}
	for _, i := range s.items { // the last event repeats them
		r.Kept -= i.kept
	}
	s.items, s.final = nil, nil
	for v := range output.Elems() {
		if v.Kind() == rawjson.Object && r.Room(len(v.Raw())+protocol.Structure) {
			s.final = append(s.final, slices.Clone(v.Raw()))
		}
	}
}

// setItem stores an item at its beginning or end.
func (s *stream) setItem(r *protocol.Stream, e *streamEvent, whole bool) {
	if e.item.Kind() != rawjson.Object {
		return
	}
	raw := e.item.Raw()
	item := protocol.Newest(s.items, protocol.Number(e.output))
	// Not every server numbers items: a different id is a different item.
	begins := item == nil || !whole || item.whole && !item.same(e.item)
	if !begins {
		r.Kept -= item.kept
	}
	if !r.Room(len(raw) + protocol.Structure) {
		return
	}
	if begins {
		item = new(streamItem)
		s.items = append(s.items, item)
	}
	*item = streamItem{index: protocol.Number(e.output), raw: slices.Clone(raw), whole: whole,
		kept: len(raw) + protocol.Structure}
}

// same reports whether v has the id of the item.
func (i *streamItem) same(v rawjson.Value) bool {
	doc, err := rawjson.Parse(i.raw, rawjson.Limits{})
	id := v.Get("id")
	return err == nil && id.Kind() == rawjson.String && doc.Root().Get("id").EqualStr(id.Str())
}

// item returns the item of an event, or creates it if the server did not announce it.
func (s *stream) item(r *protocol.Stream, e *streamEvent, otherwise string) *streamItem {
	item := protocol.Newest(s.items, protocol.Number(e.output))
	if item == nil && otherwise != "" && r.Room(protocol.Structure+len(otherwise)+len(e.id.Raw())) {
		item = &streamItem{index: protocol.Number(e.output), raw: []byte(otherwise)}
		if e.id.Kind() == rawjson.String {
			item.raw = protocol.AppendReplaced(nil, item.raw, []protocol.Replaced{{Name: "id", Value: e.id.Raw()}})
		}
		s.items = append(s.items, item)
	}
	if item == nil {
		if !r.Over {
			r.Reply.Note("a delta of an item that never began", nil)
		}
		return nil
	}
	if item.whole {
		return nil
	}
	return item
}

// part returns the part of an event. If the server did not announce it, it begins
// with raw, or is nil if raw is "".
func (s *stream) part(r *protocol.Stream, e *streamEvent, list, raw string) *streamPart {
	const message, reasoning = `{"type":"message","role":"assistant","content":[]}`, `{"type":"reasoning","summary":[]}`
	otherwise, index := message, protocol.Number(e.content)
	if list == "summary" {
		index = protocol.Number(e.summary)
	}
	switch {
	case raw == "":
		otherwise = ""
	case list == "summary" || strings.Contains(raw, "reasoning"):
		otherwise = reasoning
	}
	item := s.item(r, e, otherwise)
	if item == nil {
		return nil
	}
	// The newest part is nearly always the one.
	for i := len(item.parts) - 1; i >= max(0, len(item.parts)-128); i-- {
		if p := item.parts[i]; p.index == index && p.list == list {
			return p
		}
	}
	if raw == "" || !r.Room(protocol.Structure+len(raw)) {
		return nil
	}
	p := &streamPart{list: list, index: index, raw: []byte(raw)}
	item.parts = append(item.parts, p)
	item.kept += protocol.Structure + len(raw)
	return p
}

// addText appends to a part's text, or sets all of it.
func (s *stream) addText(r *protocol.Stream, e *streamEvent, list, raw, member string, text rawjson.Value, whole bool) {
	p := s.part(r, e, list, raw)
	if p == nil || p.whole || text.Kind() != rawjson.String {
		return
	}
	p.member = member
	p.text = s.add(r, e, p.text, protocol.Inner(text), whole)
}

// addArguments appends to the text of a call, or sets all of it.
func (s *stream) addArguments(r *protocol.Stream, e *streamEvent, member string, text rawjson.Value, whole bool) {
	item := s.item(r, e, "")
	if item == nil || text.Kind() != rawjson.String {
		return
	}
	item.member = member
	item.text = s.add(r, e, item.text, protocol.Inner(text), whole)
}

// add appends more to a text of the event's item, or replaces the text with it.
func (s *stream) add(r *protocol.Stream, e *streamEvent, text, more []byte, whole bool) []byte {
	if len(more) == 0 {
		return text
	}
	before := r.Kept
	if whole {
		r.Kept -= len(text)
		text = nil
	}
	text = r.Keep(text, more)
	protocol.Newest(s.items, protocol.Number(e.output)).kept += r.Kept - before
	return text
}

// setPart stores a part at its beginning or end.
func (s *stream) setPart(r *protocol.Stream, e *streamEvent, whole bool) {
	list := "content"
	if e.summary.Exists() {
		list = "summary"
	}
	if e.part.Kind() != rawjson.Object {
		return
	}
	begin := "{}"
	if strings.HasPrefix(e.part.Get("type").Str(), "reasoning") {
		begin = `{"type":"reasoning_text"}`
	}
	p := s.part(r, e, list, begin)
	raw := e.part.Raw()
	if p == nil || p.whole {
		return
	}
	before := r.Kept
	if whole { // it contains its text
		r.Kept -= len(p.text)
		p.text = nil
	}
	fits := r.Room(len(raw))
	protocol.Newest(s.items, protocol.Number(e.output)).kept += r.Kept - before
	if !fits {
		return
	}
	p.raw, p.whole = slices.Clone(raw), whole
}

// Done implements protocol.Assembly: the protocol has an event for the end.
func (s *stream) Done(*protocol.Stream) {}

func (s *stream) Write(reply *protocol.Reply) bool {
	if s.final != nil {
		reply.Items = slices.Clone(s.final)
		return true
	}
	items := slices.Clone(s.items)
	slices.SortStableFunc(items, func(a, b *streamItem) int { return int(max(-1, min(1, a.index-b.index))) })
	for _, i := range items {
		reply.Items = append(reply.Items, i.appendTo(nil))
	}
	return true
}

func (i *streamItem) appendTo(dst []byte) []byte {
	if i.whole {
		return append(dst, i.raw...)
	}
	with := []protocol.Replaced{{Name: "status", Value: []byte(`"incomplete"`)}}
	if i.text != nil {
		with = append(with, protocol.Replaced{Name: i.member, Value: protocol.AppendQuoted(nil, i.text)})
	}
	for _, list := range []string{"content", "summary"} {
		var parts []byte
		for _, p := range i.parts {
			if p.list != list {
				continue
			}
			if parts != nil {
				parts = append(parts, ',')
			}
			parts = p.appendTo(parts)
		}
		if parts != nil {
			with = append(with, protocol.Replaced{Name: list, Value: append(append([]byte{'['}, parts...), ']')})
		}
	}
	return protocol.AppendReplaced(dst, i.raw, with)
}

func (p *streamPart) appendTo(dst []byte) []byte {
	if p.whole {
		return append(dst, p.raw...)
	}
	var with []protocol.Replaced
	if p.member != "" {
		with = append(with, protocol.Replaced{Name: p.member, Value: protocol.AppendQuoted(nil, p.text)})
	}
	if p.annotations != nil {
		with = append(with, protocol.Replaced{Name: "annotations",
			Value: protocol.JoinList(p.raw, "annotations", p.annotations)})
	}
	return protocol.AppendReplaced(dst, p.raw, with)
}
