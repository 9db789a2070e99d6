package main

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/internal/report"
	"github.com/oriel-context/oriel/internal/term"
	"github.com/oriel-context/oriel/timeline"
)

// fold limits the lines that a terminal is shown of a text unless --full is given: so many
// at its beginning and at its end.
type fold struct{ head, tail int }

var (
	foldResult    = fold{head: 10, tail: 5}
	foldArguments = fold{head: 30, tail: 10}
)

// wholeMessage draws one message with its author, its time and its whole text. On a terminal
// it draws only the first and last lines of long results and arguments of tools, unless full
// is set.
func wholeMessage(out io.Writer, m *report.Message, sc term.Screen, full bool) error {
	lines := []string{sc.Style.Code(byColour(m.By), messageHead(m, sc.Width))}
	switch {
	case m.Chat == nil:
		lines = append(lines, term.Markdown(m.Text, sc)...)
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
func messageHead(m *report.Message, width int) string {
	pin := ""
	if m.Pinned {
		pin = ", pinned"
	}
	tokens := term.Plural(m.Tokens, "token", "tokens")
	if m.Role == timeline.RoleMeta {
		tokens = "not a message"
	}
	who, at := fmt.Sprintf("%d  %s  ", m.ID, term.OneLine(m.By, 20)), m.Time.Local()
	for _, rest := range []string{
		at.Format("2 Jan 2006 15:04:05") + "  " + tokens + pin,
		at.Format("2 Jan 15:04") + "  " + tokens + pin,
		at.Format("2 Jan 15:04") + pin,
	} {
		if width == 0 || term.Cells(who+rest) <= width {
			return who + rest
		}
	}
	return term.Clip(strings.TrimSpace(who)+pin, width)
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

func partLines(p *chat.Part, sc term.Screen, full bool) []string {
	switch p.Kind {
	case chat.Text, chat.Refusal:
		if p.Text.Empty() {
			return nil
		}
		return term.Markdown(p.Text.String(), sc)
	case chat.Thinking:
		text := p.Text.String()
		if strings.TrimSpace(text) == "" {
			return []string{sc.Style.Code("2", "(thinking that its provider keeps to itself)")}
		}
		return dimmed(term.Markdown("(thinking) "+text, term.Screen{Width: sc.Width}), sc)
	case chat.Call:
		name := term.Printable(p.Name)
		lines := foldArguments.apply(wrapped(name+"("+arguments(p)+")", sc), sc, full)
		if rest, ok := strings.CutPrefix(lines[0], name); ok {
			lines[0] = sc.Style.Code("33", name) + rest
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
		title := strings.TrimSpace("← " + term.Printable(p.Name))
		switch {
		case p.IsError && p.Name != "":
			title += ": error"
		case p.IsError:
			title += " error"
		}
		inner := sc
		inner.Width = max(0, sc.Width-2)
		lines := foldResult.apply(wrapped(strings.TrimRight(text, "\n "), inner), sc, full)
		for i := range lines {
			lines[i] = "  " + lines[i]
		}
		if sc.Width > 0 {
			title = term.Clip(title, sc.Width)
		}
		return append([]string{sc.Style.Code("33", title)}, lines...)
	}
	return term.Markdown(timeline.Words(&chat.Message{Parts: []chat.Part{*p}}), sc)
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
func wrapped(text string, sc term.Screen) []string {
	var out []string
	for line := range strings.SplitSeq(strings.ReplaceAll(strings.TrimRight(term.Printable(text), "\n"), "\t", "    "),
		"\n") {
		if sc.Width == 0 {
			out = append(out, line)
		} else {
			out = append(out, term.Wrap(line, sc.Width, 2)...)
		}
	}
	return out
}

// apply shortens lines of a terminal to the first and last ones, unless full is set.
func (f fold) apply(lines []string, sc term.Screen, full bool) []string {
	more := len(lines) - f.head - f.tail
	if sc.Width == 0 || full || more <= 2 { // no line is left out for one that says so
		return lines
	}
	note := sc.Style.Code("2", fmt.Sprintf("… %s, --full shows them", term.Plural(more, "line more", "lines more")))
	return slices.Concat(lines[:f.head], []string{note}, lines[len(lines)-f.tail:])
}

func dimmed(lines []string, sc term.Screen) []string {
	for i := range lines {
		lines[i] = sc.Style.Code("2", lines[i])
	}
	return lines
}
