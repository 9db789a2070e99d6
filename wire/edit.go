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
	return e.Message, nil
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
	return replace(f, raw, texts, result)
}

// ReplaceTexts does for Text parts what ReplaceResults does for results: it
// replaces a content that is one string, or the "text" of a list element. A
// plain-string input of Responses becomes a message, so that it can be part of a
// list. SPEC E5.
func ReplaceTexts(f Format, raw []byte, texts map[int]string) ([]byte, error) {
	return replace(f, raw, texts, text)
}

// locator finds the member with a part's text.
type locator func(p *Protocol, e *protocol.Edit, i int) (parent rawjson.Value, name string, err error)

// replace sets the member that find returns for each part.
func replace(f Format, raw []byte, texts map[int]string, find locator) ([]byte, error) {
	if len(texts) == 0 {
		return raw, nil
	}
	e, err := open(f, raw)
	if err != nil {
		return nil, err
	}
	p := f.Protocol()
	joined := e.Texts()
	replaced := false // a text of joined
	for _, i := range slices.Sorted(maps.Keys(texts)) {
		if i < 0 || i >= len(e.Message.Parts) {
			return nil, protocol.In(protocol.At(protocol.Fail(e.Root, "no such part: the message has %d",
				len(e.Message.Parts)), i), "parts")
		}
		parent, name, err := find(p, e, i)
		if err != nil {
			return nil, protocol.In(protocol.At(err, i), "parts")
		}
		value := chat.Quote(texts[i])
		switch {
		case e.Root.Kind() == rawjson.String:
			return p.FromText(value), nil
		case len(joined) > 1 && e.Message.Parts[i].Kind == chat.Text:
			joined[i-e.Before()], replaced = value, true
			continue
		case p.AsResult != nil && e.Message.Parts[i].Kind == chat.Result:
			value = p.AsResult(e, i, value)
		}
		e.Set(parent, name, value)
	}
	if replaced {
		e.SetTexts(joined)
	}
	return e.Apply(), nil
}

// open parses a message. It may be a plain string where a list of messages may be one.
func open(f Format, raw []byte) (*protocol.Edit, error) {
	p := f.Protocol()
	if !p.IsProtocol() {
		return nil, fmt.Errorf("format %s has no messages: use %s", f, ProtocolNames())
	}
	return p.Open(raw)
}

// result locates the content of the result in part i.
func result(p *Protocol, e *protocol.Edit, i int) (parent rawjson.Value, name string, err error) {
	if e.Message.Parts[i].Kind != chat.Result {
		return parent, "", protocol.Fail(e.Root, "not the result of a tool")
	}
	return p.Result(e, i)
}

// text locates the text of part i. name is empty if the whole message is one
// string.
func text(p *Protocol, e *protocol.Edit, i int) (parent rawjson.Value, name string, err error) {
	if e.Message.Parts[i].Kind != chat.Text {
		return parent, "", protocol.Fail(e.Root, "not a text")
	}
	switch {
	case e.Root.Kind() == rawjson.String:
		return parent, "", nil
	case e.Content().Kind() == rawjson.String:
		return e.Root, p.Content, nil
	case !e.Content().Exists() && e.Root.Has("text"): // the message is the part
		return e.Root, "text", nil
	case e.Message.Parts[i].Signed:
		return parent, "", protocol.Fail(e.Element(i), "a signed text stays as it came")
	}
	return e.Element(i), "text", nil
}

// AppendText returns the raw message with one more text part at its end, so that
// an existing message can carry a marker or a recalled passage. A list gets one
// more element. A string becomes a list with the original literal as its first
// text; an empty string is dropped, because providers refuse empty texts. Where
// a content is always a string, the text is joined to it, and is a part of its
// own when the message is read again. A plain-string input of Responses becomes
// a message. Without text AppendText returns raw itself.
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
	p := f.Protocol()
	if at >= len(e.Message.Parts) {
		return AppendText(f, raw, text)
	}
	if err := allowsText(p, e, at, len(e.Message.Parts)); err != nil {
		return nil, err
	}
	if p.Joint != "" {
		addJoined(e, p.Joint, text, at-e.Before())
		return e.Apply(), nil
	}
	content := e.Content()
	if content.Kind() != rawjson.Array {
		return nil, protocol.Fail(e.Root, "a content without parts has no part %d", at)
	}
	i := e.Before()
	for part := range content.Elems() {
		if i == at {
			start, _ := part.Span()
			e.Insert(start, append(textPart(p, e.Message.Role, chat.Quote(text)), ','))
			break
		}
		i++
	}
	return e.Apply(), nil
}

