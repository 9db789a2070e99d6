package wire

import (
	"fmt"
	"strconv"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/internal/rawjson"
)

// Encode writes a whole request in the given protocol from the chat model, for
// messages built by a program and to convert a history from one protocol to
// another. It does not use the raw bytes of messages.
//
// What the protocol cannot express becomes text: an unknown part becomes a text
// with its JSON. Encode drops thinking, which is useful only to the model that
// produced it, and what a provider keeps for itself (references, compactions,
// catalogues).
func Encode(f Format, r *chat.Request) ([]byte, error) {
	w := writer{out: []byte("{")}
	w.member("model").quote(r.Model)
	lead := 0
	switch f {
	case Anthropic:
		limit := r.MaxOutput
		if limit == 0 {
			limit = 8192 // the protocol requires a limit
		}
		w.member("max_tokens").integer(limit)
		for lead < len(r.Messages) && (r.Messages[lead].Role == chat.System || r.Messages[lead].Role == chat.Developer) {
			lead++
		}
		w.systemPrompt("system", r.System, r.Messages[:lead])
	case Chat:
		w.limit("max_completion_tokens", r.MaxOutput)
	case Responses:
		w.limit("max_output_tokens", r.MaxOutput)
		w.systemPrompt("instructions", r.System, nil)
	default:
		return nil, fmt.Errorf("encode: format %s has no requests: use anthropic, openai or responses", f)
	}
	if r.Stream {
		w.member("stream").raw("true")
	}
	if err := w.tools(f, r.Tools); err != nil {
		return nil, err
	}
	w.member(map[Format]string{Anthropic: "messages", Chat: "messages", Responses: "input"}[f])
	w.raw("[")
	if f == Chat && len(r.System) > 0 {
		w.chatMessage(turn{role: chat.System, parts: r.System})
	}
	for _, t := range turns(r.Messages[lead:]) {
		switch f {
		case Anthropic:
			w.anthropicMessage(t)
		case Chat:
			w.chatMessage(t)
		default:
			w.responsesItems(t)
		}
	}
	w.raw("]}")
	return w.out, nil
}

// turn is what one side says before the other answers. Role tool holds only
// results.
type turn struct {
	role  chat.Role
	name  string
	parts []chat.Part
}

// turns normalises how protocols split messages: it separates results from a
// user's text and joins consecutive messages of an assistant.
func turns(msgs []chat.Message) []turn {
	var out []turn
	add := func(t turn, merge bool) {
		if len(t.parts) == 0 {
			return
		}
		if n := len(out) - 1; merge && n >= 0 && out[n].role == t.role {
			out[n].parts = append(out[n].parts[:len(out[n].parts):len(out[n].parts)], t.parts...)
			return
		}
		out = append(out, t)
	}
	for i := range msgs {
		m := &msgs[i]
		var results, rest []chat.Part
		for _, p := range m.Parts {
			switch {
			case p.Kind == chat.Result && !p.Hosted:
				results = append(results, p)
			case p.Hosted:
				// A hosted call becomes text for another provider.
				rest = append(rest, chat.Part{Raw: p.Raw})
			case p.Kind == chat.Thinking, p.Kind == chat.Reference, p.Kind == chat.Compaction, p.Kind == chat.Catalog:
			default:
				rest = append(rest, p)
			}
		}
		add(turn{role: chat.Tool, parts: results}, true)
		add(turn{role: m.Role, name: m.Name, parts: rest}, m.Role == chat.Assistant)
	}
	return out
}

// writer builds JSON by appending.
type writer struct{ out []byte }

func (w *writer) comma() {
	if n := len(w.out); n > 0 && w.out[n-1] != '[' && w.out[n-1] != '{' {
		w.out = append(w.out, ',')
	}
}

func (w *writer) member(name string) *writer {
	w.comma()
	w.out = chat.AppendQuote(w.out, name)
	w.out = append(w.out, ':')
	return w
}

func (w *writer) write(b []byte) { w.out = append(w.out, b...) }
func (w *writer) raw(s string)   { w.out = append(w.out, s...) }
func (w *writer) quote(s string) { w.out = chat.AppendQuote(w.out, s) }
func (w *writer) integer(n int)  { w.out = strconv.AppendInt(w.out, int64(n), 10) }
func (w *writer) open(s string)  { w.comma(); w.raw(s) }
func (w *writer) limit(k string, n int) {
	if n > 0 {
		w.member(k).integer(n)
	}
}

// literal writes a text, or "" if there is none.
func (w *writer) literal(s chat.String) {
	if s == nil {
		s = chat.String(`""`)
	}
	w.out = append(w.out, s...)
}

func (w *writer) systemPrompt(name string, system []chat.Part, lead []chat.Message) {
	text := plain(system)
	for i := range lead {
		if text != "" {
			text += "\n\n"
		}
		text += plain(lead[i].Parts)
	}
	if text != "" {
		w.member(name).quote(text)
	}
}

// plain returns the texts of parts, concatenated.
func plain(parts []chat.Part) string {
	var b []byte
	for i := range parts {
		p := &parts[i]
		if len(b) > 0 {
			b = append(b, '\n')
		}
		switch p.Kind {
		case chat.Text, chat.Thinking, chat.Refusal:
			b = p.Text.Append(b)
		case chat.Result:
			if p.Text != nil {
				b = p.Text.Append(b)
			} else {
				b = append(b, plain(p.Parts)...)
			}
		default:
			b = append(b, p.Raw...)
		}
	}
	return string(b)
}

// object returns a call's arguments as a JSON object. Other arguments are
// wrapped in one, because Anthropic accepts nothing else.
func object(p *chat.Part) []byte {
	args := []byte(p.Arguments())
	if parse(args, Limits{}, func(rawjson.Value) error { return nil }) == nil {
		return args
	}
	if len(args) == 0 {
		return []byte("{}")
	}
	out := append([]byte(`{"input":`), chat.Quote(string(args))...)
	return append(out, '}')
}

// arguments returns a call's arguments as a JSON string literal.
func arguments(p *chat.Part) []byte {
	if len(p.Args) > 0 && p.Args[0] == '"' {
		return p.Args
	}
	if len(p.Args) == 0 {
		return []byte(`"{}"`)
	}
	return chat.Quote(string(p.Args))
}
