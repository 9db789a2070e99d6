package token

import (
	"bytes"
	"strings"
	"sync"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/internal/rawjson"
)

// A reader understands a part as far as its version goes: a hosted tool's
// result, a document's title, a field of next year's protocol stand in Raw
// alone, and the provider counts them. So whatever Raw has beyond what was
// counted already is counted as the JSON text that it is, which is more than
// a provider makes of it. Left out are ids, cache marks, and the short words by
// which a protocol says what something is.
const (
	quietWord = 64    // bytes of the longest literal that passes for such a word
	quietURL  = 2_048 // bytes of the longest address
	// bareFrame is what surrounds the text of a part that has nothing else,
	// mediaFrame the same for inline media: their JSON need not be read again.
	bareFrame  = 32
	mediaFrame = 128
	// claimTries bounds the search for parts that stand out of order.
	claimTries = 4_096
)

// remainder adds up what the JSON of a part or message has beyond its parts.
type remainder struct {
	c   *Counter
	sum raw
	// sealed is the characters of signed and encrypted text.
	sealed int

	// What has been counted elsewhere:
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
	from int // start of the text that waits to be counted
}

// rest counts what a part has beyond its fields.
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

// messageRest counts what a message has beyond its parts.
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

// whole counts JSON that nothing is known about: all of it is text, except for
// what is encrypted or a picture.
func (c *Counter) whole(data []byte) raw {
	w := remainder{c: c}
	if !w.read(data, true) {
		return raw{text: c.enc.CountBytes(data), rough: true}
	}
	w.sum.add(sealedTokens(w.sealed))
	w.sum.rough = true
	return w.sum
}

// sealedTokens judges text that cannot be read by its length: base64 holds 3
// bytes in 4 characters, and a token is about 4 bytes.
func sealedTokens(chars int) raw {
	return raw{fixed: ceilDiv(chars*3, 16), rough: chars > 0}
}

var docs = sync.Pool{New: func() any { return new(rawjson.Doc) }}

// read adds up all of data or just what is not known in it. It reports whether
// data is JSON.
func (w *remainder) read(data []byte, all bool) bool {
	doc := docs.Get().(*rawjson.Doc)
	defer func() {
		_ = doc.Reset(nil, rawjson.Limits{}) // let go of data
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

// members counts the members of an object that are not known.
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

// known reports whether a member has been counted, or costs nothing. Elements
// of a list that no part stands for are counted here.
func (w *remainder) known(key string, v rawjson.Value) bool {
	lit := v.Raw()
	switch v.Kind() {
	case rawjson.Null, rawjson.Bool:
		return true
	case rawjson.Number:
		return len(lit) <= quietWord
	case rawjson.String:
		if len(lit) <= 2 || isID(key) || len(lit) <= quietWord && quietKey(key) || len(lit) <= quietURL && strings.HasSuffix(key, "url") {
			return true
		}
		if key == "name" && v.EqualStr(w.name) || bytes.Equal(lit, w.text) || bytes.Equal(lit, w.args) || w.holds(key, v) {
			return true
		}
		if key == w.picture && key != "" {
			w.sum.add(w.c.picture(&chat.Media{Data: lit[1 : len(lit)-1]}))
			return true
		}
		return w.claimed(lit)
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
	if len(m.Data) > 0 && (bytes.Equal(in, m.Data) || bytes.HasPrefix(in, []byte("data:")) && bytes.HasSuffix(in, m.Data)) {
		return true
	}
	return bytes.Equal(lit, m.Text) || key == "file_data" && v.EqualStr(m.URL)
}

// claimed reports whether one of the parts stands for the JSON. Parts nearly
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

// literal returns the JSON that a part stands for.
func literal(p *chat.Part) []byte {
	if len(p.Raw) > 0 {
		return p.Raw
	}
	return p.Text
}

// walk finds what must not be counted as plain JSON text in a value; the rest
// waits in data[from:].
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

// hole counts what waits up to start as text and goes on at end.
func (w *remainder) hole(start, end int) {
	if start > w.from {
		w.sum.add(raw{text: w.c.enc.CountBytes(w.data[w.from:start]), rough: true})
	}
	w.from = end
}

// seals takes a member that is signed or encrypted text.
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

// inlinePicture finds the base64 of a picture by how it starts.
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

// inside returns a member's name. An escaped one is not decoded: it is none of
// those that matter, and so its value counts.
func inside(name rawjson.Value) string {
	lit := name.Raw()
	return string(lit[1 : len(lit)-1])
}

func isID(key string) bool { return key == "id" || strings.HasSuffix(key, "_id") }

// quietKey names the members whose short values are a protocol's own words.
func quietKey(key string) bool {
	switch key {
	case "type", "role", "status", "phase", "detail", "format", "media_type":
		return true
	}
	return false
}

// frames names the members that only wrap what a part holds.
func frames(key string) bool {
	switch key {
	case "source", "function", "custom", "file", "image_url", "input_audio":
		return true
	}
	return false
}
