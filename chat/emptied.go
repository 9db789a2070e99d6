package chat

import (
	"regexp"
	"strings"
)

// longestNote is the most bytes of a note in place of a result.
const longestNote = 240

// emptyNote matches what agents and frameworks put in place of a result that they leave out:
// LangChain, Claude Code, opencode, Cline.
var emptyNote = regexp.MustCompile(`(?i)^\[(?:\[NOTE\])?[\w ,;:'.()-]{0,60}` +
	`(?:cleared|removed|omitted|pruned|compacted|elided|no longer available)\b[^\n]{0,160}\]$`)

// Emptied reports whether a message has results of tools and the content of one of them was
// left out by its client: a note stands in its place.
func Emptied(m *Message) bool {
	for i := range m.Parts {
		p := &m.Parts[i]
		if p.Kind != Result {
			continue
		}
		text := p.Text
		if len(p.Parts) == 1 && p.Parts[0].Kind == Text {
			text = p.Parts[0].Text
		}
		if len(text) > 2 && len(text) <= longestNote && text[1] == '[' {
			if s := strings.TrimSpace(text.String()); !strings.HasPrefix(s, Mark) && emptyNote.MatchString(s) {
				return true
			}
		}
	}
	return false
}
