package view

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/wire"
)

// rewrite returns a request of a client that keeps other words than the
// model's: it rewrites the texts of all replies, and adds one to replies that
// only call tools.
func (p *replayed) rewrite(b *wire.Body) (*wire.Body, error) {
	view := b.Whole()
	for i := range b.Messages {
		m := &b.Messages[i]
		if m.Role != chat.Assistant || len(m.Parts) == 0 {
			continue
		}
		raw, ok := p.rewritten[string(m.Raw)]
		if !ok {
			var err error
			if raw, err = rewriteReply(m.Raw); err != nil {
				return nil, err
			}
			p.rewritten[string(m.Raw)] = raw
		}
		view[i].Raw = raw
	}
	body, err := b.Write(view)
	if err != nil {
		return nil, err
	}
	return wire.Read(body, b.Format, wire.Limits{})
}

// rewriteReply rewrites the texts of a message in Anthropic's or OpenAI's chat
// format.
func rewriteReply(raw []byte) ([]byte, error) {
	var m map[string]json.RawMessage
	if err := json.Unmarshal(raw, &m); err != nil {
		return nil, err
	}
	var text string
	var parts []json.RawMessage
	if json.Unmarshal(m["content"], &text) == nil {
		m["content"] = asJSON(otherWords(text))
	} else if json.Unmarshal(m["content"], &parts) == nil && len(parts) > 0 {
		last := -1
		for i := range parts {
			var part struct{ Type, Text string }
			if json.Unmarshal(parts[i], &part) == nil && part.Type == "text" {
				parts[i] = textPart(otherWords(part.Text))
				last = -2
			} else if last >= -1 && part.Type == "thinking" || part.Type == "redacted_thinking" {
				last = i
			}
		}
		if last >= -1 { // without a text, add one after the thinking
			parts = slices.Insert(parts, last+1, textPart(otherWords("")))
		}
		m["content"], _ = json.Marshal(parts)
	}
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	err := e.Encode(m)
	return bytes.TrimSpace(out.Bytes()), err
}

// otherWords returns the same words in another order.
func otherWords(text string) string {
	words := strings.Fields(text)
	slices.Reverse(words)
	return strings.Join(append(words, "(in other words)"), " ")
}

func asJSON(text string) json.RawMessage {
	raw, _ := json.Marshal(text) // never fails
	return raw
}

func textPart(text string) json.RawMessage {
	raw, _ := json.Marshal(map[string]string{"type": "text", "text": text}) // never fails
	return raw
}
