package ollama

import (
	"strings"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/internal/rawjson"
	"github.com/oriel-context/oriel/wire/internal/protocol"
)

func readField(r *protocol.Reader, name string, v rawjson.Value) (err error) {
	switch name {
	case "stream":
		if v.Kind() == rawjson.Null {
			return nil // as if it were absent
		}
		return r.Member(name, v)
	case "model", "tools":
		return r.Member(name, v)
	case "options":
		return readOptions(r.Request, v)
	}
	return nil
}

// readOptions reads the options that bound the prompt and the reply. The server refuses those
// of a wrong type.
func readOptions(q *chat.Request, v rawjson.Value) (err error) {
	switch v.Kind() {
	case rawjson.Object:
	case rawjson.Null:
		return nil
	default:
		return protocol.Wrong(v, "an object")
	}
	if q.Window, err = protocol.Member(v, "num_ctx", protocol.Count); err != nil {
		return err
	}
	q.MaxOutput, err = protocol.Member(v, "num_predict", protocol.Count)
	return err
}

// readMessage reads one element of "messages".
func readMessage(r *protocol.Reader, v rawjson.Value, m *chat.Message) error {
	var role, content, thinking, images, calls rawjson.Value
	for k, val := range v.Members() {
		switch string(protocol.Key(k)) {
		case "role":
			role = val
		case "content":
			content = val
		case "thinking":
			thinking = val
		case "images":
			images = val
		case "tool_calls":
			calls = val
		}
	}
	if err := protocol.Role(v, role, m); err != nil {
		return err
	}
	m.Role = chat.Role(strings.ToLower(string(m.Role)))
	if k := content.Kind(); k != rawjson.String && k != rawjson.Null && k != rawjson.Invalid {
		return protocol.In(protocol.Wrong(content, "a string or null"), "content")
	}
	if k := images.Kind(); k != rawjson.Array && k != rawjson.Null && k != rawjson.Invalid {
		return protocol.In(protocol.Wrong(images, "an array"), "images")
	}
	var err error
	if m.Role == chat.Tool {
		return readResult(r, v, content, images, m)
	}
	if m.Parts, err = r.Joined(content, joint); err != nil {
		return err
	}
	if err := readBeside(r, v, thinking, images, m); err != nil {
		return err
	}
	if err := readCalls(r, calls, m); err != nil {
		return protocol.In(err, "tool_calls")
	}
	return nil
}

// withPictures is the type of a result that has pictures, which a text cannot replace.
const withPictures = "tool with pictures"

// readResult reads a message of role tool, which is one result, with its pictures.
func readResult(r *protocol.Reader, v, content, images rawjson.Value, m *chat.Message) (err error) {
	if m.Parts, err = r.Take(v, 1); err != nil {
		return err
	}
	p := &m.Parts[0]
	*p = chat.Part{Kind: chat.Result, Type: "tool"}
	if p.ID, err = protocol.Member(v, "tool_call_id", protocol.Str); err != nil {
		return err
	}
	if p.Name, err = protocol.Member(v, "tool_name", protocol.Str); err != nil {
		return err
	}
	said := content.Kind() == rawjson.String
	n := images.Len()
	if n == 0 {
		if said {
			p.Text = chat.String(content.Raw())
		}
		return nil
	}
	p.Type = withPictures
	if p.Parts, err = r.Take(images, n+1); err != nil {
		return err
	}
	if said {
		p.Parts[n] = chat.Part{Kind: chat.Text, Text: chat.String(content.Raw())}
	} else {
		p.Parts = p.Parts[:n]
	}
	return readImages(images, p.Parts)
}

// readBeside reads what is beside the content: thinking and pictures, which come before it in
// Parts, as in the prompt.
func readBeside(r *protocol.Reader, v, thinking, images rawjson.Value, m *chat.Message) error {
	n := images.Len()
	thinks := thinking.Kind() == rawjson.String && !chat.String(thinking.Raw()).Empty()
	if thinks {
		n++
	}
	if n == 0 {
		return nil
	}
	if err := r.Room(v, n); err != nil {
		return err
	}
	parts := r.Alloc(n + len(m.Parts))
	copy(parts[n:], m.Parts)
	m.Parts = parts
	if thinks {
		parts[0] = chat.Part{Kind: chat.Thinking, Type: "thinking", Text: chat.String(thinking.Raw())}
		parts = parts[1:]
	}
	return readImages(images, parts)
}

// readImages reads pictures into the first parts.
func readImages(images rawjson.Value, parts []chat.Part) error {
	i := 0
	for image := range images.Elems() {
		if image.Kind() != rawjson.String {
			return protocol.In(protocol.At(protocol.Wrong(image, "a string of base64"), i), "images")
		}
		data := protocol.Inner(image)
		parts[i] = chat.Part{Kind: chat.Image, Type: "image", Raw: image.Raw(),
			Media: &chat.Media{Type: imageType(data), Data: data}}
		i++
	}
	return nil
}

// imageType returns the media type of a picture in base64, of which clients say nothing.
func imageType(data []byte) string {
	for _, t := range []struct{ begins, name string }{
		{"iVBOR", "image/png"}, {"/9j/", "image/jpeg"}, {"R0lGOD", "image/gif"}, {"UklGR", "image/webp"},
	} {
		if strings.HasPrefix(string(data[:min(len(data), 8)]), t.begins) {
			return t.name
		}
	}
	return ""
}

func readCalls(r *protocol.Reader, calls rawjson.Value, m *chat.Message) error {
	switch calls.Kind() {
	case rawjson.Invalid, rawjson.Null:
		return nil
	case rawjson.Array:
	default:
		return protocol.Wrong(calls, "an array")
	}
	n := calls.Len()
	if n == 0 {
		return nil
	}
	if err := r.Room(calls, n); err != nil {
		return err
	}
	parts := r.Alloc(len(m.Parts) + n)
	i := copy(parts, m.Parts)
	first := i
	for c := range calls.Elems() {
		function := c.Get("function")
		if function.Kind() != rawjson.Object {
			return protocol.At(protocol.In(protocol.Wrong(function, "an object"), "function"), i-first)
		}
		p := &parts[i]
		*p = chat.Part{Kind: chat.Call, Type: "function", Raw: c.Raw(), Args: function.Get("arguments").Raw()}
		var err error
		if p.ID, err = protocol.Member(c, "id", protocol.Str); err != nil {
			return protocol.At(err, i-first)
		}
		if p.Name, err = protocol.Member(function, "name", protocol.Str); err != nil {
			return protocol.At(protocol.In(err, "function"), i-first)
		}
		i++
	}
	m.Parts = parts
	return nil
}
