package condense

import (
	"bytes"
	"slices"
	"strconv"
	"strings"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/internal/prompt"
)

// Kinds of texts, as in their markers.
const (
	KindSummary = "summary"
	KindDigest  = "digest"
)

// The parts of a marker line; see package prompt.
const (
	markerOpen = prompt.Condensed
	markerOf   = prompt.CondensedOf
	markerOne  = prompt.CondensedOne
	markerMany = prompt.CondensedMany
	markerLook = prompt.CondensedLook
	markerEnd  = prompt.CondensedEnd
)

// Header returns the marker line of a text that stands for n messages, such as
// "[Oriel summary of 34 earlier messages]".
func Header(kind string, n int) string { return header(kind, n, "") }

// header also names the tool that looks the messages up, if there is one.
func header(kind string, n int, tool string) string {
	if kind != KindDigest {
		kind = KindSummary
	}
	end := markerMany
	if n == 1 {
		end = markerOne
	}
	if tool != "" {
		end += markerLook + tool
	}
	return markerOpen + kind + markerOf + strconv.Itoa(n) + end + markerEnd
}

// IsSummary reports whether a text begins with Oriel's marker line.
func IsSummary(text string) bool {
	_, _, ok := Unmark(text)
	return ok
}

// Unmark removes the marker from a text and returns the number of messages that it
// stands for. A text without a marker is returned with white space trimmed.
func Unmark(text string) (body string, n int, ok bool) {
	text = strings.TrimSpace(text)
	line, rest, _ := strings.Cut(text, "\n")
	end, n := marker(strings.TrimRight(line, " \t\r"))
	if end == 0 || end != len(strings.TrimRight(line, " \t\r")) {
		return text, 0, false
	}
	return strings.TrimSpace(rest), n, true
}

// marker parses a marker at the start of s and returns its length, or 0, and its
// number.
func marker(s string) (end, n int) {
	rest, ok := strings.CutPrefix(s, markerOpen)
	if !ok {
		return 0, 0
	}
	after, ok := strings.CutPrefix(rest, KindSummary+markerOf)
	if !ok {
		if after, ok = strings.CutPrefix(rest, KindDigest+markerOf); !ok {
			return 0, 0
		}
	}
	digits := 0
	for digits < len(after) && '0' <= after[digits] && after[digits] <= '9' {
		digits++
	}
	n, err := strconv.Atoi(after[:digits])
	if err != nil || n > 1<<40 {
		return 0, 0
	}
	if after, ok = strings.CutPrefix(after[digits:], markerMany); !ok {
		if after, ok = strings.CutPrefix(after, markerOne); !ok {
			return 0, 0
		}
	}
	if tool, named := strings.CutPrefix(after, markerLook); named {
		after = strings.TrimLeftFunc(tool, prompt.ToolRune)
	}
	if !strings.HasPrefix(after, markerEnd) {
		return 0, 0
	}
	return len(s) - len(after) + len(markerEnd), n
}

// nested reports whether there is a marker anywhere in the text.
func nested(text string) bool {
	for {
		i := strings.Index(text, markerOpen)
		if i < 0 {
			return false
		}
		if end, _ := marker(text[i:]); end > 0 {
			return true
		}
		text = text[i+len(markerOpen):]
	}
}

// disarm replaces the brackets of quoted markers with round ones, so that the text
// reads the same but is not a marker.
func disarm(text string) string {
	if !nested(text) {
		return text
	}
	b := []byte(text)
	for at := 0; ; {
		i := strings.Index(text[at:], markerOpen)
		if i < 0 {
			return string(b)
		}
		at += i
		if end, _ := marker(text[at:]); end > 0 {
			b[at], b[at+end-1] = '(', ')'
		}
		at += len(markerOpen)
	}
}

// foreign lists the beginnings of summaries that agent programs write themselves.
var foreign = []string{
	"This session is being continued from a previous conversation",
	"Another language model started to solve this problem and produced a summary",
	"Here is a summary of the conversation to date",
	"Here is a summary of our conversation so far",
}

// IsForeign reports whether a text begins as the summaries that agent programs write
// themselves do.
func IsForeign(text string) bool {
	return slices.ContainsFunc(foreign, func(f string) bool { return strings.HasPrefix(text, f) })
}

// foreignSummary returns the summary with which an agent program begins a compacted
// conversation, without the remarks that some put before it. A model wrote it, if not
// somebody else: it is no user's words.
func foreignSummary(m *chat.Message) (body string, ok bool) {
	if m.Role != chat.User || len(m.Parts) != 1 || m.Parts[0].Kind != chat.Text {
		return "", false
	}
	s := m.Parts[0].Text
	for _, f := range foreign {
		if !bytes.HasPrefix(s[min(len(s), 1):], []byte(f)) {
			continue
		}
		text := s.String()
		for _, begin := range [...]string{"\nSummary:\n", "<summary>"} {
			if _, after, found := strings.Cut(text, begin); found {
				return strings.TrimSpace(strings.ReplaceAll(after, "</summary>", "")), true
			}
		}
		return text, true
	}
	return "", false
}
