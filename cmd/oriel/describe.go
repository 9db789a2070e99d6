package main

import (
	"strings"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/internal/term"
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
		out[i] = term.OneLine(strings.Join(words, " "), 48)
	}
	return out
}

// wholeID returns the id of a conversation on one line, without control characters. It
// shortens nothing, because commands accept no shortened id.
func wholeID(name string) string {
	return strings.NewReplacer("\n", " ", "\t", " ").Replace(term.Printable(name))
}
