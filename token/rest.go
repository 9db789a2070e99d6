package token

import (
	"bytes"
	"strings"
	"sync"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/internal/rawjson"
)

// This version understands only some of a part. A hosted tool's result, a
// document's title or a field of a later protocol is in Raw alone, and the
// provider counts it. So everything in Raw that was not counted already is
// counted as JSON text, which is more than a provider counts. Ids, cache marks
// and the short keywords of a protocol are left out.
const (
	quietWord = 64    // bytes of the longest literal that counts as a keyword
	quietURL  = 2_048 // bytes of the longest address
	// bareFrame is the length of the JSON around the text of a part that has
	// nothing else, mediaFrame the same for inline media: such JSON need not
	// be read again.
	bareFrame  = 32
	mediaFrame = 128
	// claimTries limits the search for parts that are out of order.
	claimTries = 4_096
)

// remainder sums up what the JSON of a part or message contains beyond its
// parts.
type remainder struct {
	c   *Counter
	sum raw
	// sealed is the characters of signed and encrypted text.
	sealed int

	// What was counted elsewhere:
	text  chat.String
	args  []byte
	name  string
	media *chat.Media
	parts []chat.Part
	next  int // where the next of parts is expected
	tries int
	// picture is the member that holds a picture as bare base64.
	picture string

	data []byte
	from int // start of the text that is not counted yet
}

// rest counts what a part contains beyond its fields.
func (c *Counter) rest(p *chat.Part) raw {
	frame := bareFrame
	known := len(p.Text) + len(p.Args)
	if p.Media != nil {
		known += len(p.Media.Text)
		if len(p.Media.Data) > 0 {
			known, frame = known+len(p.Media.Data), mediaFrame
		}
	}
	for i := range p.Parts {
		known += len(p.Parts[i].Raw)
	}
	if len(p.Raw)-known <= frame {
		return raw{}
	}
	w := c.remainder(p)
	if !w.read(p.Raw, false) {
		return raw{text: ceilDiv(len(p.Raw)-known, 3), rough: true}
	}
	w.sum.add(sealedTokens(w.sealed))
	return w.sum
}

func (c *Counter) remainder(p *chat.Part) remainder {
	w := remainder{c: c, text: p.Text, args: p.Args, name: p.Name, media: p.Media, parts: p.Parts}
	if p.Type == "image_generation_call" {
		w.picture = "result"
	}
	return w
}

// messageRest counts what a message contains beyond its parts.
func (c *Counter) messageRest(m *chat.Message) raw {
	w := remainder{c: c, name: m.Name, parts: m.Parts}
	if len(m.Parts) == 1 && m.Parts[0].Kind == chat.Result && len(m.Parts[0].Raw) == 0 {
		// The message is itself the result (OpenAI Chat).
		w.text, w.parts = m.Parts[0].Text, m.Parts[0].Parts
	}
	known := len(w.text)
	for i := range w.parts {
		known += len(literal(&w.parts[i])) + len(", ")
	}
	if len(m.Raw)-known <= bareFrame || len(m.Raw) == 0 || m.Raw[0] != '{' {
		return raw{}
	}
	w.read(m.Raw, false)
	w.sum.add(sealedTokens(w.sealed))
	return w.sum
}

// whole counts JSON of unknown meaning: all of it is text, except encrypted
// text and pictures.
func (c *Counter) whole(data []byte) raw {
	w := remainder{c: c}
	if !w.read(data, true) {
		return raw{text: c.enc.CountBytes(data), rough: true}
	}
	w.sum.add(sealedTokens(w.sealed))
	w.sum.rough = true
	return w.sum
}

// sealedTokens estimates unreadable text by its length: base64 holds 3 bytes
// in 4 characters, and a token is about 4 bytes.
func sealedTokens(chars int) raw {
	return raw{fixed: ceilDiv(chars*3, 16), rough: chars > 0}
}

var docs = sync.Pool{New: func() any { return new(rawjson.Doc) }}

