package gemini

import (
	"strings"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/internal/rawjson"
	"github.com/oriel-context/oriel/wire/internal/protocol"
)

// readContent reads one element of "contents".
func readContent(r *protocol.Reader, v rawjson.Value, m *chat.Message) error {
	var role, parts rawjson.Value
	for k, val := range v.Members() {
		switch string(protocol.Key(k)) {
		case "role":
			role = val
		case "parts":
			parts = val
		}
	}
	switch role.Kind() {
	case rawjson.String:
		m.Role = chat.Role(protocol.Word(role))
	case rawjson.Invalid, rawjson.Null: // a user's
	default:
		return protocol.In(protocol.Wrong(role, "a string"), "role")
	}
	switch m.Role {
	case "":
		m.Role = chat.User
	case "model":
		m.Role = chat.Assistant
	}
	var err error
	switch parts.Kind() {
	case rawjson.Object: // Google accepts one part in the place of a list; it stays as it is
		if m.Parts, err = r.Take(parts, 1); err == nil {
			m.Parts[0].Raw = parts.Raw()
		}
	case rawjson.String:
		err = protocol.Wrong(parts, "an array")
	default:
		m.Parts, err = r.Content(parts, readPart)
	}
	return protocol.In(err, "parts")
}

// readPart reads one part of a content: one of its members says what it is.
func readPart(r *protocol.Reader, v rawjson.Value, p *chat.Part) (err error) {
	var text, thought rawjson.Value
	for k, val := range v.Members() {
		name := string(protocol.Key(k))
		switch name {
		case "text":
			text = val
		case "thought":
			thought = val
		case "thoughtSignature", "thought_signature":
			p.Signed = val.Kind() == rawjson.String && len(val.Raw()) > 2
		case "functionCall", "function_call":
			p.Kind, p.Type = chat.Call, "functionCall"
			err = protocol.Call(val, p, "id", "args")
		case "functionResponse", "function_response":
			p.Kind, p.Type = chat.Result, "functionResponse"
			err = readResponse(r, val, p)
		case "inlineData", "inline_data", "fileData", "file_data":
			readMedia(val, p)
		case "executableCode", "executable_code": // its result follows in the same turn
			p.Kind, p.Type, p.Hosted = chat.Call, "executableCode", true
			p.Name, p.Args = "code_execution", val.Get("code").Raw()
		case "toolCall", "tool_call", "toolResponse", "tool_response":
			readToolPart(name, val, p)
		}
		if err != nil {
			return protocol.In(err, name)
		}
	}
	if p.Kind != chat.Unknown || !text.Exists() {
		return nil
	}
	p.Kind, p.Type = chat.Text, "text"
	if thought.Bool() {
		p.Kind, p.Type = chat.Thinking, "thought"
	}
	p.Text, err = protocol.Text(text)
	return protocol.In(err, "text")
}

// readToolPart reads a call of a tool that Google runs, or its result, if an id pairs them.
func readToolPart(name string, v rawjson.Value, p *chat.Part) {
	id := v.Get("id")
	if id.Kind() != rawjson.String || len(id.Raw()) <= 2 {
		return
	}
	p.ID, p.Hosted, p.Type = id.Str(), true, "toolCall"
	for _, key := range []string{"toolType", "tool_type"} {
		if kind := v.Get(key); kind.Kind() == rawjson.String {
			p.Name = kind.Str()
		}
	}
	p.Kind, p.Args = chat.Call, v.Get("args").Raw()
	if strings.HasSuffix(strings.ToLower(name), "response") {
		p.Kind, p.Type, p.Args = chat.Result, "toolResponse", nil
		p.Parts = []chat.Part{jsonText(v.Get("response"))}
	}
}

// readResponse reads the result of a function. Its response is an object: the text of a
// single member, as SDKs write it, or else JSON.
func readResponse(r *protocol.Reader, v rawjson.Value, p *chat.Part) (err error) {
	if p.ID, err = protocol.Member(v, "id", protocol.Str); err != nil {
		return err
	}
	if p.Name, err = protocol.Member(v, "name", protocol.Str); err != nil {
		return err
	}
	response, parts := v.Get("response"), v.Get("parts")
	if e := response.Get("error"); e.Exists() && e.Kind() != rawjson.Null && !response.Has("output") {
		p.IsError = true
	}
	only, text := onlyMember(response)
	n := 0
	if only == "" && response.Kind() == rawjson.Object && response.Len() > 0 {
		n = 1
	}
	if only != "" {
		p.Text = text
	}
	if parts.Kind() == rawjson.Array {
		n += parts.Len()
	}
	if n == 0 {
		return nil
	}
	if p.Parts, err = r.Take(v, n); err != nil {
		return err
	}
	i := 0
	if only == "" && response.Len() > 0 {
		p.Parts[0] = jsonText(response)
		i = 1
	}
	for e := range parts.Elems() {
		p.Parts[i].Raw = e.Raw()
		if e.Kind() == rawjson.Object {
			if err := readPart(r, e, &p.Parts[i]); err != nil {
				return protocol.In(err, "parts")
			}
		}
		i++
	}
	return nil
}

// onlyMember returns the name and the literal of the only member of a response, if that is
// a text.
func onlyMember(response rawjson.Value) (name string, text chat.String) {
	if response.Kind() != rawjson.Object || response.Len() != 1 {
		return "", nil
	}
	for k, v := range response.Members() {
		if v.Kind() == rawjson.String {
			return k.Str(), chat.String(v.Raw())
		}
	}
	return "", nil
}

// jsonText returns a value as a text.
func jsonText(v rawjson.Value) chat.Part {
	return chat.Part{Kind: chat.Text, Type: chat.JSON, Raw: v.Raw(), Text: chat.Quote(string(v.Raw()))}
}

// readMedia reads a picture, a recording or a file.
func readMedia(v rawjson.Value, p *chat.Part) {
	m := &chat.Media{}
	for k, val := range v.Members() {
		switch string(protocol.Key(k)) {
		case "mimeType", "mime_type":
			m.Type = val.Str()
		case "data":
			if val.Kind() == rawjson.String {
				m.Data = protocol.Inner(val)
			}
		case "fileUri", "file_uri":
			m.URL = val.Str()
		}
	}
	p.Media, p.Kind, p.Type = m, chat.Document, "data"
	switch kind, _, _ := strings.Cut(m.Type, "/"); kind {
	case "image":
		p.Kind = chat.Image
	case "audio":
		p.Kind = chat.Audio
	}
}
