package wire

import (
	"strings"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/wire/internal/protocol"
)

func encodeChatMessage(w *protocol.Writer, t protocol.Turn) {
	if t.Role == chat.Tool || t.Role == chat.Function {
		for i := range t.Parts {
			w.Open(`{"role":"tool","tool_call_id":`)
			w.Quote(protocol.CallID(&t.Parts[i]))
			w.Member("content").Quote(protocol.Plain(t.Parts[i : i+1]))
			w.Raw("}")
		}
		return
	}
	w.Open("{")
	w.Member("role").Quote(string(t.Role))
	if t.Name != "" {
		w.Member("name").Quote(t.Name)
	}
	var said, calls []chat.Part
	for _, p := range t.Parts {
		if p.Kind == chat.Call && !p.Hosted {
			calls = append(calls, p)
		} else {
			said = append(said, p)
		}
	}
	w.Member("content")
	switch {
	case len(said) == 0:
		w.Raw("null")
	case len(said) == 1 && said[0].Kind == chat.Text:
		w.Literal(said[0].Text)
	default:
		w.Raw("[")
		for i := range said {
			encodeChatPart(w, &said[i])
		}
		w.Raw("]")
	}
	if len(calls) > 0 {
		w.Member("tool_calls").Raw("[")
		for i := range calls {
			w.Open(`{"id":`)
			w.Quote(protocol.CallID(&calls[i]))
			w.Raw(`,"type":"function","function":{"name":`)
			w.Quote(calls[i].Name)
			w.Member("arguments").Bytes(protocol.Arguments(&calls[i]))
			w.Raw("}}")
		}
		w.Raw("]")
	}
	w.Raw("}")
}

func encodeChatPart(w *protocol.Writer, p *chat.Part) {
	switch p.Kind {
	case chat.Text:
		w.Open(`{"type":"text","text":`)
		w.Literal(p.Text)
	case chat.Refusal:
		w.Open(`{"type":"refusal","refusal":`)
		w.Literal(p.Text)
	case chat.Image:
		w.Open(`{"type":"image_url","image_url":{"url":`)
		encodeMediaURL(w, p.Media)
		if p.Media != nil && p.Media.Detail != "" {
			w.Member("detail").Quote(p.Media.Detail)
		}
		w.Raw("}")
	case chat.Audio:
		w.Open(`{"type":"input_audio","input_audio":{`)
		encodeAudio(w, p.Media)
		w.Raw("}")
	case chat.Document:
		w.Open(`{"type":"file","file":{`)
		encodeFile(w, p.Media)
		w.Raw("}")
	default:
		w.Open(`{"type":"text","text":`)
		w.Quote(string(p.Raw))
	}
	w.Raw("}")
}

// mediaURL writes a URL; inline data becomes a data: URL.
func encodeMediaURL(w *protocol.Writer, m *chat.Media) {
	switch {
	case m == nil:
		w.Quote("")
	case m.Data != nil:
		w.Raw(`"data:`)
		w.Raw(m.Type)
		w.Raw(";base64,")
		w.Bytes(m.Data)
		w.Raw(`"`)
	default:
		w.Quote(m.URL)
	}
}

// audio writes the members that hold a recording.
func encodeAudio(w *protocol.Writer, m *chat.Media) {
	if m == nil {
		return
	}
	w.Member("data").Raw(`"` + string(m.Data) + `"`)
	w.Member("format").Quote(strings.TrimPrefix(m.Type, "audio/"))
}

// file writes the members that locate a document.
func encodeFile(w *protocol.Writer, m *chat.Media) {
	switch {
	case m == nil:
	case m.FileID != "":
		w.Member("file_id").Quote(m.FileID)
	case m.Text != nil:
		w.Member("filename").Quote("document.txt")
		w.Member("file_data").Quote(m.Text.String())
	default:
		w.Member("filename").Quote("document")
		w.Member("file_data")
		encodeMediaURL(w, m)
	}
}

// responsesItems writes a protocol.Turn as items: messages, calls, outputs.
func encodeResponsesItems(w *protocol.Writer, t protocol.Turn) {
	var said []chat.Part
	flush := func() {
		if len(said) == 0 {
			return
		}
		w.Open(`{"type":"message","role":`)
		w.Quote(string(t.Role))
		w.Member("content").Raw("[")
		for i := range said {
			encodeResponsesPart(w, t.Role, &said[i])
		}
		w.Raw("]}")
		said = nil
	}
	for i := range t.Parts {
		p := &t.Parts[i]
		switch {
		case p.Kind == chat.Call && !p.Hosted:
			flush()
			w.Open(`{"type":"function_call","call_id":`)
			w.Quote(protocol.CallID(p))
			w.Member("name").Quote(p.Name)
			w.Member("arguments").Bytes(protocol.Arguments(p))
			w.Raw("}")
		case p.Kind == chat.Result && !p.Hosted:
			flush()
			w.Open(`{"type":"function_call_output","call_id":`)
			w.Quote(protocol.CallID(p))
			w.Member("output").Quote(protocol.Plain(t.Parts[i : i+1]))
			w.Raw("}")
		default:
			said = append(said, *p)
		}
	}
	flush()
}

func encodeResponsesPart(w *protocol.Writer, role chat.Role, p *chat.Part) {
	kind := "input_text"
	if role == chat.Assistant {
		kind = "output_text"
	}
	switch p.Kind {
	case chat.Text:
		w.Open(`{"type":"` + kind + `","text":`)
		w.Literal(p.Text)
	case chat.Refusal:
		w.Open(`{"type":"refusal","refusal":`)
		w.Literal(p.Text)
	case chat.Image:
		w.Open(`{"type":"input_image","image_url":`)
		encodeMediaURL(w, p.Media)
	case chat.Document:
		w.Open(`{"type":"input_file"`)
		encodeFile(w, p.Media)
	default:
		w.Open(`{"type":"` + kind + `","text":`)
		w.Quote(string(p.Raw))
	}
	w.Raw("}")
}

func encodeChat(r *chat.Request) ([]byte, error) {
	w := protocol.NewRequest(r.Model)
	w.Limit("max_completion_tokens", r.MaxOutput)
	w.Stream(r)
	if err := w.Tools(r.Tools, encodeChatTool); err != nil {
		return nil, err
	}
	w.Member("messages").Raw("[")
	if len(r.System) > 0 {
		encodeChatMessage(w, protocol.Turn{Role: chat.System, Parts: r.System})
	}
	for _, t := range protocol.Turns(r.Messages) {
		encodeChatMessage(w, t)
	}
	w.Raw("]}")
	return w.Out, nil
}

func encodeChatTool(w *protocol.Writer, t *protocol.Tool) {
	w.Open(`{"type":"function","function":{`)
	w.Definition(t, "parameters")
	w.Raw("}}")
}

func encodeResponses(r *chat.Request) ([]byte, error) {
	w := protocol.NewRequest(r.Model)
	w.Limit("max_output_tokens", r.MaxOutput)
	w.SystemPrompt("instructions", r.System, nil)
	w.Stream(r)
	if err := w.Tools(r.Tools, encodeResponsesTool); err != nil {
		return nil, err
	}
	w.Member("input").Raw("[")
	for _, t := range protocol.Turns(r.Messages) {
		encodeResponsesItems(w, t)
	}
	w.Raw("]}")
	return w.Out, nil
}

func encodeResponsesTool(w *protocol.Writer, t *protocol.Tool) {
	w.Open(`{"type":"function"`)
	w.Definition(t, "parameters")
	w.Raw("}")
}
