package gemini

import (
	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/internal/rawjson"
	"github.com/oriel-context/oriel/wire/internal/protocol"
)

// either returns the member of v with one of two names, and its name.
func either(v rawjson.Value, camel, snake string) (rawjson.Value, string) {
	if m := v.Get(camel); m.Exists() {
		return m, camel
	}
	return v.Get(snake), snake
}

// locateResult finds the text of a response, or the response if that has more than a text. The
// pictures of a result leave with its text.
func locateResult(e *protocol.Edit, i int) (parent rawjson.Value, name string, err error) {
	p := &e.Message.Parts[i]
	parent, _ = either(e.Element(i), "functionResponse", "function_response")
	if p.Hosted || parent.Kind() != rawjson.Object {
		return parent, "", protocol.Fail(e.Element(i), "the content of a %s cannot be a text", p.Type)
	}
	e.Remove(parent, "parts")
	response := parent.Get("response")
	if name, _ := onlyMember(response); name != "" {
		return response, name, nil
	}
	return parent, "response", nil
}

// asResult returns the response with a text if locateResult found no text: a response is an
// object.
func asResult(e *protocol.Edit, i int, literal []byte) []byte {
	response, _ := either(e.Element(i), "functionResponse", "function_response")
	if name, _ := onlyMember(response.Get("response")); name != "" {
		return literal
	}
	name := `{"output":`
	if e.Message.Parts[i].IsError {
		name = `{"error":`
	}
	return append(append([]byte(name), literal...), '}')
}

// locateArguments does not find those of a signed call, which goes back as it came.
func locateArguments(e *protocol.Edit, i int) (parent rawjson.Value, name string) {
	if e.Message.Parts[i].Signed {
		return rawjson.Value{}, ""
	}
	parent, _ = either(e.Element(i), "functionCall", "function_call")
	return parent, "args"
}

// allowsText allows no text in a turn with results, which Google counts, nor in one that is
// not a list of parts.
func allowsText(e *protocol.Edit, _, _ int) error {
	if k := e.Content().Kind(); k == rawjson.Object {
		return protocol.Fail(e.Root, "text cannot be added to parts that are not a list")
	}
	for i := range e.Message.Parts {
		if p := &e.Message.Parts[i]; p.Kind == chat.Result && !p.Hosted {
			return protocol.In(protocol.At(protocol.Fail(e.Element(i), "text is not allowed beside results"), i),
				"parts")
		}
	}
	return nil
}
