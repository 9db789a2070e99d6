// Package toy is a protocol that no vendor has. It is unlike the others wherever a protocol
// may be: other roles, other names for the list and the content of messages, texts without a
// type, calls that are objects, a stream with an event a line. Tests add it to the table of
// package wire, to show that a folder and a row are enough.
package toy

import (
	"strings"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/internal/rawjson"
	"github.com/oriel-context/oriel/wire/internal/protocol"
)

// Protocol returns the protocol.
func Protocol() *protocol.Protocol {
	return &protocol.Protocol{
		Name:   "toy",
		Title:  "Toy",
		Vendor: "openai",

		Route:  "/toy/talk",
		IsCall: func(path string) bool { return strings.HasSuffix(path, "/toy/talk") },

		List:    "turns",
		System:  "setting",
		Tools:   []string{"tools"},
		Field:   readField,
		Message: readMessage,
		Managed: func(rawjson.Value) string { return "" },
		Rules:   chat.Rules{ResultsFollow: true},

		Content:    "say",
		Result:     locateResult,
		Arguments:  locateArguments,
		AllowsText: func(*protocol.Edit, int, int) error { return nil },
		TextPart:   func(chat.Role) string { return `{"text":` },

		Encode: encode,

		Reply:      readReply,
		Replies:    []string{"turn"},
		StreamType: "application/x-ndjson",
		NewStream:  func() protocol.Assembly { return new(stream) },

		Refusal:      refusal,
		TooLong:      []string{`<prompt> words are too many for <limit>`},
		TooLongCodes: []string{"toy_is_full"},

		Bare: protocol.RawOf,
	}
}

func readField(r *protocol.Reader, name string, v rawjson.Value) (err error) {
	if name == "setting" {
		r.Request.System, err = r.Content(v, readPart)
		return err
	}
	return r.Member(name, v)
}

// roles are the protocol's words for roles.
var roles = map[string]chat.Role{"person": chat.User, "machine": chat.Assistant, "tool": chat.Tool}

func readMessage(r *protocol.Reader, v rawjson.Value, m *chat.Message) error {
	by, err := protocol.Member(v, "by", protocol.Str)
	if err != nil {
		return err
	}
	m.Role = roles[by]
	if m.Parts, err = r.Content(v.Get("say"), readPart); err != nil {
		return protocol.In(err, "say")
	}
	return nil
}

func readPart(_ *protocol.Reader, v rawjson.Value, p *chat.Part) (err error) {
	ask, got := v.Get("ask"), v.Get("got")
	switch {
	case ask.Exists():
		p.Kind, p.Type = chat.Call, "ask"
		return protocol.Call(ask, p, "id", "with")
	case got.Exists():
		p.Kind, p.Type, p.ID = chat.Result, "got", got.Get("id").Str()
		p.Text, err = protocol.Member(got, "text", protocol.Text)
	case v.Has("text"):
		p.Kind, p.Type = chat.Text, "text"
		p.Text, err = protocol.Member(v, "text", protocol.Text)
	}
	return err
}

func locateResult(e *protocol.Edit, i int) (parent rawjson.Value, name string, err error) {
	return e.Element(i).Get("got"), "text", nil
}

func locateArguments(e *protocol.Edit, i int) (parent rawjson.Value, name string) {
	return e.Element(i).Get("ask"), "with"
}

func encode(r *chat.Request) ([]byte, error) {
	var w protocol.Writer
	w.Begin(r.Model)
	w.SystemPrompt("setting", r.System, nil)
	w.Stream(r)
	if err := w.Tools(r.Tools, "{", "parameters", "}"); err != nil {
		return nil, err
	}
	w.Member("turns").Raw("[")
	for _, t := range protocol.Turns(r.Messages) {
		by := "person"
		for word, role := range roles {
			if role == t.Role {
				by = word
			}
		}
		w.Open("{")
		w.Member("by").Quote(by)
		w.Member("say").Raw("[")
		for i := range t.Parts {
			writePart(&w, &t.Parts[i])
		}
		w.Raw("]}")
	}
	w.Raw("]}")
	return w.Out, nil
}

func writePart(w *protocol.Writer, p *chat.Part) {
	switch p.Kind {
	case chat.Call:
		w.Open(`{"ask":{"id":`)
		w.Quote(protocol.CallID(p))
		w.Member("name").Quote(p.Name)
		w.Member("with").Bytes(protocol.Object(p))
		w.Raw("}}")
	case chat.Result:
		w.Open(`{"got":{"id":`)
		w.Quote(protocol.CallID(p))
		w.Member("text").Quote(protocol.Plain([]chat.Part{*p}))
		w.Raw("}}")
	default:
		w.Open(`{"text":`)
		w.Quote(protocol.Plain([]chat.Part{*p}))
		w.Raw("}")
	}
}

func readReply(r *protocol.Reply, body rawjson.Value) error {
	turn := body.Get("turn")
	if turn.Kind() != rawjson.Object {
		return protocol.In(protocol.Wrong(turn, "an object"), "turn")
	}
	r.Message = turn.Raw()
	r.Stop, r.Complete = "end", true
	readUsage(&r.Usage, body)
	return nil
}

func readUsage(u *protocol.Usage, v rawjson.Value) {
	u.HasUsage = v.Has("heard")
	protocol.SetCount(&u.Input, v.Get("heard"))
	protocol.SetCount(&u.Output, v.Get("said"))
}

// stream joins the texts of lines {"text":"…"}; {"heard":3,"said":2} ends it.
type stream struct {
	text  []byte
	begun bool
}

func (s *stream) Read(r *protocol.Stream, _ []byte, event rawjson.Value) {
	switch text := event.Get("text"); {
	case event.Has("error"):
		r.Fail(protocol.StreamError(event))
	case event.Has("heard"):
		readUsage(&r.Reply.Usage, event)
		r.Ended, r.Reply.Stop = true, "end"
	case text.Kind() == rawjson.String:
		s.begun = true
		s.text = r.Keep(s.text, protocol.Inner(text))
	default:
		r.Reply.Note("an unknown event", nil)
	}
}

func (s *stream) Done(*protocol.Stream) {}

func (s *stream) Write(r *protocol.Reply) bool {
	if !s.begun {
		return false
	}
	var w protocol.Writer
	w.Raw(`{"by":"machine","say":[{"text":`)
	w.Inner(s.text)
	w.Raw("}]}")
	r.Message = w.Out
	return true
}

func refusal(_ int, code, message string) []byte {
	var w protocol.Writer
	w.Raw("{")
	w.Member("error").Quote(message)
	w.Member("code").Quote(code)
	w.Raw("}")
	return w.Out
}
