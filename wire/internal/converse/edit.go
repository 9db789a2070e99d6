package converse

import (
	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/internal/rawjson"
	"github.com/oriel-context/oriel/wire/internal/protocol"
)

// locateResult finds the text of a result, or its content if that has more than a text.
func locateResult(e *protocol.Edit, i int) (parent rawjson.Value, name string, err error) {
	parent = e.Element(i)
	if p := &e.Message.Parts[i]; p.Hosted {
		return parent, "", protocol.Fail(parent, "the content of a result of Amazon's own tools cannot be a text")
	}
	if only := onlyText(parent.Get("toolResult")); only.Exists() {
		return only, "text", nil
	}
	return parent.Get("toolResult"), "content", nil
}

// asResult returns a content with one text, if locateResult found more.
func asResult(e *protocol.Edit, i int, literal []byte) []byte {
	if onlyText(e.Element(i).Get("toolResult")).Exists() {
		return literal
	}
	return append(append([]byte(`[{"text":`), literal...), "}]"...)
}

func locateArguments(e *protocol.Edit, i int) (parent rawjson.Value, name string) {
	return e.Element(i).Get("toolUse"), "input"
}

// allowsText allows no text in a message that has only results, because some models refuse texts
// beside results, and none before results and thinking.
func allowsText(e *protocol.Edit, from, end int) error {
	refuse := func(i int, why string) error {
		return protocol.In(protocol.At(protocol.Fail(e.Element(i), "text is not allowed %s", why), i), "content")
	}
	result, said := -1, false
	for i := range e.Message.Parts {
		switch p := &e.Message.Parts[i]; {
		case p.Kind == chat.Result && !p.Hosted:
			result = i
		case p.Kind == chat.Thinking && i == 0 && from <= i && i < end:
			return refuse(i, "before thinking")
		case p.Type != chat.Breakpoint:
			said = true
		}
	}
	switch {
	case result < 0:
		return nil
	case !said:
		return refuse(result, "beside tool results")
	case from <= result:
		return refuse(result, "before tool results")
	}
	return nil
}
