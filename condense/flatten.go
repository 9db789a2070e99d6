package condense

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/internal/prompt"
	"github.com/oriel-context/oriel/internal/quote"
)

// flatten writes messages as plain text, one piece per message: a model must not take the
// conversation for its own, and providers refuse tool blocks without definitions.
// Thinking is omitted. Output of tools and files is quoted, so that no line of it reads
// as a user's.
func flatten(msgs []chat.Message, limit int) []string {
	answered := answers(msgs)
	var out []string
	for i := range msgs {
		m := &msgs[i]
		var b strings.Builder
		for j := range m.Parts {
			p := &m.Parts[j]
			text := flatPart(p, limit)
			if p.Kind == chat.Call && !answered[p] && !p.Hosted {
				text += "\n[No Result: the call was not answered]"
			}
			if text == "" {
				continue
			}
			if b.Len() > 0 {
				b.WriteByte('\n')
			}
			b.WriteString(text)
		}
		if b.Len() > 0 {
			out = append(out, speaker(m)+": "+b.String())
		}
	}
	return out
}

// answers returns the calls that have a result in the span.
func answers(msgs []chat.Message) map[*chat.Part]bool {
	answered := map[*chat.Part]bool{}
	for _, e := range read(msgs) {
		if e.call != nil && e.call.result != nil {
			answered[e.call.part] = true
		}
	}
	return answered
}

func speaker(m *chat.Message) string {
	switch m.Role {
	case chat.User:
		for i := range m.Parts {
			if p := &m.Parts[i]; p.Kind != chat.Result && p.Type != chat.Breakpoint {
				return "User"
			}
		}
		return "Tools"
	case chat.Tool, chat.Function:
		return "Tools"
	case chat.System, chat.Developer:
		return "System"
	}
	return "Assistant"
}

// flatPart returns a part as text, or "" if it has none.
func flatPart(p *chat.Part, limit int) string {
	switch p.Kind {
	case chat.Text, chat.Refusal:
		return strings.TrimSpace(disarm(p.Text.String()))
	case chat.Call:
		return fmt.Sprintf(prompt.FlatCall, quote.Label(p.Name)) + quote.Continue(middleOut(p.Arguments(), limit))
	case chat.Result:
		label := prompt.FlatResult
		if p.IsError {
			label = prompt.FlatFailed
		}
		var text strings.Builder
		text.WriteString(middleOut(p.Text.String(), limit))
		for i := range p.Parts {
			part := flatPart(&p.Parts[i], limit)
			if p.Parts[i].Kind == chat.Text {
				part = middleOut(part, limit)
			}
			if text.Len() > 0 && part != "" {
				text.WriteByte('\n')
			}
			text.WriteString(part)
		}
		return label + quote.Continue(text.String())
	case chat.Image:
		return prompt.FlatImage
	case chat.Audio:
		return prompt.FlatAudio
	case chat.Document:
		if p.Media != nil && !p.Media.Text.Empty() {
			return prompt.FlatDocument + " " + quote.Continue(middleOut(p.Media.Text.String(), limit))
		}
		return prompt.FlatDocument
	}
	return ""
}

// middleOut keeps both ends of a long text: the beginning says what a tool did, the end
// how it ended.
func middleOut(s string, limit int) string {
	if limit < 0 || len(s) <= limit {
		return s
	}
	head := border(s, limit*2/3)
	tail := border(s, len(s)-limit/3)
	return s[:head] + "\n[… " + strconv.Itoa(tail-head) + " bytes left out …]\n" + s[tail:]
}
