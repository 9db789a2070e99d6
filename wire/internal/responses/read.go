package responses

import (
	"strings"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/internal/rawjson"
	"github.com/oriel-context/oriel/wire/internal/openai"
	"github.com/oriel-context/oriel/wire/internal/protocol"
)

// readItem reads one element of "input" of a Responses request.
func readItem(r *protocol.Reader, v rawjson.Value, m *chat.Message) error {
	t := v.Get("type")
	if t.Exists() && t.Kind() != rawjson.String {
		return protocol.In(protocol.Wrong(t, "a string"), "type")
	}
	var err error
	if m.ID, err = protocol.Member(v, "id", protocol.Str); err != nil {
		return err
	}
	m.Type = protocol.Word(t)
	if m.Type == "message" || m.Type == "" && v.Has("role") {
		return readMessage(r, v, m)
	}
	m.Role = chat.Assistant
	if m.Parts, err = r.Take(v, 1); err != nil {
		return err
	}
	p := &m.Parts[0]
	p.Type, p.Raw = m.Type, v.Raw()
	return readOther(r, v, m, p)
}

func readMessage(r *protocol.Reader, v rawjson.Value, m *chat.Message) error {
	if err := protocol.Role(v, v.Get("role"), m); err != nil {
		return err
	}
	content := v.Get("content")
	if !content.Exists() {
		return protocol.Missing(v, "content")
	}
	var err error
	if m.Parts, err = r.Content(content, readPart); err != nil {
		return protocol.In(err, "content")
	}
	return nil
}

// readOther reads every item that is not a message.
func readOther(r *protocol.Reader, v rawjson.Value, m *chat.Message, p *chat.Part) error {
	switch m.Type {
	case "reasoning":
		p.Kind = chat.Thinking
		p.Signed = v.Get("encrypted_content").Kind() == rawjson.String || m.ID != ""
		return readReasoning(r, v, p)
	case "compaction", "compaction_summary", "context_compaction":
		p.Kind = chat.Compaction
		return nil
	case "item_reference":
		p.Kind, p.ID = chat.Reference, m.ID
		return nil
	case "mcp_list_tools", "additional_tools":
		p.Kind = chat.Catalog
		return nil
	case "tool_search_output":
		// A client's search result answers its call; the provider's own needs no
		// call.
		p.Kind = chat.Catalog
		if id := v.Get("call_id"); id.Kind() == rawjson.String {
			p.Kind, m.Role, p.ID = chat.Result, chat.Tool, id.Str()
			p.Parts = []chat.Part{{Kind: chat.Catalog, Raw: p.Raw}}
		}
		return nil
	case "mcp_approval_request":
		p.Kind = chat.Call
		return protocol.Call(v, p, "id", "arguments")
	case "mcp_approval_response":
		p.Kind, m.Role = chat.Result, chat.Tool
		var err error
		p.ID, err = protocol.Member(v, "approval_request_id", protocol.Str)
		return err
	}
	switch {
	case strings.HasSuffix(m.Type, "_output"):
		p.Kind, m.Role = chat.Result, chat.Tool
		var err error
		if p.ID, err = protocol.Member(v, "call_id", protocol.Str); err != nil {
			return err
		}
		if p.ID == "" {
			p.ID = m.ID // results of local shells refer to the item's id
		}
		return r.Result(v, "output", p, readPart)
	case strings.HasSuffix(m.Type, "_call"):
		p.Kind = chat.Call
		for _, args := range []string{"arguments", "input", "action", "operation"} {
			if v.Has(args) {
				p.Args = v.Get(args).Raw()
				break
			}
		}
		var err error
		if p.Name, err = protocol.Member(v, "name", protocol.Str); err != nil {
			return err
		}
		if p.Name == "" {
			p.Name = strings.TrimSuffix(m.Type, "_call")
		}
		if p.ID, err = protocol.Member(v, "call_id", protocol.Str); err != nil {
			return err
		}
		// Without a call id, the provider ran it itself.
		p.Hosted = p.ID == ""
		p.Within, err = protocol.Member(v, "approval_request_id", protocol.Str)
		if err != nil {
			return err
		}
		return nil
	}
	return nil
}

// readReasoning reads the summary of a reasoning item, if it has one.
func readReasoning(r *protocol.Reader, v rawjson.Value, p *chat.Part) error {
	for _, name := range []string{"summary", "content"} {
		list := v.Get(name)
		if list.Kind() != rawjson.Array || list.Len() == 0 {
			continue
		}
		parts, err := r.Content(list, readPart)
		if err != nil {
			return protocol.In(err, name)
		}
		p.Parts = append(p.Parts, parts...)
	}
	return nil
}

// readPart reads one element of an item's content.
func readPart(r *protocol.Reader, v rawjson.Value, p *chat.Part) error {
	t := v.Get("type")
	if t.Kind() != rawjson.String {
		return nil
	}
	p.Type = protocol.Word(t)
	var err error
	switch p.Type {
	case "input_text", "output_text", "text", "summary_text", "reasoning_text":
		p.Kind = chat.Text
		p.Text, err = protocol.Member(v, "text", protocol.Text)
	case "refusal":
		p.Kind = chat.Refusal
		p.Text, err = protocol.Member(v, "refusal", protocol.Text)
	case "input_image", "computer_screenshot":
		p.Kind = chat.Image
		p.Media = openai.MediaURL(v.Get("image_url"))
		p.Media.FileID = v.Get("file_id").Str()
		p.Media.Detail = v.Get("detail").Str()
	case "input_file":
		p.Kind = chat.Document
		p.Media = openai.MediaURL(v.Get("file_data"))
		p.Media.FileID = v.Get("file_id").Str()
		if u := v.Get("file_url"); u.Exists() {
			p.Media.URL = u.Str()
		}
	case "input_audio":
		p.Kind = chat.Audio
		a := v.Get("input_audio")
		p.Media = &chat.Media{Type: "audio/" + a.Get("format").Str(), Data: protocol.Inner(a.Get("data"))}
	}
	return err
}
