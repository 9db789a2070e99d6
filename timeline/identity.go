package timeline

import (
	"bytes"
	"encoding/binary"
	"sync"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/internal/rawjson"
)

// Identity returns the identity of a message: a hash of what it says, independent of its
// bytes.
//
// It covers the role, the participant's name and, in order, each part: text; id, name and
// arguments of a call; id, failure and content of a result; data, URL or file id of an
// image, document or recording, with a document's title; and all of an unknown part.
// Arguments are compared as JSON: key order, white space and escapes are ignored, numbers
// are compared as written, and no arguments equal an empty object.
//
// It ignores cache_control, the form of a content (a string or a list of one text), empty
// texts, signatures, citations, the ids and states that OpenAI gives to items, and
// thinking, which clients drop when they send a reply back. A message that is only
// thinking is identified by its text or its encrypted content. Consecutive texts count as
// one.
func Identity(m *chat.Message) Hash { return identityOf(m, (*identifier).joined) }

// LegacyIdentity returns the identity that earlier versions gave to a message. It differs
// from Identity if the message has several texts.
func LegacyIdentity(m *chat.Message) Hash { return identityOf(m, (*identifier).parts) }

func identityOf(m *chat.Message, parts func(*identifier, []chat.Part)) Hash {
	w := identifiers.Get().(*identifier)
	defer w.done()
	w.begin(string(m.Role), m.Name)
	w.item = m.Type != "" && m.Type != "message"
	w.message = m
	start := len(w.b)
	parts(w, m.Parts)
	if len(w.b) == start {
		w.thoughts(m.Parts)
	}
	return HashOf(w.b)
}

// TextIdentity returns the identity of a message whose only part is text.
func TextIdentity(role, text string) Hash {
	w := identifiers.Get().(*identifier)
	defer w.done()
	w.begin(role, "")
	if text != "" {
		w.b = append(w.b, tagText)
		w.b = appendString(w.b, text)
	}
	return HashOf(w.b)
}

// The hashed encoding is unambiguous: every part begins with a tag that determines its
// fields, every field is prefixed with its length, and every list ends with tagEnd.
const (
	tagEnd byte = iota
	tagText
	tagRefusal
	tagCall
	tagResult
	tagFailure // a result that is an error
	tagMedia
	tagThought
	tagCompaction
	tagReference
	tagCatalog
	tagRaw   // JSON in its canonical form
	tagPlain // bytes that are not JSON
)

// identityVersion is the first byte of the hashed encoding.
const identityVersion = 1

// identifier encodes a message for hashing.
type identifier struct {
	b       []byte
	message *chat.Message
	item    bool // the message is an OpenAI Responses item that consists of one part

	doc     rawjson.Doc
	text    []byte // a decoded literal that itself holds JSON
	members []member
}

var identifiers = sync.Pool{New: func() any { return new(identifier) }}

// maxKept is the largest buffer kept for the next message, in bytes.
const maxKept = 1 << 20

// done releases the message, and buffers that are too large to keep.
func (w *identifier) done() {
	w.message = nil
	clear(w.members[:cap(w.members)])
	_ = w.doc.Reset(nil, rawjson.Limits{})
	if cap(w.b)+cap(w.text) <= maxKept {
		identifiers.Put(w)
	}
}

func (w *identifier) begin(role, name string) {
	w.b = append(w.b[:0], identityVersion)
	w.b = appendString(w.b, role)
	w.b = appendString(w.b, name)
}

// literal appends the text of a JSON string literal.
func (w *identifier) literal(s chat.String) {
	w.b = binary.LittleEndian.AppendUint32(w.b, 0)
	start := len(w.b)
	w.b = s.Append(w.b)
	binary.LittleEndian.PutUint32(w.b[start-4:], uint32(len(w.b)-start))
}

