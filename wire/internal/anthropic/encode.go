package anthropic

import (
	"cmp"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/wire/internal/protocol"
)

func encode(r *chat.Request) ([]byte, error) {
	const usual = 8192 // the protocol requires a limit
	var w protocol.Writer
	w.Begin(r.Model)
	w.Member("max_tokens").Integer(cmp.Or(r.MaxOutput, usual))
	lead := 0
	for lead < len(r.Messages) && (r.Messages[lead].Role == chat.System || r.Messages[lead].Role == chat.Developer) {
		lead++
	}
	w.SystemPrompt("system", r.System, r.Messages[:lead])
	w.Stream(r)
	if err := w.Tools(r.Tools, "{", "input_schema", "}"); err != nil {
		return nil, err
	}
	w.Member("messages").Raw("[")
	for _, t := range protocol.Turns(r.Messages[lead:]) {
		writeMessage(&w, t)
	}
	w.Raw("]}")
	return w.Out, nil
}

func writeMessage(w *protocol.Writer, t protocol.Turn) {
	role := t.Role
	if role == chat.Tool || role == chat.Function {
		role = chat.User
	}
	if role == chat.Developer {
		role = chat.System
	}
	w.Open("{")
	w.Member("role").Quote(string(role))
	w.Member("content").Raw("[")
	for i := range t.Parts {
		writePart(w, &t.Parts[i])
	}
	w.Raw("]}")
}

func writePart(w *protocol.Writer, p *chat.Part) {
	switch p.Kind {
	case chat.Text, chat.Refusal:
		if p.Text.Empty() {
			return // the provider refuses empty texts
		}
		w.Open(`{"type":"text","text":`)
		w.Literal(p.Text)
		w.Raw("}")
	case chat.Image:
		w.Open(`{"type":"image","source":`)
		writeSource(w, p.Media)
		w.Raw("}")
	case chat.Document:
		w.Open(`{"type":"document","source":`)
		writeSource(w, p.Media)
		w.Raw("}")
	case chat.Call:
		w.Open(`{"type":"tool_use","id":`)
		w.Quote(protocol.CallID(p))
		w.Member("name").Quote(p.Name)
		w.Member("input").Bytes(protocol.Object(p))
		w.Raw("}")
	case chat.Result:
		w.Open(`{"type":"tool_result","tool_use_id":`)
		w.Quote(protocol.CallID(p))
		w.Member("content")
		if p.Parts == nil {
			w.Literal(p.Text)
		} else {
			w.Raw("[")
			for i := range p.Parts {
				writePart(w, &p.Parts[i])
			}
			w.Raw("]")
		}
		if p.IsError {
			w.Member("is_error").Raw("true")
		}
		w.Raw("}")
	default:
		w.Open(`{"type":"text","text":`)
		w.Quote(string(p.Raw))
		w.Raw("}")
	}
}

func writeSource(w *protocol.Writer, m *chat.Media) {
	switch {
	case m == nil:
		w.Raw(`{"type":"url","url":""}`)
	case m.Text != nil:
		w.Raw(`{"type":"text","media_type":"text/plain","data":`)
		w.Literal(m.Text)
		w.Raw("}")
	case m.Data != nil:
		w.Raw(`{"type":"base64","media_type":`)
		w.Quote(m.Type)
		w.Raw(`,"data":"`)
		w.Bytes(m.Data)
		w.Raw(`"}`)
	case m.FileID != "":
		w.Raw(`{"type":"file","file_id":`)
		w.Quote(m.FileID)
		w.Raw("}")
	default:
		w.Raw(`{"type":"url","url":`)
		w.Quote(m.URL)
		w.Raw("}")
	}
}
