package window

import (
	"fmt"
	"slices"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/condense"
	"github.com/oriel-context/oriel/internal/prompt"
)

// marker returns the text that tells a model what is missing, the short one if there is no
// room for more.
func (h *History) marker(messages, tokens int, short bool) string {
	switch {
	case short:
		return fmt.Sprintf(prompt.MissingShort, messages, tokens)
	case h.recallTool != "":
		return fmt.Sprintf(prompt.MissingTool, messages, tokens, h.recallTool)
	case !h.tools:
		return fmt.Sprintf(prompt.MissingTalk, messages, tokens)
	}
	return fmt.Sprintf(prompt.Missing, messages, tokens)
}

// parseMarker parses the numbers of a marker that an earlier pass left.
func parseMarker(text string) (messages, tokens int, ok bool) {
	n, err := fmt.Sscanf(text, prompt.MissingRead, &messages, &tokens)
	return messages, tokens, n == 2 && err == nil
}

// mark adds a marker at the first gap that tells the model what is missing, a
// short one if there is no room for more. It updates a marker that an earlier
// pass left, so that there is never more than one.
func (d *draft) mark(budget int) {
	if !slices.Contains(d.keep, false) {
		return
	}
	n, tokens := d.removed()
	for _, m := range d.left() { // what they reported is missing, too
		for i := range m.Parts {
			if before, had, ok := marked(&m.Parts[i]); ok {
				n, tokens = n+before, tokens+had
			}
		}
	}
	short := d.tokens()+markerRoom > budget
	i, j, old := d.find(func(text string) bool { _, _, ok := parseMarker(text); return ok })
	if i < 0 {
		d.insert("marker", d.h.marker(n, tokens, short))
		return
	}
	before, had, _ := parseMarker(old)
	d.replace(i, j, "marker", d.h.marker(n+before, tokens+had, short))
}

// earlier returns the summary or digest that an earlier plan put into a kept
// message.
func (d *draft) earlier() (message, part int, text string) {
	return d.find(condense.IsSummary)
}

// find returns a text part of a kept message that Oriel wrote and for which is returns
// true.
func (d *draft) find(is func(string) bool) (message, part int, text string) {
	for e, k := range d.keep {
		if !k {
			continue
		}
		for i := d.h.Cuts.Exchanges[e].Start; i < d.h.Cuts.Exchanges[e].End; i++ {
			if d.h.Messages[i].Role != chat.User {
				continue
			}
			for j := range d.h.Messages[i].Parts {
				p := &d.h.Messages[i].Parts[j]
				if !p.Written {
					continue
				}
				if s := p.Text.String(); is(s) {
					return i, j, s
				}
			}
		}
	}
	return -1, -1, ""
}

// replace gives an insertion of an earlier pass a new text.
func (d *draft) replace(message, part int, kind, text string) {
	saves := d.h.partTokens(message, part) - d.h.withText(message, part, text)
	at := partAt{message, part}
	d.saved += saves - d.trimmed[at].saves
	d.trimmed[at] = edit{text, kind + " brought up to date", saves}
	d.updated = append(d.updated, insert{kind: kind, text: text, into: message, tokens: d.h.Count(text)})
}

// marked parses the marker that a part is, if it is one.
func marked(p *chat.Part) (messages, tokens int, ok bool) {
	if p.Kind != chat.Text || !p.Written {
		return 0, 0, false
	}
	return parseMarker(p.Text.String())
}

// left returns the messages that left, oldest first.
func (d *draft) left() []chat.Message {
	var span []chat.Message
	for e, k := range d.keep {
		if !k {
			span = append(span, d.h.Messages[d.h.Cuts.Exchanges[e].Start:d.h.Cuts.Exchanges[e].End]...)
		}
	}
	return span
}

// leaving returns the messages that left, without what was inserted into them:
// only what was said is condensed.
func (d *draft) leaving() []chat.Message {
	span := d.left()
	for i, m := range span {
		if slices.ContainsFunc(m.Parts, inserted) {
			span[i].Parts = slices.DeleteFunc(slices.Clone(m.Parts), inserted)
		}
	}
	return span
}

// inserted reports whether a part is a text of ours other than a summary.
func inserted(p chat.Part) bool {
	return p.Written && p.Kind == chat.Text && !condense.IsSummary(p.Text.String())
}
