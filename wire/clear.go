package wire

import (
	"maps"
	"slices"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/internal/rawjson"
)

// ClearArguments empties the arguments of the tool calls with the given part
// indices. The rest of the message stays unchanged, and so do parts that are not
// calls of the client's tools.
func ClearArguments(f Format, raw []byte, parts map[int]bool) ([]byte, error) {
	e, err := open(f, raw)
	if err != nil {
		return nil, err
	}
	for _, i := range slices.Sorted(maps.Keys(parts)) {
		if i < 0 || i >= len(e.msg.Parts) || e.msg.Parts[i].Kind != chat.Call || e.msg.Parts[i].Hosted {
			continue
		}
		parent, name := e.arguments(i)
		switch v := parent.Get(name); v.Kind() {
		case rawjson.Object:
			e.set(parent, name, []byte(`{}`))
		case rawjson.String:
			e.set(parent, name, []byte(`"{}"`))
		}
	}
	return e.apply(), nil
}

// arguments locates the arguments of the call in part i.
func (e *edit) arguments(i int) (parent rawjson.Value, name string) {
	switch e.format {
	case Anthropic:
		return e.element(i), "input"
	case Responses:
		if e.root.Has("arguments") {
			return e.root, "arguments"
		}
		return e.root, "input"
	}
	if e.msg.Parts[i].Type == "function_call" {
		return e.root.Get("function_call"), "arguments"
	}
	if e.calls == nil {
		for v := range e.root.Get("tool_calls").Elems() {
			e.calls = append(e.calls, v)
		}
	}
	n := i - (len(e.msg.Parts) - len(e.calls)) // calls are read last
	if n < 0 {
		return rawjson.Value{}, ""
	}
	if c := e.calls[n].Get("custom"); c.Exists() {
		return c, "input"
	}
	return e.calls[n].Get("function"), "arguments"
}
