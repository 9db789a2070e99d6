package protocol

import (
	"fmt"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/internal/rawjson"
)

// Reader reads one body. It bounds the number of its parts and allocates them in chunks, so
// that a thousand small messages do not cost a thousand allocations.
type Reader struct {
	// Request and Hints receive what the members beside the messages say. They are nil
	// where only a message is read.
	Request *chat.Request
	Hints   *Hints
	// Most is the limit of parts, and of the elements of each list; 0 means none.
	Most int
	// Messages is the number of messages that follow: the size of chunks depends on it.
	Messages int

	parts []chat.Part // the rest of the current chunk
	count int         // of parts so far
}

// Hints are the fields with which clients identify users and conversations. A field is
// empty if it is absent or not a string.
type Hints struct {
	UserID       string // Anthropic's metadata.user_id
	CacheKey     string // OpenAI's prompt_cache_key
	Conversation string // the id of OpenAI's conversation
	User         string // OpenAI's user
	Previous     string // OpenAI's previous_response_id
}

// PartReader reads one element of a message's content, whose Raw is set, into p. An element
// of an unknown type stays as it is: chat.Unknown.
type PartReader func(r *Reader, v rawjson.Value, p *chat.Part) error

// Member reads a member of a body that means the same to all protocols so far: the model,
// the limit of the output, the tools, what identifies a user. It ignores others.
func (r *Reader) Member(name string, v rawjson.Value) (err error) {
	q, hints := r.Request, r.Hints
	switch name {
	case "model":
		q.Model, err = Str(v)
	case "stream":
		if v.Kind() != rawjson.Bool && v.Kind() != rawjson.Null {
			err = Wrong(v, "a boolean")
		}
		q.Stream = v.Bool()
	case "max_tokens", "max_completion_tokens", "max_output_tokens":
		q.MaxOutput, err = Count(v)
	case "thinking":
		if q.ThinkingBudget, err = Count(v.Get("budget_tokens")); err != nil {
			err = In(err, "budget_tokens")
		}
	case "tools":
		q.Tools = nil // the last member with a name counts
		err = r.Tools(v)
	case "metadata":
		hints.UserID = v.Get("user_id").Str()
	case "prompt_cache_key":
		hints.CacheKey = v.Str()
	case "user":
		hints.User = v.Str()
	case "previous_response_id":
		hints.Previous = v.Str()
	case "conversation":
		if hints.Conversation = v.Str(); v.Kind() == rawjson.Object {
			hints.Conversation = v.Get("id").Str()
		}
	}
	return err
}

// Betas reads a list of beta features that a body asks for.
func (r *Reader) Betas(v rawjson.Value) {
	const most = 64
	for beta := range v.Elems() {
		if beta.Kind() == rawjson.String && len(r.Request.Betas) < most {
			r.Request.Betas = append(r.Request.Betas, beta.Str())
		}
	}
}

// Tools adds a list of definitions of tools to the request.
func (r *Reader) Tools(v rawjson.Value) error {
	if v.Kind() == rawjson.Null {
		return nil
	}
	if v.Kind() != rawjson.Array {
		return Wrong(v, "an array")
	}
	if err := r.Few(v, v.Len(), "tools"); err != nil {
		return err
	}
	i := 0
	for t := range v.Elems() {
		if t.Kind() != rawjson.Object {
			return At(Wrong(t, "an object"), i)
		}
		name := t.Get("name")
		if f := t.Get("function"); f.Kind() == rawjson.Object {
			name = f.Get("name")
		}
		if !name.Exists() {
			name = t.Get("type")
		}
		r.Request.Tools = append(r.Request.Tools, chat.ToolDef{Name: name.Str(), Raw: t.Raw()})
		i++
	}
	return nil
}

// Content reads a string, an array of parts, or null.
func (r *Reader) Content(v rawjson.Value, part PartReader) ([]chat.Part, error) {
	switch v.Kind() {
	case rawjson.Invalid, rawjson.Null:
		return nil, nil
	case rawjson.String:
		p, err := r.Take(v, 1)
		if err != nil {
			return nil, err
		}
		p[0] = chat.Part{Kind: chat.Text, Text: chat.String(v.Raw())}
		return p, nil
	case rawjson.Array:
		parts, err := r.Take(v, v.Len())
		if err != nil {
			return nil, err
		}
		i := 0
		for e := v.First(); e.Exists(); e = e.Next() {
			if e.Kind() != rawjson.Object {
				return nil, At(Wrong(e, "an object"), i)
			}
			parts[i].Raw = e.Raw()
			if err := part(r, e, &parts[i]); err != nil {
				return nil, At(err, i)
			}
			i++
		}
		return parts, nil
	}
	return nil, Wrong(v, "a string, an array or null")
}

// Result reads the content of a tool's result, which is the member of v with a name: one
// string, one part or a list of parts. Any other shape stays raw.
func (r *Reader) Result(v rawjson.Value, name string, p *chat.Part, part PartReader) error {
	switch c := v.Get(name); c.Kind() {
	case rawjson.String:
		p.Text = chat.String(c.Raw())
	case rawjson.Object: // a screenshot, or an error of a hosted tool
		var err error
		if p.Parts, err = r.Take(c, 1); err != nil {
			return In(err, name)
		}
		p.Parts[0].Raw = c.Raw()
		if err := part(r, c, &p.Parts[0]); err != nil {
			return In(err, name)
		}
	case rawjson.Array:
		for e := range c.Elems() {
			if e.Kind() != rawjson.Object {
				return nil
			}
		}
		var err error
		if p.Parts, err = r.Content(c, part); err != nil {
			return In(err, name)
		}
	}
	return nil
}

// Few returns an error if a list has more than Most elements.
func (r *Reader) Few(v rawjson.Value, n int, what string) error {
	if r.Most == 0 || n <= r.Most {
		return nil
	}
	start, _ := v.Span()
	return &Error{Offset: start, TooMany: true, Msg: fmt.Sprintf("%d %s: the limit is %d", n, what, r.Most)}
}

// Room counts n more parts of v and returns an error if the total exceeds Most.
func (r *Reader) Room(v rawjson.Value, n int) error {
	r.count += n
	return r.Few(v, r.count, "parts up to here")
}

// Take returns n zero parts for v, within Most.
func (r *Reader) Take(v rawjson.Value, n int) ([]chat.Part, error) {
	if err := r.Room(v, n); err != nil {
		return nil, err
	}
	return r.Alloc(n), nil
}

// Alloc returns n zero parts that Room has counted.
func (r *Reader) Alloc(n int) []chat.Part {
	if n > len(r.parts) {
		r.parts = make([]chat.Part, max(n, min(64, 2*r.Messages)))
	}
	p := r.parts[:n:n]
	r.parts = r.parts[n:]
	return p
}

// Role reads the role of a message.
func Role(parent, v rawjson.Value, m *chat.Message) error {
	switch v.Kind() {
	case rawjson.String:
	case rawjson.Invalid:
		return Missing(parent, "role")
	default:
		return In(Wrong(v, "a string"), "role")
	}
	m.Role = chat.Role(Word(v))
	return nil
}

// Call reads the id, name and arguments of a tool call; id and args name the members.
func Call(v rawjson.Value, p *chat.Part, id, args string) error {
	var err error
	if p.ID, err = Member(v, id, Str); err != nil {
		return err
	}
	if p.Name, err = Member(v, "name", Str); err != nil {
		return err
	}
	p.Args = v.Get(args).Raw()
	return nil
}
