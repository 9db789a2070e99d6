package wire

import (
	"encoding/json"
	"net/http"
	"strings"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/internal/rawjson"
	"github.com/oriel-context/oriel/wire/internal/protocol"
)

// anthropicMessage reads one element of "messages".
func (b *Body) anthropicMessage(v rawjson.Value, m *chat.Message) error {
	var role, content rawjson.Value
	for k, val := range v.Members() {
		switch string(protocol.Key(k)) {
		case "role":
			role = val
		case "content":
			content = val
		}
	}
	if err := readRole(v, role, m); err != nil {
		return err
	}
	if !content.Exists() {
		return protocol.Missing(v, "content")
	}
	var err error
	if m.Parts, err = b.content(content, b.anthropicPart); err != nil {
		return protocol.In(err, "content")
	}
	return nil
}

func readRole(parent, v rawjson.Value, m *chat.Message) error {
	switch v.Kind() {
	case rawjson.String:
	case rawjson.Invalid:
		return protocol.Missing(parent, "role")
	default:
		return protocol.In(protocol.Wrong(v, "a string"), "role")
	}
	m.Role = chat.Role(protocol.Word(v))
	return nil
}

// anthropicPart reads one content block.
func (b *Body) anthropicPart(v rawjson.Value, p *chat.Part) error {
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
		p.Media = anthropicSource(v.Get("source"))
	case "document":
		p.Kind = chat.Document
		p.Media = anthropicSource(v.Get("source"))
	case "compaction":
		p.Kind = chat.Compaction
		if c := v.Get("content"); c.Kind() == rawjson.String {
			p.Text = chat.String(c.Raw())
		}
	case "tool_reference":
		p.Kind = chat.Catalog
		p.Name, err = protocol.Member(v, "tool_name", protocol.Str)
	default:
		switch {
		case p.Type == "tool_use" || strings.HasSuffix(p.Type, "_tool_use"):
			p.Kind, p.Hosted = chat.Call, p.Type != "tool_use"
			p.Within = v.Get("caller").Get("tool_id").Str()
			err = readCall(v, p, "id", "input")
		case p.Type == "tool_result" || strings.HasSuffix(p.Type, "_tool_result"):
			p.Kind, p.Hosted = chat.Result, p.Type != "tool_result"
			err = b.anthropicResult(v, p)
		case v.Has("tool_references"): // found by the provider's own search
			p.Kind = chat.Catalog
		}
	}
	return err
}

func (b *Body) anthropicResult(v rawjson.Value, p *chat.Part) error {
	var err error
	if p.ID, err = protocol.Member(v, "tool_use_id", protocol.Str); err != nil {
		return err
	}
	p.IsError = v.Get("is_error").Bool()
	return b.resultContent(v, "content", p, b.anthropicPart)
}

// resultContent reads the content of a tool's result: one string, one part or a
// list of parts. Any other shape stays raw.
func (b *Body) resultContent(v rawjson.Value, name string, p *chat.Part, part func(rawjson.Value, *chat.Part) error) error {
	switch c := v.Get(name); c.Kind() {
	case rawjson.String:
		p.Text = chat.String(c.Raw())
	case rawjson.Object: // a screenshot, or an error of a hosted tool
		var err error
		if p.Parts, err = b.take(c, 1); err != nil {
			return protocol.In(err, name)
		}
		p.Parts[0].Raw = c.Raw()
		if err := part(c, &p.Parts[0]); err != nil {
			return protocol.In(err, name)
		}
	case rawjson.Array:
		for e := range c.Elems() {
			if e.Kind() != rawjson.Object {
				return nil
			}
		}
		var err error
		if p.Parts, err = b.content(c, part); err != nil {
			return protocol.In(err, name)
		}
	}
	return nil
}

// readCall reads the id, name and arguments of a tool call.
func readCall(v rawjson.Value, p *chat.Part, id, args string) error {
	var err error
	if p.ID, err = protocol.Member(v, id, protocol.Str); err != nil {
		return err
	}
	if p.Name, err = protocol.Member(v, "name", protocol.Str); err != nil {
		return err
	}
	p.Args = v.Get(args).Raw()
	return nil
}

func anthropicSource(v rawjson.Value) *chat.Media {
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

func anthropicProtocol() *Protocol {
	return &Protocol{
		Name:          "anthropic",
		Vendor:        "anthropic",
		Route:         "/v1/messages",
		List:          "messages",
		System:        "system",
		Tools:         []string{"tools"},
		MarksCache:    true,
		BindsThinking: true,
		Bare:          rawOf,
		Refusal:       anthropicRefusal,
	}
}

// rawOf returns a message of a protocol whose messages have no fields for credentials.
func rawOf(m *chat.Message) []byte { return m.Raw }

func anthropicRefusal(status int, _, message string) []byte {
	var r struct {
		Type  string `json:"type"`
		Error struct {
			Type    string `json:"type"`
			Message string `json:"message"`
		} `json:"error"`
	}
	r.Type, r.Error.Type, r.Error.Message = "error", anthropicErrorType(status), message
	body, _ := json.Marshal(r) // strings alone cannot fail
	return body
}

// anthropicErrorType returns the vendor's type of an error with a status.
func anthropicErrorType(status int) string {
	switch status {
	case http.StatusBadRequest, http.StatusRequestTimeout:
		return "invalid_request_error"
	case http.StatusUnauthorized:
		return "authentication_error"
	case http.StatusForbidden:
		return "permission_error"
	case http.StatusNotFound:
		return "not_found_error"
	case http.StatusTooManyRequests:
		return "rate_limit_error"
	}
	return "api_error"
}