// joined encodes the parts of a message, with consecutive texts as one.
func (w *identifier) joined(parts []chat.Part) {
	text := 0 // the start of the current text; 0 if there is none
	for i := range parts {
		p := &parts[i]
		switch {
		case p.Kind == chat.Thinking, p.Kind == chat.Text && p.Text.Empty():
		case p.Kind == chat.Text && text > 0:
			w.b = p.Text.Append(w.b)
			binary.LittleEndian.PutUint32(w.b[text-4:], uint32(len(w.b)-text))
		case p.Kind == chat.Text:
			text = len(w.b) + 5
			w.textPart(tagText, p.Text)
		default:
			text = 0
			w.part(p)
		}
	}
}

func (w *identifier) parts(parts []chat.Part) {
	for i := range parts {
		w.part(&parts[i])
	}
}

func (w *identifier) part(p *chat.Part) {
	switch p.Kind {
	case chat.Text:
		if p.Type == chat.JSON {
			w.raw(p)
			break
		}
		w.textPart(tagText, p.Text)
	case chat.Refusal:
		w.textPart(tagRefusal, p.Text)
	case chat.Thinking:
	case chat.Call:
		w.call(p)
	case chat.Result:
		w.result(p)
	case chat.Image, chat.Document, chat.Audio:
		w.media(p)
	case chat.Compaction:
		w.b = append(w.b, tagCompaction)
		if p.Text.Empty() {
			w.raw(p)
		} else {
			w.textPart(tagText, p.Text)
		}
	case chat.Reference:
		w.b = append(w.b, tagReference)
		w.b = appendString(w.b, p.ID)
	case chat.Catalog:
		w.b = append(w.b, tagCatalog)
		w.b = appendString(w.b, p.Name)
		if p.Name == "" {
			w.raw(p)
		}
	default:
		w.raw(p)
	}
}

func (w *identifier) textPart(tag byte, s chat.String) {
	if !s.Empty() {
		w.b = append(w.b, tag)
		w.literal(s)
	}
}

func (w *identifier) call(p *chat.Part) {
	w.b = append(w.b, tagCall)
	w.b = appendString(w.b, p.ID)
	w.b = appendString(w.b, p.Within)
	w.b = appendString(w.b, p.Name)
	w.arguments(p)
	if p.Hosted && p.ID == "" && w.doc.Reset(p.Raw, rawjson.Limits{}) == nil {
		w.b = append(w.b, tagRaw) // it contains the hosted tool's result
		w.value(w.doc.Root(), omitCall)
	}
}

// arguments encodes the arguments of a call. The free text of custom tools is not JSON
// even if it looks like it.
func (w *identifier) arguments(p *chat.Part) {
	args := p.Args
	free := p.Type == "custom" || p.Type == "custom_tool_call"
	if len(args) > 0 && args[0] == '"' {
		w.text = chat.String(args).Append(w.text[:0])
		args = w.text
	}
	switch {
	case free:
		w.plain(args)
	case len(bytes.TrimSpace(args)) == 0:
		w.b = append(w.b, tagEnd)
	case w.doc.Reset(args, rawjson.Limits{}) != nil:
		w.plain(args)
	case w.doc.Root().Kind() == rawjson.Object && w.doc.Root().Len() == 0:
		w.b = append(w.b, tagEnd)
	default:
		w.b = append(w.b, tagRaw)
		w.value(w.doc.Root(), omitNothing)
	}
}

func (w *identifier) plain(b []byte) {
	w.b = append(w.b, tagPlain)
	w.b = binary.LittleEndian.AppendUint32(w.b, uint32(len(b)))
	w.b = append(w.b, b...)
}

