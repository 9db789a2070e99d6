package condense

import (
	"regexp"
	"slices"
	"strings"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/internal/prompt"
)

// omit removes the sentences of Omit from the users' messages and from Previous.
func (in Input) omit() Input {
	texts := slices.DeleteFunc(slices.Clone(in.Omit), func(text string) bool { return strings.TrimSpace(text) == "" })
	if in.Omit = nil; len(texts) == 0 {
		return in
	}
	o := newOmission(texts)
	in.Previous = o.fromSummary(in.Previous)
	messages := make([]chat.Message, 0, len(in.Messages))
	for _, m := range in.Messages {
		if m.Role == chat.User {
			if m.Parts = o.fromParts(m.Parts); len(m.Parts) == 0 {
				continue
			}
		}
		messages = append(messages, m)
	}
	in.Messages = messages
	return in
}

// space matches what strings.Fields separates words by.
const space = `[\s\v\x{85}\p{Z}]+`

// omission finds sentences, whatever white space their words have between them.
type omission struct {
	any     *regexp.Regexp
	oneLine []string
}

func newOmission(texts []string) omission {
	var o omission
	var all []string
	for _, text := range texts {
		words := strings.Fields(strings.ToValidUTF8(text, "\uFFFD")) // as messages have it
		o.oneLine = append(o.oneLine, strings.Join(words, " "))
		for i := range words {
			words[i] = regexp.QuoteMeta(words[i])
		}
		all = append(all, strings.Join(words, space))
	}
	slices.SortFunc(all, func(a, b string) int { return len(b) - len(a) }) // a sentence may contain another
	o.any = regexp.MustCompile(strings.Join(all, "|"))
	return o
}

// fromParts removes the sentences from texts, and texts that have nothing else.
func (o *omission) fromParts(parts []chat.Part) []chat.Part {
	out := make([]chat.Part, 0, len(parts))
	for _, p := range parts {
		if p.Kind == chat.Text {
			text := p.Text.String()
			if rest := o.any.ReplaceAllLiteralString(text, ""); rest != text {
				if strings.TrimSpace(rest) == "" {
					continue
				}
				p.Text = chat.Quote(rest)
			}
		}
		out = append(out, p)
	}
	return out
}

// fromSummary removes the sentences from an earlier summary, and lines that have nothing
// else.
func (o *omission) fromSummary(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		rest := o.fromEnd(o.any.ReplaceAllLiteralString(line, ""))
		said := strings.TrimSpace(strings.TrimPrefix(strings.TrimPrefix(strings.TrimSpace(rest), "- "),
			prompt.DigestUser))
		if rest != line && (said == "" || said+" " == prompt.DigestUser || said == "-") {
			continue
		}
		b.WriteString(rest)
	}
	return b.String()
}

// leastBeginning is how many bytes of a sentence must be there to recognise it.
const leastBeginning = 24

// fromEnd removes a sentence at the end of a line, which was shortened within it.
func (o *omission) fromEnd(line string) string {
	text, cut := strings.CutSuffix(strings.TrimSpace(line), "…")
	if !cut {
		return line
	}
	text = strings.TrimRight(text, " ")
	for _, sentence := range o.oneLine {
		if len(sentence) < leastBeginning {
			continue
		}
		if i := strings.LastIndex(text, sentence[:leastBeginning]); i >= 0 && strings.HasPrefix(sentence, text[i:]) {
			return text[:i] + "\n"
		}
	}
	return line
}