// read sums up all of data, or only what is unknown in it. It reports whether
// data is JSON.
func (w *remainder) read(data []byte, all bool) bool {
	doc := docs.Get().(*rawjson.Doc)
	defer func() {
		_ = doc.Reset(nil, rawjson.Limits{}) // release data
		docs.Put(doc)
	}()
	if doc.Reset(data, rawjson.Limits{Bytes: len(data)}) != nil {
		return false
	}
	w.data = data
	if all {
		w.walk(doc.Root())
		w.hole(len(data), len(data))
	} else {
		w.members(doc.Root())
	}
	return true
}

// members counts the unknown members of an object.
func (w *remainder) members(object rawjson.Value) {
	for name := object.First(); name.Exists(); {
		v := name.Next()
		switch key := inside(name); {
		case w.seals(object, key, v), w.known(key, v):
		case frames(key) && v.Kind() == rawjson.Object:
			w.members(v)
		default:
			w.from, _ = name.Span()
			w.walk(v)
			_, end := v.Span()
			w.hole(end, end)
		}
		name = v.Next()
	}
}

// known reports whether a member was counted already or costs nothing. It
// counts elements of a list that no part represents.
func (w *remainder) known(key string, v rawjson.Value) bool {
	lit := v.Raw()
	switch v.Kind() {
	case rawjson.Null, rawjson.Bool:
		return true
	case rawjson.Number:
		return len(lit) <= quietWord
	case rawjson.String:
		if len(lit) <= 2 || isID(key) || len(lit) <= quietWord && quietKey(key) ||
			len(lit) <= quietURL && strings.HasSuffix(key, "url") {
			return true
		}
		if key == "name" && v.EqualStr(w.name) || bytes.Equal(lit, w.text) || bytes.Equal(lit, w.args) ||
			w.holds(key, v) {
			return true
		}
		if key == w.picture && key != "" {
			w.sum.add(w.c.picture(&chat.Media{Data: lit[1 : len(lit)-1]}))
			return true
		}
		return w.claimed(lit) || w.composed(lit)
	case rawjson.Object:
		return !v.First().Exists() || key == "cache_control" || bytes.Equal(lit, w.args) || w.claimed(lit)
	case rawjson.Array:
		first := v.First()
		switch {
		case !first.Exists(), key == "logprobs", bytes.Equal(lit, w.args):
			return true
		case !w.claimed(first.Raw()):
			return false
		}
		for e := first.Next(); e.Exists(); e = e.Next() {
			if !w.claimed(e.Raw()) {
				w.from, _ = e.Span()
				w.walk(e)
				_, end := e.Span()
				w.hole(end, end)
			}
		}
		return true
	}
	return false
}

// holds reports whether a string is the part's media.
func (w *remainder) holds(key string, v rawjson.Value) bool {
	m := w.media
	if m == nil {
		return false
	}
	lit := v.Raw()
	in := lit[1 : len(lit)-1]
	if len(m.Data) > 0 && (bytes.Equal(in, m.Data) ||
		bytes.HasPrefix(in, []byte("data:")) && bytes.HasSuffix(in, m.Data)) {
		return true
	}
	return bytes.Equal(lit, m.Text) || key == "file_data" && v.EqualStr(m.URL)
}

// claimed reports whether one of the parts represents the JSON. Parts nearly
// always come in order.
func (w *remainder) claimed(lit []byte) bool {
	if w.next < len(w.parts) && bytes.Equal(literal(&w.parts[w.next]), lit) {
		w.next++
		return true
	}
	for i := range w.parts {
		if w.tries++; w.tries > claimTries {
			return false
		}
		if bytes.Equal(literal(&w.parts[i]), lit) {
			w.next = i + 1
			return true
		}
	}
	return false
}

// mostJoint is the most bytes, and jointTokens about the tokens, of what stands between two
// texts that are one string of a message.
const mostJoint, jointTokens = 16, 4