func (w *identifier) result(p *chat.Part) {
	if p.IsError {
		w.b = append(w.b, tagFailure)
	} else {
		w.b = append(w.b, tagResult)
	}
	w.b = appendString(w.b, p.ID)
	w.textPart(tagText, p.Text)
	// A catalog is the item itself; other parts are inside it.
	item := w.item
	w.item = item && len(p.Parts) == 1 && p.Parts[0].Kind == chat.Catalog
	w.parts(p.Parts)
	w.item = item
	if p.Text == nil && len(p.Parts) == 0 {
		w.bareResult(p)
	}
	if p.Type == "apply_patch_call_output" && w.doc.Reset(p.Raw, rawjson.Limits{}) == nil {
		w.b = append(w.b, tagRaw) // whether it succeeded
		w.value(w.doc.Root().Get("status"), omitNothing)
	}
	w.b = append(w.b, tagEnd)
}

// bareResult encodes a result that is neither text nor a list of parts: an approval, or
// anything else that a client put there.
func (w *identifier) bareResult(p *chat.Part) {
	if w.item {
		w.raw(p)
		return
	}
	raw := p.Raw
	if raw == nil {
		raw = w.message.Raw
	}
	if w.doc.Reset(raw, rawjson.Limits{}) != nil {
		return
	}
	switch c := w.doc.Root().Get("content"); c.Kind() {
	case rawjson.Invalid, rawjson.Null, rawjson.String:
	default:
		if c.Kind() != rawjson.Array || c.Len() > 0 {
			w.b = append(w.b, tagRaw)
			w.value(c, omitCache)
		}
	}
}

func (w *identifier) media(p *chat.Part) {
	m := p.Media
	if m == nil || len(m.Data) == 0 && m.URL == "" && m.FileID == "" && m.Text.Empty() {
		w.raw(p) // such as a document that is a list of parts
		return
	}
	w.b = append(w.b, tagMedia, byte(p.Kind))
	data := m.Data
	if bytes.IndexByte(data, '\\') >= 0 { // base64 with its slashes escaped
		w.text = append(append(append(w.text[:0], '"'), data...), '"')
		data = chat.String(w.text).Append(nil)
	}
	if len(data) > 0 {
		h := HashOf(data)
		data = h[:]
	}
	w.b = appendString(w.b, string(data))
	w.b = appendString(w.b, m.URL)
	w.b = appendString(w.b, m.FileID)
	w.literal(m.Text)
	if p.Kind == chat.Document && w.doc.Reset(p.Raw, rawjson.Limits{}) == nil {
		root := w.doc.Root()
		for _, v := range []rawjson.Value{root.Get("title"), root.Get("context"), root.Get("filename"),
			root.Get("file").Get("filename")} {
			w.literal(v.Raw())
		}
	}
}

// thoughts encodes a message that contains only thinking, or nothing at all.
func (w *identifier) thoughts(parts []chat.Part) {
	for i := range parts {
		p := &parts[i]
		if p.Kind != chat.Thinking {
			continue
		}
		w.b = append(w.b, tagThought)
		start := len(w.b)
		w.textPart(tagText, p.Text)
		w.parts(p.Parts)
		if len(w.b) == start {
			w.sealed(p)
		}
		w.b = append(w.b, tagEnd)
	}
}

// sealed encodes thinking that only its provider can read.
func (w *identifier) sealed(p *chat.Part) {
	if w.doc.Reset(p.Raw, rawjson.Limits{}) == nil {
		for _, name := range []string{"encrypted_content", "data", "signature"} {
			if v := w.doc.Root().Get(name); v.Kind() == rawjson.String {
				w.b = append(w.b, tagPlain)
				w.literal(v.Raw())
				return
			}
		}
		w.b = append(w.b, tagRaw)
		w.value(w.doc.Root(), omitCache)
	}
}

// raw encodes all of a part.
func (w *identifier) raw(p *chat.Part) {
	if w.doc.Reset(p.Raw, rawjson.Limits{}) != nil {
		w.plain(p.Raw)
		w.b = appendString(w.b, p.Type)
		w.literal(p.Text)
		return
	}
	w.b = append(w.b, tagRaw)
	if w.item {
		w.value(w.doc.Root(), omitItem)
	} else {
		w.value(w.doc.Root(), omitCache)
	}
}
