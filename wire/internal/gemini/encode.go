package gemini

import (
	"cmp"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/wire/internal/protocol"
)

// encode writes a body. The model and whether the reply is streamed are in the path.
func encode(r *chat.Request) ([]byte, error) {
	var w protocol.Writer
	w.Raw("{")
	lead := 0
	for lead < len(r.Messages) && (r.Messages[lead].Role == chat.System || r.Messages[lead].Role == chat.Developer) {
		lead++
	}
	var system protocol.Writer
	if system.SystemPrompt("text", r.System, r.Messages[:lead]); len(system.Out) > 0 {
		w.Member("systemInstruction").Raw(`{"parts":[{`)
		w.Bytes(system.Out)
		w.Raw("}]}")
	}
	var tools protocol.Writer
	if err := tools.Tools(r.Tools, "{", "parametersJsonSchema", "}"); err != nil {
		return nil, err
	}
	if len(tools.Out) > 0 {
		w.Member("tools").Raw(`[{"functionDeclarations":`)
		w.Bytes(tools.Out[len(`"tools":`):])
		w.Raw("}]")
	}
	if r.MaxOutput > 0 {
		w.Member("generationConfig").Raw(`{"maxOutputTokens":`)
		w.Integer(r.MaxOutput)
		w.Raw("}")
	}
	w.Member("contents").Raw("[")
	names := map[string]string{} // of the functions, by the ids of calls
	for _, t := range protocol.Turns(r.Messages[lead:]) {
		role := "user"
		if t.Role == chat.Assistant {
			role = "model"
		}
		w.Open("{")
		w.Member("role").Quote(role)
		w.Member("parts").Raw("[")
		before := len(w.Out)
		for i := range t.Parts {
			writePart(&w, &t.Parts[i], names)
		}
		if len(w.Out) == before { // a content needs a part
			w.Raw(`{"text":""}`)
		}
		w.Raw("]}")
	}
	w.Raw("]}")
	return w.Out, nil
}

func writePart(w *protocol.Writer, p *chat.Part, names map[string]string) {
	switch p.Kind {
	case chat.Text, chat.Refusal:
		if p.Text.Empty() {
			return // a part needs data
		}
		w.Open(`{"text":`)
		w.Literal(p.Text)
		w.Raw("}")
	case chat.Image, chat.Audio, chat.Document:
		writeMedia(w, p.Media)
	case chat.Call:
		names[p.ID] = p.Name
		w.Open(`{"functionCall":{`)
		if p.ID != "" {
			w.Member("id").Quote(p.ID)
		}
		w.Member("name").Quote(p.Name)
		w.Member("args").Bytes(protocol.Object(p))
		w.Raw("}}")
	case chat.Result:
		key := "output"
		if p.IsError {
			key = "error"
		}
		w.Open(`{"functionResponse":{`)
		if p.ID != "" {
			w.Member("id").Quote(p.ID)
		}
		w.Member("name").Quote(cmp.Or(p.Name, names[p.ID], "tool"))
		w.Member("response").Raw("{")
		w.Member(key).Quote(protocol.Plain([]chat.Part{*p}))
		w.Raw("}}}")
	default:
		w.Open(`{"text":`)
		w.Quote(string(p.Raw))
		w.Raw("}")
	}
}

func writeMedia(w *protocol.Writer, m *chat.Media) {
	switch {
	case m == nil:
	case m.Text != nil:
		w.Open(`{"text":`)
		w.Literal(m.Text)
		w.Raw("}")
	case m.Data != nil:
		w.Open(`{"inlineData":{"mimeType":`)
		w.Quote(m.Type)
		w.Raw(`,"data":"`)
		w.Bytes(m.Data)
		w.Raw(`"}}`)
	default:
		w.Open(`{"fileData":{"mimeType":`)
		w.Quote(m.Type)
		w.Member("fileUri").Quote(cmp.Or(m.URL, m.FileID))
		w.Raw("}}")
	}
}