func addText(f Format, raw []byte, text string, first bool) ([]byte, error) {
	if text == "" {
		return raw, nil
	}
	e, err := open(f, raw)
	if err != nil {
		return nil, err
	}
	p := f.Protocol()
	after := len(e.Message.Parts)
	if first {
		after = 0
	}
	if err := allowsText(p, e, after, len(e.Message.Parts)); err != nil {
		return nil, err
	}
	if p.Joint != "" {
		at := 0
		if !first {
			at = len(e.Message.Parts)
		}
		addJoined(e, p.Joint, text, at)
		return e.Apply(), nil
	}
	part := textPart(p, e.Message.Role, chat.Quote(text))
	content := e.Content()
	if e.Root.Kind() == rawjson.String {
		content = e.Root
	}
	switch content.Kind() {
	case rawjson.Array:
		addElement(e, content, part, first)
		return e.Apply(), nil
	case rawjson.String:
		list := listOf(p, e, content, part, first)
		if e.Root.Kind() == rawjson.String {
			return p.FromText(list), nil
		}
		e.Set(e.Root, p.Content, list)
	default: // null or absent
		e.Set(e.Root, p.Content, listOf(p, e, rawjson.Value{}, part, first))
	}
	return e.Apply(), nil
}

// addJoined adds a text before a text of a content that is always a string, or at its end.
func addJoined(e *protocol.Edit, joint, text string, at int) {
	texts := e.Texts()
	text = protocol.WithoutJoint(text, joint)
	e.SetTexts(slices.Insert(texts, min(max(at, 0), len(texts)), chat.String(chat.Quote(text))))
}

// allowsText returns an error if a text cannot be added to the message before its parts from
// the given one up to end.
func allowsText(p *Protocol, e *protocol.Edit, from, end int) error {
	if e.Message.Role == chat.Tool || e.Message.Role == chat.Function {
		return protocol.Fail(e.Root, "text cannot be added to the result of a tool")
	}
	return p.AllowsText(e, from, end)
}

// textPart returns an element of a content with the literal as its text.
func textPart(p *Protocol, role chat.Role, literal []byte) []byte {
	begin := p.TextPart(role)
	out := make([]byte, 0, len(begin)+len(literal)+8)
	out = append(out, begin...)
	out = append(out, literal...)
	return append(out, '}')
}

// listOf returns a content list of part and the previous string, if that is not
// empty.
func listOf(p *Protocol, e *protocol.Edit, was rawjson.Value, part []byte, first bool) []byte {
	out := []byte{'['}
	if chat.String(was.Raw()).Empty() {
		return append(append(out, part...), ']')
	}
	parts := [][]byte{textPart(p, e.Message.Role, was.Raw()), part}
	if first {
		parts[0], parts[1] = parts[1], parts[0]
	}
	out = append(append(out, parts[0]...), ',')
	return append(append(out, parts[1]...), ']')
}

// addElement adds an element at the beginning or end of a list.
func addElement(e *protocol.Edit, list rawjson.Value, part []byte, first bool) {
	head, tail := list.First(), rawjson.Value{}
	for v := range list.Elems() {
		tail = v
	}
	switch {
	case !head.Exists():
		start, _ := list.Span()
		e.Insert(start+1, part)
	case first:
		start, _ := head.Span()
		e.Insert(start, append(part, ','))
	default:
		_, end := tail.Span()
		e.Insert(end, append([]byte{','}, part...))
	}
}
