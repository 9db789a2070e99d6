package condense

import (
	"strings"

	"github.com/oriel-context/oriel/chat"
)

// event is one thing that happened in a span, in order: somebody said something,
// or a tool was called.
type event struct {
	// msg is the index of the message.
	msg  int
	who  chat.Role // User or Assistant
	text string    // what was said; empty for a call
	call *call
}

// call is a tool call with what came of it.
type call struct {
	part   *chat.Part
	result *chat.Part // nil when the span has no answer
}

// read lists what happened in a span. Calls and results are joined by id, the
// newest call without an answer first; a result without its call is left out, for
// nobody can say what it answers. System messages, thinking and unknown parts are
// not part of what happened.
func read(msgs []chat.Message) []event {
	events := make([]event, 0, len(msgs))
	waiting := map[string][]*call{}
	for i := range msgs {
		m := &msgs[i]
		for j := range m.Parts {
			p := &m.Parts[j]
			switch p.Kind {
			case chat.Text, chat.Refusal:
				if m.Role != chat.User && m.Role != chat.Assistant {
					continue
				}
				text := p.Text.String()
				if m.Role == chat.User {
					text = ownWords(text)
				}
				if text = strings.TrimSpace(text); text != "" {
					events = append(events, event{msg: i, who: m.Role, text: text})
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

// callKey joins a call and its result: by id, or by name where there is none.
func callKey(p *chat.Part) string {
	if p.ID != "" {
		return p.ID
	}
	return "\x00" + p.Name
}

// resultText is what a result says in words.
func resultText(p *chat.Part) string {
	if len(p.Parts) == 0 {
		return p.Text.String()
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
	return b.String()
}

// weigh counts the words of a part: what a summary may save at the least.
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

// programs begin texts that agent programs write in a user's name.
var programs = []string{
	"[Request interrupted by user", "Base directory for this skill:", "Caveat: The messages below were generated",
}

// ownWords leaves out of a user's text what the agent program put there: elements
// such as <system-reminder> or <environment_details>, whose names are made of two
// words or more. Elements that quote the user are opened.
func ownWords(text string) string {
	for _, p := range programs {
		if strings.HasPrefix(text, p) {
			return ""
		}
	}
	at := strings.IndexByte(text, '<')
	if at < 0 {
		return text
	}
	ends := closings(text)
	var b strings.Builder
	whole := len(text)
	for at >= 0 {
		name, end := element(text[at:], whole-len(text)+at, ends)
		if name == "" {
			b.WriteString(text[:at+1])
			text = text[at+1:]
		} else {
			b.WriteString(text[:at])
			if inner := text[at+len(name)+2 : at+end-len(name)-3]; quotesUser(name) {
				b.WriteString(inner)
			}
			text = text[at+end:]
		}
		at = strings.IndexByte(text, '<')
	}
	b.WriteString(text)
	return b.String()
}

// closings lists where the closing tag of each name stands in a text. It is made once, for
// a text may open as many elements as it likes and close none.
func closings(text string) map[string][]int {
	all := map[string][]int{}
	for at := 0; ; {
		i := strings.Index(text[at:], "</")
		if i < 0 {
			return all
		}
		at += i
		if name := tagName(text[at+1:]); name != "" {
			all[name] = append(all[name], at)
		}
		at += len("</")
	}
}

// tagName is the name of a tag from behind its first character on, if an element may have
// it: lower-case letters, hyphens and underscores. It is "" for any other.
func tagName(s string) string {
	end := strings.IndexByte(s[:min(len(s), 64)], '>')
	if end < 2 {
		return ""
	}
	name := s[1:end]
	for i := range len(name) {
		if c := name[i]; (c < 'a' || c > 'z') && c != '-' && c != '_' {
			return ""
		}
	}
	return name
}

// element recognises an element at the start of s whose name has a hyphen or an
// underscore, or quotes a user, and gives its name and length. s begins at at; ends are
// the closings of the whole text.
func element(s string, at int, ends map[string][]int) (name string, length int) {
	name = tagName(s)
	if name == "" || !strings.ContainsAny(name, "-_") && !quotesUser(name) {
		return "", 0
	}
	all := ends[name]
	for len(all) > 0 && all[0] < at {
		all = all[1:]
	}
	ends[name] = all // elements are asked for in their order
	if len(all) == 0 {
		return "", 0
	}
	return name, all[0] - at + len(name) + 3
}

func quotesUser(name string) bool {
	return name == "task" || name == "feedback" || name == "answer" || strings.HasPrefix(name, "user_") || strings.HasPrefix(name, "user-")
}
