package timeline

import (
	"bytes"
	"encoding/binary"
	"slices"

	"github.com/oriel-context/oriel/internal/rawjson"
)

// omit selects the members of objects that are not part of the identity.
type omit uint8

const (
	omitNothing omit = iota
	omitCache        // cache_control, at any depth
	omitItem         // and id, status and nulls of the outermost object
	omitCall         // and its arguments
)

func (o omit) has(name []byte, v rawjson.Value) bool {
	switch string(name) {
	case "cache_control":
		return o >= omitCache
	case "id", "status":
		return o >= omitItem
	case "arguments":
		return o >= omitCall
	}
	return o >= omitItem && v.Kind() == rawjson.Null
}

type member struct {
	name  []byte // decoded
	value rawjson.Value
}

// value encodes JSON in canonical form: strings decoded, members sorted by name,
// the last of several members with one name.
func (w *identifier) value(v rawjson.Value, o omit) {
	kind := v.Kind()
	w.b = append(w.b, byte(kind))
	switch kind {
	case rawjson.String:
		w.literal(v.Raw())
	case rawjson.Number:
		w.b = appendString(w.b, string(v.Raw()))
	case rawjson.Bool:
		w.b = append(w.b, v.Raw()[0])
	case rawjson.Array:
		for e := v.First(); e.Exists(); e = e.Next() {
			w.value(e, min(o, omitCache))
		}
		w.b = append(w.b, tagEnd)
	case rawjson.Object:
		w.object(v, o)
	}
}

func (w *identifier) object(v rawjson.Value, o omit) {
	first := len(w.members) // after the members of the enclosing objects
	for name := v.First(); name.Exists(); {
		value := name.Next()
		raw := name.Raw()
		decoded := raw[1 : len(raw)-1]
		if bytes.IndexByte(decoded, '\\') >= 0 {
			decoded = name.AppendStr(nil)
		}
		if !o.has(decoded, value) {
			w.members = append(w.members, member{decoded, value})
		}
		name = value.Next()
	}
	own := w.members[first:]
	slices.SortStableFunc(own, func(a, b member) int { return bytes.Compare(a.name, b.name) })
	for i := range own {
		if i+1 < len(own) && bytes.Equal(own[i].name, own[i+1].name) {
			continue
		}
		w.b = append(w.b, byte(rawjson.String))
		w.b = binary.LittleEndian.AppendUint32(w.b, uint32(len(own[i].name)))
		w.b = append(w.b, own[i].name...)
		w.value(own[i].value, min(o, omitCache)) // may reallocate w.members, but not own
	}
	w.members = w.members[:first]
	w.b = append(w.b, tagEnd)
}
