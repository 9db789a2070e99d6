package chat

import (
	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/internal/rawjson"
	"github.com/oriel-context/oriel/wire/internal/openai"
	"github.com/oriel-context/oriel/wire/internal/protocol"
)

// readMessage reads one element of "messages" of a Chat Completions request.
func readMessage(r *protocol.Reader, v rawjson.Value, m *chat.Message) error {
	var role, content, name, calls, callID, function, refusal, audio, reasoning rawjson.Value
	for k, val := range v.Members() {
		switch string(protocol.Key(k)) {
		case "role":
			role = val
		case "content":
			content = val
		case "name":
			name = val
		case "tool_calls":
			calls = val
		case "tool_call_id":
			callID = val
		case "function_call":
			function = val
		case "refusal":
			refusal = val
		case "audio":
			audio = val
		case "reasoning_content", "reasoning":
			reasoning = val
		}
	}
	if err := protocol.Role(v, role, m); err != nil {
		return err
	}
	var err error
	if m.Name, err = protocol.Str(name); err != nil {
		return protocol.In(err, "name")
	}
	if m.Role == chat.Tool || m.Role == chat.Function {
		return readResult(r, v, callID, m)
	}
	if m.Parts, err = r.Content(content, readPart); err != nil {
		return protocol.In(err, "content")
	}
	beside := 0
	for _, v := range []rawjson.Value{reasoning, refusal, audio, function} {
		if k := v.Kind(); k == rawjson.String || k == rawjson.Object {
			beside++
		}
	}
	if err := r.Room(v, beside); err != nil {
		return err
	}
	// Servers that return their reasoning accept it back beside the content.
	if reasoning.Kind() == rawjson.String {
		m.Parts = append([]chat.Part{{Kind: chat.Thinking, Type: "reasoning", Text: chat.String(reasoning.Raw())}},
			m.Parts...)
	}
	if refusal.Kind() == rawjson.String {
		m.Parts = append(m.Parts, chat.Part{Kind: chat.Refusal, Type: "refusal", Text: chat.String(refusal.Raw())})
	}
	if audio.Kind() == rawjson.Object {
		m.Parts = append(m.Parts, chat.Part{Kind: chat.Audio, Type: "audio", Raw: audio.Raw(),
			Media: &chat.Media{FileID: audio.Get("id").Str()}})
	}
	if function.Kind() == rawjson.Object {
		p := chat.Part{Kind: chat.Call, Type: "function_call", Raw: function.Raw()}
		if err := readFunction(function, &p, "arguments"); err != nil {
			return protocol.In(err, "function_call")
		}
		m.Parts = append(m.Parts, p)
	}
	if err := readCalls(r, calls, m); err != nil {
		return protocol.In(err, "tool_calls")
	}
	return nil
}

// readResult reads a message of role tool or function, which is one result.
func readResult(r *protocol.Reader, v, callID rawjson.Value, m *chat.Message) error {
	p := chat.Part{Kind: chat.Result, Type: string(m.Role), Name: m.Name}
	var err error
	if p.ID, err = protocol.Str(callID); err != nil {
		return protocol.In(err, "tool_call_id")
	}
	if p.ID == "" && m.Role == chat.Tool {
		return protocol.Missing(v, "tool_call_id")
	}
	switch c := v.Get("content"); c.Kind() {
	case rawjson.String, rawjson.Array:
		if err := r.Result(v, "content", &p, readPart); err != nil {
			return err
		}
	case rawjson.Invalid, rawjson.Null:
	default:
		return protocol.In(protocol.Wrong(c, "a string, an array or null"), "content")
	}
	if m.Parts, err = r.Take(v, 1); err != nil {
		return err
	}
	m.Parts[0] = p
	return nil
}

func readCalls(r *protocol.Reader, calls rawjson.Value, m *chat.Message) error {
	switch calls.Kind() {
	case rawjson.Invalid, rawjson.Null:
		return nil
	case rawjson.Array:
	default:
		return protocol.Wrong(calls, "an array")
	}
	count := calls.Len()
	if err := r.Room(calls, count); err != nil {
		return err
	}
	parts := r.Alloc(len(m.Parts) + count)
	n := copy(parts, m.Parts)
	i := 0
	for c := calls.First(); c.Exists(); c = c.Next() {
		if c.Kind() != rawjson.Object {
			return protocol.At(protocol.Wrong(c, "an object"), i)
		}
		p := &parts[n+i]
		*p = chat.Part{Kind: chat.Call, Type: protocol.Word(c.Get("type")), Raw: c.Raw()}
		var err error
		if p.ID, err = protocol.Member(c, "id", protocol.Str); err != nil {
			return protocol.At(err, i)
		}
		if f := c.Get("function"); f.Exists() {
			if err := readFunction(f, p, "arguments"); err != nil {
				return protocol.At(protocol.In(err, "function"), i)
			}
		} else if f := c.Get("custom"); f.Exists() {
			if err := readFunction(f, p, "input"); err != nil {
				return protocol.At(protocol.In(err, "custom"), i)
			}
		}
		i++
	}
	m.Parts = parts
	return nil
}

func readFunction(v rawjson.Value, p *chat.Part, args string) error {
	if v.Kind() != rawjson.Object {
		return protocol.Wrong(v, "an object")
	}
	var err error
	p.Name, err = protocol.Member(v, "name", protocol.Str)
	p.Args = v.Get(args).Raw()
	return err
}

// readPart reads one element of a content list.
func readPart(r *protocol.Reader, v rawjson.Value, p *chat.Part) error {
	t := v.Get("type")
	if t.Kind() != rawjson.String {
		return nil
	}
	p.Type = protocol.Word(t)
	p.Cached = v.Get("cache_control").Kind() == rawjson.Object
	var err error
	switch p.Type {
	case "text":
		p.Kind = chat.Text
		p.Text, err = protocol.Member(v, "text", protocol.Text)
	case "refusal":
		p.Kind = chat.Refusal
		p.Text, err = protocol.Member(v, "refusal", protocol.Text)
	case "image_url":
		p.Kind = chat.Image
		u := v.Get("image_url")
		p.Media = openai.MediaURL(u.Get("url"))
		p.Media.Detail = u.Get("detail").Str()
	case "input_audio":
		p.Kind = chat.Audio
		a := v.Get("input_audio")
		p.Media = &chat.Media{Type: "audio/" + a.Get("format").Str(), Data: protocol.Inner(a.Get("data"))}
	case "file":
		p.Kind = chat.Document
		f := v.Get("file")
		p.Media = openai.MediaURL(f.Get("file_data"))
		p.Media.FileID = f.Get("file_id").Str()
	}
	return err
}
