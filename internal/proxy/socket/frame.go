package socket

import (
	"strings"

	"github.com/oriel-context/oriel/internal/rawjson"
)

// The types of client messages that are known. Any other may change what the provider holds.
const (
	create = "response.create"
	cancel = "response.cancel"
)

// Frame is a client's message.
type Frame struct {
	// Kind is the type; empty if the message is not an object with one type.
	Kind string
	// Stream names the lane of a connection that has several: responses of different lanes
	// may run at the same time.
	Stream string
	// Prepares reports that the call is for no reply: the provider only reads the prompt.
	Prepares bool
	// Header has the members of client_metadata that Codex sends as headers over HTTP.
	Header map[string]string

	raw      []byte
	root     rawjson.Value
	previous string
	items    [][]byte // of the input, as they came
	stored   bool     // the provider keeps the response
}

// envelope are the members of a message that no body over HTTP has.
var envelope = map[string]bool{"type": true, "stream_id": true, "generate": true}

// once are the members that must not occur twice: the provider's reading of the message would
// be a guess.
var once = []string{"type", "stream_id", "generate", "previous_response_id", "input", "store"}

// ReadFrame reads a message, which must not change afterwards.
func ReadFrame(raw []byte) *Frame {
	f := &Frame{raw: raw}
	doc, err := rawjson.Parse(raw, rawjson.Limits{})
	if err != nil || doc.Root().Kind() != rawjson.Object {
		return f
	}
	f.root = doc.Root()
	for _, name := range once {
		if f.root.Count(name) > 1 {
			return f
		}
	}
	f.Stream = f.root.Get("stream_id").Str()
	if f.Kind = f.root.Get("type").Str(); f.Kind != create {
		return f
	}
	f.previous = f.root.Get("previous_response_id").Str()
	f.Prepares = isFalse(f.root.Get("generate")) || f.root.Get("prompt_cache_options").Get("prewarm").Bool()
	f.stored = !isFalse(f.root.Get("store"))
	f.items = itemsOf(f.root.Get("input"))
	for name, v := range f.root.Get("client_metadata").Members() {
		if key := name.Str(); strings.HasPrefix(key, "x-codex-") && v.Kind() == rawjson.String {
			if f.Header == nil {
				f.Header = map[string]string{}
			}
			f.Header[key] = v.Str()
		}
	}
	return f
}

func isFalse(v rawjson.Value) bool { return v.Kind() == rawjson.Bool && !v.Bool() }

// IsCall reports whether the message asks for a response.
func (f *Frame) IsCall() bool { return f.Kind == create }

// Harmless reports that the message does not change what the provider holds.
func (f *Frame) Harmless() bool { return f.Kind == cancel }

// Raw returns the message as it came.
func (f *Frame) Raw() []byte { return f.raw }

// itemsOf returns the items of an input; a text is one message.
func itemsOf(input rawjson.Value) (items [][]byte) {
	if input.Kind() == rawjson.String {
		text := append([]byte(`{"role":"user","content":`), input.Raw()...)
		return [][]byte{append(text, '}')}
	}
	for v := range input.Elems() {
		items = append(items, v.Raw())
	}
	return items
}

// object appends the members of an object to dst, which ends inside one, but none of those that
// skip reports; members in set have these values.
func appendMembers(dst []byte, object rawjson.Value, skip func(string) bool, set map[string][]byte) []byte {
	for k, v := range object.Members() {
		name := k.Str()
		if skip(name) {
			continue
		}
		if dst[len(dst)-1] != '{' {
			dst = append(dst, ',')
		}
		dst = append(append(dst, k.Raw()...), ':')
		if value, ok := set[name]; ok {
			dst = append(dst, value...)
		} else {
			dst = append(dst, v.Raw()...)
		}
	}
	return dst
}
