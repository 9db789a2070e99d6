package chat

import (
	"strings"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/wire/internal/openai"
	"github.com/oriel-context/oriel/wire/internal/protocol"
)

func encode(r *chat.Request) ([]byte, error) {
	var w protocol.Writer
	w.Begin(r.Model)
	w.Limit("max_completion_tokens", r.MaxOutput)
	w.Stream(r)
	if err := w.Tools(r.Tools, `{"type":"function","function":{`, "parameters", "}}"); err != nil {
		return nil, err
	}
	w.Member("messages").Raw("[")
	if len(r.System) > 0 {
		writeMessage(&w, protocol.Turn{Role: chat.System, Parts: r.System})
	}
	for _, t := range protocol.Turns(r.Messages) {
		writeMessage(&w, t)
	}
	w.Raw("]}")
	return w.Out, nil
}

func writeMessage(w *protocol.Writer, t protocol.Turn) {
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
			writePart(w, &said[i])
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

func writePart(w *protocol.Writer, p *chat.Part) {
	switch p.Kind {
	case chat.Text:
		w.Open(`{"type":"text","text":`)
		w.Literal(p.Text)
	case chat.Refusal:
		w.Open(`{"type":"refusal","refusal":`)
		w.Literal(p.Text)
	case chat.Image:
		w.Open(`{"type":"image_url","image_url":{"url":`)
		openai.WriteMediaURL(w, p.Media)
		if p.Media != nil && p.Media.Detail != "" {
			w.Member("detail").Quote(p.Media.Detail)
		}
		w.Raw("}")
	case chat.Audio:
		w.Open(`{"type":"input_audio","input_audio":{`)
		writeAudio(w, p.Media)
		w.Raw("}")
	case chat.Document:
		w.Open(`{"type":"file","file":{`)
		openai.WriteFile(w, p.Media)
		w.Raw("}")
	default:
		w.Open(`{"type":"text","text":`)
		w.Quote(string(p.Raw))
	}
	w.Raw("}")
}

// writeAudio writes the members that hold a recording.
func writeAudio(w *protocol.Writer, m *chat.Media) {
	if m == nil {
		return
	}
	w.Member("data").Raw(`"` + string(m.Data) + `"`)
	w.Member("format").Quote(strings.TrimPrefix(m.Type, "audio/"))
}
