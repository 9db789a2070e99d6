package interactions

import (
	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/wire/internal/protocol"
)

func encode(r *chat.Request) ([]byte, error) {
	var w protocol.Writer
	w.Begin(r.Model)
	w.Member("store").Raw("false")
	if r.MaxOutput > 0 {
		w.Member("generation_config").Raw(`{"max_output_tokens":`)
		w.Integer(r.MaxOutput)
		w.Raw("}")
	}
	lead := 0
	for lead < len(r.Messages) && (r.Messages[lead].Role == chat.System || r.Messages[lead].Role == chat.Developer) {
		lead++
	}
	w.SystemPrompt("system_instruction", r.System, r.Messages[:lead])
	w.Stream(r)
	if err := w.Tools(r.Tools, `{"type":"function"`, "parameters", "}"); err != nil {
		return nil, err
	}
	w.Member("input").Raw("[")
	for _, t := range protocol.Turns(r.Messages[lead:]) {
		writeSteps(&w, t)
	}
	w.Raw("]}")
	return w.Out, nil
}

// writeSteps writes a turn as steps: what is said, calls, results.
func writeSteps(w *protocol.Writer, t protocol.Turn) {
	var said []chat.Part
	flush := func() {
		if len(said) == 0 {
			return
		}
		if t.Role == chat.Assistant {
			w.Open(`{"type":"model_output","content":[`)
		} else {
			w.Open(`{"type":"user_input","content":[`)
		}
		for i := range said {
			writePart(w, &said[i])
		}
		w.Raw("]}")
		said = nil
	}
	for i := range t.Parts {
		p := &t.Parts[i]
		switch {
		case p.Kind == chat.Call && !p.Hosted:
			flush()
			w.Open(`{"type":"function_call","id":`)
			w.Quote(protocol.CallID(p))
			w.Member("name").Quote(p.Name)
			w.Member("arguments").Bytes(protocol.Object(p))
			w.Raw("}")
		case p.Kind == chat.Result && !p.Hosted:
			flush()
			w.Open(`{"type":"function_result","call_id":`)
			w.Quote(protocol.CallID(p))
			if p.Name != "" {
				w.Member("name").Quote(p.Name)
			}
			w.Member("result").Quote(protocol.Plain(t.Parts[i : i+1]))
			if p.IsError {
				w.Member("is_error").Raw("true")
			}
			w.Raw("}")
		default:
			said = append(said, *p)
		}
	}
	flush()
}

func writePart(w *protocol.Writer, p *chat.Part) {
	kind := map[chat.Kind]string{chat.Image: "image", chat.Audio: "audio", chat.Document: "document"}[p.Kind]
	switch m := p.Media; {
	case p.Kind == chat.Text || p.Kind == chat.Refusal:
		w.Open(`{"type":"text","text":`)
		w.Literal(p.Text)
	case kind == "" || m == nil:
		w.Open(`{"type":"text","text":`)
		w.Quote(string(p.Raw))
	case m.Text != nil:
		w.Open(`{"type":"text","text":`)
		w.Literal(m.Text)
	case m.Data != nil:
		w.Open(`{"type":"` + kind + `","mime_type":`)
		w.Quote(m.Type)
		w.Raw(`,"data":"`)
		w.Bytes(m.Data)
		w.Raw(`"`)
	default:
		w.Open(`{"type":"` + kind + `","uri":`)
		w.Quote(m.URL + m.FileID)
	}
	w.Raw("}")
}
