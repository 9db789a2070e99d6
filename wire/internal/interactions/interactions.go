// Package interactions is Google's Interactions API: POST /v1beta/interactions.
//
// A history is a list of steps: what a user says, what the model says, thoughts, calls and
// results. Google keeps interactions unless a request says store: false, and a request may
// continue one by its id.
package interactions

import (
	"strings"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/internal/rawjson"
	"github.com/oriel-context/oriel/wire/internal/google"
	"github.com/oriel-context/oriel/wire/internal/protocol"
)

// Protocol returns the protocol.
func Protocol() *protocol.Protocol {
	return &protocol.Protocol{
		Name:   "interactions",
		Title:  "Gemini Interactions",
		Vendor: "gemini",

		Route:  "/v1beta/interactions",
		IsCall: isCall,

		List:   "input",
		System: "system_instruction",
		Tools:  []string{"tools"},
		Signs: protocol.Signs{
			Message: isStep,
			Fields: []string{
				"system_instruction", "generation_config", "previous_interaction_id", "response_modalities",
				"cached_content", "agent", "agent_config", "continuation_token",
			},
		},
		Field:    readField,
		Message:  readStep,
		FromText: fromText,
		Managed:  managed,
		Held:     []string{"previous_interaction_id", "cached_content"},

		Content:    "content",
		Result:     locateResult,
		Arguments:  func(e *protocol.Edit, _ int) (rawjson.Value, string) { return e.Root, "arguments" },
		AllowsText: allowsText,
		TextPart:   protocol.TextPart,

		Encode: encode,

		Reply:        readReply,
		Replies:      []string{"steps", "outputs"},
		NamesReplies: true,
		StreamType:   protocol.EventStream,
		Opening:      []string{"interaction.created", "interaction.status_update"},
		NewStream:    func() protocol.Assembly { return new(stream) },

		Refusal: google.Refusal,
		TooLong: google.TooLong,

		Bare: protocol.RawOf,
	}
}

// isCall accepts the paths of both hosts: Vertex AI's have the location before the resource.
func isCall(path string) bool {
	before, ok := strings.CutSuffix(path, "/interactions")
	return ok && (protocol.IsAt(path, "/interactions", "/v1beta", "/v1", "/v1alpha") ||
		strings.Contains(before, "/projects/") && strings.Contains(before, "/locations/"))
}

// isStep reports whether an element of "input" is a step of a kind that no other protocol has.
func isStep(v rawjson.Value) bool {
	switch t := v.Get("type"); {
	case t.EqualStr("user_input"), t.EqualStr("model_output"), t.EqualStr("thought"), t.EqualStr("function_result"):
		return true
	}
	return false
}

// readField reads a member of a body beside the input.
func readField(r *protocol.Reader, name string, v rawjson.Value) (err error) {
	switch name {
	case "system_instruction":
		r.Request.System, err = r.Content(v, readPart)
		return err
	case "generation_config":
		r.Request.MaxOutput, err = protocol.Member(v, "max_output_tokens", protocol.Count)
		return err
	case "previous_interaction_id":
		r.Hints.Previous = v.Str()
		return nil
	}
	return r.Member(name, v)
}

// managed returns the member by which Google has a part of the prompt, or will have it for the
// next request, or the input if that is a list of parts and not of steps.
func managed(body rawjson.Value) string {
	for _, name := range []string{"previous_interaction_id", "cached_content", "agent"} {
		if v := body.Get(name); v.Exists() && v.Kind() != rawjson.Null && !v.EqualStr("") {
			return name
		}
	}
	if first := body.Get("input").First(); first.Has("type") && first.Kind() == rawjson.Object {
		switch first.Get("type").Str() {
		case "text", "image", "audio", "video", "document": // there is no place for a step among parts
			return "input"
		}
	}
	if store := body.Get("store"); store.Kind() != rawjson.Bool || store.Bool() {
		return "store"
	}
	return ""
}

// fromText returns the step that a plain input stands for, or one with a content.
func fromText(literal []byte) []byte {
	if literal[0] == '[' {
		return append(append([]byte(`{"type":"user_input","content":`), literal...), '}')
	}
	out := append([]byte(`{"type":"user_input","content":[{"type":"text","text":`), literal...)
	return append(out, "}]}"...)
}

