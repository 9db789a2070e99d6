package gemini

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/oriel-context/oriel/internal/rawjson"
	"github.com/oriel-context/oriel/wire/internal/protocol"
)

// partialCall is a call whose arguments come in parts: each part names a place in them by a path,
// and texts at one place are joined.
type partialCall struct {
	id, name string
	args     any
	made     int  // places that the newest value has added
	open     bool // another part follows
}

// isPartial reports whether a call of a function is a part of one.
func isPartial(call rawjson.Value) bool {
	return call.Has("partialArgs") || call.Get("willContinue").Bool()
}

// growing is a text that comes in parts.
type growing struct{ text []byte }

// MarshalJSON implements json.Marshaler.
func (g *growing) MarshalJSON() ([]byte, error) { return json.Marshal(string(g.text)) }

// add adds a part. It returns false if a path is in a form that is not known; the rest is added.
func (c *partialCall) add(r *protocol.Stream, call rawjson.Value) (ok bool) {
	ok = true
	if c.args == nil {
		c.args = map[string]any{}
	}
	if id := call.Get("id"); id.Kind() == rawjson.String && c.id == "" {
		c.id = id.Str()
	}
	if name := call.Get("name"); name.Kind() == rawjson.String && c.name == "" {
		c.name = name.Str()
	}
	for p := range call.Get("partialArgs").Elems() {
		path, known := pathOf(p.Get("jsonPath").Str())
		if !known {
			ok = false
			continue
		}
		switch {
		case p.Get("stringValue").Kind() == rawjson.String:
			c.args = c.place(c.args, path, &growing{p.Get("stringValue").AppendStr(nil)})
		case p.Has("numberValue"):
			c.args = c.place(c.args, path, json.RawMessage(bytes.Clone(p.Get("numberValue").Raw())))
		case p.Has("boolValue"):
			c.args = c.place(c.args, path, p.Get("boolValue").Bool())
		case p.Has("nullValue"):
			c.args = c.place(c.args, path, nil)
		}
		if n := c.made; n > 0 {
			if c.made = 0; !r.Room(n * protocol.Structure) {
				break
			}
		}
	}
	c.open = call.Get("willContinue").Bool()
	return ok
}

// write returns the whole call.
func (c *partialCall) write() []byte {
	out := []byte("{")
	if c.id != "" {
		out = append(append(append(out, `"id":`...), quoted(c.id)...), ',')
	}
	out = append(append(append(out, `"name":`...), quoted(c.name)...), `,"args":`...)
	args, err := json.Marshal(c.args)
	if err != nil { // a number that is none
		args = []byte("{}")
	}
	return append(append(out, args...), '}')
}

func quoted(s string) []byte {
	out, _ := json.Marshal(s) // a string cannot fail
	return out
}

// maxSteps bounds how deep in the arguments a part may stand.
const maxSteps = 64

// pathOf splits a path such as $.where[0].name into names and indices.
func pathOf(path string) (steps []any, ok bool) {
	rest, ok := strings.CutPrefix(path, "$")
	for ok && rest != "" {
		switch {
		case strings.HasPrefix(rest, "["):
			var inside string
			if inside, rest, ok = strings.Cut(rest[1:], "]"); !ok {
				return nil, false
			}
			if n, err := strconv.Atoi(inside); err == nil && n >= 0 {
				steps = append(steps, n)
			} else if name := strings.Trim(inside, `'"`); len(name) == len(inside)-2 {
				steps = append(steps, name)
			} else {
				return nil, false
			}
		case strings.HasPrefix(rest, "."):
			end := strings.IndexAny(rest[1:], ".[")
			if end < 0 {
				end = len(rest) - 1
			}
			if end == 0 {
				return nil, false
			}
			steps = append(steps, rest[1:1+end])
			rest = rest[1+end:]
		default:
			return nil, false
		}
	}
	return steps, ok && 0 < len(steps) && len(steps) <= maxSteps
}

// place returns a value with another one at a path in it. A text follows the one that is there.
func (c *partialCall) place(in any, path []any, v any) any {
	if len(path) == 0 {
		if was, ok := in.(*growing); ok {
			if more, ok := v.(*growing); ok {
				was.text = append(was.text, more.text...)
				return was
			}
		}
		return v
	}
	switch step := path[0].(type) {
	case int:
		list, _ := in.([]any)
		if step > len(list) { // elements come in their order
			return in
		}
		if step == len(list) {
			list = append(list, nil)
			c.made++
		}
		list[step] = c.place(list[step], path[1:], v)
		return list
	default:
		object, ok := in.(map[string]any)
		if !ok {
			object = map[string]any{}
		}
		name, _ := step.(string)
		was, known := object[name]
		if !known {
			c.made++
		}
		object[name] = c.place(was, path[1:], v)
		return object
	}
}

// partial adds a part of a call to the last part of the reply, if that is open, or begins one.
func (s *stream) partial(r *protocol.Stream, part, call rawjson.Value) {
	n, size := len(s.parts), len(part.Raw())
	begins := n == 0 || s.parts[n-1].call == nil || !s.parts[n-1].call.open
	if begins {
		size += protocol.Structure
	}
	if !r.Room(size) {
		return
	}
	if begins {
		s.parts = append(s.parts, &streamPart{raw: append([]byte(nil), part.Raw()...), call: &partialCall{}})
		n++
	}
	if !s.parts[n-1].call.add(r, call) {
		r.Reply.Note("not kept: arguments of a call at a place in an unknown form", nil)
	}
}
