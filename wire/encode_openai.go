package wire

import (
	"bytes"
	"strings"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/internal/rawjson"
	"github.com/oriel-context/oriel/wire/internal/protocol"
)

func (w *writer) chatMessage(t turn) {
	if t.role == chat.Tool || t.role == chat.Function {
		for i := range t.parts {
			w.open(`{"role":"tool","tool_call_id":`)
			w.quote(callID(&t.parts[i]))
			w.member("content").quote(plain(t.parts[i : i+1]))
			w.raw("}")
		}
		return
	}
	w.open("{")
	w.member("role").quote(string(t.role))
	if t.name != "" {
		w.member("name").quote(t.name)
	}
	var said, calls []chat.Part
	for _, p := range t.parts {
		if p.Kind == chat.Call && !p.Hosted {
			calls = append(calls, p)
		} else {
			said = append(said, p)
		}
	}
	w.member("content")
	switch {
	case len(said) == 0:
		w.raw("null")
	case len(said) == 1 && said[0].Kind == chat.Text:
		w.literal(said[0].Text)
	default:
		w.raw("[")
		for i := range said {
			w.chatPart(&said[i])
		}
		w.raw("]")
	}
	if len(calls) > 0 {
		w.member("tool_calls").raw("[")
		for i := range calls {
			w.open(`{"id":`)
			w.quote(callID(&calls[i]))
			w.raw(`,"type":"function","function":{"name":`)
			w.quote(calls[i].Name)
			w.member("arguments").write(arguments(&calls[i]))
			w.raw("}}")
		}
		w.raw("]")
	}
	w.raw("}")
}

func (w *writer) chatPart(p *chat.Part) {
	switch p.Kind {
	case chat.Text:
		w.open(`{"type":"text","text":`)
		w.literal(p.Text)
	case chat.Refusal:
		w.open(`{"type":"refusal","refusal":`)
		w.literal(p.Text)
	case chat.Image:
		w.open(`{"type":"image_url","image_url":{"url":`)
		w.mediaURL(p.Media)
		if p.Media != nil && p.Media.Detail != "" {
			w.member("detail").quote(p.Media.Detail)
		}
		w.raw("}")
	case chat.Audio:
		w.open(`{"type":"input_audio","input_audio":{`)
		w.audio(p.Media)
		w.raw("}")
	case chat.Document:
		w.open(`{"type":"file","file":{`)
		w.file(p.Media)
		w.raw("}")
	default:
		w.open(`{"type":"text","text":`)
		w.quote(string(p.Raw))
	}
	w.raw("}")
}

// mediaURL writes a URL; inline data becomes a data: URL.
func (w *writer) mediaURL(m *chat.Media) {
	switch {
	case m == nil:
		w.quote("")
	case m.Data != nil:
		w.raw(`"data:`)
		w.raw(m.Type)
		w.raw(";base64,")
		w.write(m.Data)
		w.raw(`"`)
	default:
		w.quote(m.URL)
	}
}

// audio writes the members that hold a recording.
func (w *writer) audio(m *chat.Media) {
	if m == nil {
		return
	}
	w.member("data").raw(`"` + string(m.Data) + `"`)
	w.member("format").quote(strings.TrimPrefix(m.Type, "audio/"))
}

// file writes the members that locate a document.
func (w *writer) file(m *chat.Media) {
	switch {
	case m == nil:
	case m.FileID != "":
		w.member("file_id").quote(m.FileID)
	case m.Text != nil:
		w.member("filename").quote("document.txt")
		w.member("file_data").quote(m.Text.String())
	default:
		w.member("filename").quote("document")
		w.member("file_data")
		w.mediaURL(m)
	}
}

// responsesItems writes a turn as items: messages, calls, outputs.
func (w *writer) responsesItems(t turn) {
	var said []chat.Part
	flush := func() {
		if len(said) == 0 {
			return
		}
		w.open(`{"type":"message","role":`)
		w.quote(string(t.role))
		w.member("content").raw("[")
		for i := range said {
			w.responsesPart(t.role, &said[i])
		}
		w.raw("]}")
		said = nil
	}
	for i := range t.parts {
		p := &t.parts[i]
		switch {
		case p.Kind == chat.Call && !p.Hosted:
			flush()
			w.open(`{"type":"function_call","call_id":`)
			w.quote(callID(p))
			w.member("name").quote(p.Name)
			w.member("arguments").write(arguments(p))
			w.raw("}")
		case p.Kind == chat.Result && !p.Hosted:
			flush()
			w.open(`{"type":"function_call_output","call_id":`)
			w.quote(callID(p))
			w.member("output").quote(plain(t.parts[i : i+1]))
			w.raw("}")
		default:
			said = append(said, *p)
		}
	}
	flush()
}

func (w *writer) responsesPart(role chat.Role, p *chat.Part) {
	kind := "input_text"
	if role == chat.Assistant {
		kind = "output_text"
	}
	switch p.Kind {
	case chat.Text:
		w.open(`{"type":"` + kind + `","text":`)
		w.literal(p.Text)
	case chat.Refusal:
		w.open(`{"type":"refusal","refusal":`)
		w.literal(p.Text)
	case chat.Image:
		w.open(`{"type":"input_image","image_url":`)
		w.mediaURL(p.Media)
	case chat.Document:
		w.open(`{"type":"input_file"`)
		w.file(p.Media)
	default:
		w.open(`{"type":"` + kind + `","text":`)
		w.quote(string(p.Raw))
	}
	w.raw("}")
}

// tools writes tool definitions, each in the protocol's own form.
func (w *writer) tools(f Format, tools []chat.ToolDef) error {
	if len(tools) == 0 {
		return nil
	}
	w.member("tools").raw("[")
	for _, t := range tools {
		doc, err := rawjson.Parse(t.Raw, rawjson.Limits{})
		if err != nil {
			return protocol.In(err, "tools")
		}
		v := doc.Root()
		if fn := v.Get("function"); fn.Kind() == rawjson.Object {
			v = fn
		}
		schema := v.Get("parameters").Raw()
		if s := v.Get("input_schema"); s.Exists() {
			schema = s.Raw()
		}
		if len(schema) == 0 || bytes.Equal(schema, []byte("null")) {
			schema = []byte(`{"type":"object","properties":{}}`)
		}
		w.tool(f, t.Name, v.Get("description").Raw(), schema)
	}
	w.raw("]")
	return nil
}

func (w *writer) tool(f Format, name string, description, schema []byte) {
	field := "parameters"
	switch f {
	case Anthropic:
		field = "input_schema"
		w.open("{")
	case Chat:
		w.open(`{"type":"function","function":{`)
	default:
		w.open(`{"type":"function"`)
	}
	w.member("name").quote(name)
	if len(description) > 0 {
		w.member("description").write(description)
	}
	w.member(field).write(schema)
	w.raw("}")
	if f == Chat {
		w.raw("}")
	}
}
