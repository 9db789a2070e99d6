package anthropic

import (
	"strings"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/internal/rawjson"
	"github.com/oriel-context/oriel/wire/internal/protocol"
)

// readMessage reads one element of "messages".
func readMessage(r *protocol.Reader, v rawjson.Value, m *chat.Message) error {
	var role, content rawjson.Value
	for k, val := range v.Members() {
		switch string(protocol.Key(k)) {
		case "role":
			role = val
		case "content":
			content = val
		}
	}
	if err := protocol.Role(v, role, m); err != nil {
		return err
	}
	if !content.Exists() {
		return protocol.Missing(v, "content")
	}
	var err error
	if m.Parts, err = r.Content(content, readPart); err != nil {
		return protocol.In(err, "content")
	}
	return nil
}

// readPart reads one content block.
func readPart(r *protocol.Reader, v rawjson.Value, p *chat.Part) error {
	t := v.Get("type")
	if t.Kind() != rawjson.String {
		return nil // anything else stays raw
	}
	p.Type = protocol.Word(t)
	cache := v.Get("cache_control")
	p.Cached = cache.Kind() == rawjson.Object
	var err error
	switch p.Type {
	case "text":
		p.Kind = chat.Text
		p.Text, err = protocol.Member(v, "text", protocol.Text)
	case "thinking":
		p.Kind = chat.Thinking
		p.Text, err = protocol.Member(v, "thinking", protocol.Text)
		p.Signed = v.Get("signature").Kind() == rawjson.String && len(v.Get("signature").Raw()) > 2
	case "redacted_thinking":
		p.Kind, p.Signed = chat.Thinking, true
		_, err = protocol.Member(v, "data", protocol.Text)
	case "image":
		p.Kind = chat.Image
		p.Media = readSource(v.Get("source"))
	case "document":
		p.Kind = chat.Document
		p.Media = readSource(v.Get("source"))
	case "compaction":
		p.Kind = chat.Compaction
		if c := v.Get("content"); c.Kind() == rawjson.String {
			p.Text = chat.String(c.Raw())
		}
	case "tool_reference":
		p.Kind = chat.Catalog
		p.Name, err = protocol.Member(v, "tool_name", protocol.Str)
	case "tool_addition", "tool_removal": // by reference or with the definition
		p.Kind = chat.Catalog
		tool := v.Get("tool")
		if p.Name = tool.Get("definition").Get("name").Str(); p.Name == "" {
			p.Name = tool.Get("name").Str()
		}
	default:
		switch {
		case p.Type == "tool_use" || strings.HasSuffix(p.Type, "_tool_use"):
			p.Kind, p.Hosted = chat.Call, p.Type != "tool_use"
			p.Within = v.Get("caller").Get("tool_id").Str()
			err = protocol.Call(v, p, "id", "input")
		case p.Type == "tool_result" || strings.HasSuffix(p.Type, "_tool_result"):
			p.Kind, p.Hosted = chat.Result, p.Type != "tool_result"
			err = readResult(r, v, p)
		case v.Has("tool_references"): // found by the provider's own search
			p.Kind = chat.Catalog
		}
	}
	return err
}

func readResult(r *protocol.Reader, v rawjson.Value, p *chat.Part) error {
	var err error
	if p.ID, err = protocol.Member(v, "tool_use_id", protocol.Str); err != nil {
		return err
	}
	p.IsError = v.Get("is_error").Bool()
	return r.Result(v, "content", p, readPart)
}

func readSource(v rawjson.Value) *chat.Media {
	m := &chat.Media{Type: v.Get("media_type").Str(), URL: v.Get("url").Str(), FileID: v.Get("file_id").Str()}
	switch data := v.Get("data"); {
	case data.Kind() != rawjson.String:
	case v.Get("type").EqualStr("text"):
		m.Text = chat.String(data.Raw())
	default:
		m.Data = protocol.Inner(data)
	}
	return m
}
