package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/internal/browse"
	"github.com/oriel-context/oriel/timeline"
)

// Lines of a tool's result, or of thinking, that a terminal is shown unless --full is given.
const (
	headLines = 10
	tailLines = 5
)

// wholeMessage draws one message with its author, its time and its whole text. On a terminal
// it draws only the first and last lines of results and of thinking, unless full is set.
func wholeMessage(out io.Writer, m *browse.Message, sc screen, full bool) error {
	lines := []string{sc.style.code(byColour(m.By()), messageHead(m, sc.width))}
	switch {
	case m.Chat == nil:
		lines = append(lines, markdown(m.Text, sc)...)
	default:
		for i := range m.Chat.Parts {
			lines = append(lines, partLines(&m.Chat.Parts[i], sc, full)...)
		}
	}
	_, err := fmt.Fprintf(out, "%s\n\n", strings.Join(lines, "\n"))
	return err
}

// messageHead returns one line with the author, time and size of a message. It leaves fields
// out if the line would be wider than width; 0 means no limit.
func messageHead(m *browse.Message, width int) string {
	pin := ""
	if m.Pinned {
		pin = ", pinned"
	}
	tokens := plural(m.Tokens, "token", "tokens")
	if m.Role == timeline.RoleMeta {
		tokens = "not a message"
	}
	who, at := fmt.Sprintf("%d  %s  ", m.ID, oneLine(m.By(), 20)), m.Time.Local()
	for _, rest := range []string{
		at.Format("2 Jan 2006 15:04:05") + "  " + tokens + pin,
		at.Format("2 Jan 15:04") + "  " + tokens + pin,
		at.Format("2 Jan 15:04") + pin,
	} {
		if width == 0 || cells(who+rest) <= width {
			return who + rest
		}
	}
	return clipCells(strings.TrimSpace(who)+pin, width)
}

// byColour returns the colour of a speaker.
func byColour(who string) string {
	switch who {
	case "user":
		return "1;32"
	case "assistant":
		return "1;34"
	case "tool", "function":
		return "1;35"
	}
	return "1"
}

func partLines(p *chat.Part, sc screen, full bool) []string {
	switch p.Kind {
	case chat.Text, chat.Refusal:
		if p.Text.Empty() {
			return nil
		}
		return markdown(p.Text.String(), sc)
	case chat.Thinking:
		text := p.Text.String()
		if strings.TrimSpace(text) == "" {
			return []string{sc.style.code("2", "(thinking that its provider keeps to itself)")}
		}
		return dimmed(folded("(thinking) "+text, sc, full), sc)
	case chat.Call:
		name := printable(p.Name)
		lines := wrapped(name+"("+arguments(p)+")", sc)
		if rest, ok := strings.CutPrefix(lines[0], name); ok {
			lines[0] = sc.style.code("33", name) + rest
		}
		return lines
	case chat.Result:
		text := p.Text.String()
		for i := range p.Parts {
			if q := &p.Parts[i]; q.Kind == chat.Text {
				text += q.Text.String() + "\n"
			} else {
				text += timeline.Words(&chat.Message{Parts: []chat.Part{*q}}) + "\n"
			}
		}
		title := strings.TrimSpace("← " + printable(p.Name))
		switch {
		case p.IsError && p.Name != "":
			title += ": error"
		case p.IsError:
			title += " error"
		}
		lines := folded(text, sc, full)
		for i := range lines {
			lines[i] = "  " + lines[i]
		}
		if sc.width > 0 {
			title = clipCells(title, sc.width)
		}
		return append([]string{sc.style.code("33", title)}, lines...)
	}
	return markdown(timeline.Words(&chat.Message{Parts: []chat.Part{*p}}), sc)
}

// arguments returns the arguments of a call as name=value. If they are not an object, it
// returns them unchanged.
func arguments(p *chat.Part) string {
	d := json.NewDecoder(strings.NewReader(p.Arguments()))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return p.Arguments()
	}
	var out []string
	for d.More() {
		name, err := d.Token()
		var value json.RawMessage
		if err != nil || d.Decode(&value) != nil {
			return p.Arguments()
		}
		var text string
		if json.Unmarshal(value, &text) != nil {
			text = string(value)
		} else if strings.Contains(text, "\n") {
			text = "\n" + text
		}
		out = append(out, fmt.Sprintf("%s=%s", name, text))
	}
	return strings.Join(out, ", ")
}

// wrapped breaks a text that is not Markdown.
func wrapped(text string, sc screen) []string {
	var out []string
	for line := range strings.SplitSeq(strings.ReplaceAll(strings.TrimRight(printable(text), "\n"), "\t", "    "), "\n") {
		if sc.width == 0 {
			out = append(out, line)
		} else {
			out = append(out, wrap(line, sc.width, 2)...)
		}
	}
	return out
}

// folded returns the lines of a text. On a terminal it shortens a long text to its first and
// last lines, unless full is set.
func folded(text string, sc screen, full bool) []string {
	lines := strings.Split(strings.TrimRight(strings.ReplaceAll(printable(text), "\t", "    "), "\n "), "\n")
	if sc.width == 0 {
		return lines
	}
	short := !full && len(lines) > headLines+tailLines+2
	var out []string
	for i, line := range lines {
		if short && i == headLines {
			out = append(out, sc.style.code("2", fmt.Sprintf("… %s, --full shows them", plural(len(lines)-headLines-tailLines, "line more", "lines more"))))
		}
		switch {
		case short && i >= headLines && i < len(lines)-tailLines:
		case full:
			out = append(out, wrap(line, sc.width-2, 2)...)
		default:
			out = append(out, clipCells(line, sc.width-2))
		}
	}
	return out
}

func dimmed(lines []string, sc screen) []string {
	for i := range lines {
		lines[i] = sc.style.code("2", lines[i])
	}
	return lines
}
