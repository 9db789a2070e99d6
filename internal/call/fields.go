package call

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/oriel-context/oriel/internal/clip"
	"github.com/oriel-context/oriel/internal/rawjson"
	"github.com/oriel-context/oriel/internal/secret"
	"github.com/oriel-context/oriel/timeline"
)

// fields stores the fields of a request other than messages, system prompt and tools:
// field "rest" of docs/reference/format/calls.md. Large fields become contents, which the store
// compresses and keeps once; small ones stay in the record. Their order is kept.
type fields struct {
	keep   func([]byte) string
	keys   secret.Keys       // of the call
	pieces []json.RawMessage // objects, and hashes of contents that are objects
	run    []byte            // the fields that are not yet in pieces, as an object
}

const (
	// ownContent is the size in bytes from which a field becomes a content.
	ownContent = 512
	// maxInline is the size in bytes above which a run of smaller fields becomes a
	// content.
	maxInline = 1024
	// maxPieces bounds the pieces of one call: all further fields become one content.
	maxPieces = 64
)

func (f *fields) add(name string, raw []byte) {
	quoted, _ := json.Marshal(name) // a string never fails
	member := f.keys.Replace(fmt.Appendf(nil, "{%s:%s}", quoted, f.clipField(name, raw)), hashed)
	member = withoutSecrets(member)
	if len(member) >= ownContent && len(f.pieces) < maxPieces {
		f.flush()
		f.content(member)
		return
	}
	if f.run == nil {
		f.run = member
		return
	}
	f.run = append(append(f.run[:len(f.run)-1], ','), member[1:]...)
}

// hashed returns what is kept of a text that contains a key of the call, as of hints: clients
// may use their key as a name, and names still tell calls apart.
func hashed(text string) string { return timeline.HashOf([]byte(text)).String() }

// clipField returns the value of a field. An overlong number or name becomes a string of at
// most clip.Name bytes with a note.
func (f *fields) clipField(name string, raw []byte) []byte {
	if len(raw) <= clip.Name && !nameFields[name] {
		return raw
	}
	doc, err := rawjson.Parse(raw, rawjson.Limits{})
	if err != nil {
		return raw
	}
	v := doc.Root()
	if v.Kind() != rawjson.Object || !nameFields[name] {
		return f.clipValue(v, nameFields[name])
	}
	var out []byte
	same := true
	for k, member := range v.Members() {
		value := f.clipValue(member, true)
		same = same && &value[0] == &member.Raw()[0]
		out = append(append(append(append(out, ','), k.Raw()...), ':'), value...)
	}
	if same {
		return raw
	}
	return append(append([]byte{'{'}, bytes.TrimPrefix(out, []byte{','})...), '}')
}

func (f *fields) clipValue(v rawjson.Value, name bool) []byte {
	raw := v.Raw()
	text := ""
	switch kind := v.Kind(); {
	case kind == rawjson.String && name:
		if text = v.Str(); len(text) <= maxName {
			return raw
		}
	case len(raw) > clip.Name && kind == rawjson.Number:
		text = string(raw)
	default:
		return raw
	}
	short, _ := json.Marshal(clip.To(text, clip.Name)) // a string never fails
	return short
}

// maxName is the size in bytes above which a name is clipped: more than any provider
// accepts.
const maxName = 4 << 10

// nameFields are the fields that name something, or hold names.
var nameFields = map[string]bool{
	"model": true, "user": true, "prompt_cache_key": true, "safety_identifier": true, "service_tier": true,
	"previous_response_id": true, "conversation": true,
	"metadata": true, "client_metadata": true,
}

// flush ends the run.
func (f *fields) flush() {
	switch {
	case len(f.run) > maxInline, f.run != nil && !unchangedInline(f.run):
		f.content(f.run)
	case f.run != nil:
		f.pieces = append(f.pieces, f.run)
	}
	f.run = nil
}

// unchangedInline reports whether a JSON text stays byte for byte the same in the record, which
// is encoded without white space and with some characters escaped.
func unchangedInline(raw []byte) bool {
	inline, err := json.Marshal(json.RawMessage(raw))
	return err == nil && bytes.Equal(inline, raw)
}

func (f *fields) content(object []byte) {
	f.pieces = append(f.pieces, fmt.Appendf(nil, "%q", f.keep(object)))
}

// json returns the JSON of the fields for the record; nil if there are none.
func (f *fields) json() json.RawMessage {
	f.flush()
	switch {
	case len(f.pieces) == 0:
		return nil
	case len(f.pieces) == 1 && f.pieces[0][0] == '{':
		return f.pieces[0]
	}
	return array(f.pieces)
}

// rest returns the fields other than messages and tools as members of an object, without
// its braces.
func (r *reader) rest(raw json.RawMessage) []byte {
	if r.err != nil || len(raw) == 0 {
		return nil
	}
	pieces := []json.RawMessage{raw}
	if raw[0] != '{' {
		if err := json.Unmarshal(raw, &pieces); err != nil {
			r.err = fmt.Errorf("%w: rest: %w", timeline.ErrDamaged, err)
			return nil
		}
	}
	var all [][]byte
	for _, piece := range pieces {
		if len(piece) > 0 && piece[0] == '"' {
			piece = r.content(string(bytes.Trim(piece, `"`)))
		}
		if members := bytes.TrimSuffix(bytes.TrimPrefix(piece, []byte("{")), []byte("}")); len(members) > 0 {
			all = append(all, members)
		}
	}
	return bytes.Join(all, []byte{','})
}
