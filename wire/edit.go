package wire

import (
	"fmt"
	"maps"
	"slices"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/internal/rawjson"
	"github.com/oriel-context/oriel/wire/internal/protocol"
)

// The functions of this file change one raw message and leave every other byte of
// it unchanged: they find the spans to change and splice. For a message that
// cannot be read, or that has no place for the change, they return an *Error with
// the offset in the message. If a key occurs twice, the last one is changed,
// because providers read that one.

// ReadMessage parses one raw element of a list of messages, for example to count
// an edited message. The message's slices point into raw.
func ReadMessage(f Format, raw []byte) (chat.Message, error) {
	e, err := open(f, raw)
	if err != nil {
		return chat.Message{}, err
	}
	return e.msg, nil
}

// ReplaceResults returns the raw message with the content of some tool results
// replaced by plain texts. The keys of texts are part indices as in Read; a
// content that is a list is replaced as a whole. Everything else stays: a result's
// id, name, is_error, cache_control. Without texts ReplaceResults returns raw
// itself.
//
// It refuses results whose content must not be text (searches, screenshots and
// other hosted tools). SPEC E5.
func ReplaceResults(f Format, raw []byte, texts map[int]string) ([]byte, error) {
	return replace(f, raw, texts, (*edit).result)
}

// ReplaceTexts does for Text parts what ReplaceResults does for results: it
// replaces a content that is one string, or the "text" of a list element. A
// plain-string input of Responses becomes a message, so that it can be part of a
// list. SPEC E5.
func ReplaceTexts(f Format, raw []byte, texts map[int]string) ([]byte, error) {
	return replace(f, raw, texts, (*edit).text)
}

// replace sets the member that find returns for each part.
func replace(f Format, raw []byte, texts map[int]string, find func(*edit, int) (rawjson.Value, string, error)) ([]byte, error) {
	if len(texts) == 0 {
		return raw, nil
	}
	e, err := open(f, raw)
	if err != nil {
		return nil, err
	}
	for _, i := range slices.Sorted(maps.Keys(texts)) {
		if i < 0 || i >= len(e.msg.Parts) {
			return nil, protocol.In(protocol.At(protocol.Fail(e.root, "no such part: the message has %d", len(e.msg.Parts)), i), "parts")
		}
		parent, name, err := find(e, i)
		if err != nil {
			return nil, protocol.In(protocol.At(err, i), "parts")
		}
		if e.root.Kind() == rawjson.String {
			return fromString(chat.Quote(texts[i])), nil
		}
		e.set(parent, name, chat.Quote(texts[i]))
	}
	return e.apply(), nil
}

// edit is a message that is being changed.
type edit struct {
	format  Format
	raw     []byte
	root    rawjson.Value
	msg     chat.Message
	changes []change
	// elements are the elements of the content list, located on first use.
	elements []rawjson.Value
	// calls are the elements of Chat's tool_calls, located on first use.
	calls []rawjson.Value
}

// change replaces a span with text; an empty span makes it an insertion.
type change struct {
	span
	text []byte
}

// open parses a message. For Responses it may be a plain string.
func open(f Format, raw []byte) (*edit, error) {
	doc, err := rawjson.Parse(raw, rawjson.Limits{})
	if err != nil {
		return nil, protocol.Broken(err)
	}
	e := &edit{format: f, raw: raw, root: doc.Root()}
	p := f.Protocol()
	if p.FromText != nil && e.root.Kind() == rawjson.String {
		b := &Body{Format: f, data: raw}
		if err := b.readList(p, e.root); err != nil {
			return nil, err
		}
		e.msg = b.Messages[0]
		return e, nil
	}
	if e.root.Kind() != rawjson.Object {
		return nil, protocol.Wrong(e.root, "an object")
	}
	e.msg.Raw = e.root.Raw()
	if !p.IsProtocol() {
		return nil, fmt.Errorf("format %s has no messages: use %s", f, ProtocolNames())
	}
	if err := p.Message(new(protocol.Reader), e.root, &e.msg); err != nil {
		return nil, err
	}
	return e, nil
}

