package secret

import (
	"bytes"

	"github.com/oriel-context/oriel/internal/rawjson"
)

// Replace returns a JSON text in which by(text) stands for each string, and each name of a
// member, whose text contains a key; the same slice if there is none. A text that is not JSON
// is replaced as a whole.
func (k Keys) Replace(raw []byte, by func(text string) string) []byte {
	if text := string(raw); k.Clean(text) == text {
		return raw
	}
	doc, err := rawjson.Parse(raw, rawjson.Limits{})
	if err != nil {
		return quoted(NotKept)
	}
	s := stripper{raw: raw}
	k.replace(&s, doc.Root(), by)
	if s.done == 0 {
		return raw
	}
	return append(s.out, raw[s.done:]...)
}

func (k Keys) replace(s *stripper, v rawjson.Value, by func(string) string) {
	if !bytes.ContainsRune(v.Raw(), '"') {
		return
	}
	switch v.Kind() {
	case rawjson.Object:
		for name, member := range v.Members() {
			k.replace(s, name, by)
			k.replace(s, member, by)
		}
	case rawjson.Array:
		for e := range v.Elems() {
			k.replace(s, e, by)
		}
	case rawjson.String:
		if text := v.Str(); k.Clean(text) != text {
			s.replace(v, quoted(by(text)))
		}
	}
}
