package wire

import (
	"fmt"
	"maps"
	"slices"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/internal/rawjson"
)

// The functions of this file change one raw message and leave every other byte
// of it as it came: they find the spans that change and splice. A message that
// cannot be read, or that has no place for what is asked, gets an *Error with the
// byte of the message. Where a key comes twice the last one is changed, for that
// is the one that providers read.

// ReadMessage reads one raw element of a list of messages: for counting a message
// that was edited. The message's slices point into raw.
func ReadMessage(f Format, raw []byte) (chat.Message, error) {
	e, err := open(f, raw)
	if err != nil {
		return chat.Message{}, err
	}
	return e.msg, nil
}

// ReplaceResults gives the raw message with the content of some of its tool
// results replaced by plain texts. A key is the index of a part as Read gives it;
// content that is a list is replaced as a whole. A result's id, name, is_error,
// cache_control and all else stay. With no texts the very slice is returned.
//
// Results whose content the protocol wants in another shape than text (searches,
// screenshots and other hosted tools) are refused. SPEC E5.
func ReplaceResults(f Format, raw []byte, texts map[int]string) ([]byte, error) {
	return replace(f, raw, texts, (*edit).result)
}

// ReplaceTexts does for Text parts what ReplaceResults does for results: a content
// that is one string, or the "text" of an element of a list. A plain-string input
// of Responses becomes a message, so that it can stand in a list. SPEC E5.
func ReplaceTexts(f Format, raw []byte, texts map[int]string) ([]byte, error) {
	return replace(f, raw, texts, (*edit).text)
}

// replace sets the member that find gives for each part.
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
			return nil, in(at(fail(e.root, "no such part: the message has %d", len(e.msg.Parts)), i), "parts")
		}
		parent, name, err := find(e, i)
		if err != nil {
			return nil, in(at(err, i), "parts")
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
	// elements are those of the content list, found when first asked for.
	elements []rawjson.Value
	// calls are those of Chat's tool_calls, found when first asked for.
	calls []rawjson.Value
}

// change puts text in the place of a span; an empty span is an insertion.
type change struct {
	span
	text []byte
}

// open reads a message. For Responses it may be a plain string.
func open(f Format, raw []byte) (*edit, error) {
	doc, err := rawjson.Parse(raw, rawjson.Limits{})
	if err != nil {
		if e, ok := err.(*rawjson.Error); ok {
			return nil, &Error{Offset: e.Offset, Msg: "not JSON: " + e.Msg}
		}
		return nil, err
	}
	e := &edit{format: f, raw: raw, root: doc.Root()}
	b := &Body{Format: f, data: raw}
	if f == Responses && e.root.Kind() == rawjson.String {
		if err := b.readList(e.root); err != nil {
			return nil, err
		}
		e.msg = b.Messages[0]
		return e, nil
	}
	if e.root.Kind() != rawjson.Object {
		return nil, wrong(e.root, "an object")
	}
	e.msg.Raw = e.root.Raw()
	switch f {
	case Anthropic:
		err = b.anthropicMessage(e.root, &e.msg)
	case Chat:
		err = b.chatMessage(e.root, &e.msg)
	case Responses:
		err = b.responsesItem(e.root, &e.msg)
	default:
		err = fmt.Errorf("no message has the format %s: use anthropic, openai or responses", f)
	}
	if err != nil {
		return nil, err
	}
	return e, nil
}

// result is where the content of the result that is part i stands.
func (e *edit) result(i int) (parent rawjson.Value, name string, err error) {
	p := &e.msg.Parts[i]
	if p.Kind != chat.Result {
		return parent, "", fail(e.root, "not the result of a tool")
	}
	switch e.format {
	case Anthropic:
		parent = e.element(i)
		// Of the hosted tools only MCP servers answer in plain text.
		if p.Hosted && p.Type != "mcp_tool_result" {
			return parent, "", fail(parent, "the content of a %s cannot be a text", p.Type)
		}
		return parent, "content", nil
	case Chat:
		return e.root, "content", nil
	}
	switch e.msg.Type {
	case "function_call_output", "custom_tool_call_output":
	case "mcp_approval_response", "tool_search_output":
		return parent, "", fail(e.root, "an item of type %q has no output", e.msg.Type)
	default: // shells, screenshots, patches: some answer in text, some never do
		switch e.root.Get("output").Kind() {
		case rawjson.String, rawjson.Null, rawjson.Invalid:
		default:
			return parent, "", fail(e.root, "the output of a %s cannot be a text", e.msg.Type)
		}
	}
	return e.root, "output", nil
}