// result locates the content of the result in part i.
func (e *edit) result(i int) (parent rawjson.Value, name string, err error) {
	p := &e.msg.Parts[i]
	if p.Kind != chat.Result {
		return parent, "", protocol.Fail(e.root, "not the result of a tool")
	}
	switch e.format {
	case Anthropic:
		parent = e.element(i)
		// Of the hosted tools only MCP servers return plain text.
		if p.Hosted && p.Type != "mcp_tool_result" {
			return parent, "", protocol.Fail(parent, "the content of a %s cannot be a text", p.Type)
		}
		return parent, "content", nil
	case Chat:
		return e.root, "content", nil
	}
	switch e.msg.Type {
	case "function_call_output", "custom_tool_call_output":
	case "mcp_approval_response", "tool_search_output":
		return parent, "", protocol.Fail(e.root, "an item of type %q has no output", e.msg.Type)
	default: // shells, screenshots, patches: some return text, some never do
		switch e.root.Get("output").Kind() {
		case rawjson.String, rawjson.Null, rawjson.Invalid:
		default:
			return parent, "", protocol.Fail(e.root, "the output of a %s cannot be a text", e.msg.Type)
		}
	}
	return e.root, "output", nil
}

// text locates the text of part i. name is empty if the whole message is one
// string.
func (e *edit) text(i int) (parent rawjson.Value, name string, err error) {
	if e.msg.Parts[i].Kind != chat.Text {
		return parent, "", protocol.Fail(e.root, "not a text")
	}
	switch {
	case e.root.Kind() == rawjson.String:
		return parent, "", nil
	case e.root.Get("content").Kind() == rawjson.String:
		return e.root, "content", nil
	}
	return e.element(i), "text", nil
}

// element returns the content list's element of part i.
func (e *edit) element(i int) rawjson.Value {
	if e.format == Chat && e.msg.Parts[0].Kind == chat.Thinking {
		i-- // reasoning is outside the content but comes first in Parts
	}
	if e.elements == nil {
		for v := range e.root.Get("content").Elems() {
			e.elements = append(e.elements, v)
		}
	}
	return e.elements[i]
}

// set sets a member of an object, or adds it after the last one.
func (e *edit) set(parent rawjson.Value, name string, value []byte) {
	if v := parent.Get(name); v.Exists() {
		start, end := v.Span()
		e.changes = append(e.changes, change{span{start, end}, value})
		return
	}
	start, _ := parent.Span()
	where, text := start+1, []byte(nil)
	for _, v := range parent.Members() {
		_, where = v.Span()
	}
	if where > start+1 {
		text = append(text, ',')
	}
	text = chat.AppendQuote(text, name)
	text = append(text, ':')
	e.insert(where, append(text, value...))
}

func (e *edit) insert(where int, text []byte) {
	e.changes = append(e.changes, change{span{where, where}, text})
}

// apply splices the changes, which are in the order of their parts, into the
// message.
func (e *edit) apply() []byte {
	size := len(e.raw)
	for _, c := range e.changes {
		size += len(c.text) - (c.end - c.start)
	}
	out, from := make([]byte, 0, size), 0
	for _, c := range e.changes {
		out = append(out, e.raw[from:c.start]...)
		out = append(out, c.text...)
		from = c.end
	}
	return append(out, e.raw[from:]...)
}

// fromString returns the message that a plain-string input of Responses stands
// for, with the given content.
func fromString(content []byte) []byte {
	out := append([]byte(`{"role":"user","content":`), content...)
	return append(out, '}')
}

// AppendText returns the raw message with one more text part at its end, so that
// an existing message can carry a marker or a recalled passage. A list gets one
// more element. A string becomes a list with the original literal as its first
// text; an empty string is dropped, because providers refuse empty texts. A
// plain-string input of Responses becomes a message. Without text AppendText
// returns raw itself.
//
// It refuses tool results, calls and other items that are not text by someone. It
// looks at this message only: Anthropic reads consecutive user messages as one
// turn, so a text after results would precede the results of the next message.
// Append to the last such message. SPEC E5.
func AppendText(f Format, raw []byte, text string) ([]byte, error) {
	return addText(f, raw, text, false)
}

// PrependText is AppendText at the beginning of the message. It refuses an
// Anthropic message that begins with results or thinking, because the provider
// allows no text before them.
func PrependText(f Format, raw []byte, text string) ([]byte, error) {
	return addText(f, raw, text, true)
}

