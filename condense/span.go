package condense

import (
	"strings"

	"github.com/oriel-context/oriel/chat"
)

// event is one event of a span: a text, or a tool call.
type event struct {
	// msg is the index of the message.
	msg  int
	who  chat.Role // User or Assistant
	name string    // the speaker's, if the message has one
	text string    // the text; empty for a call
	call *call
}

// call is a tool call with its result.
type call struct {
	part   *chat.Part
	result *chat.Part // nil if the span has no result
}

// read returns the events of a span. Calls and results are paired by id, newest
// unanswered call first; a result without its call is ignored. System messages,
// thinking, unknown parts and notes of Oriel's are not events.
func read(msgs []chat.Message) []event {
	events := make([]event, 0, len(msgs))
	waiting := map[string][]*call{}
	for i := range msgs {
		m := &msgs[i]
		if body, ok := foreignSummary(m); ok {
			events = append(events, event{msg: i, who: chat.Assistant, text: body})
			continue
		}
		words := m.Words()
		for j := range m.Parts {
			p := &m.Parts[j]
			switch p.Kind {
			case chat.Text, chat.Refusal:
				if m.Role != chat.User && m.Role != chat.Assistant {
					continue
				}
				text := p.Text.String()
				if m.Role == chat.User {
					text = words[j]
				}
				if text = strings.TrimSpace(withoutNotes(text)); text != "" {
					events = append(events, event{msg: i, who: m.Role, name: m.Name, text: text})
				}
			case chat.Call:
				c := &call{part: p}
				events = append(events, event{msg: i, who: chat.Assistant, call: c})
				waiting[callKey(p)] = append(waiting[callKey(p)], c)
			case chat.Result:
				k := callKey(p)
				if w := waiting[k]; len(w) > 0 {
					w[len(w)-1].result = p
					waiting[k] = w[:len(w)-1]
				}
			}
		}
	}
	return events
}

// callKey returns the key that a call shares with its result: the id, or the name
// if there is none.
func callKey(p *chat.Part) string {
	if p.ID != "" {
		return p.ID
	}
	return "\x00" + p.Name
}

// resultText returns the text of a result without notes of Oriel's.
func resultText(p *chat.Part) string {
	if len(p.Parts) == 0 {
		return withoutNotes(p.Text.String())
	}
	var b strings.Builder
	b.WriteString(p.Text.String())
	for i := range p.Parts {
		switch q := &p.Parts[i]; q.Kind {
		case chat.Text, chat.Refusal:
			if b.Len() > 0 {
				b.WriteByte('\n')
			}
			b.WriteString(q.Text.String())
		case chat.Document:
			if q.Media != nil {
				b.WriteString(q.Media.Text.String())
			}
		}
	}
	return withoutNotes(b.String())
}

// weigh counts the tokens of a part's text: the least that a summary may save.
func weigh(p *chat.Part, count func(string) int) int {
	n := 0
	if !p.Text.Empty() && p.Kind != chat.Thinking {
		n += count(p.Text.String())
	}
	if p.Kind == chat.Call {
		n += count(p.Name) + count(p.Arguments())
	}
	if p.Media != nil && !p.Media.Text.Empty() {
		n += count(p.Media.Text.String())
	}
	for i := range p.Parts {
		n += weigh(&p.Parts[i], count)
	}
	return n
}
