package ollama

import (
	"slices"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/wire/internal/protocol"
)

func encode(r *chat.Request) ([]byte, error) {
	var w protocol.Writer
	w.Begin(r.Model)
	if r.MaxOutput > 0 || r.Window > 0 {
		w.Member("options").Raw("{")
		w.Limit("num_ctx", r.Window)
		w.Limit("num_predict", r.MaxOutput)
		w.Raw("}")
	}
	if w.Member("stream"); r.Stream {
		w.Raw("true")
	} else {
		w.Raw("false")
	}
	if err := w.Tools(r.Tools, `{"type":"function","function":{`, "parameters", "}}"); err != nil {
		return nil, err
	}
	w.Member("messages").Raw("[")
	e := encoder{Writer: &w, names: map[string]string{}}
	if len(r.System) > 0 {
		e.message(protocol.Turn{Role: chat.System, Parts: r.System})
	}
	for _, t := range protocol.Turns(r.Messages) {
		e.message(t)
	}
	w.Raw("]}")
	return w.Out, nil
}

// encoder writes messages. names are the tools of the calls so far, by id.
type encoder struct {
	*protocol.Writer
	names map[string]string
}

func (e *encoder) message(t protocol.Turn) {
	if t.Role == chat.Tool || t.Role == chat.Function {
		for i := range t.Parts {
			e.result(&t.Parts[i])
		}
		return
	}
	e.Open("{")
	e.Member("role")
	if t.Role == chat.Developer {
		t.Role = chat.System
	}
	e.Quote(string(t.Role))
	var said, images, calls []chat.Part
	for _, p := range t.Parts {
		switch {
		case p.Kind == chat.Call && !p.Hosted:
			calls = append(calls, p)
		case p.Kind == chat.Image && p.Media != nil && p.Media.Data != nil:
			images = append(images, p)
		default:
			said = append(said, p)
		}
	}
	e.Member("content").Bytes(content(said))
	if len(images) > 0 {
		e.Member("images").Raw("[")
		for _, p := range images {
			e.Open(`"`)
			e.Bytes(p.Media.Data)
			e.Raw(`"`)
		}
		e.Raw("]")
	}
	if len(calls) > 0 {
		e.Member("tool_calls").Raw("[")
		for i := range calls {
			e.call(&calls[i])
		}
		e.Raw("]")
	}
	e.Raw("}")
}

// content returns the literal of what was said. Texts of Oriel's can be told apart in it.
func content(said []chat.Part) []byte {
	own := func(p chat.Part) bool { return p.Inserted() }
	if !slices.ContainsFunc(said, own) {
		return chat.Quote(protocol.Plain(said))
	}
	var texts []chat.String
	for i := range said {
		texts = append(texts, chat.Quote(protocol.Plain(said[i:i+1])))
	}
	return protocol.JoinTexts(texts, joint)
}

func (e *encoder) call(p *chat.Part) {
	e.Open("{")
	if p.ID != "" {
		e.names[p.ID] = p.Name
		e.Member("id").Quote(p.ID)
	}
	e.Member("function").Raw(`{"name":`)
	e.Quote(p.Name)
	e.Member("arguments").Bytes(protocol.Object(p))
	e.Raw("}}")
}

func (e *encoder) result(p *chat.Part) {
	e.Open(`{"role":"tool","content":`)
	e.Quote(protocol.Plain([]chat.Part{*p}))
	name := p.Name
	if name == "" {
		name = e.names[p.ID]
	}
	if name != "" {
		e.Member("tool_name").Quote(name)
	}
	if p.ID != "" {
		e.Member("tool_call_id").Quote(p.ID)
	}
	e.Raw("}")
}
