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
	p := f.Protocol()
	for _, i := range slices.Sorted(maps.Keys(parts)) {
		if i < 0 || i >= len(e.Message.Parts) || e.Message.Parts[i].Kind != chat.Call || e.Message.Parts[i].Hosted {
			continue
		}
		parent, name := p.Arguments(e, i)
		switch v := parent.Get(name); v.Kind() {
		case rawjson.Object:
			e.Set(parent, name, []byte(`{}`))
		case rawjson.String:
			e.Set(parent, name, []byte(`"{}"`))
		}
	}
	return e.Apply(), nil
}
