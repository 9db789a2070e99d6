package report

import (
	"strings"
	"unicode"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/token"
)

// Line returns the beginning of a text on one line, of at most width characters, without
// control characters. An ellipsis stands for what is missing.
func Line(text string, width int) string {
	if len(text) > 8*width { // more than any width needs
		text = text[:8*width]
	}
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, ""))
	runes := []rune(strings.Join(strings.Fields(text), " "))
	if len(runes) > width {
		return strings.TrimRight(string(runes[:width-1]), " ") + "…"
	}
	return string(runes)
}

// TextCounter returns a counter for Tokens, by o200k_base.
func TextCounter() *token.Counter {
	return token.NewCounter(token.Model{Encoding: "o200k_base", Exact: true}, token.Options{})
}

// Tokens counts a message's own text: what is said, thought, called and returned, without
// the JSON around it. Pictures and files count as their provider counts them.
func Tokens(c *token.Counter, m *chat.Message) int {
	n := 0
	for i := range m.Parts {
		n += partTokens(c, &m.Parts[i])
	}
	return n
}

func partTokens(c *token.Counter, p *chat.Part) int {
	switch p.Kind {
	case chat.Text, chat.Refusal:
		return c.Text(p.Text.String()).Tokens
	case chat.Call:
		return c.Text(p.Name).Tokens + c.Text(p.Arguments()).Tokens
	case chat.Thinking, chat.Result:
		n := c.Text(p.Text.String()).Tokens
		for i := range p.Parts {
			n += partTokens(c, &p.Parts[i])
		}
		return n
	}
	return c.Part(p).Tokens
}
