package protocol

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/internal/rawjson"
)

// Turn is what one side says before the other answers. Role tool holds only
// results.
type Turn struct {
	Role  chat.Role
	Name  string
	Parts []chat.Part
}

// Turns normalises how protocols split messages: it separates results from a
// user's text and joins consecutive messages of an assistant.
func Turns(msgs []chat.Message) []Turn {
	var out []Turn
	add := func(t Turn, merge bool) {
		if len(t.Parts) == 0 {
			return
		}
		if n := len(out) - 1; merge && n >= 0 && out[n].Role == t.Role {
			out[n].Parts = append(out[n].Parts[:len(out[n].Parts):len(out[n].Parts)], t.Parts...)
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
		add(Turn{Role: chat.Tool, Parts: results}, true)
		add(Turn{Role: m.Role, Name: m.Name, Parts: rest}, m.Role == chat.Assistant)
	}
	return out
}

// Writer builds JSON by appending to Out.
type Writer struct{ Out []byte }

// Begin begins a body that names its model.
func (w *Writer) Begin(model string) {
	w.Raw("{")
	w.Member("model").Quote(model)
}

func (w *Writer) comma() {
	if n := len(w.Out); n > 0 && w.Out[n-1] != '[' && w.Out[n-1] != '{' {
		w.Out = append(w.Out, ',')
	}
}

// Member begins a member of an object; its value follows.
func (w *Writer) Member(name string) *Writer {
	w.comma()
	w.Out = chat.AppendQuote(w.Out, name)
	w.Out = append(w.Out, ':')
	return w
}

// Open writes the beginning of a list's next element, or of the next member.
func (w *Writer) Open(s string) { w.comma(); w.Raw(s) }

// Bytes and Raw write JSON as it is.
func (w *Writer) Bytes(b []byte) { w.Out = append(w.Out, b...) }

// Raw is Bytes of a string.
func (w *Writer) Raw(s string) { w.Out = append(w.Out, s...) }

// Quote writes a text as a literal.
func (w *Writer) Quote(s string) { w.Out = chat.AppendQuote(w.Out, s) }

// Inner writes the inner text of literals as one literal.
func (w *Writer) Inner(text []byte) { w.Out = AppendQuoted(w.Out, text) }

// Literal writes a literal, or "" if it is nil.
func (w *Writer) Literal(s chat.String) {
	if s == nil {
		s = chat.String(`""`)
	}
	w.Out = append(w.Out, s...)
}

// Integer writes a number.
func (w *Writer) Integer(n int) { w.Out = strconv.AppendInt(w.Out, int64(n), 10) }

// Limit writes a member with a number above 0.
func (w *Writer) Limit(name string, n int) {
	if n > 0 {
		w.Member(name).Integer(n)
	}
}

// Stream writes the member with which a request asks for a stream.
func (w *Writer) Stream(r *chat.Request) {
	if r.Stream {
		w.Member("stream").Raw("true")
	}
}

// Tools writes definitions of tools that came in any protocol's form: open, the name and the
// description, the schema of the arguments as the member that schema names, which may be in
// another one ("inputSchema.json"), and end.
func (w *Writer) Tools(tools []chat.ToolDef, open, schema, end string) error {
	if len(tools) == 0 {
		return nil
	}
	w.Member("tools").Raw("[")
	for _, t := range tools {
		doc, err := rawjson.Parse(t.Raw, rawjson.Limits{})
		if err != nil {
			return In(err, "tools")
		}
		v := doc.Root()
		if fn := v.Get("function"); fn.Kind() == rawjson.Object {
			v = fn
		}
		if spec := v.Get("toolSpec"); spec.Kind() == rawjson.Object {
			v = spec
		}
		arguments := v.Get("parameters").Raw()
		if s := v.Get("inputSchema").Get("json"); s.Exists() {
			arguments = s.Raw()
		}
		for _, name := range []string{"input_schema", "parametersJsonSchema"} {
			if s := v.Get(name); s.Exists() {
				arguments = s.Raw()
			}
		}
		if len(arguments) == 0 || bytes.Equal(arguments, []byte("null")) {
			arguments = []byte(`{"type":"object","properties":{}}`)
		}
		w.Open(open)
		w.Member("name").Quote(t.Name)
		if description := v.Get("description").Raw(); len(description) > 0 {
			w.Member("description").Bytes(description)
		}
		if outer, inner, ok := strings.Cut(schema, "."); ok {
			w.Member(outer).Raw("{")
			w.Member(inner).Bytes(arguments)
			w.Raw("}")
		} else {
			w.Member(schema).Bytes(arguments)
		}
		w.Raw(end)
	}
	w.Raw("]")
	return nil
}

// SystemPrompt writes the member with a system prompt, followed by what leading messages
// say, unless there is none.
func (w *Writer) SystemPrompt(name string, system []chat.Part, lead []chat.Message) {
	text := Plain(system)
	for i := range lead {
		if text != "" {
			text += "\n\n"
		}
		text += Plain(lead[i].Parts)
	}
	if text != "" {
		w.Member(name).Quote(text)
	}
}

// Plain returns the texts of parts, concatenated.
func Plain(parts []chat.Part) string {
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
				b = append(b, Plain(p.Parts)...)
			}
		default:
			b = append(b, p.Raw...)
		}
	}
	return string(b)
}

// Object returns a call's arguments as a JSON object. Other arguments are
// wrapped in one, because Anthropic accepts nothing else.
func Object(p *chat.Part) []byte {
	args := []byte(p.Arguments())
	if Parse(args, rawjson.Limits{}, func(rawjson.Value) error { return nil }) == nil {
		return args
	}
	if len(args) == 0 {
		return []byte("{}")
	}
	out := append([]byte(`{"input":`), chat.Quote(string(args))...)
	return append(out, '}')
}

// Arguments returns a call's arguments as a JSON string literal.
func Arguments(p *chat.Part) []byte {
	if len(p.Args) > 0 && p.Args[0] == '"' {
		return p.Args
	}
	if len(p.Args) == 0 {
		return []byte(`"{}"`)
	}
	return chat.Quote(string(p.Args))
}

// CallID returns the id that pairs a call with its result, or the function's
// name for OpenAI's older form without ids.
func CallID(p *chat.Part) string {
	if p.ID == "" {
		return p.Name
	}
	return p.ID
}

// AppendQuoted appends the inner text of literals as one literal.
func AppendQuoted(dst, inner []byte) []byte {
	return append(append(append(dst, '"'), inner...), '"')
}
