package protocol

import (
	"fmt"
	"strconv"

	"github.com/oriel-context/oriel/internal/clip"
	"github.com/oriel-context/oriel/internal/rawjson"
)

// Error names the field of a body that could not be read, and its position.
type Error struct {
	// Path is the field, such as "messages[3].content"; empty for the body.
	Path string
	// Offset is the byte at which the field, or the fault in the JSON, begins.
	Offset int
	// Msg is what is wrong, and what is expected.
	Msg string
	// TooMany reports that the body has more parts, messages, tools or members
	// than Limits.Parts, or a reply more than MaxParts.
	TooMany bool
}

func (e *Error) Error() string {
	msg := clip.To(e.Msg, clip.Line) // the message may quote the body
	if e.Path == "" {
		return fmt.Sprintf("%s (byte %d)", msg, e.Offset)
	}
	return fmt.Sprintf("%s: %s (byte %d)", clip.To(e.Path, clip.Line), msg, e.Offset)
}

// Readers return errors without a path; each caller prepends its own name on the
// way out, so that a valid body costs nothing for paths.

// In prepends a member's name to the path of an error.
func In(err error, name string) error {
	e, ok := err.(*Error)
	if !ok {
		return err
	}
	switch {
	case e.Path == "":
		e.Path = name
	case e.Path[0] == '[':
		e.Path = name + e.Path
	default:
		e.Path = name + "." + e.Path
	}
	return e
}

// At prepends an element's index to the path of an error.
func At(err error, i int) error {
	return In(err, "["+strconv.Itoa(i)+"]")
}

// Fail returns an error about a value.
func Fail(v rawjson.Value, format string, args ...any) error {
	start, _ := v.Span()
	return &Error{Offset: start, Msg: fmt.Sprintf(format, args...)}
}

// Wrong returns the error for a value of the wrong type.
func Wrong(v rawjson.Value, want string) error {
	return Fail(v, "want %s, got %s", want, article(v.Kind()))
}

// Missing returns the error for a missing member of an object.
func Missing(parent rawjson.Value, name string) error {
	return In(Fail(parent, "missing"), name)
}

func article(k rawjson.Kind) string {
	switch k {
	case rawjson.Null:
		return "null"
	case rawjson.Bool:
		return "a boolean"
	case rawjson.Number:
		return "a number"
	case rawjson.String:
		return "a string"
	case rawjson.Array:
		return "an array"
	case rawjson.Object:
		return "an object"
	}
	return "nothing"
}

// Broken returns the error of a text that is not JSON, from the error of its scanner.
func Broken(err error) error {
	if e, ok := err.(*rawjson.Error); ok {
		return &Error{Offset: e.Offset, Msg: "not JSON: " + e.Msg}
	}
	return err
}
