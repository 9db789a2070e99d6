package protocol

import (
	"slices"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/internal/rawjson"
)

// Edit is a message that is being changed: spans of it are replaced, and every other byte
// stays. If a key occurs twice, the last one is changed, because providers read that one.
type Edit struct {
	// Root is the message: an object, or the literal of a list that is a plain text.
	Root rawjson.Value
	// Message is the message as the protocol reads it.
	Message chat.Message

	p       *Protocol
	reader  Reader
	raw     []byte
	changes []change
	list    []rawjson.Value // the elements of the member listed
	listed  string
}

// change replaces a span with text; an empty span makes it an insertion.
type change struct {
	start, end int
	text       []byte
}

// Open parses a message.
func (p *Protocol) Open(raw []byte) (*Edit, error) {
	doc, err := rawjson.Parse(raw, rawjson.Limits{})
	if err != nil {
		return nil, Broken(err)
	}
	e := &Edit{Root: doc.Root(), p: p, raw: raw}
	if p.FromText != nil && e.Root.Kind() == rawjson.String {
		e.Message = TextMessage(e.Root, make([]chat.Part, 1))
		return e, nil
	}
	if e.Root.Kind() != rawjson.Object {
		return nil, Wrong(e.Root, "an object")
	}
	e.Message.Raw = e.Root.Raw()
	if err := p.Message(&e.reader, e.Root, &e.Message); err != nil {
		return nil, err
	}
	return e, nil
}

// TextMessage returns the message that a list means if it is the literal of a text, with
// part as its only part.
func TextMessage(literal rawjson.Value, part []chat.Part) chat.Message {
	part[0] = chat.Part{Kind: chat.Text, Text: chat.String(literal.Raw())}
	return chat.Message{Role: chat.User, Raw: literal.Raw(), Parts: part}
}

// Content returns the content of the message: a list of elements, a string, or nothing.
func (e *Edit) Content() rawjson.Value { return e.Root.Get(e.p.Content) }

// Element returns the content's element of part i.
func (e *Edit) Element(i int) rawjson.Value {
	return e.List(e.p.Content)[i-e.Before()]
}

// List returns the elements of a member of the message.
func (e *Edit) List(name string) []rawjson.Value {
	if e.listed != name {
		e.list, e.listed = nil, name
		for v := range e.Root.Get(name).Elems() {
			e.list = append(e.list, v)
		}
	}
	return e.list
}

// Before returns how many parts of the message come before those of its content.
func (e *Edit) Before() int {
	if e.p.Before == nil {
		return 0
	}
	return e.p.Before(&e.Message)
}

// Set sets a member of an object, or adds it after the last one.
func (e *Edit) Set(parent rawjson.Value, name string, value []byte) {
	if v := parent.Get(name); v.Exists() {
		start, end := v.Span()
		e.changes = append(e.changes, change{start, end, value})
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
	e.Insert(where, append(text, value...))
}

// Insert inserts a text at an offset.
func (e *Edit) Insert(where int, text []byte) { e.Replace(where, where, text) }

// Replace replaces a span with a text.
func (e *Edit) Replace(start, end int, text []byte) {
	e.changes = append(e.changes, change{start, end, text})
}

// Remove deletes all members with a name from an object, each with its comma.
func (e *Edit) Remove(parent rawjson.Value, name string) {
	type pair struct{ start, end int }
	var all []pair
	var gone []bool
	for k, v := range parent.Members() {
		start, _ := k.Span()
		_, end := v.Span()
		all = append(all, pair{start, end})
		gone = append(gone, string(Key(k)) == name)
	}
	kept := false // an earlier member stays
	for i := range all {
		switch {
		case !gone[i]:
			kept = true
		case kept:
			e.Replace(all[i-1].end, all[i].end, nil)
		case i+1 < len(all):
			e.Replace(all[i].start, all[i+1].start, nil)
		default:
			e.Replace(all[i].start, all[i].end, nil)
		}
	}
}

// Changed reports whether there are changes.
func (e *Edit) Changed() bool { return len(e.changes) > 0 }

// Apply splices the changes into the message.
func (e *Edit) Apply() []byte {
	slices.SortStableFunc(e.changes, func(a, b change) int { return a.start - b.start })
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

// TextPart is Protocol.TextPart of a protocol whose texts have the type "text".
func TextPart(chat.Role) string { return `{"type":"text","text":` }