// InsertText is AppendText before the part with the given index. For the index 0 it is
// PrependText. It refuses a place before tool results of an Anthropic
// message.
func InsertText(f Format, raw []byte, text string, at int) ([]byte, error) {
	if at <= 0 || text == "" {
		return PrependText(f, raw, text)
	}
	e, err := open(f, raw)
	if err != nil {
		return nil, err
	}
	if at >= len(e.msg.Parts) {
		return AppendText(f, raw, text)
	}
	if err := e.speaks(at, len(e.msg.Parts)); err != nil {
		return nil, err
	}
	content := e.root.Get("content")
	if content.Kind() != rawjson.Array {
		return nil, protocol.Fail(e.root, "a content without parts has no part %d", at)
	}
	i := 0
	for part := range content.Elems() {
		if i == at {
			start, _ := part.Span()
			e.insert(start, append(e.textPart(chat.Quote(text)), ','))
			break
		}
		i++
	}
	return e.apply(), nil
}

func addText(f Format, raw []byte, text string, first bool) ([]byte, error) {
	if text == "" {
		return raw, nil
	}
	e, err := open(f, raw)
	if err != nil {
		return nil, err
	}
	after := len(e.msg.Parts)
	if first {
		after = 0
	}
	if err := e.speaks(after, len(e.msg.Parts)); err != nil {
		return nil, err
	}
	part := e.textPart(chat.Quote(text))
	content := e.root.Get("content")
	if e.root.Kind() == rawjson.String {
		content = e.root
	}
	switch content.Kind() {
	case rawjson.Array:
		e.addElement(content, part, first)
		return e.apply(), nil
	case rawjson.String:
		list := e.listOf(content, part, first)
		if e.root.Kind() == rawjson.String {
			return fromString(list), nil
		}
		e.set(e.root, "content", list)
	default: // null or absent
		e.set(e.root, "content", e.listOf(rawjson.Value{}, part, first))
	}
	return e.apply(), nil
}

// speaks returns an error if a text cannot be added to the message before its parts from
// the given one up to end.
func (e *edit) speaks(from, end int) error {
	switch {
	case e.msg.Role == chat.Tool || e.msg.Role == chat.Function:
		return protocol.Fail(e.root, "text cannot be added to the result of a tool")
	case e.format == Responses && e.msg.Type != "" && e.msg.Type != "message",
		e.format == Responses && e.root.Kind() == rawjson.Object && !e.root.Has("role"):
		return protocol.Fail(e.root, "text cannot be added to an item of type %q", e.msg.Type)
	case e.format != Anthropic:
		return nil
	}
	for i := from; i < end; i++ {
		switch p := &e.msg.Parts[i]; {
		case p.Kind == chat.Result && !p.Hosted:
			return protocol.In(protocol.At(protocol.Fail(e.element(i), "text is not allowed before tool results"), i), "content")
		case p.Kind == chat.Thinking && i == 0:
			return protocol.In(protocol.At(protocol.Fail(e.element(i), "text is not allowed before thinking"), i), "content")
		}
	}
	return nil
}

// textPart returns a content element with the literal as its text.
func (e *edit) textPart(literal []byte) []byte {
	kind := "text"
	if e.format == Responses {
		kind = "input_text"
		if e.msg.Role == chat.Assistant {
			kind = "output_text"
		}
	}
	out := make([]byte, 0, len(literal)+36)
	out = append(out, `{"type":"`...)
	out = append(out, kind...)
	out = append(out, `","text":`...)
	out = append(out, literal...)
	return append(out, '}')
}

// listOf returns a content list of part and the previous string, if that is not
// empty.
func (e *edit) listOf(was rawjson.Value, part []byte, first bool) []byte {
	out := []byte{'['}
	if chat.String(was.Raw()).Empty() {
		return append(append(out, part...), ']')
	}
	parts := [][]byte{e.textPart(was.Raw()), part}
	if first {
		parts[0], parts[1] = parts[1], parts[0]
	}
	out = append(append(out, parts[0]...), ',')
	return append(append(out, parts[1]...), ']')
}

// addElement adds an element at the beginning or end of a list.
func (e *edit) addElement(list rawjson.Value, part []byte, first bool) {
	head, tail := list.First(), rawjson.Value{}
	for v := range list.Elems() {
		tail = v
	}
	switch {
	case !head.Exists():
		start, _ := list.Span()
		e.insert(start+1, part)
	case first:
		start, _ := head.Span()
		e.insert(start, append(part, ','))
	default:
		_, end := tail.Span()
		e.insert(end, append([]byte{','}, part...))
	}
}
