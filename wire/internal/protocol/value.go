package protocol

import (
	"bytes"
	"sync"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/internal/rawjson"
)

const (
	// MaxValues is the default limit of the values of a JSON text.
	MaxValues = 2 << 20
	// MaxParts is the limit of parts or items in a reply.
	MaxParts = 1 << 16
)

// docs keeps parsed documents for reuse: their tapes are larger than the result.
var docs = sync.Pool{New: func() any { return new(rawjson.Doc) }}

// Parse checks the JSON of an object and calls read with it. read must not keep any of its
// values. Limits without a number of values mean MaxValues.
func Parse(data []byte, lim rawjson.Limits, read func(root rawjson.Value) error) error {
	if lim.Values == 0 {
		lim.Values = MaxValues
	}
	doc := docs.Get().(*rawjson.Doc)
	defer func() {
		_ = doc.Reset(nil, rawjson.Limits{}) // release data
		docs.Put(doc)
	}()
	if err := doc.Reset(data, lim); err != nil {
		return Broken(err)
	}
	root := doc.Root()
	if root.Kind() != rawjson.Object {
		return Wrong(root, "an object")
	}
	return read(root)
}

// Key returns a member's name, decoded only if it contains escapes.
func Key(k rawjson.Value) []byte {
	raw := k.Raw()
	if bytes.IndexByte(raw, '\\') >= 0 {
		return k.AppendStr(nil)
	}
	return raw[1 : len(raw)-1]
}

// Str reads a string; an absent value is "".
func Str(v rawjson.Value) (string, error) {
	switch v.Kind() {
	case rawjson.String:
		return v.Str(), nil
	case rawjson.Invalid, rawjson.Null:
		return "", nil
	}
	return "", Wrong(v, "a string")
}

// Text reads a string without decoding it.
func Text(v rawjson.Value) (chat.String, error) {
	switch v.Kind() {
	case rawjson.String:
		return chat.String(v.Raw()), nil
	case rawjson.Invalid, rawjson.Null:
		return nil, nil
	}
	return nil, Wrong(v, "a string")
}

// Count reads a number of tokens.
func Count(v rawjson.Value) (int, error) {
	switch v.Kind() {
	case rawjson.Number:
		n, ok := v.Int()
		if !ok || n > 1<<31-1 {
			return 0, Fail(v, "want a whole number of tokens, got %s", v.Raw())
		}
		return int(max(n, 0)), nil // some servers use -1 for no limit
	case rawjson.Invalid, rawjson.Null:
		return 0, nil
	}
	return 0, Wrong(v, "a number")
}

// Word returns a string value; common values need no allocation.
func Word(v rawjson.Value) string {
	switch string(v.Raw()) {
	case `"user"`:
		return "user"
	case `"assistant"`:
		return "assistant"
	case `"model"`:
		return "model"
	case `"system"`:
		return "system"
	case `"developer"`:
		return "developer"
	case `"tool"`:
		return "tool"
	case `"text"`:
		return "text"
	case `"tool_use"`:
		return "tool_use"
	case `"tool_result"`:
		return "tool_result"
	case `"thinking"`:
		return "thinking"
	case `"message"`:
		return "message"
	case `"input_text"`:
		return "input_text"
	case `"output_text"`:
		return "output_text"
	case `"reasoning"`:
		return "reasoning"
	case `"function"`:
		return "function"
	case `"function_call"`:
		return "function_call"
	case `"function_call_output"`:
		return "function_call_output"
	}
	return v.Str()
}

// Member reads one member of an object with the given reader.
func Member[T any](v rawjson.Value, name string, read func(rawjson.Value) (T, error)) (T, error) {
	out, err := read(v.Get(name))
	if err != nil {
		err = In(err, name)
	}
	return out, err
}

// Inner returns a string's bytes between its quotes.
func Inner(v rawjson.Value) []byte {
	raw := v.Raw()
	if len(raw) < 2 {
		return nil
	}
	return raw[1 : len(raw)-1]
}

// Number returns a whole number, or 0 if v is none.
func Number(v rawjson.Value) int64 {
	if v.Kind() != rawjson.Number {
		return 0
	}
	n, _ := v.Int()
	return n
}

// SetCount stores a count if v is one.
func SetCount(n *int, v rawjson.Value) {
	if v.Kind() != rawjson.Number {
		return
	}
	if i, ok := v.Int(); ok {
		*n = int(max(0, min(i, 1<<31-1)))
	}
}

// SetFirst stores a string if s is still empty.
func SetFirst(s *string, v rawjson.Value) {
	if *s == "" {
		*s = v.Str()
	}
}

// Scalar returns a string's text, or the raw text of any other value.
func Scalar(v rawjson.Value) string {
	switch v.Kind() {
	case rawjson.String:
		return v.Str()
	case rawjson.Null:
		return ""
	}
	return string(v.Raw())
}
