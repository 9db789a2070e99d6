package wire

import "github.com/oriel-context/oriel/chat"

func (w *writer) anthropicMessage(t turn) {
	role := t.role
	if role == chat.Tool || role == chat.Function {
		role = chat.User
	}
	if role == chat.Developer {
		role = chat.System
	}
	w.open("{")
	w.member("role").quote(string(role))
	w.member("content").raw("[")
	for i := range t.parts {
		w.anthropicPart(&t.parts[i])
	}
	w.raw("]}")
}

func (w *writer) anthropicPart(p *chat.Part) {
	switch p.Kind {
	case chat.Text, chat.Refusal:
		if p.Text.Empty() {
			return // the provider refuses empty texts
		}
		w.open(`{"type":"text","text":`)
		w.literal(p.Text)
		w.raw("}")
	case chat.Image:
		w.open(`{"type":"image","source":`)
		w.anthropicSource(p.Media)
		w.raw("}")
	case chat.Document:
		w.open(`{"type":"document","source":`)
		w.anthropicSource(p.Media)
		w.raw("}")
	case chat.Call:
		w.open(`{"type":"tool_use","id":`)
		w.quote(callID(p))
		w.member("name").quote(p.Name)
		w.member("input").write(object(p))
		w.raw("}")
	case chat.Result:
		w.open(`{"type":"tool_result","tool_use_id":`)
		w.quote(callID(p))
		w.member("content")
		if p.Parts == nil {
			w.literal(p.Text)
		} else {
			w.raw("[")
			for i := range p.Parts {
				w.anthropicPart(&p.Parts[i])
			}
			w.raw("]")
		}
		if p.IsError {
			w.member("is_error").raw("true")
		}
		w.raw("}")
	default:
		w.open(`{"type":"text","text":`)
		w.quote(string(p.Raw))
		w.raw("}")
	}
}

func (w *writer) anthropicSource(m *chat.Media) {
	switch {
	case m == nil:
		w.raw(`{"type":"url","url":""}`)
	case m.Text != nil:
		w.raw(`{"type":"text","media_type":"text/plain","data":`)
		w.literal(m.Text)
		w.raw("}")
	case m.Data != nil:
		w.raw(`{"type":"base64","media_type":`)
		w.quote(m.Type)
		w.raw(`,"data":"`)
		w.write(m.Data)
		w.raw(`"}`)
	case m.FileID != "":
		w.raw(`{"type":"file","file_id":`)
		w.quote(m.FileID)
		w.raw("}")
	default:
		w.raw(`{"type":"url","url":`)
		w.quote(m.URL)
		w.raw("}")
	}
}

// callID returns the id that pairs a call with its result, or the function's
// name for OpenAI's older form without ids.
func callID(p *chat.Part) string {
	if p.ID == "" {
		return p.Name
	}
	return p.ID
}