// composed reports whether a string consists of the texts of several parts, and counts what
// stands between them.
func (w *remainder) composed(lit []byte) bool {
	rest, texts := lit[1:len(lit)-1], 0
	for i := range w.parts {
		p := &w.parts[i]
		if p.Kind != chat.Text || len(p.Raw) > 0 || p.Text.Empty() {
			continue
		}
		text := p.Text[1 : len(p.Text)-1]
		at := bytes.Index(rest[:min(len(rest), len(text)+mostJoint)], text)
		if at < 0 || texts == 0 && at > 0 {
			return false
		}
		rest = rest[at+len(text):]
		texts++
	}
	if texts < 2 || len(rest) > 0 {
		return false
	}
	w.sum.add(raw{text: jointTokens * (texts - 1), rough: true})
	return true
}

// literal returns the JSON that a part represents.
func literal(p *chat.Part) []byte {
	if len(p.Raw) > 0 {
		return p.Raw
	}
	return p.Text
}

// walk finds what must not be counted as plain JSON text in a value; the rest
// is left in data[from:].
func (w *remainder) walk(v rawjson.Value) {
	switch v.Kind() {
	case rawjson.String:
		lit := v.Raw()
		in := lit[1 : len(lit)-1]
		start, end := v.Span()
		if data, ok := inlinePicture(in); ok {
			w.hole(start, end)
			w.sum.add(w.c.picture(&chat.Media{Data: data}))
		} else if bytes.IndexByte(in, '\\') >= 0 {
			w.hole(start, end)
			w.sum.text += countString(w.c.enc, lit)
		}
	case rawjson.Array:
		for e := v.First(); e.Exists(); e = e.Next() {
			w.walk(e)
		}
	case rawjson.Object:
		for name := v.First(); name.Exists(); {
			val := name.Next()
			if w.seals(v, inside(name), val) {
				w.hole(val.Span())
			} else {
				w.walk(val)
			}
			name = val.Next()
		}
	}
}

// hole counts the text before start and continues at end.
func (w *remainder) hole(start, end int) {
	if start > w.from {
		w.sum.add(raw{text: w.c.enc.CountBytes(w.data[w.from:start]), rough: true})
	}
	w.from = end
}

// seals handles a member that is signed or encrypted text, and reports whether
// it is.
func (w *remainder) seals(object rawjson.Value, key string, v rawjson.Value) bool {
	if v.Kind() != rawjson.String {
		return false
	}
	sealed := strings.HasPrefix(key, "encrypted_") || strings.HasSuffix(key, "signature")
	if key == "data" {
		t := object.Get("type").Raw()
		sealed = bytes.HasPrefix(t, []byte(`"redacted_`)) || bytes.HasSuffix(t, []byte(`.encrypted"`))
	}
	if sealed {
		w.sealed += len(v.Raw()) - len(`""`)
	}
	return sealed
}

// inlinePicture recognises the base64 of a picture by its beginning.
func inlinePicture(s []byte) (data []byte, ok bool) {
	if rest, ok := bytes.CutPrefix(s, []byte("data:image/")); ok {
		if _, data, ok := bytes.Cut(rest, []byte(";base64,")); ok {
			return data, true
		}
	}
	for _, magic := range []string{"iVBORw0KGgo", "/9j/", "R0lGODdh", "R0lGODlh", "UklGR"} {
		if len(s) > quietURL && string(s[:len(magic)]) == magic {
			return s, bytes.IndexByte(s, ' ') < 0
		}
	}
	return nil, false
}

// inside returns a member's name. It does not decode an escaped name: that is
// not one of the known names, so its value counts.
func inside(name rawjson.Value) string {
	lit := name.Raw()
	return string(lit[1 : len(lit)-1])
}

func isID(key string) bool { return key == "id" || strings.HasSuffix(key, "_id") }

// quietKey reports whether the short values of a member are keywords of the
// protocol.
func quietKey(key string) bool {
	switch key {
	case "type", "role", "status", "phase", "detail", "format", "media_type":
		return true
	}
	return false
}

// frames reports whether a member only wraps what a part holds.
func frames(key string) bool {
	switch key {
	case "source", "function", "custom", "file", "image_url", "input_audio":
		return true
	}
	return false
}
