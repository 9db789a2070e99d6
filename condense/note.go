package condense

import (
	"regexp"
	"strings"

	"github.com/oriel-context/oriel/chat"
)

var (
	// noteStart matches the beginning of a note, a stub or a marker of Oriel's, also of
	// one that was quoted and has backslashes for that. Digests of earlier versions
	// have stubs behind a label and a colon.
	noteStart = regexp.MustCompile(`(?m)(?:^\s*|: )` + mark + `(?:: | (?:` + KindSummary + `|` + KindDigest + `)` +
		markerOf + `\d)`)
	// middleMissing matches the note in place of the middle of a text.
	middleMissing = regexp.MustCompile(mark + `: \d+ \w+ of the middle are left out here[^\]\n]*\]?\s*`)
)

var mark = `\[\\*` + regexp.QuoteMeta(strings.TrimPrefix(chat.Mark, "["))

// withoutNotes removes what Oriel wrote in place of other text: it describes the window,
// not the conversation. Other brackets within a line are somebody's words about Oriel
// and stay.
func withoutNotes(text string) string {
	if !strings.Contains(text, strings.TrimPrefix(chat.Mark, "[")) {
		return text
	}
	text = middleMissing.ReplaceAllString(text, "")
	if !noteStart.MatchString(text) {
		return text
	}
	var b strings.Builder
	for line := range strings.Lines(text) {
		if at := noteStart.FindStringIndex(line); at != nil {
			// Stubs quote arguments, which may have brackets. A stub that was shortened
			// has no bracket at its end.
			before, rest := line[:at[0]], line[at[1]:]
			end := strings.LastIndexByte(rest, ']') + 1
			if end == 0 {
				end = len(rest)
			}
			line = strings.TrimSpace(before+rest[end:]) + "\n"
		}
		b.WriteString(line)
	}
	return strings.TrimSpace(b.String())
}