// text is where the text of part i stands; nowhere if the whole message is one
// string.
func (e *edit) text(i int) (parent rawjson.Value, name string, err error) {
	if e.msg.Parts[i].Kind != chat.Text {
		return parent, "", fail(e.root, "not a text")
	}
	switch {
	case e.root.Kind() == rawjson.String:
		return parent, "", nil
	case e.root.Get("content").Kind() == rawjson.String:
		return e.root, "content", nil
	}
	return e.element(i), "text", nil
}

// element is the element of the content list that part i was read from.
func (e *edit) element(i int) rawjson.Value {
	if e.format == Chat && e.msg.Parts[0].Kind == chat.Thinking {
		i-- // the reasoning stands beside the content but is read before it
	}
	if e.elements == nil {
		for v := range e.root.Get("content").Elems() {
			e.elements = append(e.elements, v)
		}
	}
	return e.elements[i]
}

// set gives a member of an object a value; a member that it lacks is added behind
// the last one.
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

// fromString is the message that a plain-string input of Responses stands for,
// with the content given.
func fromString(content []byte) []byte {
	out := append([]byte(`{"role":"user","content":`), content...)
	return append(out, '}')
}

// AppendText gives the raw message with one more text part at its end, so that a
// marker or a recalled passage can travel in a message that is there already. A
// list gets one more element; a content that is a string becomes a list, with the
// very literal as the text of the other part. A string that says nothing is left
// out, since providers refuse empty texts. A plain-string input of Responses
// becomes a message. With no text the very slice is returned.
//
// Results of tools, calls and other items that are not someone's words are
// refused. Only the one message is looked at: Anthropic reads user messages in a
// row as one turn, so a text behind results stands before those of the message
// that follows. Add to the last of them. SPEC E5.
func AppendText(f Format, raw []byte, text string) ([]byte, error) {
	return addText(f, raw, text, false)
}

// PrependText is AppendText at the beginning of the message. It refuses a message
// of Anthropic's that begins with results or with thinking, before which the
// provider allows no text.
func PrependText(f Format, raw []byte, text string) ([]byte, error) {
	return addText(f, raw, text, true)
}

func addText(f Format, raw []byte, text string, first bool) ([]byte, error) {
	if text == "" {
		return raw, nil
	}
	e, err := open(f, raw)
	if err != nil {
		return nil, err
	}
	if err := e.speaks(first); err != nil {
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

// speaks reports, as an error, why a text cannot be added to the message.
func (e *edit) speaks(first bool) error {
	switch {
	case e.msg.Role == chat.Tool || e.msg.Role == chat.Function:
		return fail(e.root, "text cannot be added to the result of a tool")
	case e.format == Responses && e.msg.Type != "" && e.msg.Type != "message",
		e.format == Responses && e.root.Kind() == rawjson.Object && !e.root.Has("role"):
		return fail(e.root, "text cannot be added to an item of type %q", e.msg.Type)
	case e.format != Anthropic || !first:
		return nil
	}
	for i := range e.msg.Parts {
		switch p := &e.msg.Parts[i]; {
		case p.Kind == chat.Result && !p.Hosted:
			return in(at(fail(e.element(i), "no text may stand before the results of tools"), i), "content")
		case p.Kind == chat.Thinking && i == 0:
			return in(at(fail(e.element(i), "no text may stand before the thinking"), i), "content")
		}
	}
	return nil
}

// textPart is an element of a content list that says the literal.
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

// listOf is a content list of the part and of the string that was there, if it
// says something.
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

// addElement puts an element before or behind those of a list.
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
