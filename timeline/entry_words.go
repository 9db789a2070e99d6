package timeline

import (
	"strings"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/internal/rawjson"
)

// Text renders the message for people: its texts, "→ Bash(…)" for a call, "← …"
// for a result, "(image)" for a picture. It includes thinking only if there is
// nothing else. For an entry that is not a message it names the kind of entry.
func (m *Message) Text() string {
	c, err := m.Chat()
	if err != nil {
		return m.meta()
	}
	return Words(&c)
}

// Words returns what [Message.Text] returns for a message.
func Words(m *chat.Message) string {
	var b strings.Builder
	for i := range m.Parts {
		add(&b, partWords(&m.Parts[i]))
	}
	if b.Len() == 0 {
		for i := range m.Parts {
			if p := &m.Parts[i]; p.Kind == chat.Thinking {
				add(&b, strings.TrimSpace("(thinking) "+thoughts(p)))
			}
		}
	}
	return b.String()
}

// thoughts returns the text of thinking, or the summary that a provider gives of it.
func thoughts(p *chat.Part) string {
	var b strings.Builder
	add(&b, p.Text.String())
	for i := range p.Parts {
		add(&b, p.Parts[i].Text.String())
	}
	return b.String()
}

func add(b *strings.Builder, words string) {
	if words == "" {
		return
	}
	if b.Len() > 0 {
		b.WriteByte('\n')
	}
	b.WriteString(words)
}

func partWords(p *chat.Part) string {
	switch p.Kind {
	case chat.Text, chat.Refusal:
		return p.Text.String()
	case chat.Call:
		return "→ " + p.Name + "(" + arguments(p) + ")"
	case chat.Result:
		return resultWords(p)
	case chat.Image:
		return "(image)"
	case chat.Document:
		if p.Media != nil && len(p.Media.Text) > 0 {
			return p.Media.Text.String()
		}
		return "(document)"
	case chat.Audio:
		return "(audio)"
	case chat.Compaction:
		return "(compaction)"
	case chat.Reference:
		return "(reference)"
	case chat.Catalog:
		return "(tools)"
	case chat.Unknown:
		if p.Type != "" {
			return "(" + p.Type + ")"
		}
		return "(unknown)"
	}
	return ""
}

func resultWords(p *chat.Part) string {
	var b strings.Builder
	if len(p.Text) > 0 {
		b.WriteString(p.Text.String())
	}
	for i := range p.Parts {
		add(&b, partWords(&p.Parts[i]))
	}
	sign := "← "
	if p.IsError {
		sign = "← (error) "
	}
	return sign + b.String()
}

// arguments renders a call's arguments by their values: the command, the file.
func arguments(p *chat.Part) string {
	text := p.Arguments()
	root, err := rawjson.ParseLenient([]byte(text), MaxContent)
	if err != nil || root.Kind() != rawjson.Object {
		return text
	}
	var words []string
	for _, v := range root.Members() {
		if v.Kind() == rawjson.String {
			words = append(words, v.Str())
		} else {
			words = append(words, string(v.Raw()))
		}
	}
	return strings.Join(words, ", ")
}

// meta describes an entry that is not a message.
func (m *Message) meta() string {
	root, err := rawjson.ParseLenient(m.Raw, MaxContent)
	if err != nil || root.Kind() != rawjson.Object {
		return string(m.Raw)
	}
	var b strings.Builder
	kind := root.Get("type").Str()
	if sub := root.Get("subtype").Str(); sub != "" {
		kind += " " + sub
	}
	if kind != "" {
		b.WriteString("(" + kind + ")")
	}
	for _, key := range []string{"summary", "content"} {
		if v := root.Get(key); v.Kind() == rawjson.String && v.Str() != "" {
			b.WriteString(" " + v.Str())
		}
	}
	if message := root.Get("message"); message.Exists() {
		inner := Message{Format: FormatAnthropic, Raw: message.Raw()}
		if c, err := inner.Chat(); err == nil {
			b.WriteString(" " + Words(&c))
		}
	}
	if b.Len() == 0 {
		return string(m.Raw)
	}
	return b.String()
}