// readStep reads one element of "input": a step, a part of what the user says, or a turn of
// the API's first version.
func readStep(r *protocol.Reader, v rawjson.Value, m *chat.Message) error {
	t := v.Get("type")
	if t.Exists() && t.Kind() != rawjson.String {
		return protocol.In(protocol.Wrong(t, "a string"), "type")
	}
	m.Type = protocol.Word(t)
	switch {
	case m.Type == "user_input":
		m.Type, m.Role = "", chat.User
	case m.Type == "model_output":
		m.Type, m.Role = "", chat.Assistant
	case m.Type == "" && v.Has("role"):
		if err := protocol.Role(v, v.Get("role"), m); err != nil {
			return err
		}
		if m.Role == "model" {
			m.Role = chat.Assistant
		}
	default:
		return readOther(r, v, m)
	}
	var err error
	m.Parts, err = r.Content(v.Get("content"), readPart)
	return protocol.In(err, "content")
}

// readOther reads a step that is no message, as one part.
func readOther(r *protocol.Reader, v rawjson.Value, m *chat.Message) (err error) {
	if m.Parts, err = r.Take(v, 1); err != nil {
		return err
	}
	m.Role = chat.Assistant
	p := &m.Parts[0]
	p.Type, p.Raw = m.Type, v.Raw()
	switch {
	case m.Type == "thought":
		p.Kind = chat.Thinking
		p.Signed = v.Get("signature").Kind() == rawjson.String && len(v.Get("signature").Raw()) > 2
		if summary := v.Get("summary"); summary.Kind() == rawjson.Array {
			p.Parts, err = r.Content(summary, readPart)
		}
		return protocol.In(err, "summary")
	case strings.HasSuffix(m.Type, "_call"):
		p.Kind, p.Hosted = chat.Call, m.Type != "function_call"
		err = protocol.Call(v, p, "id", "arguments")
		if p.Name == "" {
			p.Name = strings.TrimSuffix(m.Type, "_call")
		}
		return err
	case strings.HasSuffix(m.Type, "_result"):
		p.Kind, p.Hosted = chat.Result, m.Type != "function_result"
		if !p.Hosted {
			m.Role = chat.Tool
		}
		if p.ID, err = protocol.Member(v, "call_id", protocol.Str); err != nil {
			return err
		}
		if p.Name, err = protocol.Member(v, "name", protocol.Str); err != nil {
			return err
		}
		p.IsError = v.Get("is_error").Bool()
		return readResult(r, v.Get("result"), p)
	}
	if err = readPart(r, v, p); p.Kind != chat.Unknown { // input that is a list of parts
		m.Role, m.Type = chat.User, ""
	}
	return err
}

// readResult reads what a tool returned: a text, a list of parts, or any JSON.
func readResult(r *protocol.Reader, v rawjson.Value, p *chat.Part) (err error) {
	switch v.Kind() {
	case rawjson.String:
		p.Text = chat.String(v.Raw())
		return nil
	case rawjson.Invalid, rawjson.Null:
		return nil
	case rawjson.Array:
		parts := true
		for e := range v.Elems() {
			parts = parts && e.Kind() == rawjson.Object && e.Get("type").Kind() == rawjson.String
		}
		if parts {
			p.Parts, err = r.Content(v, readPart)
			return protocol.In(err, "result")
		}
	}
	if p.Parts, err = r.Take(v, 1); err == nil {
		p.Parts[0] = chat.Part{Kind: chat.Text, Type: chat.JSON, Raw: v.Raw(), Text: chat.Quote(string(v.Raw()))}
	}
	return err
}

// readPart reads one part of a content.
func readPart(_ *protocol.Reader, v rawjson.Value, p *chat.Part) (err error) {
	t := v.Get("type")
	if t.Kind() != rawjson.String {
		return nil
	}
	p.Type = protocol.Word(t)
	switch p.Type {
	case "text":
		p.Kind = chat.Text
		p.Text, err = protocol.Member(v, "text", protocol.Text)
		return err
	case "image":
		p.Kind = chat.Image
	case "audio":
		p.Kind = chat.Audio
	case "document", "video":
		p.Kind = chat.Document
	default:
		return nil
	}
	p.Media = &chat.Media{Type: v.Get("mime_type").Str(), URL: v.Get("uri").Str()}
	if data := v.Get("data"); data.Kind() == rawjson.String {
		p.Media.Data = protocol.Inner(data)
	}
	return nil
}

func locateResult(e *protocol.Edit, i int) (parent rawjson.Value, name string, err error) {
	if p := &e.Message.Parts[i]; p.Hosted {
		return parent, "", protocol.Fail(e.Root, "the result of a %s cannot be a text", p.Type)
	}
	return e.Root, "result", nil
}

// allowsText allows text in what a user or the model says.
func allowsText(e *protocol.Edit, _, _ int) error {
	t := e.Root.Get("type")
	if e.Root.Kind() != rawjson.Object || !t.Exists() || t.EqualStr("user_input") || t.EqualStr("model_output") {
		return nil
	}
	return protocol.Fail(e.Root, "text cannot be added to a step of type %q", t.Str())
}
