package wire

import (
	"slices"
	"strings"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/internal/rawjson"
	"github.com/oriel-context/oriel/wire/internal/protocol"
)

// WithoutThinking returns the raw message without its thinking, if the protocol binds it to
// what comes before it. It returns raw itself if there is none, or if no valid message would be left.
func WithoutThinking(f Format, raw []byte) ([]byte, error) {
	if !f.Protocol().BindsThinking() {
		return raw, nil
	}
	return removeParts(f, raw, func(p *chat.Part) bool { return p.Kind == chat.Thinking })
}

// RemoveTexts returns the raw message without the texts for which leaves returns true.
// If there are none, or nothing else, it returns raw itself; a content that is one
// string stays.
func RemoveTexts(f Format, raw []byte, leaves func(text string) bool) ([]byte, error) {
	return removeParts(f, raw, func(p *chat.Part) bool { return p.Kind == chat.Text && leaves(p.Text.String()) })
}

func removeParts(f Format, raw []byte, leaves func(*chat.Part) bool) ([]byte, error) {
	e, err := open(f, raw)
	if err != nil {
		return raw, err
	}
	content := e.Content()
	if f.Protocol().Joint != "" {
		return removeJoined(e, raw, leaves)
	}
	if content.Kind() != rawjson.Array {
		return raw, nil
	}
	list := []byte{'['}
	took := false
	i := e.Before()
	for part := range content.Elems() {
		if i == len(e.Message.Parts) { // the content of a tool's result is one part
			return raw, nil
		}
		leaves := leaves(&e.Message.Parts[i])
		if i++; leaves {
			took = true
			continue
		}
		if len(list) > 1 {
			list = append(list, ',')
		}
		list = append(list, part.Raw()...)
	}
	if !took || len(list) == 1 {
		return raw, nil
	}
	e.Set(e.Root, f.Protocol().Content, append(list, ']'))
	return e.Apply(), nil
}

// removeJoined is removeParts for a content that is always a string.
func removeJoined(e *protocol.Edit, raw []byte, leaves func(*chat.Part) bool) ([]byte, error) {
	texts, before := e.Texts(), e.Before()
	if len(texts) < 2 || e.Message.Role == chat.Tool {
		return raw, nil
	}
	var stay []chat.String
	for i, text := range texts {
		if !leaves(&e.Message.Parts[before+i]) {
			stay = append(stay, text)
		}
	}
	if len(stay) == 0 || len(stay) == len(texts) {
		return raw, nil
	}
	e.SetTexts(stay)
	return e.Apply(), nil
}

// RefusesDrop reports whether a provider refused a request because it does not know the field
// that [Body.AskDrop] adds, or the beta feature.
func RefusesDrop(status int, body []byte) bool {
	if status != 400 && status != 422 {
		return false
	}
	return slices.ContainsFunc(readAnswer(body).messages, func(m string) bool {
		return strings.Contains(m, "block_binding") || strings.Contains(m, "thinking-binding-controls")
	})
}

// IsUnbound reports whether a provider refused a request because something before a
// thinking block differs from when the model produced it. An error that merely quotes
// that sentence does not count.
func IsUnbound(status int, body []byte) bool {
	if status != 400 {
		return false
	}
	for _, m := range readAnswer(body).messages {
		if slices.ContainsFunc(protocols, func(p *Protocol) bool {
			return p.Unbound != nil &&
				p.Unbound.MatchString(m)
		}) {
			return true
		}
	}
	return false
}
