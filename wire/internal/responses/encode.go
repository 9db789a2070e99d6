package responses

import (
	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/wire/internal/openai"
	"github.com/oriel-context/oriel/wire/internal/protocol"
)

func encode(r *chat.Request) ([]byte, error) {
	var w protocol.Writer
	w.Begin(r.Model)
	w.Limit("max_output_tokens", r.MaxOutput)
	w.SystemPrompt("instructions", r.System, nil)
	w.Stream(r)
	if err := w.Tools(r.Tools, `{"type":"function"`, "parameters", "}"); err != nil {
		return nil, err
	}
	w.Member("input").Raw("[")
	for _, t := range protocol.Turns(r.Messages) {
		writeItems(&w, t)
	}
	w.Raw("]}")
	return w.Out, nil
}

// writeItems writes a turn as items: messages, calls, outputs.
func writeItems(w *protocol.Writer, t protocol.Turn) {
	var said []chat.Part
	flush := func() {
		if len(said) == 0 {
			return
		}
		w.Open(`{"type":"message","role":`)
		w.Quote(string(t.Role))
		w.Member("content").Raw("[")
		for i := range said {
			writePart(w, t.Role, &said[i])
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

func writePart(w *protocol.Writer, role chat.Role, p *chat.Part) {
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
		openai.WriteMediaURL(w, p.Media)
	case chat.Document:
		w.Open(`{"type":"input_file"`)
		openai.WriteFile(w, p.Media)
	default:
		w.Open(`{"type":"` + kind + `","text":`)
		w.Quote(string(p.Raw))
	}
	w.Raw("}")
}
