package wire

import (
	"encoding/json"
	"net/http"
	"regexp"
	"strings"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/internal/rawjson"
	"github.com/oriel-context/oriel/wire/internal/protocol"
)

// anthropicMessage reads one element of "messages".
func anthropicMessage(r *protocol.Reader, v rawjson.Value, m *chat.Message) error {
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
	if m.Parts, err = r.Content(content, anthropicPart); err != nil {
		return protocol.In(err, "content")
	}
	return nil
}

// anthropicPart reads one content block.
func anthropicPart(r *protocol.Reader, v rawjson.Value, p *chat.Part) error {
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
			err = protocol.Call(v, p, "id", "input")
		case p.Type == "tool_result" || strings.HasSuffix(p.Type, "_tool_result"):
			p.Kind, p.Hosted = chat.Result, p.Type != "tool_result"
			err = anthropicResult(r, v, p)
		case v.Has("tool_references"): // found by the provider's own search
			p.Kind = chat.Catalog
		}
	}
	return err
}

func anthropicResult(r *protocol.Reader, v rawjson.Value, p *chat.Part) error {
	var err error
	if p.ID, err = protocol.Member(v, "tool_use_id", protocol.Str); err != nil {
		return err
	}
	p.IsError = v.Get("is_error").Bool()
	return r.Result(v, "content", p, anthropicPart)
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
		Name:    "anthropic",
		Title:   "Anthropic",
		Vendor:  "anthropic",
		Route:   "/v1/messages",
		List:    "messages",
		System:  "system",
		Tools:   []string{"tools"},
		IsCall:  anthropicCall,
		IsCount: anthropicCount,
		Signs: protocol.Signs{
			Tool: func(v rawjson.Value) bool { return v.Has("input_schema") && !v.Has("function") },
			Part: isAnthropicPart,
			Fields: []string{
				"system", "anthropic_version", "anthropic_beta", "stop_sequences", "thinking", "context_management", "mcp_servers",
				"output_config", "container",
			},
			Model: "claude",
		},
		Field:        anthropicField,
		Message:      anthropicMessage,
		Managed:      anthropicManaged,
		Rules:        chat.Rules{ResultsFollow: true, RunsMerge: true},
		MarksCache:   true,
		Encode:       encodeAnthropic,
		Reply:        readAnthropic,
		StreamType:   protocol.EventStream,
		Opening:      []string{"ping"},
		Replies:      []string{"content", "role"},
		NewStream:    func() protocol.Assembly { return new(anthropicStream) },
		Content:      "content",
		Result:       anthropicResultOf,
		Arguments:    anthropicArguments,
		AllowsText:   anthropicAllowsText,
		TextPart:     protocol.TextPart,
		TooLong:      anthropicTooLong,
		TooLongCodes: []string{"request_too_large"}, // by bytes
		Unbound:      anthropicUnbound,
		Steady:       anthropicSteady,
		Bare:         protocol.RawOf,
		Refusal:      anthropicRefusal,
	}
}

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

// anthropicCall does not take /v1/threads/ID/messages, which is OpenAI's.
func anthropicCall(path string) bool { return protocol.IsAt(path, "/messages", "/v1") }

func anthropicCount(path string) bool {
	call, ok := strings.CutSuffix(path, "/count_tokens")
	return ok && anthropicCall(call)
}

func anthropicField(r *protocol.Reader, name string, v rawjson.Value) (err error) {
	if name == "system" {
		r.Request.System, err = r.Content(v, anthropicPart)
		return err
	}
	return r.Member(name, v)
}

// anthropicManaged does not count the clearing of old thinking: Claude Code requests it in
// every call.
func anthropicManaged(body rawjson.Value) string {
	for e := range body.Get("context_management").Get("edits").Elems() {
		if t := e.Get("type").Str(); strings.HasPrefix(t, "clear_tool_uses") || strings.HasPrefix(t, "compact") {
			return "context_management"
		}
	}
	return ""
}

func isAnthropicPart(p rawjson.Value) bool {
	switch string(p.Get("type").Raw()) {
	case `"tool_use"`, `"tool_result"`, `"thinking"`, `"redacted_thinking"`, `"image"`, `"document"`, `"server_tool_use"`:
		return true
	}
	return false
}

func anthropicResultOf(e *protocol.Edit, i int) (parent rawjson.Value, name string, err error) {
	parent = e.Element(i)
	// Of the hosted tools only MCP servers return plain text.
	if p := &e.Message.Parts[i]; p.Hosted && p.Type != "mcp_tool_result" {
		return parent, "", protocol.Fail(parent, "the content of a %s cannot be a text", p.Type)
	}
	return parent, "content", nil
}

func anthropicArguments(e *protocol.Edit, i int) (parent rawjson.Value, name string) {
	return e.Element(i), "input"
}

// anthropicAllowsText allows no text before results and thinking.
func anthropicAllowsText(e *protocol.Edit, from, end int) error {
	for i := from; i < end; i++ {
		switch p := &e.Message.Parts[i]; {
		case p.Kind == chat.Result && !p.Hosted:
			return protocol.In(protocol.At(protocol.Fail(e.Element(i), "text is not allowed before tool results"), i), "content")
		case p.Kind == chat.Thinking && i == 0:
			return protocol.In(protocol.At(protocol.Fail(e.Element(i), "text is not allowed before thinking"), i), "content")
		}
	}
	return nil
}

var anthropicTooLong = []string{
	`prompt is too long: <prompt> tokens > <limit>`,
	"input length and `?max_tokens`? exceed context limit: <size> \\+ <reply> > <limit>",
	`request exceeds the maximum size`,
}

var anthropicUnbound = regexp.MustCompile("^messages\\.[0-9]+\\.content\\.[0-9]+: invalid `signature` in `thinking` block\\. " +
	"the block is bound to a different conversation")
