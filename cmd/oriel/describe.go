package main

import (
	"strings"
	"unicode"

	"github.com/oriel-context/oriel/chat"
)

// describe describes each message in a few words: the tools that it calls, the
// tools whose results it has, or the beginning of its text.
func describe(msgs []chat.Message) []string {
	out := make([]string, len(msgs))
	tools := map[string]string{} // call id → tool
	for i := range msgs {
		var words []string
		said := ""
		for j := range msgs[i].Parts {
			p := &msgs[i].Parts[j]
			switch p.Kind {
			case chat.Call:
				tools[p.ID] = p.Name
				words = append(words, "→ "+p.Name)
			case chat.Result:
				name := p.Name
				if name == "" {
					name = tools[p.ID]
				}
				if p.IsError {
					name += " (error)"
				}
				words = append(words, "← "+name)
			case chat.Text, chat.Refusal:
				if said == "" {
					said = p.Text.String()
				}
			case chat.Image:
				words = append(words, "(image)")
			case chat.Document:
				words = append(words, "(document)")
			case chat.Audio:
				words = append(words, "(audio)")
			case chat.Compaction:
				words = append(words, "(compaction)")
			}
		}
		if said != "" {
			words = append(words, said)
		}
		out[i] = oneLine(strings.Join(words, " "), 48)
	}
	return out
}

// printable makes a foreign text, such as a name or an error, safe for a
// terminal. It replaces control characters, with which a text could overwrite
// others, ring or change the title, and invisible characters, with which it
// could change its direction, by spaces. Newlines and tabs stay. Everything
// printed for people that is not Oriel's own passes through printable.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n', r == '\t':
			return r
		case unicode.IsControl(r), unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp):
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
}

// wholeID returns the id of a conversation on one line, without control characters. It
// shortens nothing, because commands accept no shortened id.
func wholeID(name string) string {
	return strings.NewReplacer("\n", " ", "\t", " ").Replace(printable(name))
}

// oneLine returns the beginning of a text on one line, without control
// characters.
func oneLine(s string, width int) string {
	if len(s) > 8*width { // more than any width needs
		s = strings.ToValidUTF8(s[:8*width], "")
	}
	runes := []rune(strings.Join(strings.Fields(printable(s)), " "))
	if len(runes) > width {
		return string(runes[:width-1]) + "…"
	}
	return string(runes)
}
